"""The dashboard's figures on both databases: hours of fetches, runs of sources, and what waits for a person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, update

from comity.database import history
from comity.database.connection import Database
from comity.database.sources.tables import crawl_logs, sources
from comity.database.tables import fetches
from comity.model.queue import JobStatus
from comity.operate.sources import add_source
from comity.reports.dashboard import Dashboard, FetchHistory, NeedCode, dashboard_of, percentile
from tests.database.states import MovedClock, State
from tests.queue.queued import put_job

NOW = datetime(2026, 3, 2, 12, 20, tzinfo=UTC)


def fetch(at: datetime, number: int, outcome: str = "fetched") -> dict[str, Any]:
    return {
        "domain": "news.example",
        "page_url": f"https://news.example/{number}",
        "url_key": number,
        "outcome": outcome,
        "bytes_received": 100,
        "duration_ms": 10 * (number * 37 % 100),
        "crawled_at": at,
    }


def look(database: Database, past: FetchHistory | None = None) -> Dashboard:
    database.is_shared = False  # the test's clock counts
    return dashboard_of(database, MovedClock(NOW), past or FetchHistory(), lease_s=1800, heartbeat_s=600)


def test_an_empty_state_is_empty(database: Database) -> None:
    found = look(database)
    assert (found.status.figures.hosts, found.sources, any(found.jobs.values())) == ((), {}, False)
    assert found.needs == ()
    assert len(found.hours) == 24
    assert found.hours[-1].start == datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert all(hour.fetches == 0 and hour.p50_ms is None for hour in found.hours)


def test_fetches_are_counted_by_their_hour(database: Database) -> None:
    outcomes = ("fetched", "fetched", "not_modified", "refused", "failed", "rate_limited")
    rows = [fetch(NOW - timedelta(minutes=15 * number), number, outcomes[number % 6]) for number in range(96)]
    with database.write() as connection:
        connection.execute(insert(fetches), sorted(rows, key=lambda row: row["crawled_at"]))
    found = look(database)
    assert sum(hour.fetches for hour in found.hours) == 94  # two are older than the first hour
    assert found.hours[-1].fetches == 2
    assert {hour.fetches for hour in found.hours[:-1]} == {4}
    last_but_one = found.hours[-2]
    assert (last_but_one.fetched, last_but_one.unchanged, last_but_one.refused, last_but_one.failed) == (0, 1, 1, 2)


def test_very_many_fetches_are_estimated_from_a_sample(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_MOST_READ", 200)
    start = datetime(2026, 3, 2, 11, tzinfo=UTC)
    rows = [
        fetch(start + timedelta(seconds=number * 0.9), number, "failed" if number % 4 == 0 else "fetched")
        for number in range(4000)
    ]
    with database.write() as connection:
        connection.execute(insert(fetches), rows)
    hour = look(database).hours[-2]
    assert hour.fetches == pytest.approx(4000, rel=0.05)
    assert hour.failed == pytest.approx(1000, rel=0.2)
    assert hour.p50_ms == pytest.approx(500, abs=150)


def test_an_hour_that_is_over_is_read_once(database: Database) -> None:
    past = FetchHistory()
    with database.write() as connection:
        connection.execute(insert(fetches), [fetch(NOW - timedelta(hours=5), 1)])
    assert sum(hour.fetches for hour in look(database, past).hours) == 1
    with database.write() as connection:
        connection.execute(insert(fetches), [fetch(NOW - timedelta(hours=5), 2), fetch(NOW, 3)])
    assert sum(hour.fetches for hour in look(database, past).hours) == 2
    assert sum(hour.fetches for hour in look(database).hours) == 3


def test_what_waits_for_a_person_is_named(database: Database) -> None:
    clock = MovedClock(NOW)
    database.is_shared = False
    source = add_source(database, clock, "https://example.org/careers", approved=True)
    with database.write() as connection:
        connection.execute(update(sources).where(sources.c.id == source.id).values(consecutive_failures=4))
        run = {"source_id": source.id, "ran_at": NOW - timedelta(hours=2), "found": 9, "inserted": 4, "closed": 1}
        connection.execute(insert(crawl_logs), [run | {"status": "ok"}, run | {"status": "fail", "found": None}])
    for number in range(3):
        put_job(State(database, clock), f"https://x.example/{number}", JobStatus.FAILED)
    found = look(database)
    assert {(need.code, need.count) for need in found.needs} == {
        (NeedCode.FAILING_SOURCES, 1),
        (NeedCode.FAILED_JOBS, 3),
    }
    assert found.sources == {"active": 1}
    assert found.sources_due == 1
    runs = found.runs[-3]
    assert (runs.runs, runs.failed, runs.found, runs.inserted, runs.closed) == (2, 1, 9, 8, 2)


@pytest.mark.parametrize(
    ("values", "share", "expected"), [([], 0.5, None), ([7], 0.95, 7), (list(range(100)), 0.95, 95)]
)
def test_percentiles(values: list[int], share: float, expected: int | None) -> None:
    assert percentile(values, share) == expected
