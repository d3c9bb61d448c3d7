"""Due policies become jobs, one at a time; locks end at their TTL; lost hints are found again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from comity.database.ledger import ledger_notes
from comity.database.queue.tables import bots, crawl_jobs, crawl_policies
from comity.database.tables import domains
from comity.model.queue import BotError
from comity.upkeep import sweep_queue
from comity.upkeep.sweep_queue import QueueSweeper, Swept, make_due_jobs
from comity.walk.bots.locks import MOST_EXPIRIES
from tests.database.states import State
from tests.queue.queued import host_of, job_row, moves_of
from tests.queue.service import Service


def make(service: Service) -> int:
    return make_due_jobs(service.state.database, service.state.clock)


def sweeper(service: Service) -> QueueSweeper:
    return QueueSweeper(service.state.database, service.state.clock, service.locks, every_s=0.1)


def policy_row(service: Service) -> dict[str, Any]:
    with service.state.database.read() as connection:
        return dict(connection.execute(select(crawl_policies)).one()._mapping)


def test_a_due_policy_makes_one_job_that_a_pull_finds(service: Service) -> None:
    state, clock = service.state, service.state.clock
    service.policy(
        frequency_hours=6, priority=4, importance=2.0, max_retries=1, timeout_minutes=3, crawl_config={"a": 1}
    )
    assert (make(service), make(service)) == (1, 0)
    assert policy_row(service)["next_run_at"] == clock.now() + timedelta(hours=6)
    row = state.row("shop.example")
    assert (row["is_seeded"], row["queue_ready_at"]) == (False, clock.now())
    assert policy_row(service)["domain_id"] == row["id"]
    job = service.pull_one("a")
    assert (job.priority, job.max_retries, job.lock_ttl_s, job.crawl_config) == (8, 1, 180, {"a": 1})
    # While the job is open there is no other; afterwards the policy's own time counts.
    clock.advance(hours=7)
    assert make(service) == 0
    assert policy_row(service)["next_run_at"] == clock.now() + timedelta(hours=6)
    service.locks.expire()
    service.submit("a", service.pull_one("a").job_id)
    clock.advance(hours=6)
    assert make(service) == 1


def test_a_pull_makes_the_jobs_of_policies_that_are_due(state: State) -> None:
    """A new policy need not wait for the sweeper, also if a pull came a moment before, or other hosts have jobs."""
    service = Service(state, makes_jobs=True)
    service.allow("shop.example", "other.example", "third.example")
    try:
        assert not service.pull().jobs
        service.policy("https://shop.example/1")  # as raw SQL leaves it
        assert service.pull_one().url == "https://shop.example/1"
        assert not service.pull().jobs  # one open job of a policy
        service.job("https://other.example/1")
        service.policy("https://third.example/1", priority=9)
        state.clock.advance(seconds=2)
        assert {job.url for job in service.pull("b").jobs} == {"https://other.example/1", "https://third.example/1"}
        service.policy("https://shop.example/2", enabled=False)
        assert not service.pull("c").jobs
    finally:
        service.threads.close()


def test_a_policy_of_hand_written_sql_is_like_any_other(service: Service) -> None:
    """An id with hyphens or capitals, and times without fractions, as people write them (S3)."""
    policy_id = UUID("0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f")
    database = service.state.database
    columns = "id, url, frequency_hours, priority, max_retries, retry_backoff_minutes, timeout_minutes, next_run_at"
    values = f"'{str(policy_id).upper()}', 'https://shop.example/1', 24, 10, 3, 5, 10, '2020-01-01 00:00:00'"
    with database.write() as connection:
        connection.exec_driver_sql(f"INSERT INTO crawl_policies ({columns}, crawl_config) VALUES ({values}, '{{}}')")
    assert make(service) == 1
    job = service.pull_one("a")
    assert job_row(service.state, job.job_id)["policy_id"] == policy_id
    assert service.submit("a", job.job_id, price=Decimal(1))["policy_next_run"] is not None
    with pytest.raises(DBAPIError), database.write() as connection:
        connection.exec_driver_sql("UPDATE crawl_policies SET crawl_config = 'not JSON'")


def test_policies_that_are_disabled_or_not_due_make_no_jobs(service: Service) -> None:
    now = service.state.clock.now()
    service.policy("https://shop.example/1", enabled=False)
    service.policy("https://shop.example/2", next_run_at=now + timedelta(seconds=1))
    service.policy("https://shop.example/3", next_run_at=now)
    service.policy("not a url")
    assert make(service) == 1
    with service.state.database.read() as connection:
        assert connection.execute(select(crawl_jobs.c.url)).scalars().all() == ["https://shop.example/3"]


def test_many_due_policies_are_taken_up_in_short_transactions(service: Service, monkeypatch: Any) -> None:
    monkeypatch.setattr(sweep_queue, "POLICIES_AT_A_TIME", 3)
    for number in range(8):
        service.policy(f"https://h{number % 3}.example/{number}")
    assert make(service) == 8
    with service.state.database.read() as connection:
        assert connection.execute(select(func.count(domains.c.queue_ready_at))).scalar() == 3


def test_a_lock_ends_at_its_ttl_and_not_before(service: Service) -> None:
    state, clock = service.state, service.state.clock
    job_id = service.job(lock_ttl_seconds=120)
    service.pull_one("dies")
    clock.advance(seconds=119.5)
    assert service.locks.expire() == 0
    clock.advance(seconds=0.5)
    assert service.locks.expire() == 1
    assert service.locks.expire() == 0
    row = job_row(state, job_id)
    assert (row["status"], row["locked_by"], row["expiry_count"], row["retry_count"]) == ("expired", None, 1, 0)
    assert moves_of(state, job_id)[-1] == ("locked", "expired", "sweeper", "the lock ran out")
    host = state.row("shop.example")
    assert (host["claimed_by"], host["unclean_end_at"], host["queue_ready_at"]) == (None, clock.now(), clock.now())
    with state.database.read() as connection:
        assert "unreported" in connection.execute(select(ledger_notes.c.kind)).scalars().all()
        assert connection.execute(select(bots.c.consecutive_failures)).scalar() == 1
    # The dead bot may have asked until the lease ran out.
    job = service.pull_one("b")
    assert job.slot.not_before == clock.seconds() + 1.0
    assert service.pull("c", domain="shop.example").jobs == ()


def test_a_job_that_ends_every_bot_is_given_up(service: Service) -> None:
    policy_id = service.policy(retry_backoff_minutes=5)
    job_id = service.job(policy_id=policy_id)
    for number in range(MOST_EXPIRIES):
        service.pull_one(f"bot-{number}")
        service.state.clock.advance(seconds=601)
        service.locks.expire()
    row = job_row(service.state, job_id)
    assert (row["status"], row["error_msg"]) == ("failed", f"the lock ran out {MOST_EXPIRIES} times")
    assert policy_row(service)["failure_count"] == 1


def test_a_host_stays_held_while_another_job_of_it_is_open(service: Service) -> None:
    state, clock = service.state, service.state.clock
    service.job("https://shop.example/1", lock_ttl_seconds=60, priority=9)
    service.job("https://shop.example/2", lock_ttl_seconds=600)
    assert len(service.pull("a").jobs) == 2
    clock.advance(seconds=61)
    assert service.locks.expire() == 1
    assert state.row("shop.example")["claimed_by"] == "bot:a"
    clock.advance(seconds=540)
    assert service.locks.expire() == 1
    assert state.row("shop.example")["claimed_by"] is None


def test_a_lock_that_was_taken_in_sql_ends_too(service: Service) -> None:
    job_id = service.job()
    with service.state.database.write() as connection:
        statement = update(crawl_jobs).values(status="locked", locked_by="x", locked_at=service.state.clock.now())
        connection.execute(statement)
    assert service.locks.expire() == 0
    service.state.clock.advance(seconds=600)
    assert service.locks.expire() == 1
    assert service.pull_one("b").job_id == job_id


@pytest.mark.parametrize(
    "columns",
    [
        "locked_at = '{0:%Y-%m-%d %H:%M:%S}'",
        "locked_at = '{0:%Y-%m-%dT%H:%M:%S}Z'",
        "locked_at = '{0:%Y-%m-%d %H:%M:%S}.250'",
        "lock_ttl_seconds = 1",
    ],
)
def test_a_lock_follows_the_columns_of_s3_that_were_changed_in_sql(service: Service, columns: str) -> None:
    """`locked_at` and `lock_ttl_seconds` say when a lock ends, also where someone else writes them."""
    clock = service.state.clock
    first, second = service.job(), service.job("https://shop.example/2")
    assert len(service.pull("bot").jobs) == 2
    clock.advance(seconds=5)
    with service.state.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE crawl_jobs SET {columns.format(clock.now() - timedelta(seconds=900))}")
    assert service.refusal("bot", first)[0] is BotError.LOCK_EXPIRED
    assert service.locks.expire() == 2
    assert job_row(service.state, second)["status"] == "expired"


def test_a_lock_that_was_moved_in_sql_can_be_kept_and_submitted(service: Service) -> None:
    job_id, clock = service.job(), service.state.clock
    service.pull_one("bot")
    with service.state.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE crawl_jobs SET locked_at = '{clock.now():%Y-%m-%d %H:%M:%S}'")
    assert [each for each, _ in service.heartbeat("bot", job_id).kept] == [job_id]
    assert service.submit("bot", job_id)["status"] == "done"


def test_jobs_inserted_in_sql_are_found(service: Service) -> None:
    state = service.state
    assert sweeper(service).sweep() == Swept()
    host_id = host_of(state, "shop.example")
    with state.database.write() as connection:
        connection.execute(insert(crawl_jobs).values(domain_id=host_id, url="https://shop.example/1"))
    assert service.pull().jobs == ()
    assert sweeper(service).sweep().found == 1
    assert sweeper(service).sweep().found == 0
    assert len(service.pull().jobs) == 1


def test_lost_hosts_are_looked_for_a_part_at_a_time(service: Service, monkeypatch: Any) -> None:
    monkeypatch.setattr("comity.upkeep.sweep_queue._BATCH", 2)
    for number in range(5):
        service.job(f"https://h{number}.example/1")
        service.job(f"https://h{number}.example/2")
    with service.state.database.write() as connection:
        connection.execute(update(domains).values(queue_ready_at=None))
    swept = sweeper(service)
    assert [swept.sweep().found for _ in range(4)] == [2, 2, 1, 0]


def test_a_job_that_waits_grows_in_priority(service: Service) -> None:
    clock = service.state.clock
    service.policy(priority=5)
    make(service)
    swept = sweeper(service)
    assert swept.sweep().aged == 0
    for hours, priority in ((1, 6), (1, 7), (2, 8)):
        clock.advance(hours=hours)
        assert swept.sweep().aged == 1
        with service.state.database.read() as connection:
            assert connection.execute(select(crawl_jobs.c.priority)).scalar() == priority


def test_the_sweeper_serves_until_it_is_stopped(service: Service) -> None:
    service.policy()

    async def serve() -> None:
        stopping, swept = asyncio.Event(), sweeper(service)
        loop, sweep = asyncio.get_running_loop(), swept.sweep

        def stop_after_one() -> Swept:
            found = sweep()
            loop.call_soon_threadsafe(stopping.set)
            return found

        swept.sweep = stop_after_one  # type: ignore[method-assign]
        async with asyncio.timeout(60):
            await swept.serve(stopping)

    asyncio.run(serve())
    assert len(service.pull().jobs) == 1


def test_jobs_of_hand_written_sql_need_no_host(state: State) -> None:
    """S3's table has no column for it; a URL that is none is parked with the reason."""
    service = Service(state, makes_jobs=True)
    service.allow("shop.example")
    good, bad = uuid4(), uuid4()
    with state.database.write() as connection:
        for job_id, url in ((good, "https://SHOP.example:443/1"), (bad, "mailto:me")):
            statement = "INSERT INTO crawl_jobs (id, url, status, priority) VALUES (:id, :url, 'pending', 7)"
            connection.execute(text(statement), {"id": job_id.hex, "url": url})
    (job,) = service.pull().jobs
    assert (job.job_id, job.host, job.priority) == (good, "shop.example", 7)
    assert service.submit("bot-1", good)["status"] == "done"
    row = job_row(state, bad)
    assert (row["status"], row["error_msg"], row["domain_id"]) == ("pending", "not a web address", None)
    state.clock.advance(days=2)
    assert service.pull().jobs == ()
    service.threads.close()
