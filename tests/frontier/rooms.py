"""A frontier with its database, and short words for what tests do with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from comity.database.connection import Database
from comity.frontier.store import FrontierStore, HostSettlement
from comity.model.frontier import FrontierEntry
from comity.rules.canonical import url_key
from tests.database.states import put_host

NOW = datetime(2026, 2, 7, 12, tzinfo=UTC)


def entry(path: str, depth: int = 0, priority: int = 0, **more: Any) -> FrontierEntry:
    """A URL of the usual host."""
    url = path if "://" in path else f"https://a.example/{path}"
    return FrontierEntry(url, url_key(url), depth, priority, **more)


def key_of(path: str) -> int:
    return entry(path).key


class Room:
    """A store and its database; `host` is a host that has no frontier yet."""

    def __init__(self, database: Database, store: FrontierStore) -> None:
        self.database = database
        self.store = store
        self.host = self.new_host("a.example")

    def new_host(self, name: str, **columns: Any) -> UUID:
        with self.database.write() as connection:
            return put_host(connection, {"domain": name, **columns})

    def add(self, *entries: FrontierEntry, host: UUID | None = None) -> int:
        with self.store.change() as change:
            return change.add(host or self.host, None, entries)

    def settle(self, host: UUID | None = None, **parts: Sequence[Any]) -> int:
        settlement = HostSettlement(**parts)
        with self.store.change({host or self.host: settlement.links}) as change:
            return change.settle(host or self.host, None, settlement)

    def paths(self, limit: int = 1000, now: datetime = NOW, host: UUID | None = None) -> list[str]:
        """What a look shows, without the usual origin."""
        found = self.store.peek(host or self.host, limit, now)
        return [each.url.removeprefix("https://a.example/") for each in found]
