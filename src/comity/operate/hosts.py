"""What an operator may do with hosts: reset, resume or cool down one, request a refresh."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import robots
from comity.database.connection import Database
from comity.database.tables import DONE, DROPPED, QUEUED
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierStore
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, HostBusy, NotFound, Remedy, RemedyCode
from comity.model.host import HostStatus
from comity.model.wording import holder_in_words
from comity.rules.canonical import canonical_host
from comity.rules.host_transitions import is_legal
from comity.rules.seed_list import SiteHosts


@dataclass(frozen=True, slots=True)
class ResetReport:
    """What a reset changed."""

    host: str
    before: HostStatus
    after: HostStatus
    urls_requeued: int


def reset_host(
    database: Database, clock: Clock, host: str, *, reason: str | None = None, frontier: FrontierStore | None = None
) -> ResetReport:
    """Make a host ready to be crawled from the start: cooldown, errors and retries forgotten, URLs queued again.

    What politeness remembers (the next allowed request, a block that the site asked for) is kept: an
    operator may change our plans, not the site's limits. So are takedowns: what they cover is not queued.
    """
    store = frontier or own_frontier(database)
    covered = _covered(database, store, host)
    with store.change() as change:
        connection = change.connection
        row = hosts_table.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        if hosts_table.is_leased(connection, row.id, database.now(clock)):
            raise _held(row)
        values = {
            "is_seeded": True,
            "paused_by_run": None,
            "next_crawl_after": None,
            "block_reason": f"reset: {reason}" if reason else None,
            "block_reason_code": None,
            "refused_address": None,
            "first_blocked_at": None,
            "consecutive_error_count": 0,
            "cooldown_count": 0,
            "is_refresh_due": False,
            "refresh_started_at": None,
            "frontier_updated_at": clock.now(),
        }
        if is_legal(row.status, HostStatus.PENDING):
            values["status"] = HostStatus.PENDING
        if not hosts_table.change(connection, row.id, values, expected_version=row.version):
            raise HostBusy(f"{host} was changed by another process at the same time; try again")
        requeued = change.requeue_all(row.id) - len(covered.get(DONE, ()))
        for keys in covered.values():
            change.change_state(row.id, keys, QUEUED, DROPPED)
        robots.forget_failures(connection, host)
        after = hosts_table.get(connection, host)
        assert after is not None
    return ResetReport(host, row.status, after.status, requeued)


def resume_host(database: Database, host: str) -> None:
    """Let workers crawl a host again after a crawl that had limits or was stopped."""
    with database.write() as connection:
        if hosts_table.get(connection, host) is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        hosts_table.pause_for_workers(connection, [host], None)


LONGEST_COOLDOWN: Final = timedelta(days=3650)


def cool_down_host(
    database: Database, clock: Clock, host: str, duration: timedelta, *, reason: str | None = None
) -> datetime:
    """Leave a host alone for a while: no worker takes it before the end, which is returned.

    Its status, its URLs and the retries it has left stay as they are. A reset ends the cooldown.
    """
    if not timedelta(0) < duration <= LONGEST_COOLDOWN:
        raise BadInput("hours", f"must be more than 0 and at most {LONGEST_COOLDOWN // timedelta(hours=1):,}")
    with database.write() as connection:
        row = hosts_table.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        if hosts_table.is_leased(connection, row.id, database.now(clock)):
            raise _held(row)
        until = clock.now() + duration
        values: dict[str, Any] = {"next_crawl_after": until}
        if reason or not row.block_reason:
            values["block_reason"] = f"cooldown by an operator: {reason}" if reason else "cooldown by an operator"
        if not hosts_table.change(connection, row.id, values, expected_version=row.version):
            raise HostBusy(f"{host} was changed by another process at the same time; try again")
    return until


def _held(row: Any) -> HostBusy:
    return HostBusy(
        f"{row.domain} is being crawled by {holder_in_words(row.claimed_by)}; stop that crawl first, or, if that "
        f"process is gone, wait until {row.claim_expires_at:%Y-%m-%d %H:%M:%S} UTC"
    )


def _covered(database: Database, store: FrontierStore, host: str) -> dict[int, list[int]]:
    """The keys of a host's URLs that are taken down, by state; raises `BadInput` if the whole host is taken down."""
    from comity.operate.takedown import covered_of_host  # slow to import; crawls do without

    with database.read() as connection:
        row = hosts_table.get(connection, host)
    if row is None:
        return {}
    entry, keys = covered_of_host(database, store, host, row.id)
    if entry is not None:
        raise BadInput(f"{host} is taken down ({entry})", remedy=Remedy(RemedyCode.LIFT_TAKEDOWN, str(entry)))
    return keys


def request_refresh(database: Database, clock: Clock, hosts: Collection[str]) -> list[str]:
    """Make finished hosts due for a refresh; returns their names.

    Other hosts keep their state: they have work left, or a cooldown that a refresh does not shorten.
    """
    with database.write() as connection:
        return hosts_table.ask_refresh(connection, hosts, database.now(clock))


def seeded_hosts_of_site(database: Database, site: SiteHosts) -> set[str]:
    """The known hosts of a site that may be crawled."""
    parents = {canonical_host(name).parent_domain for name in site.names} if site.has_subdomains else set()
    with database.read() as connection:
        known = hosts_table.seeded_below(connection, site.names, {parent for parent in parents if parent is not None})
    return {host for host in known if site.includes(host)}
