"""Hosts whose cooldown is over become pending again."""

from __future__ import annotations

from typing import Final

from comity.clock import Clock
from comity.database import hosts
from comity.database.connection import Database

_BATCH: Final = 1000


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
