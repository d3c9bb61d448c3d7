"""A pull reads the front of two indexes: hosts that are due to be looked at, and the best jobs of each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event, text

from comity.database.queue import jobs
from tests.queue.service import Service


def test_a_pull_reads_past_no_host_and_no_job(service: Service) -> None:
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
    asked: list[tuple[str, Any]] = []
    now = service.state.clock.seconds()

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        asked.append((statement, parameters))

    with database.write() as connection:
        event.listen(connection, "before_cursor_execute", note)
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
