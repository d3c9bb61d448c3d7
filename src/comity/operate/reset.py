"""Sending a host back to the start, by hand."""

from __future__ import annotations

from dataclasses import dataclass

from comity.clock import Clock
from comity.database import hosts, robots
from comity.database.connection import Database
from comity.database.tables import DONE, DROPPED, QUEUED
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierStore
from comity.model.errors import BadInput, HostBusy, NotFound
from comity.model.host import HostStatus
from comity.operate.takedown import covered_of_host
from comity.rules.host_transitions import is_legal


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
        row = hosts.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is not known here; `comity seeds add {host}` makes it known")
        if hosts.is_leased(connection, row.id, None if database.is_shared else clock.now()):
            raise HostBusy(
                f"{host} is being crawled by {row.claimed_by} until {row.claim_expires_at:%Y-%m-%d %H:%M:%S} UTC; "
                "stop that crawl first"
            )
        values = {
            "is_seeded": True,
            "next_crawl_after": None,
            "block_reason": f"reset: {reason}" if reason else None,
            "block_reason_code": None,
            "first_blocked_at": None,
            "consecutive_error_count": 0,
            "cooldown_count": 0,
            "is_refresh_due": False,
            "refresh_started_at": None,
            "frontier_updated_at": clock.now(),
        }
        if is_legal(row.status, HostStatus.PENDING):
            values["status"] = HostStatus.PENDING
        if not hosts.change(connection, row.id, values, expected_version=row.version):
            raise HostBusy(f"{host} was changed by somebody else at the same moment; try again")
        requeued = change.requeue_all(row.id) - len(covered.get(DONE, ()))
        for keys in covered.values():
            change.change_state(row.id, keys, QUEUED, DROPPED)
        robots.forget_failures(connection, host)
        after = hosts.get(connection, host)
        assert after is not None
    return ResetReport(host, row.status, after.status, requeued)


def _covered(database: Database, store: FrontierStore, host: str) -> dict[int, list[int]]:
    """The keys of a host's URLs that are taken down, by their state; `BadInput` if the whole host is."""
    with database.read() as connection:
        row = hosts.get(connection, host)
    if row is None:
        return {}
    entry, keys = covered_of_host(database, store, host, row.id)
    if entry is not None:
        raise BadInput(f"{host} is taken down ({entry}); comity takedown remove {entry} lifts that")
    return keys
