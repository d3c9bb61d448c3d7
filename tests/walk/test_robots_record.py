"""What the state stores of robots.txt says afterwards what it said when it was read."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.model.fetch import FailureKind
from comity.model.gate import GateMemory
from comity.model.host import HostStatus, Lease
from comity.model.robots import RobotsAccess, RobotsReading, RobotsUnreachable
from comity.rules.robots.access import read_failure, read_status
from comity.walk.robots.record import RobotsInForce, cache_values, record_of, robots_from_row, store_robots
from tests.database.states import MovedClock

ORIGIN = "https://example.com"
CLOCK = MovedClock()
FAILURES = [
    (read_failure(str(FailureKind.DNS_FAILURE), FailureKind.DNS_FAILURE), "dns_failure", False),
    # What the sentence names is not what is read back.
    (read_failure(str(FailureKind.RESET), FailureKind.TLS_FAILURE, lacks_tls=True), "tls_failure", True),
    (read_failure("nothing speaks TLS there (connect_timeout)"), "robots_unreachable", False),
    (read_status(503), "http_503", False),
]


def stored(database: Database, reading: RobotsReading, unreachable: RobotsUnreachable) -> RobotsInForce:
    """A reading as a later process finds it."""
    now = CLOCK.seconds()
    found = RobotsInForce(ORIGIN, reading, None, None, now + 3600)
    ends_at = CLOCK.now() + timedelta(hours=1)
    lease = Lease(uuid4(), "example.com", "me", 1, ends_at, HostStatus.ACTIVE, 0, None, GateMemory())
    record = record_of(lease, found, "bot/1.0", now, b"")
    with database.write() as connection:
        values = cache_values("example.com", found, None, None, now)
        store_robots(connection, [record._replace(values=values | record.values)])
        return robots_from_row(robots_table.get(connection, ORIGIN), "bot/1.0", unreachable)


@pytest.mark.parametrize(("reading", "code", "lacks_tls"), FAILURES, ids=[code for _reading, code, _tls in FAILURES])
def test_why_a_file_could_not_be_read_is_known_from_the_cache(
    embedded_database: Database, reading: RobotsReading, code: str, lacks_tls: bool
) -> None:
    found = stored(embedded_database, reading, RobotsUnreachable.DISALLOW)
    assert found.failure is not None
    assert (found.failure.code, found.failure.status) == (code, reading.http_status)
    assert found.reading.reason == reading.reason
    assert found.lacks_tls is lacks_tls
    assert found.is_unreachable


def test_by_setting_a_file_that_could_not_be_read_allows_everything(embedded_database: Database) -> None:
    reading, _code, _lacks_tls = FAILURES[1]
    found = stored(embedded_database, reading, RobotsUnreachable.ALLOW)
    assert (found.reading.access, found.failure, found.lacks_tls) == (RobotsAccess.ALLOW_ALL, None, True)
    assert found.verdict("/").allowed


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (read_failure("dns_failure", FailureKind.DNS_FAILURE), "the host's name could not be resolved"),
        (read_failure("reset", FailureKind.RESET), "the host could not be reached (reset)"),
        (
            read_failure("bad_encoding", FailureKind.BAD_ENCODING),
            "robots.txt could not be fetched (bad_encoding): everything disallowed until it is read again",
        ),
        (read_status(503), "robots.txt answered 503: everything disallowed until it is read again"),
    ],
)
def test_a_host_that_cannot_be_reached_is_said_to_be_that(reading: RobotsReading, sentence: str) -> None:
    """A mistyped name is no matter of robots.txt, although that is what was asked for first."""
    failure = RobotsInForce(ORIGIN, reading, None, None, 0.0).failure
    assert failure is not None
    assert failure.sentence == sentence
