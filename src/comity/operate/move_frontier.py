"""Move the URLs of a state from its own tables to Redis, or back, while nothing is crawled.

Each step is one transaction: some URLs of a host leave the tables and become a change of the other store; on the way
back, a step moves whole hosts. So every URL is in exactly one store at any moment, and an interrupted move continues
where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts
from comity.database.connection import Database
from comity.database.frontier import journal as journal_table
from comity.database.frontier import rows as frontier_table
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.frontier.sql_store import SqlFrontier, hints_of
from comity.frontier.store import FoundUrl, FrontierStore, FrontierUnavailable, HostSettlement, PutBack
from comity.model.errors import HostBusy
from comity.model.frontier import FrontierEntry

if TYPE_CHECKING:
    from comity.frontier.redis.store import RedisFrontier

_BATCH: Final = 5000
_HOSTS: Final = 100


def move_frontier(
    database: Database, clock: Clock, to: FrontierStore, on_moved: Callable[[int], None] | None = None
) -> int:
    """Move every URL to another store; returns how many. Raises `HostBusy` while a host is leased."""
    moved = 0
    while some := _move_some(database, clock, to):
        moved += some
        if on_moved is not None:
            on_moved(moved)
    return moved


def _move_some(database: Database, clock: Clock, to: FrontierStore) -> int:
    with to.change() as change:
        connection = change.connection
        _refuse_if_held(connection, database, clock)
        host_id = frontier_table.first_host(connection)
        if host_id is None:
            return 0
        rows = frontier_table.first_rows(connection, host_id, _BATCH)
        change.settle(host_id, None, _settlement(rows, clock.seconds()))
        frontier_table.remove_up_to(connection, host_id, rows[-1].id)
        hosts.note_checkpoint(connection, host_id, to.checkpoint_id(host_id, "", None))
        return len(rows)


def move_frontier_back(
    database: Database, clock: Clock, store: RedisFrontier, on_moved: Callable[[int], None] | None = None
) -> int:
    """Move every URL from Redis into the tables; returns how many. Raises `HostBusy` while a host is leased."""
    moved = 0
    while True:
        with database.read() as connection:
            waiting = journal_table.some_hosts(connection, _HOSTS)
        if not waiting:
            return moved
        store.prepare_hosts(waiting)  # changes that are still on their way to Redis
        came = _move_some_back(database, clock, store, waiting)
        with suppress(FrontierUnavailable):  # leftovers in Redis do no harm
            for host_id in came:
                store.wipe(host_id)
        moved += sum(came.values())
        if on_moved is not None:
            on_moved(moved)


def _move_some_back(database: Database, clock: Clock, store: RedisFrontier, waiting: Sequence[UUID]) -> dict[UUID, int]:
    """Move whole hosts in one bounded transaction; returns the number of URLs of each."""
    came: dict[UUID, int] = {}
    with SqlFrontier(database).change() as change:
        _refuse_if_held(change.connection, database, clock)
        for host_id in waiting:
            came[host_id] = 0
            for found in store.everything(host_id):
                change.settle(host_id, None, _settlement_of_found(found, clock.seconds()))
                change.flush()
                came[host_id] += len(found)
            journal_table.forget(change.connection, host_id)
            hosts.note_checkpoint(change.connection, host_id, None)
            if sum(came.values()) >= _BATCH:
                break
    return came


def _refuse_if_held(connection: Connection, database: Database, clock: Clock) -> None:
    held = hosts.leased_now(connection, database.now(clock))
    if held is not None:
        raise HostBusy(f"{held} is being crawled; stop every crawl and worker first")


def _settlement_of_found(found: Sequence[FoundUrl], now: float) -> HostSettlement:
    waiting = [each for each in found if each.state == QUEUED and (each.attempts or each.not_before is not None)]
    return HostSettlement(
        links=[_entry_of_found(each) for each in found if each.state != TOO_DEEP],
        too_deep=[_entry_of_found(each) for each in found if each.state == TOO_DEEP],
        done=[each.key for each in found if each.state == DONE],
        dropped=[each.key for each in found if each.state == DROPPED],
        put_back=[
            PutBack(each.key, each.not_before.timestamp() if each.not_before is not None else now, each.attempts)
            for each in waiting
        ],
    )


def _entry_of_found(found: FoundUrl) -> FrontierEntry:
    return FrontierEntry(found.url, found.key, found.depth, found.priority, found.hints, found.found_by, found.found_on)


def _entry(row: Any) -> FrontierEntry:
    return FrontierEntry(row.url, row.url_key, row.depth, row.priority, hints_of(row), row.found_by, row.found_on or 0)


def _settlement(rows: Any, now: float) -> HostSettlement:
    waiting = [row for row in rows if row.state == QUEUED and (row.attempts or row.not_before is not None)]
    return HostSettlement(
        links=[_entry(row) for row in rows if row.state != TOO_DEEP],
        too_deep=[_entry(row) for row in rows if row.state == TOO_DEEP],
        done=[row.url_key for row in rows if row.state == DONE],
        dropped=[row.url_key for row in rows if row.state == DROPPED],
        put_back=[
            PutBack(row.url_key, row.not_before.timestamp() if row.not_before is not None else now, row.attempts)
            for row in waiting
        ],
    )
