"""A submit changes everything that follows in one transaction, and is answered with S3's codes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, insert, select, update

from comity.database import takedowns as takedowns_table
from comity.database.ledger import ledger_notes
from comity.database.queue.tables import (
    bots,
    crawl_job_moves,
    crawl_policies,
    crawl_results,
    late_submissions,
    webhook_deliveries,
    webhooks,
)
from comity.database.tables import evidence, politeness_ledger
from comity.model.queue import BotError, WebhookEvent
from comity.operate.bots import get_bot
from comity.upkeep.sweep_queue import make_due_jobs
from tests.queue.queued import job_row, moves_of
from tests.queue.service import Service, unpacked

RESULT = {
    "price": Decimal("99.90"),
    "currency": "USD",
    "title": "Product",
    "in_stock": True,
    "parsed_data": {"a": [1, "ü"]},
    "raw_html": "<html>" + "ü" * 1000,
    "http_status": 200,
}


def rows(service: Service, table: Any) -> list[dict[str, Any]]:
    with service.state.database.read() as connection:
        return [dict(row._mapping) for row in connection.execute(select(table))]


def of_policy(service: Service, **columns: Any) -> tuple[UUID, UUID]:
    """A policy and its job."""
    policy_id = service.policy(**columns)
    return policy_id, service.job(policy_id=policy_id)


def test_a_result_is_stored_and_its_policy_scheduled(service: Service) -> None:
    policy_id, job_id = of_policy(service, frequency_hours=6, failure_count=2)
    now = service.state.clock.now()
    service.pull_one("a")
    service.state.clock.advance(seconds=3)
    answer = service.submit("a", job_id, **RESULT)
    ended = now + timedelta(seconds=3)
    (result,) = rows(service, crawl_results)
    assert answer == {
        "result_id": result["id"],
        "job_id": job_id,
        "status": "done",
        "price": Decimal("99.90"),
        "currency": "USD",
        "policy_next_run": ended + timedelta(hours=6),
    }
    assert str(answer["price"]) == "99.90"
    assert (result["job_id"], result["policy_id"], result["bot_id"]) == (job_id, policy_id, "a")
    assert (result["price"], result["in_stock"], result["parsed_data"]) == (Decimal("99.9"), True, {"a": [1, "ü"]})
    assert result["raw_html_bytes"] == 2006
    assert len(result["raw_html"]) < 200
    assert unpacked(result["raw_html"]) == RESULT["raw_html"]
    (policy,) = rows(service, crawl_policies)
    assert (policy["next_run_at"], policy["failure_count"]) == (ended + timedelta(hours=6), 0)
    assert policy["last_success_at"] == ended
    assert (policy["last_price"], policy["last_currency"], policy["last_in_stock"]) == (Decimal("99.9"), "USD", True)
    job = job_row(service.state, job_id)
    assert (job["status"], job["locked_by"], job["finished_at"]) == ("done", None, ended)
    assert moves_of(service.state, job_id)[1:] == [("locked", "done", "bot:a", "submitted")]
    host = service.state.row("shop.example")
    assert (host["claimed_by"], host["unclean_end_at"], host["queue_ready_at"]) == (None, None, None)
    assert rows(service, bots)[0]["jobs_done"] == 1


def test_the_request_is_in_the_ledger_with_its_slot(service: Service) -> None:
    job_id = service.job()
    job = service.pull_one("a")
    service.state.clock.advance(seconds=5)
    service.submit("a", job_id, started_at=job.slot.not_before + 0.25, **RESULT)
    (entry,) = rows(service, politeness_ledger)
    assert (entry["purpose"], entry["url"], entry["status"]) == ("job", "https://shop.example/1", 200)
    assert (entry["lease_token"], entry["request_number"]) == (1, 1)
    assert entry["started_at"].timestamp() == job.slot.not_before + 0.25
    assert (entry["delay_s"], entry["delay_source"]) == (1.0, "door")


def test_the_next_slot_follows_the_reported_start(service: Service) -> None:
    first, _second = service.job("https://shop.example/1"), service.job("https://shop.example/2")
    job = service.pull_one("a")
    service.state.clock.advance(seconds=0.5)
    service.submit("a", job.job_id, started_at=job.slot.not_before)
    assert job.job_id == first
    assert service.pull_one("b").slot.not_before == job.slot.not_before + 1.0


def test_the_same_again_is_answered_the_same_and_changes_nothing(service: Service) -> None:
    _, job_id = of_policy(service)
    service.pull_one("a")
    answer = service.submit("a", job_id, **RESULT)
    tables = (crawl_results, crawl_policies, politeness_ledger, bots, crawl_job_moves)
    state = [rows(service, table) for table in tables]
    service.state.clock.advance(hours=1)
    assert service.submit("a", job_id, **(RESULT | {"price": Decimal("99.9")})) == answer
    assert state == [rows(service, table) for table in tables]
    code, refused = service.refusal("a", job_id, **(RESULT | {"title": "Another"}))
    assert code is BotError.JOB_NOT_LOCKED
    assert "different content" in refused.message
    assert service.refusal("b", job_id, **RESULT)[0] is BotError.JOB_NOT_LOCKED


def test_a_failure_is_retried_with_a_back_off_and_then_given_up(service: Service) -> None:
    _, job_id = of_policy(service, max_retries=2, retry_backoff_minutes=5)
    clock = service.state.clock
    with service.state.database.write() as connection:
        connection.execute(update(crawl_policies).values(next_run_at=clock.now() + timedelta(days=1)))
    service_job = {"max_retries": 2}
    with service.state.database.write() as connection:
        connection.exec_driver_sql("UPDATE crawl_jobs SET max_retries = 2")
    for count, minutes in ((1, 5), (2, 10)):
        service.pull_one("a")
        answer = service.submit("a", job_id, success=False, error_msg="Timeout: page did not load")
        assert answer == {
            "job_id": job_id,
            "status": "pending",
            "retry_count": count,
            "max_retries": service_job["max_retries"],
            "not_before": clock.now() + timedelta(minutes=minutes),
            "message": "Job marked for retry",
        }
        assert service.submit("a", job_id, success=False, error_msg="Timeout: page did not load") == answer
        assert service.pull("b", domain="shop.example").jobs == ()
        clock.advance(minutes=minutes)
    service.pull_one("a")
    answer = service.submit("a", job_id, success=False, error_msg="gone")
    assert (answer["status"], answer["retry_count"]) == ("failed", 2)
    (policy,) = rows(service, crawl_policies)
    assert policy["next_run_at"] == answer["policy_next_run"] == clock.now() + timedelta(minutes=20)
    assert (policy["failure_count"], policy["last_failed_at"]) == (1, clock.now())
    assert job_row(service.state, job_id)["error_msg"] == "gone"


@pytest.mark.parametrize(("status", "retry_after", "blocked_s"), [(429, 120.0, 120.0), (503, None, 1.0)])
def test_a_refusal_of_the_site_blocks_the_host_for_everyone(
    service: Service, status: int, retry_after: float | None, blocked_s: float
) -> None:
    job_id = service.job()
    service.job("https://shop.example/2")
    service.pull_one("a")
    service.state.clock.advance(seconds=1)
    service.submit("a", job_id, success=False, http_status=status, retry_after_s=retry_after)
    host = service.state.row("shop.example")
    assert host["blocked_until"] == service.state.clock.now() + timedelta(seconds=blocked_s)
    (lease,) = service.state.leases().take(["shop.example"])
    assert lease.memory.blocked_until == service.state.clock.seconds() + blocked_s
    (entry,) = rows(service, politeness_ledger)
    assert (entry["status"], entry["retry_after_s"]) == (status, retry_after)
    assert entry["blocked_until"] == host["blocked_until"]


def test_a_job_that_is_not_there_or_not_locked_or_of_another_bot_is_refused(service: Service) -> None:
    code, refused = service.refusal("a", uuid4())
    assert code is BotError.JOB_NOT_FOUND
    job_id = service.job()
    assert service.refusal("a", job_id)[0] is BotError.JOB_NOT_LOCKED
    service.pull_one("a")
    code, refused = service.refusal("b", job_id)
    assert code is BotError.NOT_ASSIGNED
    assert refused.details == {"job_id": str(job_id), "status": "locked"}
    assert rows(service, late_submissions) == []


def test_a_late_submit_is_refused_and_its_data_kept_once(service: Service) -> None:
    job_id = service.job()
    locked_at = service.state.clock.now()
    service.pull_one("a")
    service.state.clock.advance(seconds=605)
    code, refused = service.refusal("a", job_id, **RESULT)
    assert code is BotError.LOCK_EXPIRED
    assert refused.message == "Job lock expired 5 seconds ago. Pull job again to re-acquire lock."
    assert refused.details == {
        "job_id": str(job_id),
        "locked_at": f"{locked_at:%Y-%m-%dT%H:%M:%SZ}",
        "lock_ttl": 600,
        "current_time": f"{service.state.clock.now():%Y-%m-%dT%H:%M:%SZ}",
    }
    # The same once the sweeper has been there, another bot has it, and it is done.
    service.locks.expire()
    assert service.refusal("a", job_id, **RESULT)[0] is BotError.LOCK_EXPIRED
    assert service.pull_one("b").job_id == job_id
    assert service.refusal("a", job_id, **RESULT)[0] is BotError.LOCK_EXPIRED
    service.submit("b", job_id, **RESULT)
    assert service.refusal("a", job_id, **(RESULT | {"title": "Other"}))[0] is BotError.LOCK_EXPIRED
    kept = rows(service, late_submissions)
    assert [(row["bot_id"], row["content"]["title"]) for row in kept] == [("a", "Product"), ("a", "Other")]
    assert kept[0]["content"]["price"] == "99.90"
    assert unpacked(kept[0]["raw_html"]) == RESULT["raw_html"]
    assert len(rows(service, crawl_results)) == 1


def test_a_bot_that_fails_in_a_row_is_quarantined_and_a_site_parked(service: Service) -> None:
    """The breakers of these tests open after 4 failures of a bot and 3 of a site."""
    service.allow(*(f"h{number}.example" for number in range(8)))
    for number in range(8):
        service.job(f"https://h{number}.example/")
    for _ in range(3):
        service.submit("bad", service.pull_one("bad").job_id, success=False)
    service.submit("bad", service.pull_one("bad").job_id)
    for _ in range(4):
        service.submit("bad", service.pull_one("bad").job_id, success=False)
    (bot,) = rows(service, bots)
    until = service.state.clock.now() + timedelta(minutes=30)
    assert (bot["status"], bot["quarantined_until"], bot["jobs_failed"], bot["jobs_done"]) == (
        "quarantined",
        until,
        7,
        1,
    )
    assert service.pull("bad").retry_after_s == 1800.0
    for number in range(4):
        service.job(f"https://shop.example/{number}")
    for _ in range(3):
        service.submit("good", service.pull_one("good", "shop.example").job_id, success=False)
        service.state.clock.advance(seconds=2)
    host = service.state.row("shop.example")
    assert host["queue_failures"] == 3
    assert host["queue_parked_until"] == service.state.clock.now() + timedelta(minutes=15, seconds=-2)
    assert service.pull("good", domain="shop.example").skipped == {"parked": 1}


def test_webhooks_are_called_for_what_they_want(service: Service) -> None:
    events = [str(event) for event in WebhookEvent]
    with service.state.database.write() as connection:
        connection.execute(insert(webhooks).values(url="https://hook.example/", secret="x", events=events))
        connection.execute(
            insert(webhooks).values(url="https://off.example/", secret="x", events=events, enabled=False)
        )
        connection.execute(insert(webhooks).values(url="https://other.example/", secret="x", events=["job.failed"]))
    policy_id, job_id = of_policy(service, last_price=Decimal("89.9"), last_currency="USD", last_in_stock=False)
    service.pull_one("a")
    service.submit("a", job_id, **RESULT)
    found = {row["event"]: row["payload"] for row in rows(service, webhook_deliveries)}
    assert set(found) == {"job.done", "price.changed", "stock.back"}
    assert found["price.changed"]["former_price"] == "89.90"
    assert found["price.changed"]["policy_id"] == str(policy_id)
    assert len(rows(service, webhook_deliveries)) == 3


def test_a_failed_submit_leaves_no_trace(service: Service) -> None:
    """What breaks half-way is rolled back with the rest."""
    job_id = service.job()
    service.pull_one("a")
    before = job_row(service.state, job_id)
    original = service.submitter._count
    service.submitter._count = lambda *_values: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(ZeroDivisionError):
        service.submit("a", job_id, **RESULT)
    assert job_row(service.state, job_id) == before
    assert rows(service, crawl_results) == rows(service, politeness_ledger) == []
    service.submitter._count = original  # type: ignore[method-assign]
    assert service.submit("a", job_id, **RESULT)["status"] == "done"


def test_heartbeats_keep_locks_and_hosts_within_bounds(service: Service) -> None:
    state = service.state
    job_id = service.job()
    service.pull_one("a")
    for _ in range(6):
        state.clock.advance(seconds=590)
        kept = service.heartbeat("a", job_id)
        assert kept.lost == ()
        assert kept.kept == ((job_id, state.clock.now() + timedelta(seconds=600)),)
    assert state.row("shop.example")["claim_expires_at"] == state.clock.now() + timedelta(seconds=600)
    state.clock.advance(seconds=590)  # an hour after its slot
    assert service.heartbeat("a", job_id).lost == (job_id,)
    assert service.heartbeat("b", job_id, uuid4()).kept == ()
    assert service.submit("a", job_id)["status"] == "done"
    assert [move[1] for move in moves_of(state, job_id)] == ["locked", "done"]


def test_heartbeats_within_a_millisecond_keep_their_microseconds(service: Service) -> None:
    state, job_id = service.state, service.job()
    service.pull_one("a")
    for _ in range(3):
        state.clock.advance(seconds=0.000_125)
        service.heartbeat("a", job_id)
        row = job_row(state, job_id)
        assert row["locked_at"] == state.clock.now()
        assert row["lock_ends_at"] == state.clock.now() + timedelta(seconds=600)
    assert service.submit("a", job_id)["status"] == "done"


def test_every_request_of_a_bot_moves_when_it_was_last_seen(service: Service) -> None:
    state = service.state
    first, second, third = (service.job(f"https://shop.example/{number}") for number in range(3))

    def seen_after(act: Callable[[], object]) -> bool:
        state.clock.advance(seconds=1)
        act()
        return get_bot(state.database, "a").last_seen_at == state.clock.now()

    assert seen_after(lambda: service.pull("a"))
    assert seen_after(lambda: service.heartbeat("a", first))
    assert seen_after(lambda: service.submit("a", first))
    assert seen_after(lambda: service.submit("a", second, success=False, error_msg="it failed"))
    assert seen_after(lambda: service.release("a", third))


def test_a_released_job_is_pulled_again_at_once_and_no_retry_is_counted(service: Service) -> None:
    state = service.state
    ids = [service.job(f"https://shop.example/{number}") for number in range(3)]
    jobs = service.pull("a").jobs
    assert len(jobs) == 3
    state.clock.advance(seconds=0.5)
    released = service.release("a", jobs[2].job_id, jobs[1].job_id, uuid4(), reason="shutting down")
    assert set(released.released) == {jobs[1].job_id, jobs[2].job_id}
    assert len(released.lost) == 1
    row = job_row(state, jobs[1].job_id)
    assert (row["status"], row["retry_count"], row["locked_by"]) == ("pending", 0, None)
    assert moves_of(state, jobs[1].job_id)[-1][2:] == ("bot:a", "released: shutting down")
    assert state.row("shop.example")["claimed_by"] == "bot:a"  # it has one more
    assert service.release("b", jobs[0].job_id).lost == (jobs[0].job_id,)
    service.release("a", jobs[0].job_id)
    assert state.row("shop.example")["claimed_by"] is None
    # The first slot had begun: its request may have been made just now.
    again = service.pull("b").jobs
    assert {job.job_id for job in again} == set(ids)
    assert again[0].slot.not_before == state.clock.seconds() + 1.0
    with state.database.read() as connection:
        counted = connection.execute(select(ledger_notes.c.kind, func.count()).group_by(ledger_notes.c.kind)).all()
    assert dict(map(tuple, counted)) == {"robots": 1, "unused": 3}


def test_nothing_is_stored_of_a_url_that_was_taken_down_meanwhile(service: Service) -> None:
    state = service.state
    service.policy()
    make_due_jobs(state.database, state.clock)
    job = service.pull_one()
    with state.database.write() as connection:
        takedowns_table.add(connection, "shop.example/1", None)
    for _ in range(2):  # repeating it changes nothing
        code, refused = service.refusal("bot-1", job.job_id, title="A lamp", raw_html="<p>secret", http_status=200)
        assert (code, refused.details["takedown"]) == (BotError.TAKEN_DOWN, "shop.example/1")
    row = job_row(state, job.job_id)
    assert (row["status"], row["error_msg"]) == ("failed", "taken down: shop.example/1")
    assert state.row("shop.example")["claimed_by"] is None
    with state.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(crawl_results)).scalar() == 0
        assert connection.execute(select(func.count()).select_from(late_submissions)).scalar() == 0
        assert connection.execute(select(evidence.c.type)).scalars().all() == ["taken_down"]
        # The request was made: the ledger has it. Neither bot nor site has failed.
        assert connection.execute(select(politeness_ledger.c.status)).scalars().all() == [200]
        assert connection.execute(select(bots.c.jobs_failed, bots.c.consecutive_failures)).one() == (0, 0)


def test_a_repeated_submit_is_answered_as_the_first_one_whatever_takedowns_do_meanwhile(service: Service) -> None:
    state = service.state
    service.job()
    job = service.pull_one()
    with state.database.write() as connection:
        takedowns_table.add(connection, "shop.example", None)
    assert service.refusal("bot-1", job.job_id, title="A lamp")[0] is BotError.TAKEN_DOWN
    with state.database.write() as connection:
        takedowns_table.remove(connection, "shop.example")
    assert service.refusal("bot-1", job.job_id, title="A lamp")[0] is BotError.TAKEN_DOWN
    state.clock.advance(seconds=60)
    service.job()
    job = service.pull_one()
    accepted = service.submit("bot-1", job.job_id, title="A lamp")
    with state.database.write() as connection:
        takedowns_table.add(connection, "shop.example", None)
    assert service.submit("bot-1", job.job_id, title="A lamp") == accepted


def test_a_late_submit_of_a_url_that_was_taken_down_is_not_kept(service: Service) -> None:
    state = service.state
    service.job()
    job = service.pull_one()
    state.clock.advance(seconds=job.lock_ttl_s + 1)
    with state.database.write() as connection:
        takedowns_table.add(connection, "shop.example", None)
    assert service.refusal("bot-1", job.job_id, title="A lamp")[0] is BotError.TAKEN_DOWN
    with state.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(late_submissions)).scalar() == 0
