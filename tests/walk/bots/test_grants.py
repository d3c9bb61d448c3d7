"""Grants on both databases, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import insert, select, update

from comity.database import policies, takedowns
from comity.database import robots as robots_table
from comity.database.connection import Database, open_database
from comity.database.queue import grants as grants_table
from comity.database.queue import reservations
from comity.database.queue.tables import bots, grants
from comity.database.tables import evidence, politeness_ledger
from comity.database.types import from_seconds
from comity.model.grants import GrantAnswers, GrantReason, GrantReport, Permission, ReportResult
from comity.model.queue import QUEUE_PROFILE
from comity.model.robots import RobotsUnreachable
from comity.reports.politeness import verify_politeness
from comity.telemetry.loops import Loops
from comity.walk.bots import grants as granting
from comity.walk.bots.grants import Granter, GrantTerms
from comity.walk.bots.robots import RobotsBook
from tests.database.states import State

ROBOTS = "User-agent: *\nDisallow: /private\n\nUser-agent: acmebot\nDisallow: /own\nCrawl-delay: 3\n"
HOST, URL = "shop.example", "https://shop.example/1"


class Reader:
    """Notes what it should read."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self.why: str | None = None

    def why_not(self, _origin: str) -> str | None:
        return self.why

    async def known(self, origins: Collection[str], _timeout_s: float) -> None:
        self.wanted += sorted(origins)


