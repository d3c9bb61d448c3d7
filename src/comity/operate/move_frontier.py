"""Bringing the URLs of a state from its own tables to a store beside it, while nobody crawls.

Each step is one transaction: some URLs of a host become a change of the other store and leave the tables. So each URL
is in one place at any moment, and a move that was cut off goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from comity.clock import Clock
from comity.database import frontier_listing, hosts
from comity.database.connection import Database
from comity.database.tables import DONE, DROPPED, QUEUED
from comity.frontier.sql_store import hints_of
from comity.frontier.store import FrontierStore, HostSettlement, PutBack
from comity.model.errors import HostBusy
from comity.model.frontier import FrontierEntry

_BATCH: Final = 5000


def move_frontier(
    database: Database, clock: Clock, to: FrontierStore, on_moved: Callable[[int], None] | None = None
) -> int:
    """Bring every URL to another store; gives how many. `HostBusy` while somebody crawls."""
    moved = 0
    while some := _move_some(database, clock, to):
        moved += some
        if on_moved is not None:
            on_moved(moved)
    return moved


def _move_some(database: Database, clock: Clock, to: FrontierStore) -> int:
    with to.change() as change:
        connection = change.connection
        held = hosts.leased_now(connection, None if database.is_shared else clock.now())
        if held is not None:
            raise HostBusy(f"{held} is being crawled; stop every crawl and worker first")
        host_id = frontier_listing.first_host(connection)
        if host_id is None:
            return 0
        rows = frontier_listing.first_rows(connection, host_id, _BATCH)
        change.settle(host_id, None, _settlement(rows, clock.seconds()))
        frontier_listing.remove_up_to(connection, host_id, rows[-1].id)
        return len(rows)


def _settlement(rows: Any, now: float) -> HostSettlement:
    waiting = [row for row in rows if row.state == QUEUED and (row.attempts or row.not_before is not None)]
    return HostSettlement(
        links=[FrontierEntry(row.url, row.url_key, row.depth, row.priority, hints_of(row)) for row in rows],
        done=[row.url_key for row in rows if row.state == DONE],
        dropped=[row.url_key for row in rows if row.state == DROPPED],
        put_back=[
            PutBack(row.url_key, row.not_before.timestamp() if row.not_before is not None else now, row.attempts)
            for row in waiting
        ],
    )
