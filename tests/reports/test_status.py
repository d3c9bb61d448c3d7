"""How the whole state stands: who works, what waits, how fast it goes; and that asking is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event, insert, text, update

from comity.database import runs, status_queries
from comity.database.connection import Database
from comity.database.tables import domains, fetches
from comity.model.errors import StateUnavailable
from comity.model.host import HostStatus
from comity.reports.status import Status, check_state, figures_of, status_of
from tests.database.states import BEGINNING, State

HOLDER = "box-0123456789ab:4321:77:deadbeef"
LEASE_S, HEARTBEAT_S = 1800.0, 600.0


def look(state: State) -> Status:
    return status_of(state.database, state.clock, lease_s=LEASE_S, heartbeat_s=HEARTBEAT_S)


def held(state: State, host: str, *, ends_in_s: float, holder: str = HOLDER, **columns: Any) -> None:
    ends = BEGINNING + timedelta(seconds=ends_in_s)
    state.add(host, status="active", claimed_by=holder, claim_expires_at=ends, lease_token=1, **columns)


def fetched(state: State, number: int, *, ago_s: float, **columns: Any) -> None:
    """Fetches that all ended so long ago."""
    values = {"domain": "a.example", "page_url": "https://a.example/", "outcome": "fetched", "bytes_received": 10}
    values |= {"crawled_at": BEGINNING - timedelta(seconds=ago_s)} | columns
    with state.database.write() as connection:
        connection.execute(insert(fetches), [values | {"url_key": key} for key in range(number)])


def test_an_empty_state_stands_still(state: State) -> None:
    status = look(state)
    assert status.at == BEGINNING
    assert (status.workers, status.due, status.errors, status.runs) == ((), (), (), ())
    assert (status.figures.hosts, status.figures.claims, status.figures.stuck, status.figures.frontier) == ((), 0, 0, 0)
    assert (status.minute.fetches, status.hour.fetches, status.silent) == (0, 0, 0)


def test_a_worker_is_seen_by_what_it_holds_and_when_it_last_renewed(state: State) -> None:
    held(state, "a.example", ends_in_s=LEASE_S - 300)
    held(state, "b.example", ends_in_s=LEASE_S - 60)
    (worker,) = look(state).workers
    assert (worker.machine, worker.process, worker.hosts, worker.expired) == ("box-0123456789ab", 4321, 2, 0)
    assert worker.seen_at == BEGINNING - timedelta(seconds=60)
    assert not worker.is_silent


def test_a_holder_with_a_name_of_another_kind_is_shown_by_that_name(state: State) -> None:
    held(state, "a.example", ends_in_s=LEASE_S, holder="worker-7")
    (worker,) = look(state).workers
    assert (worker.machine, worker.process) == ("worker-7", None)


@pytest.mark.parametrize("holder", ["bot:shop-1", "grant:acme/spider"])
def test_a_bot_is_no_worker_that_has_gone_silent(state: State, holder: str) -> None:
    held(state, "a.example", ends_in_s=30.0, holder=holder)
    status = look(state)
    (client,) = status.workers
    assert (client.is_client, client.is_silent, client.seen_at, status.silent) == (True, False, None, 0)


@pytest.mark.parametrize(
    ("ends_in_s", "expired", "is_silent"),
    [
        (LEASE_S, 0, False),
        (LEASE_S - 2 * HEARTBEAT_S, 0, False),
        (LEASE_S - 2 * HEARTBEAT_S - 1, 0, True),
        (0, 1, True),
    ],
)
def test_claims_are_stuck_when_they_ran_out_and_suspicious_before(
    state: State, ends_in_s: float, expired: int, is_silent: bool
) -> None:
    held(state, "a.example", ends_in_s=ends_in_s)
    status = look(state)
    (worker,) = status.workers
    assert (worker.expired, worker.is_silent) == (expired, is_silent)
    assert (status.figures.claims, status.figures.stuck) == (1, expired)
    assert status.silent == (1 if is_silent and not expired else 0)


def test_the_lease_that_a_run_was_given_tells_when_its_holder_was_seen(state: State) -> None:
    with state.database.write() as connection:
        begun = {"door": "crawl", "holder": HOLDER, "settings": {"lease_minutes": 60.0}, "now": BEGINNING}
        runs.begin(connection, uuid4(), **begun)
    held(state, "a.example", ends_in_s=3600 - 5)
    (worker,) = look(state).workers
    assert worker.seen_at == BEGINNING - timedelta(seconds=5)
    assert (worker.run_started_at, worker.pages) == (BEGINNING, 0)


def test_hosts_are_counted_by_status_and_those_that_wait_apart(state: State) -> None:
    for name, status, queued in (("a", "pending", 0), ("b", "pending", 2), ("c", "exhausted", 0), ("d", "active", 5)):
        state.add(f"{name}.example", status=status, frontier_size=queued)
    held(state, "e.example", ends_in_s=60, frontier_size=40)
    held(state, "f.example", ends_in_s=-60)
    later = BEGINNING + timedelta(hours=1)
    state.add("unseeded.example", is_seeded=False)  # known by a redirect only
    state.add("later.example", next_crawl_after=later)
    state.add("due.example", next_crawl_after=BEGINNING - timedelta(seconds=1))
    held(state, "g.example", ends_in_s=-60, next_crawl_after=later)
    figures = figures_of(state.database, state.clock)
    counted = {line.status: (line.hosts, line.waiting) for line in figures.hosts}
    assert counted == {HostStatus.PENDING: (5, 3), HostStatus.ACTIVE: (4, 2), HostStatus.EXHAUSTED: (1, 0)}
    claimed = state.leases("another").claim(100)
    assert len(claimed) == 5, "what waits is what a claim finds"
    assert [line.status for line in figures.hosts] == [s for s in HostStatus if s in counted]
    assert (figures.frontier, figures.frontier_is_exact) == (47, True)


def test_fetches_are_counted_by_the_minute_and_by_the_hour(state: State) -> None:
    fetched(state, 7, ago_s=90_000)
    fetched(state, 5, ago_s=3000)
    fetched(state, 2, ago_s=3601)  # settled late, beside newer ones
    fetched(state, 3, ago_s=30)
    fetched(state, 1, ago_s=20, outcome="gone", bytes_received=4)
    status = look(state)
    assert (status.minute.outcomes, status.minute.bytes_received) == ({"fetched": 3, "gone": 1}, 34)
    assert (status.hour.outcomes, status.hour.bytes_received) == ({"fetched": 8, "gone": 1}, 84)
    assert status.minute.is_exact
    assert status.hour.is_exact


def test_many_fetches_are_estimated_and_said_to_be(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    for ago_s in range(4000, 0, -10):
        fetched(state, 2, ago_s=ago_s)
    monkeypatch.setattr(status_queries, "MOST_COUNTED", 100)
    hour = look(state).hour
    assert not hour.is_exact
    assert abs(hour.fetches - 720) <= 4
    assert abs(hour.bytes_received - 7200) <= 40


@pytest.mark.parametrize("gap", [1, 50])
def test_numbers_that_were_left_out_do_not_mislead_the_search(state: State, gap: int) -> None:
    values = {"domain": "a.example", "page_url": "https://a.example/", "outcome": "fetched"}
    moments = [(number, BEGINNING - timedelta(seconds=1000 - number)) for number in range(1000)]
    with state.database.write() as connection:
        rows = [values | {"id": 70 + n * gap, "url_key": n, "crawled_at": at} for n, at in moments]
        connection.execute(insert(fetches), rows)
        together = status_queries.FetchTimes(connection)
        for second in (0, 1, 499, 998, 999, 500, 2):
            since = BEGINNING - timedelta(seconds=1000 - second)
            mark = status_queries.FetchTimes(connection).mark(since)
            assert together.mark(since) in (mark, mark._replace(number=70 + gap * (second - 1)))  # both before the gap
            after = connection.execute(text("SELECT count(*) FROM fetches WHERE id > :n"), {"n": mark.number})
            assert after.scalar_one() == 1000 - second


def test_a_very_large_frontier_is_estimated_from_the_hosts_that_have_one(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    with state.database.write() as connection:
        connection.execute(
            text("INSERT INTO domains (domain, seed_rank, frontier_size) VALUES (:name, :rank, :size)"),
            [{"name": f"h{n}.example", "rank": n, "size": 10} for n in range(500)],
        )
        connection.execute(text("UPDATE domains SET status = 'active' WHERE seed_rank % 5 = 0"))
    monkeypatch.setattr(status_queries, "MOST_COUNTED", 200)
    monkeypatch.setattr(status_queries, "SAMPLED_ROWS", 100)
    figures = figures_of(state.database, state.clock)
    assert (figures.frontier, figures.frontier_is_exact) == (5000, False)


@pytest.mark.parametrize(("active", "expected", "tolerance"), [(150, 7500, 0), (500, 25_000, 6000)])
def test_an_estimate_of_the_frontier_does_not_depend_on_the_names_of_hosts(
    state: State, monkeypatch: pytest.MonkeyPatch, active: int, expected: int, tolerance: int
) -> None:
    """Active hosts are all added up; where they are too many, those that are drawn come from the whole alphabet."""
    numbers = Random(7)
    rows = [
        {
            "id": UUID(int=numbers.getrandbits(128), version=4),
            "domain": f"h{n:03}.example",
            "frontier_size": 100 if active // 2 <= n < active else 0,
        }
        for n in range(500)
    ]
    with state.database.write() as connection:
        connection.execute(insert(domains), rows)
        crawled = [row["id"] for row in rows[:active]]
        connection.execute(update(domains).where(domains.c.id.in_(crawled)).values(status=HostStatus.ACTIVE))
    monkeypatch.setattr(status_queries, "MOST_COUNTED", 200)
    monkeypatch.setattr(status_queries, "SAMPLED_ROWS", 100)
    figures = figures_of(state.database, state.clock)
    assert abs(figures.frontier - expected) <= tolerance
    assert not figures.frontier_is_exact


def test_errors_of_the_last_hour_are_told_by_kind_with_the_last_example(state: State) -> None:
    fetched(state, 3, ago_s=4000, outcome="failed", error="timeout: too slow", domain="old.example")
    fetched(state, 2, ago_s=300, outcome="failed", error="timeout: too slow", domain="a.example")
    fetched(state, 1, ago_s=100, outcome="failed", error="timeout: slower still", domain="b.example")
    fetched(state, 1, ago_s=50, outcome="gone", error="http_404", domain="c.example")
    found = [(line.code, line.count, line.host) for line in look(state).errors]
    assert found == [("timeout", 3, "b.example"), ("http_404", 1, "c.example")]


def test_hosts_that_come_back_are_told_in_their_order(state: State) -> None:
    for hours in (-1, 9, 3, 5, 1, 2, 4):
        due = BEGINNING + timedelta(hours=hours)
        state.add(f"h{hours + 1}.example", status="blocked", block_reason_code="forbidden", next_crawl_after=due)
    due = look(state).due
    assert [line.host for line in due] == ["h2.example", "h3.example", "h4.example", "h5.example", "h6.example"]
    assert {(line.status, line.reason) for line in due} == {(HostStatus.BLOCKED, "forbidden")}


def test_the_last_runs_are_told_newest_first(state: State) -> None:
    with state.database.write() as connection:
        for hour in range(7):
            begun = {"door": "crawl", "holder": HOLDER, "settings": {}, "now": BEGINNING + timedelta(hours=hour)}
            runs.begin(connection, uuid4(), **begun)
    assert [line.started_at.hour for line in look(state).runs] == [18, 17, 16, 15, 14]


@contextmanager
def noted(database: Database) -> Iterator[list[tuple[str, Any]]]:
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def test_nothing_reads_a_whole_table_however_large_it_is(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with state.database.write() as connection:
        rows = [{"name": f"h{number}.example"} for number in range(3000)]
        connection.execute(text("INSERT INTO domains (domain) VALUES (:name)"), rows)
    fetched(state, 3000, ago_s=30)
    monkeypatch.setattr(status_queries, "MOST_COUNTED", 100)
    monkeypatch.setattr(status_queries, "SAMPLED_ROWS", 100)
    with noted(state.database) as sent:
        look(state)
    is_postgresql = state.database.engine.dialect.name == "postgresql"
    with state.database.write() as connection:
        if is_postgresql:
            connection.execute(text("ANALYZE domains"))
            connection.execute(text("ANALYZE fetches"))
            connection.execute(text("SET LOCAL enable_seqscan = off"))
        for statement, parameters in sent:
            explain = "EXPLAIN" if is_postgresql else "EXPLAIN QUERY PLAN"
            plan = [str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {statement}", parameters)]
            for line in plan:
                is_scan = "Seq Scan" in line or (line.startswith("SCAN") and "INDEX" not in line)
                assert not (is_scan and ("domains" in line or "fetches" in line)), (statement, plan)


def test_a_state_that_is_not_there_is_told(state: State) -> None:
    check_state(state.database)
    if state.database.engine.dialect.name == "sqlite":
        with state.database.write() as connection:
            connection.execute(text("DROP TABLE domains"))
        with pytest.raises(StateUnavailable, match="cannot be used: no such table"):
            check_state(state.database)
