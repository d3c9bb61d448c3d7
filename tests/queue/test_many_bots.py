"""Many bots in several processes, some of them killed: no job in two hands, none lost, every interval kept."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.database.queue.tables import crawl_job_moves, crawl_jobs, crawl_results
from comity.database.tables import domains, robots_cache
from comity.reports.politeness import verify_politeness
from comity.walk.bots.locks import Locks
from comity.walk.bots.threads import BotThreads
from tests.queue.bots import DELAY_S, PROFILE, are_all_done, start_bots
from tests.servers.waiting import wait_until
from tests.sizes import sized

LOCK_TTL_S = sized(5, 30)  # 90 submits of a process may wait for its two connections


def fill(database: Database, hosts: int, jobs: int) -> None:
    """Hosts with their robots.txt, and jobs spread over them."""
    now = datetime.now(UTC)
    names = [f"h{number}.example" for number in range(hosts)]
    with database.write() as connection:
        rows = [{"domain": name, "parent_domain": name, "is_seeded": False, "queue_ready_at": now} for name in names]
        connection.execute(insert(domains), rows)
        ids = {row.domain: row.id for row in connection.execute(select(domains.c.domain, domains.c.id))}
        known = {"access": "allow_all", "http_status": 404, "fetched_at": now, "expires_at": now + timedelta(hours=12)}
        connection.execute(
            insert(robots_cache), [{"origin": f"https://{name}", "host": name} | known for name in names]
        )
        made = [
            {"domain_id": ids[names[number % hosts]], "url": f"https://{names[number % hosts]}/{number}"}
            for number in range(jobs)
        ]
        for start in range(0, jobs, 5000):
            connection.execute(
                insert(crawl_jobs), [row | {"lock_ttl_seconds": LOCK_TTL_S} for row in made[start : start + 5000]]
            )


class Log:
    """What the bots wrote, of all processes."""

    def __init__(self, paths: list[Path]) -> None:
        self.requests: dict[str, list[float]] = defaultdict(list)
        self.done: Counter[str] = Counter()
        for path in paths:
            for line in path.read_text().splitlines():
                kind, *words = line.split(" ")
                if kind == "request":
                    self.requests[words[0]].append(float(words[1]))
                elif kind == "done":
                    self.done[words[0]] += 1


def check(database: Database, log: Log, jobs: int) -> None:
    """Every job is done once, by a history in which it was never in two hands, and no request came too soon."""
    with database.read() as connection:
        statuses = connection.execute(select(crawl_jobs.c.status, func.count()).group_by(crawl_jobs.c.status)).all()
        results = {str(found) for found in connection.execute(select(crawl_results.c.job_id)).scalars()}
        column = crawl_job_moves.c
        moves = connection.execute(select(column.job_id, column.before, column.after).order_by(column.id)).all()
        held = connection.execute(select(domains.c.domain).where(domains.c.claimed_by.is_not(None))).all()
    assert [tuple(row) for row in statuses] == [("done", jobs)]
    assert len(results) == jobs
    # Nothing that was acknowledged is lost, nor done twice.
    assert set(log.done) <= results
    assert set(log.done.values()) <= {1}
    last: dict[object, str] = {}
    for job_id, before, after in moves:
        assert last.get(job_id, "pending") == before
        last[job_id] = after
    assert set(last.values()) == {"done"}
    assert held == []
    for host, starts in log.requests.items():
        for earlier, later in pairwise(sorted(starts)):
            assert later - earlier >= DELAY_S - 0.001, (host, earlier, later)
    audits = list(verify_politeness(database))
    assert [violation for audit in audits for violation in audit.violations] == []


def sweep_until_done(database: Database, within_s: float) -> None:
    """Do what the sweeper does, until every job is done and no host is held."""
    threads = BotThreads(1)
    locks = Locks(database, SystemClock(), threads, PROFILE)

    def is_done() -> bool:
        locks.expire()
        if not are_all_done(database):
            return False
        with database.read() as connection:
            held = select(func.count()).where(domains.c.claimed_by.is_not(None))
            return connection.execute(held).scalar() == 0

    wait_until(is_done, within_s, "every job is done", longest_pause_seconds=0.5)
    threads.close()


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def requests_in(path: Path) -> int:
    return path.read_text().count("request") if path.exists() else 0


def test_120_bots_share_the_jobs_of_many_hosts_while_some_are_killed(shared_database: Database, tmp_path: Path) -> None:
    """One of the four processes is killed with its 30 bots, and so are two bots of each of the others."""
    jobs, hosts, within_s = sized((300, 60, 120.0), (50_000, 500, 3600.0))
    fill(shared_database, hosts, jobs)
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    ends_at = time.time() + within_s
    url = url_of(shared_database)
    processes = [
        start_bots(url, str(log), 30 * number, 30, ends_at, dying=2 if number else 0) for number, log in enumerate(logs)
    ]
    try:
        wait_until(lambda: requests_in(logs[0]) >= jobs // 40, within_s, "the first process works")
        processes[0].kill()
        sweep_until_done(shared_database, within_s)
        for process in processes[1:]:
            process.join(60)
            assert process.exitcode == 0
    finally:
        for process in processes:
            process.kill()
            process.join(60)
    check(shared_database, Log(logs), jobs)


@pytest.mark.parametrize("kind", ["embedded_database", "shared_database"])
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A process with five bots is killed twice in the middle of pulls and submits, and started again."""
    database: Database = request.getfixturevalue(kind)
    jobs = 60
    fill(database, 10, jobs)
    logs = [tmp_path / f"{number}.log" for number in range(3)]
    ends_at = time.time() + 120.0
    for number, log in enumerate(logs):
        process = start_bots(url_of(database), str(log), 10 * number, 5, ends_at)
        try:
            if number < 2:
                wait_until(lambda log=log: requests_in(log) >= 8, 60, "the process works")  # type: ignore[misc]
            else:
                sweep_until_done(database, 120.0)
                process.join(60)
                assert process.exitcode == 0
        finally:
            process.kill()
            process.join(60)
    check(database, Log(logs), jobs)
