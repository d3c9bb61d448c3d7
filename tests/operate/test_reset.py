"""A reset sends a host back to the start, and forgets our plans but not the site's limits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from comity.database import hosts, robots, takedowns
from comity.database.tables import DONE, DROPPED, QUEUED, domain_frontier
from comity.model.errors import BadInput, HostBusy, NotFound, Remedy, RemedyCode
from comity.model.host import HostStatus
from comity.model.wording import holder_in_words
from comity.operate.hosts import reset_host
from comity.operate.takedown import add_takedowns
from tests.database.states import BEGINNING, State, names

POLITENESS = {
    "next_fetch_at": BEGINNING + timedelta(seconds=9),
    "blocked_until": BEGINNING + timedelta(hours=1),
    "backoff_step": 4,
    "adaptive_delay_s": 2.5,
    "unclean_end_at": BEGINNING,
    "last_start_at": BEGINNING,
}


@pytest.mark.parametrize("status", HostStatus)
def test_whatever_its_status_a_host_is_ready_to_be_crawled_from_the_start(state: State, status: HostStatus) -> None:
    state.add(
        "host.example",
        status=status,
        is_seeded=False,
        next_crawl_after=BEGINNING + timedelta(days=90),
        block_reason="robots",
        block_reason_code="robots_denied",
        first_blocked_at=BEGINNING,
        consecutive_error_count=7,
        cooldown_count=3,
        pages_crawled=12,
        **POLITENESS,
    )
    state.queue("host.example", "https://host.example/done", state=DONE, attempts=3)
    state.queue("host.example", "https://host.example/waiting", state=QUEUED)
    state.queue("host.example", "https://host.example/refused", state=DROPPED)
    report = reset_host(state.database, state.clock, "host.example", reason="the site invited us back")
    expected = status if status is HostStatus.ACTIVE else HostStatus.PENDING
    assert (report.host, report.before, report.after, report.urls_requeued) == ("host.example", status, expected, 1)
    row = state.row("host.example")
    assert (row["status"], row["is_seeded"], row["next_crawl_after"]) == (expected, True, None)
    assert (row["consecutive_error_count"], row["cooldown_count"], row["pages_crawled"]) == (0, 0, 12)
    assert (row["block_reason"], row["block_reason_code"]) == ("reset: the site invited us back", None)
    assert {name: row[name] for name in POLITENESS} == POLITENESS
    assert state.urls("host.example") == {
        "https://host.example/done": QUEUED,
        "https://host.example/waiting": QUEUED,
        "https://host.example/refused": DROPPED,
    }
    assert names(state.leases().claim(1)) == ["host.example"]


def test_an_unknown_host_is_not_found(state: State) -> None:
    with pytest.raises(NotFound, match=r"nobody\.example is unknown") as refused:
        reset_host(state.database, state.clock, "nobody.example")
    assert refused.value.remedy == Remedy(RemedyCode.ADD_SEED, "nobody.example")


def test_a_host_that_is_being_crawled_is_left_alone(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    leases.claim(1)
    before = state.row("host.example")
    with pytest.raises(HostBusy, match=holder_in_words(leases.holder)):
        reset_host(state.database, state.clock, "host.example")
    assert state.row("host.example") == before
    state.clock.advance(minutes=30)
    assert reset_host(state.database, state.clock, "host.example").after is HostStatus.PENDING


def test_a_change_at_the_same_moment_is_told(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    state.add("host.example", status=HostStatus.BLOCKED)
    monkeypatch.setattr(hosts, "change", lambda *_, **__: False)
    with pytest.raises(HostBusy, match="changed by another process"):
        reset_host(state.database, state.clock, "host.example")
    assert state.row("host.example")["status"] is HostStatus.BLOCKED


def test_a_reset_forgets_tries_and_that_robots_could_not_be_read(state: State) -> None:
    state.add("example.com", status=HostStatus.BLOCKED)
    state.queue("example.com", "https://example.com/", attempts=4, not_before=state.clock.now() + timedelta(hours=1))
    origins = {"https://example.com": "disallow_all", "http://example.com": "parse"}
    with state.database.write() as connection:
        for origin, access in origins.items():
            robots.put(connection, {"origin": origin, "host": "example.com", "access": access})
    assert reset_host(state.database, state.clock, "example.com").urls_requeued == 0
    with state.database.read() as connection:
        kept = [row.origin for row in robots.of_hosts(connection, ["example.com"])]
        row = connection.execute(select(domain_frontier)).one()
    assert kept == ["http://example.com"]
    assert (row.attempts, row.not_before) == (0, None)


def test_a_reset_queues_nothing_that_is_taken_down(state: State) -> None:
    state.add("host.example", status=HostStatus.EXHAUSTED)
    state.queue(
        "host.example", "https://host.example/", "https://host.example/a", "https://host.example/a/b", state=DONE
    )
    state.queue("host.example", "https://host.example/a/c", "https://www.host.example/d")
    with state.database.write() as connection:  # also an entry that was written by hand
        takedowns.add(connection, "host.example/a", None)
    report = reset_host(state.database, state.clock, "host.example")
    assert report.urls_requeued == 1
    assert state.urls("host.example") == {
        "https://host.example/": QUEUED,
        "https://host.example/a": DROPPED,
        "https://host.example/a/b": DROPPED,
        "https://host.example/a/c": DROPPED,
        "https://www.host.example/d": QUEUED,
    }


@pytest.mark.parametrize("entry", ["host.example", "sub.host.example"])
def test_a_host_that_is_taken_down_is_not_reset(state: State, entry: str) -> None:
    state.add("sub.host.example", status=HostStatus.BLOCKED)
    state.queue("sub.host.example", "https://sub.host.example/", state=DONE)
    before = state.row("sub.host.example")
    add_takedowns(state.database, [entry])
    with pytest.raises(BadInput, match="is taken down"):
        reset_host(state.database, state.clock, "sub.host.example")
    assert state.row("sub.host.example") == before
    assert state.urls("sub.host.example") == {"https://sub.host.example/": DONE}
