"""Re-read the robots.txt of hosts that it closed, when the cached copy expires; a change wakes them early."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from comity.clock import Clock
from comity.database import hosts
from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierStore
from comity.model.errors import ComityError
from comity.model.host import HostStatus
from comity.rules.canonical import WebAddress, web_address
from comity.walk.robots.record import RobotsInForce

MOST_AT_ONCE: Final = 20

Read = Callable[[WebAddress], Awaitable[RobotsInForce]]


async def reread_robots(
    database: Database,
    clock: Clock,
    read: Read,
    among: Collection[str] | None = None,
    frontier: FrontierStore | None = None,
) -> list[str]:
    """Read the expired robots.txt of a bounded number of closed hosts again; returns the hosts that were woken."""
    woken = []
    for row in await asyncio.to_thread(_due, database, clock, among):
        try:
            found = await read(web_address(f"{row.origin}/robots.txt"))
        except ComityError:
            continue  # busy or not to be asked: the next look may do better
        changed = found.version != row.version or str(found.reading.access) != row.access
        if changed and not found.is_unreachable:
            woken += [row.host] if await asyncio.to_thread(_wake, database, frontier, row.host) else []
    return woken


def _due(database: Database, clock: Clock, among: Collection[str] | None) -> list[Any]:
    with database.read() as connection:
        now = database.now(clock)
        return list(robots_table.expired_of_closed_hosts(connection, now, among, MOST_AT_ONCE))


def _wake(database: Database, frontier: FrontierStore | None, host: str) -> bool:
    """Make a host pending again; its cooldown was for the previous file."""
    with (frontier or own_frontier(database)).change() as change:
        connection = change.connection
        row = hosts.get(connection, host)
        if row is None or row.status is not HostStatus.BLOCKED or row.claimed_by is not None:
            return False
        values = {
            "status": HostStatus.PENDING,
            "next_crawl_after": None,
            "block_reason": None,
            "block_reason_code": None,
            "refused_address": None,
        }
        change.requeue_all(row.id)
        return hosts.change(connection, row.id, values, expected_version=row.version)
