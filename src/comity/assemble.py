"""The one place where objects are built and handed to each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from comity.clock import Clock, SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import ensure_current
from comity.leases.room import Leases, LeaseTerms
from comity.settings import Settings


@dataclass(frozen=True, slots=True)
class State:
    """The open state of a crawl, with the clock and the settings that everything on it goes by."""

    database: Database
    clock: Clock
    settings: Settings

    def leases(self) -> Leases:
        """A new holder of leases for this process."""
        terms = LeaseTerms(
            lease_s=self.settings.lease_minutes * 60,
            renew_every_s=self.settings.heartbeat_minutes * 60,
            refresh_after=self.settings.refresh_after,
        )
        return Leases(self.database, self.clock, terms)


@contextmanager
def open_state(settings: Settings, *, migrate: bool = True) -> Iterator[State]:
    """Open the state that the settings name, bring its tables up to date, and close it at the end."""
    database = open_database(settings.where)
    try:
        if migrate:
            ensure_current(database)
        yield State(database, SystemClock(), settings)
    finally:
        database.close()
