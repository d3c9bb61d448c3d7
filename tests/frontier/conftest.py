"""Frontiers in every store: the same tests run on each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from comity.database.connection import Database
from comity.frontier.redis.link import RedisTerms
from comity.frontier.redis.store import RedisFrontier
from comity.frontier.sql_store import SqlFrontier
from tests.database.states import MovedClock
from tests.frontier.rooms import Room

STORES = ("sqlite", "postgresql", "redis", "redis_and_postgresql")


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    """A frontier in each store, with a host that has none yet."""
    on_server = "postgresql" in request.param
    database: Database = request.getfixturevalue("shared_database" if on_server else "embedded_database")
    if "redis" not in request.param:
        yield Room(database, SqlFrontier(database))
        return
    # The tests' shared Valkey writes no log; those that need one start a server of their own.
    url: str = request.getfixturevalue("redis_url")
    store = RedisFrontier(database, url, MovedClock(), RedisTerms(is_durable=False))
    yield Room(database, store)
    store.close()
