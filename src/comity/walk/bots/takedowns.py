"""The takedowns in force, for bots and other crawlers; read again as soon as one is added or removed."""

from __future__ import annotations

from threading import Lock

from sqlalchemy import Connection

from comity.database import takedowns as takedowns_table
from comity.rules.takedown import Takedowns


class TakedownsInForce:
    """Caches the entries, and checks in each transaction whether they are still current."""

    def __init__(self) -> None:
        self._lock = Lock()  # transactions come from several threads
        self._takedowns = Takedowns()
        self._edition: tuple[int, str | None, str | None] | None = None

    def at(self, connection: Connection) -> Takedowns:
        """The entries in force in this transaction."""
        edition = takedowns_table.edition(connection)
        with self._lock:
            if edition != self._edition:
                entries = takedowns_table.entries(connection)
                self._takedowns = Takedowns.of(row.domain_or_url for row in entries)
                self._edition = edition
            return self._takedowns
