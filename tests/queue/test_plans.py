"""A pull reads the front of two indexes: hosts that are due to be looked at, and the best jobs of each."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from comity.database import bulk
from comity.database.connection import Database
from comity.database.queue import jobs
from comity.database.queue.bots import PullCount
from comity.database.queue.jobs import JobLock
from comity.database.queue.reservations import Hold
from tests.queue.service import Service

Asked = list[tuple[str, Any]]


class NotingDriver:
    """The driver's connection; notes the statements that it is asked itself."""

    def __init__(self, driver: Any, asked: Asked) -> None:
        self._driver = driver
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def execute(self, statement: str, values: Any) -> Any:
        """Note a statement, and run it."""
        self._asked.append((statement, values))
        return self._driver.execute(statement, values)


def note_statements(monkeypatch: pytest.MonkeyPatch, connection: Connection) -> Asked:
    """The statements of a connection from now on."""
    asked: Asked = []
    driver_of = bulk._driver
    monkeypatch.setattr(bulk, "_driver", lambda each: NotingDriver(driver_of(each), asked))

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        asked.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    return asked


def test_a_pull_reads_past_no_host_and_no_job(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """One host that is parked has most of the jobs; neither it nor they are read."""
    database = service.state.database
    is_native = database.engine.dialect.name == "postgresql"
    service.job("https://crowded.example/0")
    service.job("https://shop.example/1")
    series = (
        "SELECT n FROM generate_series(1, 5000) AS n"
        if is_native
        else "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5000) SELECT n FROM s"
    )
    with database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO crawl_jobs (domain_id, url, priority)"  # our own words
                f" SELECT d.id, 'https://crowded.example/' || s.n, 9 FROM domains AS d, ({series}) AS s"
                " WHERE d.domain = 'crowded.example'"
            )
        )
        connection.execute(text("UPDATE domains SET queue_ready_at = NULL WHERE domain = 'crowded.example'"))
        connection.execute(text("ANALYZE"))
    now = service.state.clock.seconds()
    with database.write() as connection:
        asked = note_statements(monkeypatch, connection)
        (host,) = jobs.ready_hosts(connection, now, 100)
        rows, fronts = jobs.take_front(connection, [host.id], 10)
    seen: list[str] = []
    with database.read() as connection:
        for statement, parameters in asked:
            words = "EXPLAIN " if is_native else "EXPLAIN QUERY PLAN "
            found = connection.exec_driver_sql(words + statement, parameters)
            seen.append(" ".join(str(row[-1]) for row in found))
    assert [row.host for row in rows] == ["shop.example"]
    assert [job.url for job in fronts[host.id]] == ["https://shop.example/1"]
    of_jobs = [plan for (statement, _), plan in zip(asked, seen, strict=True) if "crawl_jobs" in statement]
    assert len(of_jobs) == 2
    for plan in of_jobs:
        assert "idx_crawl_jobs_host" in plan, plan
        assert "Seq Scan on crawl_jobs" not in plan
        assert "SCAN crawl_jobs" not in plan


def test_a_pull_reads_past_no_job_on_a_server_without_statistics(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after an import, the planner guesses: no statement of a pull may then find jobs by their status alone."""
    with shared_database.write() as connection:
        run = connection.exec_driver_sql
        run("INSERT INTO domains (domain) SELECT 'h' || n || '.example' FROM generate_series(1, 500) AS n")
        run(
            "INSERT INTO crawl_jobs (domain_id, url) SELECT d.id, 'https://' || d.domain || '/' || n "
            "FROM domains AS d, generate_series(1, 40) AS n"
        )
        run("UPDATE domains SET queue_ready_at = now()")
    now = time.time()
    with shared_database.write() as connection:
        hosts = jobs.ready_hosts(connection, now + 1, 2)
        rows, fronts = jobs.take_front(connection, [host.id for host in hosts], 5)
        asked = note_statements(monkeypatch, connection)
        jobs.wake(connection, now, 500)
        holds = [Hold(row, now + 600, row.memory, now, 5) for row in rows]
        locks = [
            JobLock(job.id, now + 600, now, now + 1, "{}", row.token + 1) for row in rows for job in fronts[row.id]
        ]
        count = PullCount("bot-1", now, len(locks), now, len(locks), False)
        assert jobs.hand_out(connection, holds, locks, count, "bot:bot-1") == len(locks) == 10
    with shared_database.read() as connection:
        plans = {
            statement.split()[0]: "\n".join(
                row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", values)
            )
            for statement, values in asked
            if "crawl_jobs" in statement
        }
    assert set(plans) == {"UPDATE", "WITH"}
    assert "idx_crawl_jobs_parked" in plans["UPDATE"]
    assert "pk_crawl_jobs" in plans["WITH"]
    for plan in plans.values():
        for index in ("idx_crawl_jobs_pull", "idx_crawl_jobs_host", "uq_crawl_jobs_open", "Seq Scan on crawl_jobs"):
            assert index not in plan, plan
