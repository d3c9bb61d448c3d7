"""Wake hosts: those whose cooldown is over, those no longer refused, and those whose links a deeper crawl follows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database.connection import Database
from comity.frontier.store import FrontierStore
from comity.rules.address_guard import Network, allows

_BATCH: Final = 1000
_MOST_REFUSED: Final = 10_000


def end_cooldowns(database: Database, clock: Clock, *, refresh: bool = False) -> int:
    """Wake every host that is due, in short transactions; returns how many."""
    woken = 0
    while True:
        with database.write() as connection:
            now = database.now(clock)
            batch = hosts_table.end_cooldowns(connection, now, refresh=refresh, limit=_BATCH)
        woken += batch
        if batch < _BATCH:
            return woken


def lift_refusals(database: Database, networks: Sequence[Network], hosts_named: Collection[str] | None = None) -> int:
    """Wake hosts, of those named or of all, whose address was refused and is in an allowed network by now."""
    if not networks:
        return 0
    with database.read() as connection:
        refused = hosts_table.refused_by_address(connection, hosts_named, _MOST_REFUSED)
    allowed = [row.id for row in refused if allows(row.block_reason or "", networks)]
    if not allowed:
        return 0
    with database.write() as connection:
        return hosts_table.wake(connection, allowed)


_DEEPER_BATCH: Final = 100


def go_deeper(
    database: Database,
    clock: Clock,
    frontier: FrontierStore,
    max_depth: int,
    hosts: Collection[str] | None = None,
) -> int:
    """Queue what is no longer too deep on exhausted hosts, of those that are named or of all; gives how many hosts.

    In short transactions; a host that is held by a worker is left to it.
    """
    woken = 0
    while True:
        with frontier.change() as change:
            now = database.now(clock)
            found = hosts_table.left_within(change.connection, max_depth, now, hosts, _DEEPER_BATCH)
            for host_id in found:
                hosts_table.wake_for_depth(change.connection, host_id, change.lift(host_id, max_depth))
        woken += len(found)
        if len(found) < _DEEPER_BATCH:
            return woken
