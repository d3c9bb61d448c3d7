"""The database scores hosts as the rule does, in batches, and leaves closed hosts as they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select

from comity.database import hosts
from comity.database.tables import crawl_runs, domains
from comity.model.host import HostStatus
from comity.rules.priority import HostSignals, PriorityWeights, priority_score, rate
from comity.upkeep.rescore import rescore, rescore_run
from tests.database.states import BEGINNING, State, put_host

COUNTS = (0, 0, 1, 2, 3, 7, 99, 100, 499, 500, 501, 12_345, 10**7)
OTHER_WEIGHTS = PriorityWeights(
    seed_rank=77.7,
    image_yield=3.25,
    page_remaining=0.5,
    error_rate=1e6,
    day_waiting=0.01,
    never_crawled_since=datetime.fromisoformat("2026-01-01T00:00:00+00:00"),
)


def random_hosts(count: int) -> list[dict[str, Any]]:
    chance = Random(20260207)
    return [
        {
            "domain": f"h{number}.example",
            "pages_discovered": chance.choice(COUNTS),
            "pages_crawled": chance.choice(COUNTS),
            "images_found": chance.choice(COUNTS),
            "images_stored": chance.choice(COUNTS),
            "total_error_count": chance.choice(COUNTS),
            "seed_rank": chance.choice([None, None, -5, 0, 1, 2, 10, 999, 1000, 123_456, 10**9]),
            "last_crawled_at": chance.choice([None, BEGINNING, BEGINNING - timedelta(seconds=chance.randrange(10**8))]),
            "status": chance.choice([HostStatus.PENDING, HostStatus.ACTIVE, HostStatus.EXHAUSTED]),
        }
        for number in range(count)
    ]


def signals(row: dict[str, Any]) -> HostSignals:
    return HostSignals(
        pages_discovered=row["pages_discovered"],
        pages_crawled=row["pages_crawled"],
        images_found=row["images_found"],
        images_stored=row["images_stored"],
        errors=row["total_error_count"],
        seed_rank=row["seed_rank"],
        last_crawled_at=row["last_crawled_at"],
    )


@pytest.mark.parametrize("weights", [PriorityWeights(), OTHER_WEIGHTS], ids=["default", "other"])
def test_the_database_scores_as_the_rule_does(state: State, weights: PriorityWeights) -> None:
    hosts = random_hosts(600)
    with state.database.write() as connection:
        for host in hosts:
            put_host(connection, host)
    assert rescore(state.database, state.clock, weights) == 600
    with state.database.read() as connection:
        rows = {row.domain: row for row in connection.execute(select(domains))}
    scores = set()
    for host in hosts:
        row, seen = rows[host["domain"]], signals(host)
        # A half is rounded to even by the one and away from zero by the other.
        assert abs(row.priority_score - priority_score(seen, weights, BEGINNING)) <= 1, host
        assert row.image_yield_rate == pytest.approx(rate(seen.images_stored, seen.pages_crawled))
        assert row.avg_images_per_page == pytest.approx(rate(seen.images_found, seen.pages_crawled))
        assert row.error_rate == pytest.approx(rate(seen.errors, seen.pages_crawled))
        assert row.priority_computed_at == BEGINNING
        scores.add(row.priority_score)
    assert len(scores) > 300  # the table does tell hosts apart


def test_scores_too_large_for_the_column_are_cut(state: State) -> None:
    weights = PriorityWeights(image_yield=1e12, error_rate=1e12)
    state.add("high.example", pages_crawled=1, images_stored=10**6)
    state.add("low.example", pages_crawled=1, total_error_count=10**6)
    rescore(state.database, state.clock, weights)
    assert state.row("high.example")["priority_score"] == 2**31 - 1
    assert state.row("low.example")["priority_score"] == -(2**31)


def test_blocked_and_unreachable_hosts_keep_their_score(state: State) -> None:
    for status in HostStatus:
        state.add(f"{status}.example", status=status, priority_score=-123)
    rescore(state.database, state.clock)
    kept = {str(status) for status in HostStatus if state.row(f"{status}.example")["priority_score"] == -123}
    assert kept == {"blocked", "unreachable"}


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 30])
def test_every_batch_is_scored(state: State, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(hosts, "BATCH_HOSTS", 10)
    for number in range(count):
        state.add(f"h{number}.example")
    assert rescore(state.database, state.clock) == count
    with state.database.read() as connection:
        rows = connection.execute(select(domains.c.priority_computed_at, domains.c.version)).all()
    assert rows == [(BEGINNING, 1)] * count


def test_scoring_again_later_follows_the_time(state: State) -> None:
    state.add("host.example", last_crawled_at=BEGINNING)
    rescore(state.database, state.clock)
    assert state.row("host.example")["priority_score"] == 0
    state.clock.advance(days=30)
    rescore(state.database, state.clock)
    assert state.row("host.example")["priority_score"] == 150


def test_the_hosts_of_one_run_can_be_scored_alone(state: State) -> None:
    with state.database.write() as connection:
        run_id: UUID = connection.execute(insert(crawl_runs).returning(crawl_runs.c.id)).scalar_one()
    state.add("of-the-run.example", last_crawl_run_id=run_id)
    state.add("other.example")
    rescore_run(state.database, state.clock, str(run_id))
    assert state.row("of-the-run.example")["priority_computed_at"] == BEGINNING
    assert state.row("other.example")["priority_computed_at"] is None


def test_of_workers_that_come_within_the_half_hour_only_the_first_scores(state: State) -> None:
    state.add("host.example", last_crawled_at=BEGINNING)
    rescore(state.database, state.clock)
    state.clock.advance(minutes=29)
    state.add("later.example")
    assert rescore(state.database, state.clock) == 2
    assert state.row("host.example")["priority_computed_at"] == BEGINNING
    assert state.row("later.example")["priority_computed_at"] == state.clock.now()
    rescore(state.database, state.clock, older_than_s=0.0)
    assert state.row("host.example")["priority_computed_at"] == state.clock.now(), "by hand it is done at once"
    state.clock.advance(minutes=30)
    rescore(state.database, state.clock)
    assert state.row("host.example")["priority_computed_at"] == state.clock.now()
