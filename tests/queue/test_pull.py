"""A pull hands out jobs as fast as hosts allow, each to one bot, and says truthfully what it passed over."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import insert, select, update

from comity.database.queue.tables import bots, crawl_jobs
from comity.database.tables import domain_policies, domains, evidence, takedowns
from comity.model.queue import BotError, BotRefused, JobStatus, SkipReason
from tests.queue.queued import job_row, moves_of
from tests.queue.service import FORBIDDING, Service


def test_a_job_is_locked_with_a_slot_and_its_host_held(service: Service) -> None:
    state = service.state
    job_id = service.job(priority=7, lock_ttl_seconds=300, crawl_config={"css": "h1"})
    now = state.clock.now()
    pulled = service.pull("bot-1")
    (job,) = pulled.jobs
    assert (job.job_id, job.url, job.host, job.priority) == (job_id, "https://shop.example/1", "shop.example", 7)
    assert (job.retry_count, job.max_retries, job.lock_ttl_s) == (0, 3, 300)
    assert job.locked_until == now + timedelta(seconds=300)
    assert job.crawl_config == {"css": "h1"}
    assert (job.slot.not_before, job.slot.start_by) == (now.timestamp(), now.timestamp() + 1)
    assert (job.slot.delay_s, job.slot.delay_source) == (1.0, "door")
    assert pulled.skipped == {}
    row = job_row(state, job_id)
    assert (row["status"], row["locked_by"], row["locked_at"]) == ("locked", "bot-1", now)
    host = state.row("shop.example")
    assert (host["claimed_by"], host["claim_expires_at"]) == ("bot:bot-1", now + timedelta(seconds=300))
    assert host["lease_token"] == row["lease_token"] == 1
    assert moves_of(state, job_id) == [("pending", "locked", "bot:bot-1", "pulled")]
    assert state.leases().take(["shop.example"]) == []


def test_jobs_of_one_host_are_spaced_and_end_with_the_horizon(service: Service) -> None:
    for number in range(20):
        service.job(f"https://shop.example/{number}")
    pulled = service.pull(most=50)
    starts = [job.slot for job in pulled.jobs]
    assert len(starts) == 16
    assert all(later.not_before >= earlier.start_by + 1.0 for earlier, later in pairwise(starts))
    assert pulled.skipped == {SkipReason.TOO_SOON: 4}
    # Nothing more, for this bot or another, before the last of these.
    assert service.pull("bot-1", domain="shop.example").jobs == ()
    assert service.pull("bot-2", domain="shop.example").skipped == {SkipReason.RESERVED: 4}


def test_a_bot_adds_slots_to_its_host_only_during_its_turn(service: Service) -> None:
    for number in range(5):
        service.job(f"https://shop.example/{number}")
    service.pull_one("a")
    service.state.clock.advance(seconds=59)
    second = service.pull_one("a", "shop.example")
    assert second.slot.not_before == service.state.clock.seconds()
    assert service.state.row("shop.example")["lease_token"] == 1
    service.state.clock.advance(seconds=2)
    pulled = service.pull("a", 1, "shop.example")
    assert (pulled.jobs, pulled.skipped) == ((), {SkipReason.RESERVED: 2})


def test_the_best_jobs_come_first_and_hosts_take_turns(service: Service) -> None:
    service.allow("a.example", "b.example", "c.example")
    for host, priorities in {"a": (5, 5), "b": (5, 1), "c": (9, 5)}.items():
        for number, priority in enumerate(priorities):
            service.job(f"https://{host}.example/{number}", priority=priority)
    urls = [job.url for job in service.pull(most=4).jobs]
    assert sorted(urls[:3]) == ["https://a.example/0", "https://b.example/0", "https://c.example/0"]
    assert len(urls) == 4
    assert urls[3] in ("https://a.example/1", "https://c.example/1")


def test_a_leased_host_is_skipped_counted_and_parked(service: Service) -> None:
    state = service.state
    service.job("https://shop.example/1")
    service.job("https://shop.example/2")
    (lease,) = state.leases().take(["shop.example"])
    pulled = service.pull()
    assert (pulled.jobs, pulled.skipped) == ((), {SkipReason.LEASED: 2})
    assert pulled.retry_after_s == 2.0
    assert service.pull().skipped == {SkipReason.LEASED: 2}  # parked: counted without being looked at
    assert service.pull(domain="shop.example").skipped == {SkipReason.LEASED: 2}
    state.leases(lease.holder).release(lease)
    state.clock.advance(seconds=2)
    assert len(service.pull().jobs) == 2


@pytest.mark.parametrize(
    ("columns", "reason", "looks_after_s"),
    [
        ({"blocked_until": 45.0}, SkipReason.BLOCKED, 15.0),
        ({"blocked_until": 4000.0}, SkipReason.BLOCKED, 60.0),
        ({"next_fetch_at": 200.0}, SkipReason.TOO_SOON, 60.0),
        ({"queue_parked_until": 20.0}, SkipReason.PARKED, 20.0),
    ],
)
def test_a_host_that_cannot_be_asked_now_is_looked_at_later(
    service: Service, columns: dict[str, float], reason: SkipReason, looks_after_s: float
) -> None:
    state = service.state
    service.job()
    now = state.clock.now()
    with state.database.write() as connection:
        values = {name: now + timedelta(seconds=seconds) for name, seconds in columns.items()}
        connection.execute(update(domains).values(values))
    pulled = service.pull()
    assert (pulled.jobs, pulled.skipped) == ((), {reason: 1})
    assert state.row("shop.example")["queue_ready_at"] == now + timedelta(seconds=looks_after_s)


def test_a_block_that_ends_within_the_horizon_is_the_slots_beginning(service: Service) -> None:
    service.job()
    ends = service.state.clock.now() + timedelta(seconds=20)
    with service.state.database.write() as connection:
        connection.execute(update(domains).values(blocked_until=ends))
    assert service.pull_one().slot.not_before == ends.timestamp()


def test_the_operators_policy_and_robots_txt_are_floors(service: Service) -> None:
    service.allow("slow.example", text=FORBIDDING)
    service.job("https://slow.example/1")
    service.job("https://slow.example/2")
    first, second = service.pull(most=2).jobs
    assert (first.slot.delay_s, first.slot.delay_source) == (5.0, "robots")
    assert second.slot.not_before == first.slot.start_by + 5.0
    with service.state.database.write() as connection:
        connection.execute(insert(domain_policies).values(host="shop.example", min_request_interval_ms=7500))
    service.job("https://shop.example/1")
    slot = service.pull_one(domain="shop.example").slot
    assert (slot.delay_s, slot.delay_source) == (7.5, "policy")


def test_a_url_that_robots_txt_denies_is_parked_with_evidence(service: Service) -> None:
    state = service.state
    service.allow("shop.example", text=FORBIDDING, hours=3)
    denied, allowed = service.job("https://shop.example/private/1", priority=9), service.job("https://shop.example/2")
    pulled = service.pull()
    assert [job.job_id for job in pulled.jobs] == [allowed]
    assert pulled.skipped == {SkipReason.ROBOTS_DENIED: 1}
    row = job_row(state, denied)
    assert row["status"] == JobStatus.PENDING
    assert row["not_before"] == state.clock.now() + timedelta(hours=3)
    assert "Disallow: /private" in row["error_msg"]
    with state.database.read() as connection:
        (found,) = connection.execute(select(evidence.c.type, evidence.c.url)).all()
    assert tuple(found) == ("blocked_by_robots", "https://shop.example/private/1")
    # Once robots.txt is due to be read again, so is the job.
    state.clock.advance(hours=3)
    service.allow("shop.example")
    assert denied in [job.job_id for job in service.pull("bot-2").jobs]


def test_jobs_of_parked_hosts_are_counted_by_what_they_wait_for_and_within_bounds(service: Service) -> None:
    state = service.state
    for number in range(5):
        service.job(f"https://shop.example/{number}")
    service.pull_one()
    service.job("https://other.example/1")
    service.allow("other.example")
    pulled = service.pull("bot-2", 3)
    assert [job.url for job in pulled.jobs] == ["https://other.example/1"]
    assert pulled.skipped == {SkipReason.RESERVED: 3}  # of four that wait: no more than were asked for
    with state.database.write() as connection:
        blocked_until = state.clock.now() + timedelta(hours=1)
        free = {"claimed_by": None, "claim_expires_at": None, "blocked_until": blocked_until}
        connection.execute(update(domains).where(domains.c.domain == "shop.example").values(free))
    assert service.pull("bot-2", 3).skipped == {SkipReason.BLOCKED: 3}


def test_a_url_that_is_taken_down_is_never_handed_out(service: Service) -> None:
    with service.state.database.write() as connection:
        connection.execute(insert(takedowns).values(domain_or_url="shop.example/older"))
    assert service.pull().jobs == ()
    with service.state.database.write() as connection:  # a moment later: it counts at once
        connection.execute(insert(takedowns).values(domain_or_url="shop.example/old"))
    job_id = service.job("https://shop.example/old/1")
    pulled = service.pull()
    assert (pulled.jobs, pulled.skipped) == ((), {SkipReason.TAKEN_DOWN: 1})
    assert "taken down" in job_row(service.state, job_id)["error_msg"]
    with service.state.database.read() as connection:
        assert connection.execute(select(evidence.c.type)).scalars().all() == ["taken_down"]


def test_a_job_under_the_name_of_another_host_is_not_handed_out(service: Service) -> None:
    service.job("https://shop.example/1")
    with service.state.database.write() as connection:
        connection.execute(update(crawl_jobs).values(url="https://other.example/1"))
    assert service.pull().skipped == {SkipReason.BAD_URL: 1}


class Reader:
    """Puts robots.txt of whatever is asked for into the cache."""

    def __init__(self) -> None:
        self.service: Service
        self.asked: list[tuple[list[str], float]] = []
        self.reason: str | None = None

    def why_not(self, _origin: str) -> str | None:
        return self.reason if self.asked else None

    async def known(self, origins: Collection[str], timeout_s: float) -> None:
        self.asked.append((list(origins), timeout_s))
        if self.reason is not None:
            return
        await asyncio.to_thread(self.service.allow, *(origin.removeprefix("https://") for origin in origins))


def test_a_pull_that_would_be_empty_waits_for_robots_txt(service: Service) -> None:
    service.job("https://new.example/1")
    pulled = service.pull()
    assert (pulled.jobs, pulled.skipped) == ((), {SkipReason.ROBOTS_UNKNOWN: 1})
    reader = Reader()
    reader.service = reading = Service(service.state, reader)
    service.state.clock.advance(seconds=2)
    pulled = reading.pull()
    assert [job.url for job in pulled.jobs] == ["https://new.example/1"]
    assert pulled.skipped == {}
    assert reader.asked == [(["https://new.example"], 3.0)]
    # With other jobs at hand, it is only asked for.
    service.job("https://newer.example/1", priority=9)
    service.job("https://shop.example/1")
    assert [job.host for job in reading.pull("b").jobs] == ["shop.example"]
    assert reader.asked[1:] == [(["https://newer.example"], 0.0)]
    reading.threads.close()


def test_a_job_says_why_its_robots_txt_cannot_be_read(service: Service) -> None:
    reader = Reader()
    reader.service = reading = Service(service.state, reader)
    reader.reason = "127.0.0.1 is a private address"
    job_id = service.job("https://127.0.0.1/1")
    assert reading.pull().skipped == {SkipReason.ROBOTS_UNKNOWN: 1}
    row = job_row(service.state, job_id)
    assert row["error_msg"] == "robots.txt cannot be read: 127.0.0.1 is a private address"
    assert row["status"] == "pending"
    service.state.clock.advance(seconds=61)
    reader.reason = None
    assert reading.pull_one().job_id == job_id
    reading.threads.close()


def test_hosts_whose_robots_txt_was_read_are_ready_for_other_pulls_at_once(service: Service) -> None:
    reader = Reader()
    reader.service = reading = Service(service.state, reader)
    for number in range(3):
        service.job(f"https://new{number}.example/1")
    pulled = [reading.pull_one(f"bot-{number}").host for number in range(3)]
    assert sorted(pulled) == ["new0.example", "new1.example", "new2.example"]
    reading.threads.close()


def test_a_domain_is_a_host_or_a_registrable_domain(service: Service) -> None:
    service.allow("www2.shop.example", "other.example")
    for host in ("shop.example", "www2.shop.example", "other.example"):
        service.job(f"https://{host}/1")
    assert {job.host for job in service.pull(domain="shop.example").jobs} == {"shop.example", "www2.shop.example"}
    assert service.pull(domain="nowhere.example").jobs == ()
    assert {job.host for job in service.pull(domain="other.example").jobs} == {"other.example"}


def test_a_domain_without_a_port_is_the_host_on_any_port(service: Service) -> None:
    hosts = ("127.0.0.1:8001", "127.0.0.1:8002", "127.0.0.10:8001", "a.shop.example:8443", "b.shop.example")
    service.allow(*hosts)
    for host in hosts:
        service.job(f"https://{host}/1")
    assert {job.host for job in service.pull("a", domain="127.0.0.1").jobs} == {"127.0.0.1:8001", "127.0.0.1:8002"}
    assert {job.host for job in service.pull("b", domain="a.shop.example").jobs} == {"a.shop.example:8443"}
    assert {job.host for job in service.pull("c", domain="127.0.0.10:8001").jobs} == {"127.0.0.10:8001"}


def limit(service: Service, **columns: object) -> None:
    with service.state.database.write() as connection:
        connection.execute(update(bots).where(bots.c.bot_id == "bot-1").values(columns))


def test_a_bot_gets_no_more_than_its_limits(service: Service) -> None:
    service.allow(*(f"h{number}.example" for number in range(8)))
    for number in range(8):
        service.job(f"https://h{number}.example/")
    service.pull_one()
    limit(service, max_jobs_in_hand=3)
    assert len(service.pull().jobs) == 2
    full = service.pull()
    assert (full.jobs, full.retry_after_s) == ((), 5.0)
    limit(service, max_jobs_in_hand=None, max_jobs_per_minute=4)
    service.state.clock.advance(seconds=20)
    assert len(service.pull().jobs) == 1
    assert service.pull().retry_after_s == 40.0
    service.state.clock.advance(seconds=40)
    assert len(service.pull().jobs) == 4


def test_a_quarantined_bot_waits_and_a_revoked_one_is_refused(service: Service) -> None:
    service.job()
    service.pull("bot-1", 1, "nowhere.example")
    until = service.state.clock.now() + timedelta(minutes=5)
    limit(service, status="quarantined", quarantined_until=until)
    assert service.pull().retry_after_s == 300.0
    service.state.clock.advance(minutes=5)
    assert len(service.pull().jobs) == 1
    with service.state.database.read() as connection:
        assert connection.execute(select(bots.c.status)).scalar() == "active"
    limit(service, status="revoked")
    with pytest.raises(BotRefused) as refused:
        service.pull()
    assert refused.value.code is BotError.NOT_ASSIGNED


def test_a_retry_is_pulled_when_its_time_has_come(service: Service) -> None:
    state = service.state
    service.job(not_before=state.clock.now() + timedelta(minutes=5))
    assert service.pull().jobs == ()
    state.clock.advance(minutes=5)
    assert len(service.pull().jobs) == 1


def test_an_expired_job_is_pulled_again(service: Service) -> None:
    job_id = service.job()
    service.pull_one("a")
    service.state.clock.advance(seconds=601)
    assert service.locks.expire() == 1
    assert job_row(service.state, job_id)["status"] == "expired"
    job = service.pull_one("b")
    assert job.job_id == job_id
    # The dead bot may have asked until its lease ran out, a second ago.
    assert job.slot.not_before == service.state.clock.seconds()
