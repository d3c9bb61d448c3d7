"""What the state knows about the demonstration: whether it can be loaded, and its hosts."""

from __future__ import annotations

from typing import Final

from comity.database import console
from comity.database.connection import Database
from comity.model.host import HostStatus

DEMO_SOURCE: Final = "demo"
_UNFINISHED: Final = (HostStatus.PENDING, HostStatus.ACTIVE)


def is_empty(database: Database) -> bool:
    """Whether the state has neither hosts nor sources nor crawl policies."""
    with database.read() as connection:
        return console.is_empty(connection)


def unfinished_ports(database: Database) -> list[int]:
    """The ports of all sites of an interrupted demonstration, in order; empty if there is none."""
    with database.read() as connection:
        rows = console.local_hosts(connection, DEMO_SOURCE)
    if not any(row.status in _UNFINISHED for row in rows):
        return []
    return sorted(int(row.domain.rpartition(":")[2]) for row in rows)
