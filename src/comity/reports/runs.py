"""Reports on runs of crawls: the list, one run with its hosts, requested stops, and why hosts were not crawled."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import runs
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.records import last_columns_key
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound
from comity.model.host import HostStatus
from comity.model.run import EndReason, sentence_of
from comity.model.wording import Action, Words, action, holder_in_words
from comity.rules.expressions.printing import has_columns
from comity.rules.seed_list import read_seed
from comity.rules.takedown import Takedowns

DOORS: Final = ("crawl", "sources", "audit", "sql")
STATUSES: Final = ("running", "finished", "stopped", "failed")
_HOSTS_MOST: Final = 100  # shown with a run


@dataclass(frozen=True, slots=True)
class RunListed:
    """One run of a crawl, an audit, a query or a source."""

    id: UUID
    door: str
    status: str
    end_reason: str | None
    end_detail: str | None
    holder: str | None
    started_at: datetime
    ended_at: datetime | None
    stop_requested_at: datetime | None
    pages_crawled: int
    pages_failed: int
    bytes_received: int
    seeds: tuple[str, ...]
    """What it was asked to crawl; empty where it took whatever was due."""
    settings: dict[str, Any]

    @property
    def ending(self) -> str | None:
        """How it ended, in a sentence."""
        return self.end_detail or (sentence_of(self.end_reason) if self.end_reason is not None else None)

    @property
    def can_stop(self) -> bool:
        """Whether a request to stop has an effect: the run was started for its seeds, and still runs."""
        return self.status == "running" and bool(self.seeds) and self.stop_requested_at is None


@dataclass(frozen=True, slots=True)
class RunHost:
    """A host that a run was asked to crawl, as it is now."""

    host: str
    status: str
    block_reason: str | None
    queued: int
    next_crawl_after: datetime | None
    is_last_run: bool
    """Whether this run was the last that crawled it."""
    is_paused: bool = False
    """Whether this run left it to a person, so that workers do not continue it."""


def list_crawl_runs(
    database: Database,
    *,
    door: str | None = None,
    status: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[RunListed]:
    """Runs, newest first; `after` is the start and the id of the last one known."""
    with database.read() as connection:
        rows = runs.listed(connection, door=door, status=status, after=after, limit=limit, oldest_first=oldest_first)
    return [_listed(row) for row in rows]


def find_run(database: Database, run_id: UUID) -> RunListed:
    """One run; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        row = runs.get(connection, run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id}")
    return _listed(row)


def hosts_of_run(database: Database, run: RunListed) -> list[RunHost]:
    """The hosts of a run's seeds, as they are now; only the first, if there are very many."""
    names = sorted({read_seed(seed).host.authority for seed in run.seeds})[:_HOSTS_MOST]
    if not names:
        return []
    with database.read() as connection:
        rows = runs.hosts_of(connection, run.id, names)
    return [
        RunHost(
            row.domain,
            row.status,
            row.block_reason,
            row.frontier_size,
            row.next_crawl_after,
            row.is_of_run,
            row.is_paused,
        )
        for row in rows
    ]


def is_stop_requested(database: Database, run_id: UUID) -> bool:
    """Whether an operator asked a run to stop."""
    with database.read() as connection:
        return runs.is_stop_requested(connection, run_id)


def _listed(row: Row[Any]) -> RunListed:
    settings = row.settings if isinstance(row.settings, dict) else {}
    seeds = settings.get("seeds")
    values = {name: getattr(row, name) for name in RunListed.__slots__ if name not in ("seeds", "settings")}
    return RunListed(**values, seeds=tuple(map(str, seeds)) if isinstance(seeds, list) else (), settings=settings)


@dataclass(frozen=True, slots=True)
class IdleHost:
    """A host that was not crawled; `code` is an `EndReason`."""

    host: str
    why: str
    due_at: datetime | None
    remedy: Words
    """What would change it; a door puts its own words into it."""
    code: str = EndReason.NOT_TAKEN


def why_idle(
    database: Database, clock: Clock, hosts: Collection[str], *, run_ended: bool = False, columns_key: int = 0
) -> list[IdleHost]:
    """Explain every host of a run that was not crawled; `run_ended` if the run ended before their turn came.

    `columns_key` identifies the columns that the run extracts; earlier runs may have extracted others.
    """
    if not hosts:
        return []
    with database.read() as connection:
        rows = hosts_table.get_some(connection, sorted(hosts))
        down = Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
        unread = {
            host for host in rows if columns_key and not has_columns(last_columns_key(connection, host), columns_key)
        }
    return [
        _idle_host(host, rows[host], clock.now(), down, run_ended, lacks_columns=host in unread)
        for host in sorted(rows)
    ]


def _idle_host(
    host: str, row: Any, now: datetime, down: Takedowns, run_ended: bool, *, lacks_columns: bool
) -> IdleHost:
    status = row.status
    due_at = row.next_crawl_after
    held_until = row.claim_expires_at
    reset = action(Action.RESET_HOST, host)
    again = reset + " makes the next crawl start over."
    if (entry := down.covering_host(host)) is not None:
        remedy = action(Action.LIFT_TAKEDOWN, entry) + " lifts it."
        return IdleHost(host, "it is under a takedown", None, remedy, EndReason.TAKEN_DOWN)
    if held_until is not None and held_until > now:
        why = f"{holder_in_words(row.claimed_by)} is crawling it"
        return IdleHost(host, why, held_until, "Wait for it, or stop that crawl.", EndReason.HELD_ELSEWHERE)
    if status is HostStatus.EXHAUSTED and row.left_at_depth is not None:
        remedy = action(Action.CRAWL_DEEPER, host, row.left_at_depth) + " follows them; " + again
        return IdleHost(host, EndReason.TOO_DEEP.sentence, due_at, remedy, EndReason.TOO_DEEP)
    if status is HostStatus.EXHAUSTED:
        done = "reads all its pages again, for the columns that they do not have yet" if lacks_columns else None
        remedy = action(Action.REFRESH, host) + f" {done or 'fetches what changed'}; " + again
        return IdleHost(host, EndReason.ALREADY_DONE.sentence, due_at, remedy, EndReason.ALREADY_DONE)
    if status in (HostStatus.BLOCKED, HostStatus.UNREACHABLE):
        code = row.block_reason_code
        why = f"it is {status} ({row.block_reason or code})" if row.block_reason or code else f"it is {status}"
        return IdleHost(host, why, due_at, reset + " makes the next crawl try it again.", _end_reason(code, status))
    if due_at is not None and due_at > now:
        is_blocked = row.blocked_until is not None and row.blocked_until > now
        code = EndReason.ASKED_TO_WAIT if is_blocked else EndReason.PUT_OFF if row.frontier_size else EndReason.NOT_DUE
        return IdleHost(host, code.sentence, due_at, "The same command continues then.", code)
    if run_ended:
        return IdleHost(host, EndReason.NOT_TAKEN.sentence, due_at, "The same command continues with it.")
    return IdleHost(host, "it is waiting for its turn", due_at, "Run the command again.")


def _end_reason(code: str | None, status: HostStatus) -> EndReason:
    try:
        return EndReason(code or "")
    except ValueError:  # written in SQL
        return EndReason.CONNECTION_FAILURE if status is HostStatus.UNREACHABLE else EndReason.FORBIDDEN
