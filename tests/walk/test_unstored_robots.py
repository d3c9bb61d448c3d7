"""A robots.txt that cannot be stored: no request that it allowed is recorded before it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.model.gate import GateMemory
from comity.model.host import HostStatus, Lease
from comity.rules.robots.access import read_status
from comity.walk.robots.record import RobotsInForce, RobotsRecord, UnstoredRobots, cache_values, record_of
from tests.database.states import MovedClock
from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, tree

CLOCK = MovedClock()
_REFUSE = "CREATE TRIGGER refuse_robots BEFORE INSERT ON robots_cache BEGIN SELECT RAISE(ABORT, 'no space left'); END"


@contextmanager
def robots_cannot_be_stored(state: Path) -> Iterator[None]:
    """Have the database refuse every robots.txt, as a full disk does."""
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute(_REFUSE)
    yield
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute("DROP TRIGGER refuse_robots")


def reading(origin: str) -> RobotsRecord:
    """robots.txt of an origin that has none."""
    now = CLOCK.seconds()
    found = RobotsInForce(origin, read_status(404), None, None, now + 3600)
    lease = Lease(uuid4(), "example.com", "me", 1, CLOCK.now(), HostStatus.ACTIVE, 0, None, GateMemory())
    record = record_of(lease, found, "bot/1.0", now, b"")
    return record._replace(values=cache_values("example.com", found, None, None, now) | record.values)


@pytest.mark.parametrize(
    "robots", [Answer(404), Answer(body="User-agent: *\nDisallow: /private", type="text/plain")], ids=["none", "some"]
)
def test_a_crawl_that_could_not_store_robots_leaves_no_request_without_it(
    web: Web, place: Place, robots: Answer
) -> None:
    site = web.site({**tree(12), "/robots.txt": robots})
    assert place.comity("seeds", "add", site.url()).code == 0
    with robots_cannot_be_stored(place.state):
        assert place.comity("crawl", site.url()).code == 1
    again = place.comity("crawl", site.url())
    assert again.code == 0, again
    assert sorted(set(site.pages())) == sorted(tree(12))
    checked = place.comity("verify-politeness")
    assert checked.code == 0, checked.out


def test_a_reading_waits_until_it_is_committed(embedded_database: Database) -> None:
    unstored = UnstoredRobots()
    unstored.add(reading("https://one.example"))
    with pytest.raises(OSError, match="no space"), unstored.stored_first(embedded_database):
        raise OSError("no space")
    assert unstored
    with unstored.stored_first(embedded_database) as connection:
        assert robots_table.get(connection, "https://one.example") is not None
        unstored.add(reading("https://two.example"))
    assert unstored, "the second came too late for that transaction"
    with unstored.stored_first(embedded_database) as connection:
        assert robots_table.get(connection, "https://two.example") is not None
    assert not unstored
