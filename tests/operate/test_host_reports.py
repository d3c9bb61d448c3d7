"""The questions an operator asks: who holds what, what waits, what a host is worth."""

from __future__ import annotations

from datetime import timedelta

import pytest

from comity.model.errors import NotFound
from comity.model.host import HostStatus
from comity.operate.policy import set_policy
from comity.reports import hosts as reports
from comity.reports.hosts import StatusLine
from tests.database.states import BEGINNING, State


def test_who_holds_leases_and_which_have_run_out(state: State) -> None:
    for number in range(5):
        state.add(f"h{number}.example")
    assert reports.holders(state.database, state.clock) == []
    state.leases("first").take(["h0.example", "h1.example"])
    state.clock.advance(minutes=20)
    state.leases("second").take(["h2.example"])
    state.leases("first").take(["h3.example"])
    state.clock.advance(minutes=10)
    lines = reports.holders(state.database, state.clock)
    assert [(line.holder, line.hosts, line.expired) for line in lines] == [("first", 3, 2), ("second", 1, 0)]
    assert [line.earliest_expiry for line in lines] == [
        BEGINNING + timedelta(minutes=30),
        BEGINNING + timedelta(minutes=50),
    ]


def test_how_many_hosts_wait_for_a_worker(state: State) -> None:
    for number in range(4):
        state.add(f"p{number}.example")
    state.add("a.example", status=HostStatus.ACTIVE)
    state.add("b.example", status=HostStatus.BLOCKED)
    state.add("touched.example", is_seeded=False)
    state.add("later.example", next_crawl_after=BEGINNING + timedelta(days=1))
    state.leases().take(["p0.example", "a.example"])
    assert reports.status_counts(state.database, state.clock) == [
        StatusLine(HostStatus.PENDING, 6, 3),
        StatusLine(HostStatus.ACTIVE, 1, 0),
        StatusLine(HostStatus.BLOCKED, 1, 0),
    ]
    state.clock.advance(minutes=30)
    assert [line.waiting for line in reports.status_counts(state.database, state.clock)] == [4, 1, 0]
    state.clock.advance(days=1)
    assert [line.waiting for line in reports.status_counts(state.database, state.clock)] == [5, 1, 0]


def test_hosts_are_listed_crawled_last_first_then_by_merit(state: State) -> None:
    state.add("old.example", last_crawled_at=BEGINNING - timedelta(days=2), status=HostStatus.ACTIVE)
    state.add("new.example", last_crawled_at=BEGINNING)
    state.add("waiting-low.example", priority_score=1)
    state.add("waiting-high.example", priority_score=9)
    listed = [line.host for line in reports.list_hosts(state.database)]
    assert listed == ["new.example", "old.example", "waiting-high.example", "waiting-low.example"]
    assert [line.host for line in reports.list_hosts(state.database, limit=2, offset=1)] == listed[1:3]
    assert [line.host for line in reports.list_hosts(state.database, status=HostStatus.ACTIVE)] == ["old.example"]
    assert [line.host for line in reports.list_hosts(state.database, contains="waiting-h")] == [listed[2]]


@pytest.mark.parametrize("wildcard", ["%", "_", "w%", "\\", "'"])
def test_a_search_takes_the_wildcards_of_sql_for_themselves(state: State, wildcard: str) -> None:
    state.add("www2.example")
    assert reports.list_hosts(state.database, contains=wildcard) == []


def test_hosts_by_yield_as_the_counters_stand(state: State) -> None:
    state.add("rich.example", pages_crawled=10, images_stored=50, image_yield_rate=0.0)
    state.add("poor.example", pages_crawled=10, images_stored=1, image_yield_rate=9.0)
    state.add("unscored.example", pages_crawled=1, images_stored=9)
    state.add("never.example")
    lines = reports.top_hosts(state.database)
    assert [(line.host, line.image_yield) for line in lines] == [
        ("unscored.example", 9.0),
        ("rich.example", 5.0),
        ("poor.example", 0.1),
    ]
    assert len(reports.top_hosts(state.database, limit=1)) == 1


def test_one_host_in_full(state: State) -> None:
    state.add("host.example", pages_crawled=3)
    state.queue("host.example", "https://host.example/a", "https://host.example/b")
    state.queue("host.example", "https://host.example/c", state=1)
    state.queue("host.example", "https://host.example/d", state=2)
    full = reports.host_in_full(state.database, "host.example")
    assert (full.queued, full.done, full.dropped, full.policy) == (2, 1, 1, None)
    assert full.columns == state.row("host.example")
    set_policy(state.database, state.clock, "host.example", max_pages=5)
    policy = reports.host_in_full(state.database, "host.example").policy
    assert policy is not None
    assert policy["max_pages"] == 5
    with pytest.raises(NotFound):
        reports.host_in_full(state.database, "nobody.example")
