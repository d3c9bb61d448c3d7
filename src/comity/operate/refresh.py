"""Having hosts that are done revisited now, without waiting until they are due."""

from __future__ import annotations

from collections.abc import Collection

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database.connection import Database


def ask_refresh(database: Database, clock: Clock, hosts: Collection[str]) -> list[str]:
    """Make the hosts due for a refresh that are done; gives their names. Others keep their state: they have work left,
    or a cooldown that a refresh does not shorten.
    """
    with database.write() as connection:
        return hosts_table.ask_refresh(connection, hosts, None if database.is_shared else clock.now())
