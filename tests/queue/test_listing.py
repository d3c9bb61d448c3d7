"""Lists of the queue: pages follow each other in every order, and each page reads the front of an index."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from comity.database.queue import paging
from comity.database.queue.tables import crawl_jobs, crawl_policies
from comity.model.queue import JobStatus
from comity.operate.queue import JobAction, PolicyAction, act_on_jobs, act_on_policies
from comity.reports.queue import JOBS, POLICIES, RESULTS, ListOf, find_job, find_policy, queue_glance
from tests.database.states import State
from tests.queue.queued import host_of, put_job


def _walk(database: Any, listed: ListOf[Any], sort: str, **wanted: Any) -> list[Any]:
    """Every item, page by page."""
    found: list[Any] = []
    cursor = None
    for _ in range(50):
        page = listed.page(database, sort=sort, limit=3, cursor=cursor, **wanted)
        found += page.items
        if page.cursor is None:
            return found
        cursor = page.cursor
    raise AssertionError("the pages have no end")


def _is_sorted(values: list[Any], *, descending: bool) -> bool:
    keys = [(value is not None, value) for value in values]
    pairs = list(pairwise(keys))
    in_order = [a[0] <= b[0] and (a[0] != b[0] or not a[0] or a[1] <= b[1]) for a, b in pairs]
    if descending:
        in_order = [a[0] >= b[0] and (a[0] != b[0] or not a[0] or a[1] >= b[1]) for a, b in pairs]
    return all(in_order)


@pytest.mark.parametrize("sort", ["created_at", "priority", "url", "locked_at", "retry_count", "not_before"])
def test_pages_of_jobs_give_each_job_once_in_order(state: State, sort: str) -> None:
    chance = random.Random(sort)
    now = state.clock.now()
    for number in range(11):
        put_job(
            state,
            f"https://shop{number % 3}.example/{number}",
            chance.choice(list(JobStatus)),
            priority=chance.randrange(3),
            created_at=now - timedelta(minutes=chance.randrange(4)),
            not_before=None if number % 2 else now + timedelta(minutes=number % 4),
            retry_count=number % 2,
        )
    for direction in ("", "-"):
        found = _walk(state.database, JOBS, direction + sort)
        assert len({job.id for job in found}) == len(found) == 11
        assert _is_sorted([getattr(job, sort) for job in found], descending=bool(direction))
        if sort == "priority" and direction:  # of the same priority, the oldest first
            assert _is_sorted([(-job.priority, job.created_at) for job in found], descending=False)
    of_host = _walk(state.database, JOBS, sort, domain="shop1.example")
    assert {job.domain for job in of_host} == {"shop1.example"}
    assert len(of_host) == 4


@pytest.mark.parametrize("sort", ["next_run_at", "-next_run_at", "priority", "url", "last_success_at", "failure_count"])
def test_pages_of_policies_give_each_policy_once_also_those_without_a_time(state: State, sort: str) -> None:
    now = state.clock.now()
    with state.database.write() as connection:
        for number in range(10):
            values = {
                "url": f"https://shop.example/{number}",
                "next_run_at": None if number % 3 == 0 else now + timedelta(minutes=number % 4),
                "last_success_at": None if number % 2 else now,
                "enabled": number % 4 != 1,
                "priority": number % 2,
                "failure_count": number % 2,
            }
            connection.execute(insert(crawl_policies).values(**values))
    found = _walk(state.database, POLICIES, sort)
    assert len({policy.id for policy in found}) == len(found) == 10
    assert _is_sorted([getattr(policy, sort.strip("-")) for policy in found], descending=sort[0] == "-")
    due = _walk(state.database, POLICIES, sort, due_by=now)
    assert all(policy.enabled and (policy.next_run_at or now) <= now for policy in due)
    assert {policy.failure_count for policy in _walk(state.database, POLICIES, sort, failing=True)} == {1}


@pytest.mark.parametrize("looked_at", [1, 2, 5, 100])
@pytest.mark.parametrize("direction", ["", "-"])
def test_a_search_looks_at_some_rows_a_page_and_finds_all(
    state: State, looked_at: int, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LOOKED_AT", looked_at)
    now = state.clock.now()
    for number in range(9):
        status = JobStatus.DONE if number % 2 else JobStatus.PENDING
        address = f"https://shop.example/{'Lamp' if number % 4 < 2 else 'chair'}/{number}"
        put_job(state, address, status, created_at=now - timedelta(minutes=number % 3))
    with state.database.write() as connection:
        for number in range(9):
            address = f"https://shop.example/{'Lamp' if number % 4 < 2 else 'chair'}/{number}"
            due = None if number % 3 == 0 else now + timedelta(minutes=number % 2)
            connection.execute(insert(crawl_policies).values(url=address, next_run_at=due))
    for listed, sort in ((JOBS, "created_at"), (POLICIES, "next_run_at"), (POLICIES, "url")):
        everything = _walk(state.database, listed, direction + sort)
        expected = [each.url for each in everything if "Lamp" in each.url]
        assert len(expected) == 5
        found = _walk(state.database, listed, direction + sort, containing="lamp")
        assert [each.url for each in found] == expected
        exported = listed.each(state.database, sort=direction + sort, containing="lamp")
        assert [each.url for each in exported] == expected
        rows = list(listed.export(state.database, sort=direction + sort, containing="lamp"))
        assert [each.url for each in rows if each is not None] == expected
        if looked_at == 1:  # one row a batch: a reader can leave after each, also where none is found
            assert rows.count(None) >= len(everything) - 1
            assert set(listed.export(state.database, sort=direction + sort, containing="desk")) == {None}
    assert [job.url for job in _walk(state.database, JOBS, "created_at", containing="lamp", status="done")]
    assert _walk(state.database, RESULTS, "-created_at", containing="lamp") == []
    assert len(_walk(state.database, POLICIES, "next_run_at", schedule="fixed")) == 9
    assert _walk(state.database, POLICIES, "next_run_at", schedule="adaptive", containing="lamp") == []


def test_no_page_reads_past_rows_that_it_does_not_show(state: State) -> None:
    """With 3,000 jobs, results and policies, every list that a page offers is read from an index."""
    _fill(state)
    policy = POLICIES.page(state.database, limit=1).items[0]
    lists: list[tuple[ListOf[Any], str, dict[str, Any]]] = [
        *((JOBS, sort, {}) for sort in ("-created_at", "created_at", "-priority", "priority")),
        (JOBS, "-created_at", {"status": "locked"}),
        (JOBS, "-priority", {"status": "expired"}),
        (JOBS, "-created_at", {"domain": "rare.example"}),
        (JOBS, "-created_at", {"policy_id": policy.id}),
        (JOBS, "not_before", {"delayed": True}),
        (JOBS, "-locked_at", {"bot_id": "bot-1"}),
        (POLICIES, "next_run_at", {"enabled": False}),
        (POLICIES, "-priority", {}),
        (POLICIES, "next_run_at", {"priority": 7}),
        (POLICIES, "-failure_count", {"failing": True}),
        (RESULTS, "-created_at", {}),
        (RESULTS, "-created_at", {"currency": "CHF"}),
        (RESULTS, "-created_at", {"in_stock": False}),
        (RESULTS, "-crawled_at", {"policy_id": policy.id}),
    ]
    for listed, sort, wanted in lists:
        first = listed.page(state.database, sort=sort, limit=2, **wanted)
        for plan in _plans(state, listed, sort, first.cursor, **wanted):
            for table in ("crawl_jobs", "crawl_policies", "crawl_results"):
                assert f"Seq Scan on {table}" not in plan, (sort, wanted, plan)
                assert f"SCAN {table} |" not in plan, (sort, wanted, plan)
                assert not plan.startswith(f"SCAN {table}\n"), (sort, wanted, plan)


def test_results_of_a_url_are_found_through_their_jobs(state: State) -> None:
    _fill(state)
    address = "https://crowded.example/7"
    (result,) = RESULTS.page(state.database, url=address).items
    assert result.url == address
    (plan,) = _plans(state, RESULTS, "-created_at", None, url=address)
    assert "idx_crawl_jobs_url" in plan, plan


def _plans(state: State, listed: ListOf[Any], sort: str, cursor: str | None, **wanted: Any) -> list[str]:
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        asked.append((statement, parameters))

    event.listen(state.database.engine, "before_cursor_execute", note)
    try:
        listed.page(state.database, sort=sort, limit=2, cursor=cursor, **wanted)
    finally:
        event.remove(state.database.engine, "before_cursor_execute", note)
    is_native = state.database.engine.dialect.name == "postgresql"
    found = []
    with state.database.read() as connection:
        if is_native:  # 3,000 rows are so few that it would rather read them all
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        for statement, parameters in asked:
            if not statement.startswith("SELECT"):
                continue
            rows = connection.exec_driver_sql(
                ("EXPLAIN " if is_native else "EXPLAIN QUERY PLAN ") + statement, parameters
            )
            # SQLite says "SCAN crawl_jobs" for the whole table, "… USING INDEX" for the front of an index.
            lines = [str(row[-1]) for row in rows]
            found.append("\n".join(line if " USING " in line else f"{line} |" for line in lines))
    return found


def _fill(state: State) -> None:
    series = (
        "SELECT n FROM generate_series(1, 3000) AS n"
        if state.database.engine.dialect.name == "postgresql"
        else "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 3000) SELECT n FROM s"
    )
    host_of(state, "crowded.example")
    host_of(state, "rare.example")
    with state.database.write() as connection:
        host = "(SELECT id FROM domains WHERE domain = '{}')"
        for statement in (
            "INSERT INTO crawl_policies (url, domain_id, priority, enabled) "
            f"SELECT 'https://crowded.example/' || n, {host.format('crowded.example')}, 5, true FROM ({series}) AS s",
            "INSERT INTO crawl_jobs (url, domain_id, priority) "
            f"SELECT 'https://crowded.example/' || n, {host.format('crowded.example')}, n % 9 FROM ({series}) AS s",
            "INSERT INTO crawl_results (job_id, url, currency, in_stock) SELECT id, url, 'EUR', true FROM crawl_jobs",
            f"INSERT INTO crawl_jobs (url, domain_id) VALUES ('https://rare.example/1', {host.format('rare.example')})",
            "ANALYZE",
        ):
            connection.execute(text(statement))


def test_counts_stop_at_their_bound(state: State) -> None:
    for number in range(3):
        put_job(state, f"https://shop.example/{number}", JobStatus.FAILED, finished_at=state.clock.now())
    now = state.clock.now()
    put_job(state, "https://shop.example/x", created_at=now, not_before=now + timedelta(hours=1))
    glance = queue_glance(state.database, state.clock)
    assert glance.jobs == {"pending": 1, "locked": 0, "done": 0, "failed": 3, "expired": 0, "delayed": 1}
    assert glance.failed_24h == 3
    assert glance.oldest_pending_at == now


def test_operators_can_act_on_a_job_that_was_inserted_in_sql_and_has_no_host_yet(state: State) -> None:
    with state.database.write() as connection:
        statement = insert(crawl_policies).values(url="https://shop.example/1").returning(crawl_policies.c.id)
        policy = connection.execute(statement).scalar_one()
        statement = insert(crawl_jobs).values(url="https://shop.example/1", policy_id=policy)
        job = connection.execute(statement.returning(crawl_jobs.c.id)).scalar_one()
    for action in (JobAction.MARK_EXPIRED, JobAction.MARK_PENDING):
        assert act_on_jobs(state.database, state.clock, action, [job]).changed == 1
    for each in (PolicyAction.RUN_NOW, PolicyAction.DISABLE, PolicyAction.ENABLE, PolicyAction.DELETE):
        assert act_on_policies(state.database, state.clock, each, [policy]).changed == 1


def test_priorities_are_set_in_bulk_but_not_of_what_is_finished(state: State) -> None:
    waiting = put_job(state, "https://shop.example/1")
    done = put_job(state, "https://shop.example/2", JobStatus.DONE)
    report = act_on_jobs(state.database, state.clock, JobAction.SET_PRIORITY, [waiting, done], priority=9)
    assert [(item.changed, item.reason) for item in report.items] == [(True, None), (False, "it is done")]
    assert find_job(state.database, waiting).priority == 9
    with state.database.write() as connection:
        statement = insert(crawl_policies).values(url="https://shop.example/3").returning(crawl_policies.c.id)
        policy = connection.execute(statement).scalar_one()
    report = act_on_policies(state.database, state.clock, PolicyAction.SET_PRIORITY, [policy], priority=2)
    assert report.changed == 1
    assert find_policy(state.database, str(policy)).priority == 2
    again = act_on_policies(state.database, state.clock, PolicyAction.SET_PRIORITY, [policy], priority=2)
    assert again.items[0].reason == "its priority is 2 already"
