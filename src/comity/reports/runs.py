"""Reports on runs of crawls: the list, one run with its hosts, and whether an operator asked it to stop."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row

from comity.database import runs
from comity.database.connection import Database
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound
from comity.model.run import sentence_of
from comity.rules.seed_list import read_seed

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
