"""Valkeys of a test's own, which it may kill, rob and restart, and the frontiers that survive that."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from comity.clock import Clock, SystemClock
from comity.database.connection import Database
from comity.frontier.redis.link import RedisTerms
from comity.frontier.redis.store import RedisFrontier
from comity.frontier.store import FrontierStore
from comity.rules.canonical import url_key
from tests.frontier.rooms import NOW
from tests.servers.valkey import ValkeyServer

# A server that is gone refuses at once; one that only waits for a core is not taken for gone.
HASTY = {"timeout_s": 20.0, "tries": 2, "longest_pause_s": 0.01}


class ChosenValkey(ValkeyServer):
    """A Valkey with options of the test's own."""

    def __init__(self, *options: str, **more: Any) -> None:
        super().__init__(**more)
        self._options = options

    def _command(self) -> list[str | Path]:
        return [*super()._command(), *self._options]

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url())

    def copy_log(self, to: Path) -> None:
        """Keep what is in the append-only file now."""
        shutil.copytree(self.folder / "appendonlydir", to)

    def put_log(self, kept: Path) -> None:
        """Bring a former append-only file back, as a machine would find it that lost its last writes."""
        shutil.rmtree(self.folder / "appendonlydir")
        shutil.copytree(kept, self.folder / "appendonlydir")


def frontier_at(server: ValkeyServer, database: Database, clock: Clock | None = None, **terms: Any) -> RedisFrontier:
    """A frontier on a server, which does not wait long for it."""
    return RedisFrontier(database, server.url(), clock or SystemClock(), RedisTerms(**(HASTY | terms)))


def whole(store: FrontierStore, host: Any) -> dict[str, Any]:
    """Everything that can be asked about a host."""
    found: dict[str, Any] = {
        "look": store.peek(host, 10_000, NOW),
        "states": store.states(host),
        "due": store.next_ready_at(host),
        "keys": sorted(store.keys(host, 10_000)),
    }
    for state in range(3):
        urls = [each.url for each in store.urls(host, state, 0, 10_000)]
        found[f"in state {state}"] = urls
        some = [store.find([host], url_key(url)) for url in urls[:20]]
        # When a URL was found is known to the tables only.
        found[f"some of state {state}"] = [each and each._replace(discovered_at=None) for each in some]
    return found


def until(what: Callable[[], bool], times: int = 3000) -> None:
    """Do something until it says that it is done."""
    for _ in range(times):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to an end")
