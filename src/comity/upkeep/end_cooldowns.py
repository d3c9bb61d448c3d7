"""Hosts whose cooldown is over become pending again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from comity.clock import Clock
from comity.database import hosts
from comity.database.connection import Database
from comity.rules.address_guard import Network, allows

_BATCH: Final = 1000
_MOST_REFUSED: Final = 10_000


def end_cooldowns(database: Database, clock: Clock, *, refresh: bool = False) -> int:
    """Wake every host that is due, in short transactions; returns how many."""
    woken = 0
    while True:
        with database.write() as connection:
            now = None if database.is_shared else clock.now()
            batch = hosts.end_cooldowns(connection, now, refresh=refresh, limit=_BATCH)
        woken += batch
        if batch < _BATCH:
            return woken


def lift_refusals(database: Database, networks: Sequence[Network], hosts_named: Collection[str] | None = None) -> int:
    """Wake hosts, of those named or of all, whose address was refused and is in an allowed network by now."""
    if not networks:
        return 0
    with database.read() as connection:
        refused = hosts.refused_by_address(connection, hosts_named, _MOST_REFUSED)
    allowed = [row.id for row in refused if allows(row.block_reason or "", networks)]
    if not allowed:
        return 0
    with database.write() as connection:
        return hosts.wake(connection, allowed)