class Crawlers:
    """Clients of a granter."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.faults: list[tuple[str, str]] = []
        self.loops = Loops(lambda name, error: self.faults.append((name, str(error))), first_pause_s=0.0)
        self.reader = Reader()
        self.granter = Granter(
            state.database,
            state.clock,
            lambda: 0.0,
            RobotsBook("ComityBot/1.0", RobotsUnreachable.DISALLOW),
            self.reader,
            GrantTerms(QUEUE_PROFILE),
            self.loops,
        )

    def knows(self, *origins: str, robots: str = ROBOTS, **changes: Any) -> None:
        now = self.state.clock.seconds()
        for origin in origins:
            values = {
                "origin": origin,
                "host": origin.partition("://")[2],
                "robots_txt": robots,
                "access": "parse",
                "http_status": 200,
                "version": _version(robots),
                "expires_at": from_seconds(now + 3600),
            }
            with self.state.database.write() as connection:
                robots_table.put(connection, values | changes)

    def ask(self, *urls: str, client: str = "acme", **options: Any) -> GrantAnswers:
        return asyncio.run(self.granter.grant(client, urls, **options))

    def report(self, *reports: GrantReport, client: str = "acme") -> GrantAnswers:
        return asyncio.run(self.granter.report(client, reports))

    def release(self, *grant_ids: Any, client: str = "acme") -> GrantAnswers:
        return asyncio.run(self.granter.release(client, grant_ids))

    def rows(self, table: Any) -> list[Any]:
        with self.state.database.read() as connection:
            return list(connection.execute(select(table)).all())


def _version(robots: str) -> str:
    from comity.rules.ledger_chain import content_digest

    return content_digest(robots.encode())


@pytest.fixture
def crawlers(state: State) -> Crawlers:
    made = Crawlers(state)
    made.knows(f"https://{HOST}")
    return made


def faults(state: State) -> list[str]:
    return [violation.sentence for audit in verify_politeness(state.database) for violation in audit.violations]


def test_a_grant_says_when_and_why(crawlers: Crawlers, state: State) -> None:
    now = state.clock.seconds()
    granted = crawlers.ask(URL)
    (answer,) = granted.answers
    assert (answer.permission, answer.url, granted.now) == (Permission.ALLOWED, URL, now)
    assert answer.slot is not None
    assert (answer.slot.not_before, answer.slot.start_by) == (now, now + 1.0)
    assert (answer.slot.delay_s, answer.slot.delay_source) == (1.0, "door")
    assert answer.expires_at == now + 61.0
    row = state.row(HOST)
    assert (row["claimed_by"], row["claim_expires_at"].timestamp()) == ("grant:acme", now + 61.0)


def test_slots_of_one_host_are_a_window_and_a_delay_apart_and_end_at_the_horizon(crawlers: Crawlers) -> None:
    granted = crawlers.ask(*(f"https://{HOST}/{number}" for number in range(100)))
    given = [answer for answer in granted.answers if answer.slot is not None]
    starts = [answer.slot.not_before - granted.now for answer in given if answer.slot is not None]
    assert starts == [2.0 * number for number in range(16)]
    rest = granted.answers[16:]
    assert {(answer.permission, answer.reason) for answer in rest} == {(Permission.WAIT, GrantReason.TOO_SOON)}
    assert all(0 < (answer.retry_after_s or 0) <= 60 for answer in rest)


def test_another_client_waits_and_a_worker_does_too(crawlers: Crawlers, state: State) -> None:
    crawlers.ask(URL)
    (answer,) = crawlers.ask(URL, client="other").answers
    assert (answer.permission, answer.reason) == (Permission.WAIT, GrantReason.RESERVED)
    assert state.leases("worker").take([HOST]) == []


def test_a_host_of_a_worker_is_not_granted(crawlers: Crawlers, state: State) -> None:
    state.add(HOST)
    (lease,) = state.leases("worker").take([HOST])
    (answer,) = crawlers.ask(URL).answers
    assert (answer.reason, answer.retry_after_s) == (GrantReason.LEASED, 2.0)
    assert state.row(HOST)["lease_token"] == lease.token


def test_a_denial_names_the_rule_and_leaves_evidence_once(crawlers: Crawlers) -> None:
    for _ in range(2):
        (answer,) = crawlers.ask(f"https://{HOST}/private/x").answers
        assert (answer.permission, answer.reason) == (Permission.DENIED, GrantReason.ROBOTS_DENIED)
        assert (answer.rule, answer.rule_line) == ("Disallow: /private", 2)
    assert [row.type for row in crawlers.rows(evidence)] == ["blocked_by_robots"]
    assert crawlers.rows(grants) == []


def test_a_client_with_a_product_token_goes_by_its_own_rules(crawlers: Crawlers, state: State) -> None:
    private, own = f"https://{HOST}/private/x", f"https://{HOST}/own/x"
    answers = crawlers.ask(private, own, user_agent="AcmeBot/2.0 (+https://acme.example)").answers
    assert [answer.permission for answer in answers] == [Permission.ALLOWED, Permission.DENIED]
    assert answers[0].slot is not None
    assert (answers[0].slot.delay_s, answers[0].slot.delay_source) == (3.0, "robots")
    crawlers.report(GrantReport(answers[0].grant_id or uuid4(), 200, 0.1))
    (row,) = crawlers.rows(politeness_ledger)
    assert row.purpose == "grant:acmebot"
    assert faults(state) == []


def test_taken_down_and_unreadable_urls_are_denied(crawlers: Crawlers, state: State) -> None:
    with state.database.write() as connection:
        takedowns.add(connection, f"{HOST}/gone", None)
    answers = crawlers.ask(f"https://{HOST}/gone/x", "ftp://shop.example/", "no url at all", URL).answers
    assert [answer.reason for answer in answers] == [
        GrantReason.TAKEN_DOWN,
        GrantReason.BAD_URL,
        GrantReason.BAD_URL,
        None,
    ]


def test_unknown_robots_are_asked_for(crawlers: Crawlers) -> None:
    (answer,) = crawlers.ask("https://new.example/1").answers
    assert (answer.permission, answer.reason) == (Permission.WAIT, GrantReason.ROBOTS_UNKNOWN)
    assert crawlers.reader.wanted == ["https://new.example"]
    crawlers.reader.why = "new.example was not contacted: its address is private"
    (answer,) = crawlers.ask("https://new.example/1").answers
    assert (answer.permission, answer.reason) == (Permission.DENIED, GrantReason.NOT_CONTACTED)


def test_expired_robots_are_asked_for_again(crawlers: Crawlers, state: State) -> None:
    crawlers.ask(URL)
    state.clock.advance(hours=2)
    (answer,) = crawlers.ask(URL).answers
    assert answer.reason is GrantReason.ROBOTS_UNKNOWN


def test_robots_that_could_not_be_read_deny_everything(crawlers: Crawlers) -> None:
    crawlers.knows("https://down.example", access="disallow_all", http_status=503, version=None, robots_txt=None)
    (answer,) = crawlers.ask("https://down.example/").answers
    assert (answer.permission, answer.reason) == (Permission.DENIED, GrantReason.ROBOTS_UNREACHABLE)


def test_a_report_ends_the_grant_gives_the_host_back_and_is_in_the_ledger(crawlers: Crawlers, state: State) -> None:
    granted = crawlers.ask(URL)
    grant_id = granted.answers[0].grant_id
    assert grant_id is not None
    state.clock.advance(seconds=0.5)
    answer = crawlers.report(GrantReport(grant_id, 200, 0.2, None, granted.now + 0.25)).reports[0]
    assert answer.result is ReportResult.RECORDED
    row = state.row(HOST)
    assert row["claimed_by"] is None
    # The host was reached by the time of the answer at the latest.
    assert row["next_fetch_at"].timestamp() == pytest.approx(granted.now + 1.45, abs=1e-5)
    (entry,) = crawlers.rows(politeness_ledger)
    assert (entry.purpose, entry.request_number, entry.status) == ("grant", 1, 200)
    assert entry.started_at.timestamp() == granted.now + 0.25
    assert entry.ended_at.timestamp() == pytest.approx(granted.now + 0.45, abs=1e-5)
    assert faults(state) == []


def test_reports_are_taken_once(crawlers: Crawlers, state: State) -> None:
    grant_id = crawlers.ask(URL).answers[0].grant_id or uuid4()
    results = [crawlers.report(GrantReport(grant_id, 200)).reports[0].result for _ in range(2)]
    assert results == [ReportResult.RECORDED] * 2
    assert len(crawlers.rows(politeness_ledger)) == 1
    assert crawlers.report(GrantReport(grant_id, 200), client="other").reports[0].result is ReportResult.UNKNOWN
    assert crawlers.report(GrantReport(uuid4(), 200)).reports[0].result is ReportResult.UNKNOWN


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_blocks_the_host_for_everyone(crawlers: Crawlers, state: State, status: int) -> None:
    grant_id = crawlers.ask(URL).answers[0].grant_id or uuid4()
    now = state.clock.seconds()
    answer = crawlers.report(GrantReport(grant_id, status, 0.1, 45.0)).reports[0]
    assert answer.blocked_until == now + 45.0
    (other,) = crawlers.ask(URL, client="other").answers
    assert other.reason is GrantReason.BLOCKED
    (lease,) = state.leases("worker").take([HOST])
    assert lease.memory.blocked_until == now + 45.0
    assert faults(state) == []


def test_a_grant_without_a_report_returns_after_its_ttl(crawlers: Crawlers, state: State) -> None:
    granted = crawlers.ask(URL, f"https://{HOST}/2")
    state.clock.advance(seconds=62)
    assert crawlers.granter.expire() == 1, "the second began two seconds later"
    assert state.row(HOST)["claimed_by"] == "grant:acme"
    state.clock.advance(seconds=2)
    assert crawlers.granter.expire() == 1
    assert crawlers.granter.expire() == 0
    row = state.row(HOST)
    assert row["claimed_by"] is None
    assert row["unclean_end_at"] is not None, "the next holder waits a whole delay"
    grant_id = granted.answers[0].grant_id or uuid4()
    late = crawlers.report(GrantReport(grant_id, 429, 0.1, 500.0)).reports[0]
    assert late.result is ReportResult.EXPIRED
    assert crawlers.rows(politeness_ledger) == []
    (audit,) = verify_politeness(state.database)
    assert audit.violations == ()
    assert any("ran out without a report: 2" in remark for remark in audit.remarks)


def test_a_host_whose_reservation_ran_out_is_granted_without_a_sweep(crawlers: Crawlers, state: State) -> None:
    crawlers.ask(URL)
    state.clock.advance(seconds=100)
    (answer,) = crawlers.ask(URL, client="other").answers
    assert answer.permission is Permission.ALLOWED
    assert crawlers.granter.expire() == 1
    assert state.row(HOST)["claimed_by"] == "grant:other", "the new holder keeps the host"


def test_a_released_grant_costs_the_host_no_time(crawlers: Crawlers, state: State) -> None:
    answers = crawlers.ask(URL, f"https://{HOST}/2", f"https://{HOST}/3").answers
    ids = [answer.grant_id for answer in answers if answer.grant_id is not None]
    assert crawlers.release(*ids[1:]).reports[0].result is ReportResult.RELEASED
    now = state.clock.seconds()
    crawlers.report(GrantReport(ids[0], 200, 0.1, None, now))
    row = state.row(HOST)
    assert row["claimed_by"] is None
    assert row["next_fetch_at"].timestamp() <= now + 2.0 + 1e-5
    assert faults(state) == []


def test_requests_are_numbered_on_under_one_lease(crawlers: Crawlers, state: State) -> None:
    for _ in range(3):
        crawlers.ask(URL)
    numbers = sorted(row.slot["number"] for row in crawlers.rows(grants))
    assert numbers == [1, 2, 3]
    assert {row.lease_token for row in crawlers.rows(grants)} == {1}


def test_a_turn_ends(crawlers: Crawlers, state: State) -> None:
    crawlers.ask(*(f"https://{HOST}/{number}" for number in range(20)))
    state.clock.advance(seconds=61)
    (answer,) = crawlers.ask(URL).answers
    assert answer.reason is GrantReason.RESERVED


def test_the_operators_policy_is_a_floor(crawlers: Crawlers, state: State) -> None:
    with state.database.write() as connection:
        policies.put(connection, HOST, {"min_request_interval_ms": 5000}, state.clock.now())
    answers = crawlers.ask(URL, f"https://{HOST}/2").answers
    slots = [answer.slot for answer in answers if answer.slot is not None]
    assert slots[1].not_before - slots[0].start_by == pytest.approx(5.0)
    assert slots[1].delay_source == "policy"


def test_reports_and_urls_in_one_request_keep_the_pace(crawlers: Crawlers, state: State) -> None:
    previous = crawlers.ask(URL)
    for number in range(20):
        state.clock.advance(seconds=1.1)
        grant_id = previous.answers[0].grant_id or uuid4()
        slot = previous.answers[0].slot
        assert slot is not None
        previous = crawlers.ask(
            f"https://{HOST}/{number}", reports=[GrantReport(grant_id, 200, 0.05, None, slot.not_before + 0.05)]
        )
        assert previous.reports[0].result is ReportResult.RECORDED
        assert previous.answers[0].permission is Permission.ALLOWED
    entries = sorted(row.started_at for row in crawlers.rows(politeness_ledger))
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(entries)]
    assert len(gaps) == 19
    assert min(gaps) >= 1.0
    assert faults(state) == []


def test_holders_are_named_as_reservations_name_them() -> None:
    assert reservations.grant_holder("acme") == "grant:acme"


def test_a_takedown_leaves_evidence_once(crawlers: Crawlers, state: State) -> None:
    with state.database.write() as connection:
        takedowns.add(connection, "gone.example", None)
    for _ in range(2):
        (answer,) = crawlers.ask("https://gone.example/page").answers
        assert answer.reason is GrantReason.TAKEN_DOWN
    (found,) = crawlers.rows(evidence)
    assert (found.type, found.url) == ("taken_down", "https://gone.example/page")


def limited(state: State, **columns: Any) -> None:
    with state.database.write() as connection:
        connection.execute(insert(bots).values(bot_id="acme", **columns))


def test_a_bot_that_asks_for_grants_was_seen_to_within_ten_seconds(crawlers: Crawlers, state: State) -> None:
    limited(state)
    seen = []
    for wait_s in (0, 9, 1):
        state.clock.advance(seconds=wait_s)
        crawlers.ask(URL, client="acme/two")
        seen.append(state.clock.now() - crawlers.rows(bots)[0].last_seen_at)
    assert seen == [timedelta(0), timedelta(seconds=9), timedelta(0)]


def test_the_limit_of_jobs_in_hand_counts_open_grants_and_jobs_of_all_clients_of_a_key(
    crawlers: Crawlers, state: State
) -> None:
    crawlers.knows("https://other.example")
    limited(state, max_jobs_in_hand=2)
    other = "https://other.example/1"
    first, second, third = crawlers.ask(URL, URL, other).answers
    assert (first.permission, second.permission) == (Permission.ALLOWED, Permission.ALLOWED)
    assert (third.permission, third.reason, third.retry_after_s) == (Permission.WAIT, GrantReason.OVER_LIMIT, 5.0)
    assert crawlers.ask(other, client="acme/two").answers[0].reason is GrantReason.OVER_LIMIT
    assert crawlers.ask(other, client="acme2").answers[0].permission is Permission.ALLOWED
    crawlers.report(GrantReport(first.grant_id, 200))  # type: ignore[arg-type]
    assert crawlers.ask("https://shop.example/3", client="acme").answers[0].permission is Permission.ALLOWED


def test_the_limit_a_minute_and_a_quarantine_hold_for_grants(crawlers: Crawlers, state: State) -> None:
    limited(state, max_jobs_per_minute=2)
    answers = crawlers.ask(URL, URL, URL).answers
    assert [each.permission for each in answers] == [Permission.ALLOWED, Permission.ALLOWED, Permission.WAIT]
    assert answers[2].retry_after_s == 60.0
    state.clock.advance(seconds=30)
    assert crawlers.ask(URL).answers[0].reason is GrantReason.OVER_LIMIT
    state.clock.advance(seconds=30)
    assert crawlers.ask(URL).answers[0].permission is Permission.ALLOWED
    values = {"status": "quarantined", "quarantined_until": from_seconds(state.clock.seconds() + 600)}
    with state.database.write() as connection:
        connection.execute(update(bots).values(values))
    (answer,) = crawlers.ask(URL).answers
    assert (answer.reason, answer.message) == (
        GrantReason.OVER_LIMIT,
        "acme is quarantined because its jobs failed too often",
    )


def test_grants_that_ended_a_day_ago_are_forgotten(crawlers: Crawlers, state: State) -> None:
    (answer,) = crawlers.ask(URL).answers
    report = GrantReport(answer.grant_id, 200)  # type: ignore[arg-type]
    crawlers.report(report)
    state.clock.advance(hours=23)
    assert not crawlers.granter.forget()
    assert crawlers.report(report).reports[0].result is ReportResult.RECORDED
    state.clock.advance(hours=2)
    assert not crawlers.granter.forget(), "there are no more"
    assert crawlers.rows(grants) == []
    assert crawlers.report(report).reports[0].result is ReportResult.UNKNOWN
    assert faults(state) == []


def test_grants_that_another_server_has_locked_are_forgotten_later(migrated_postgres_url: str) -> None:
    database = open_database(migrated_postgres_url)
    database.is_shared = False  # it goes by the test's clock
    state = State(database)
    crawlers = Crawlers(state)
    crawlers.knows(f"https://{HOST}", "https://other.example")
    answers = crawlers.ask(URL, "https://other.example/1").answers
    crawlers.report(*(GrantReport(each.grant_id, 200) for each in answers))  # type: ignore[arg-type]
    state.clock.advance(hours=25)
    locked = select(grants.c.id).where(grants.c.id == answers[0].grant_id).with_for_update()
    with state.database.write() as other:
        other.execute(locked)
        with state.database.write() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")
            assert grants_table.forget(connection, state.clock.seconds() - 86_400, 10) == 1
    assert [row.id for row in crawlers.rows(grants)] == [answers[0].grant_id]
    crawlers.granter.forget()
    assert crawlers.rows(grants) == []
    database.close()


@pytest.mark.parametrize("loop", ["expire", "copy_log"])
def test_a_loop_that_fails_is_reported_and_starts_again(
    embedded_database: Database, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """Expiry of grants and copying of the log go on after an error that no one expected."""
    crawlers, times = Crawlers(State(embedded_database)), 0
    granter = crawlers.granter
    monkeypatch.setattr(granting, "EXPIRE_EVERY_S", 0.01)
    monkeypatch.setattr(granting, "_COPY_EVERY_S", 0.01)

    async def run() -> None:
        again = asyncio.Event()
        ours = asyncio.get_running_loop()

        def fail_once() -> int:
            nonlocal times
            times += 1
            if times == 1:
                raise RuntimeError("a fault")
            ours.call_soon_threadsafe(again.set)
            return 0

        owner = granter if loop == "expire" else embedded_database
        monkeypatch.setattr(owner, loop, fail_once)
        async with granter:
            async with asyncio.timeout(60):
                while not again.is_set():
                    granter._thread.committed += 1
                    await asyncio.sleep(0.01)

    asyncio.run(run())
    name = {"expire": "expiry of grants", "copy_log": "copying of the log"}[loop]
    assert crawlers.faults == [(name, "a fault")]
    assert crawlers.loops.failing == {}
