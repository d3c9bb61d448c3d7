"""Rows that a change of the naming rules has made one are folded, and nothing is lost but the second name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from comity.database import ledger, records
from comity.database.tables import domain_policies, domains, evidence, fetches, robots_cache
from comity.model.host import HostStatus
from comity.operate import merge
from comity.operate.merge import Merged, merge_hosts
from comity.reports.politeness import verify_politeness
from tests.database.states import BEGINNING, State, put_host
from tests.reports.ledgers import ROBOTS, START, VERSION, fetch, request, robots_note

DAY = timedelta(days=1)


def merged(state: State, **options: Any) -> list[Merged]:
    return sorted(merge_hosts(state.database, state.clock, **options), key=lambda each: each.old)


def every_host(state: State) -> set[str]:
    with state.database.read() as connection:
        return set(connection.execute(select(domains.c.domain)).scalars())


def put(state: State, host: str, **columns: Any) -> Any:
    """Insert a host under a name that today's rules would not give it."""
    with state.database.write() as connection:
        return put_host(connection, {"domain": host, **columns})


def test_hosts_that_have_their_names_are_left_alone(state: State) -> None:
    for host in ("example.com", "blog.example.com", "example.com:8080", "[::1]", "192.0.2.7"):
        put(state, host)
    assert merged(state) == []


def test_a_host_alone_is_renamed_with_all_that_names_it(state: State) -> None:
    host_id = put(state, "WWW.Example.com.", pages_crawled=5, lease_token=3)
    with state.database.write() as connection:
        about = {"page_url": "https://example.com/", "url_key": 1, "outcome": "fetched", "domain_id": host_id}
        connection.execute(insert(fetches).values(domain="WWW.Example.com.", **about))
        connection.execute(insert(robots_cache).values(origin="https://www.example.com", host="WWW.Example.com."))
        connection.execute(insert(domain_policies).values(host="WWW.Example.com.", max_pages=3))
    assert merged(state) == [Merged("WWW.Example.com.", "example.com", "renamed")]
    row = state.row("example.com")
    assert (row["id"], row["parent_domain"], row["pages_crawled"]) == (host_id, "example.com", 5)
    with state.database.read() as connection:
        assert connection.execute(select(fetches.c.domain)).scalars().all() == ["example.com"]
        assert connection.execute(select(robots_cache.c.host)).scalars().all() == ["example.com"]
        assert connection.execute(select(domain_policies.c.host)).scalars().all() == ["example.com"]
    assert merged(state) == []


@pytest.mark.parametrize("older", ["example.com", "www.example.com"])
def test_the_earliest_row_is_kept_and_counters_are_summed(state: State, older: str) -> None:
    younger = ({"example.com", "www.example.com"} - {older}).pop()
    kept_id = put(
        state,
        older,
        first_seen_at=BEGINNING - 9 * DAY,
        status=HostStatus.ACTIVE,
        pages_discovered=10,
        pages_crawled=5,
        images_found=4,
        images_stored=3,
        total_error_count=2,
        crawl_depth_reached=6,
        lease_token=7,
        backoff_step=1,
        adaptive_delay_s=0.5,
        next_fetch_at=BEGINNING,
        blocked_until=BEGINNING + DAY,
        last_crawled_at=BEGINNING - DAY,
        seed_rank=50,
        is_seeded=False,
        cooldown_count=1,
    )
    put(
        state,
        younger,
        first_seen_at=BEGINNING,
        status=HostStatus.PENDING,
        pages_discovered=100,
        pages_crawled=50,
        images_found=40,
        images_stored=30,
        total_error_count=20,
        crawl_depth_reached=2,
        lease_token=9,
        backoff_step=3,
        adaptive_delay_s=0.25,
        next_fetch_at=BEGINNING + timedelta(seconds=5),
        last_start_at=BEGINNING,
        unclean_end_at=BEGINNING - DAY,
        seed_rank=20,
        is_seeded=True,
        cooldown_count=0,
    )
    (result,) = merged(state)
    assert (result.old, result.new, result.action) == ("www.example.com", "example.com", "folded")
    row = state.row("example.com")
    assert (row["id"], row["first_seen_at"], row["status"]) == (kept_id, BEGINNING - 9 * DAY, HostStatus.ACTIVE)
    summed = ("pages_discovered", "pages_crawled", "images_found", "images_stored", "total_error_count")
    assert [row[name] for name in summed] == [110, 55, 44, 33, 22]
    assert (row["crawl_depth_reached"], row["lease_token"], row["cooldown_count"]) == (6, 9, 1)
    # What politeness remembers: the stricter of the two.
    assert (row["backoff_step"], row["adaptive_delay_s"]) == (3, 0.5)
    assert (row["next_fetch_at"], row["blocked_until"]) == (BEGINNING + timedelta(seconds=5), BEGINNING + DAY)
    assert (row["last_start_at"], row["unclean_end_at"]) == (BEGINNING, BEGINNING - DAY)
    assert (row["last_crawled_at"], row["seed_rank"], row["is_seeded"]) == (BEGINNING - DAY, 20, True)
    assert row["parent_domain"] == "example.com"
    assert every_host(state) == {"example.com"}
    assert merged(state) == []


def test_references_move_and_the_frontier_holds_each_url_once(state: State) -> None:
    kept_id = put(state, "example.com", first_seen_at=BEGINNING)
    gone_id = put(state, "www.example.com", first_seen_at=BEGINNING + DAY)
    state.queue("example.com", "https://example.com/both", "https://example.com/first")
    state.queue("example.com", "https://example.com/done-here", state=1)
    state.queue("www.example.com", "https://example.com/both", "https://example.com/second")
    state.queue("www.example.com", "https://example.com/done-here", "https://example.com/other", state=1)
    with state.database.write() as connection:
        about = {"domain_id": gone_id, "url_key": 1}
        connection.execute(
            insert(fetches).values(
                **about, domain="www.example.com", page_url="https://example.com/", outcome="fetched"
            )
        )
        connection.execute(insert(evidence).values(**about, url="https://example.com/", type="robots", content={}))
    assert [each.action for each in merged(state)] == ["folded"]
    assert state.urls("example.com") == {
        "https://example.com/both": 0,
        "https://example.com/first": 0,
        "https://example.com/second": 0,
        "https://example.com/done-here": 1,
        "https://example.com/other": 1,
    }
    assert state.row("example.com")["frontier_size"] == 3
    with state.database.read() as connection:
        assert connection.execute(select(fetches.c.domain, fetches.c.domain_id)).all() == [("example.com", kept_id)]
        assert connection.execute(select(evidence.c.domain_id)).scalars().all() == [kept_id]


def test_of_two_policies_the_stricter_holds(state: State) -> None:
    put(state, "example.com")
    put(state, "www.example.com")
    first = {"max_concurrency": 4, "min_request_interval_ms": 1000, "max_pages": 5, "max_kb_per_page": 10}
    second = {"max_concurrency": 2, "min_request_interval_ms": 9000, "max_pages": 50, "max_kb_per_page": 5}
    with state.database.write() as connection:
        connection.execute(insert(domain_policies).values(host="example.com", allow_js=True, **first))
        connection.execute(insert(domain_policies).values(host="www.example.com", allow_js=False, **second))
    merged(state)
    with state.database.read() as connection:
        (row,) = connection.execute(select(domain_policies)).all()
    assert (row.host, row.allow_js) == ("example.com", False)
    assert (row.max_concurrency, row.min_request_interval_ms, row.max_pages, row.max_kb_per_page) == (2, 9000, 5, 5)


def test_a_page_size_that_was_set_wins_over_one_that_is_a_default(state: State) -> None:
    put(state, "example.com")
    put(state, "www.example.com")
    with state.database.write() as connection:
        connection.execute(insert(domain_policies).values(host="example.com"))
        kept = {"max_kb_per_page": 5000, "is_page_size_set": True}
        connection.execute(insert(domain_policies).values(host="www.example.com", **kept))
    merged(state)
    with state.database.read() as connection:
        (row,) = connection.execute(select(domain_policies)).all()
    assert (row.max_kb_per_page, row.is_page_size_set) == (5000, True)


@pytest.mark.parametrize("leased", ["example.com", "www.example.com"])
def test_a_leased_host_is_skipped_until_its_lease_ends(state: State, leased: str) -> None:
    put(state, "example.com", pages_crawled=1)
    put(state, "www.example.com", pages_crawled=1)
    leases = state.leases()
    (lease,) = leases.take([leased])
    before = [state.row(host) for host in ("example.com", "www.example.com")]
    (result,) = merged(state)
    assert (result.action, result.detail) == ("skipped", f"{leased} is leased by {leases.holder}")
    assert [state.row(host) for host in ("example.com", "www.example.com")] == before
    state.clock.advance(minutes=31)
    assert [each.action for each in merged(state)] == ["folded"]
    row = state.row("example.com")
    # The lease that ran out ends here, and is remembered as one that ended in silence.
    assert (row["claimed_by"], row["claim_expires_at"]) == (None, None)
    assert row["unclean_end_at"] == lease.expires_at
    assert row["lease_token"] == 1
    (again,) = leases.claim(1)
    assert (again.host, again.token) == ("example.com", 2)
    assert again.memory.unclean_end_at == lease.expires_at.timestamp()


def test_a_leased_host_is_not_renamed_either(state: State) -> None:
    put(state, "www.example.com")
    state.leases().take(["www.example.com"])
    assert [each.action for each in merged(state)] == ["skipped"]
    assert every_host(state) == {"www.example.com"}


def test_a_host_that_was_done_wakes_when_it_inherits_work(state: State) -> None:
    later = BEGINNING + 9 * DAY
    put(state, "example.com", status=HostStatus.EXHAUSTED, first_seen_at=BEGINNING, next_crawl_after=later)
    put(state, "www.example.com", status=HostStatus.ACTIVE, first_seen_at=BEGINNING + DAY)
    merged(state)
    row = state.row("example.com")
    assert (row["status"], row["next_crawl_after"]) == (HostStatus.PENDING, None)


def test_a_blocked_host_stays_blocked(state: State) -> None:
    later = BEGINNING + 9 * DAY
    put(state, "example.com", status=HostStatus.BLOCKED, first_seen_at=BEGINNING, next_crawl_after=later)
    put(state, "www.example.com", status=HostStatus.ACTIVE, first_seen_at=BEGINNING + DAY)
    merged(state)
    row = state.row("example.com")
    assert (row["status"], row["next_crawl_after"]) == (HostStatus.BLOCKED, later)


def test_sub_domains_are_folded_when_the_setting_says_so(state: State) -> None:
    hosts = [
        "example.com",
        "blog.example.com",
        "a.b.example.com",
        "blog.example.com:8080",
        "example.co.uk",
        "github.io",
    ]
    for number, host in enumerate(hosts):
        put(state, host, pages_crawled=10**number, first_seen_at=BEGINNING + number * DAY)
    assert merged(state) == []
    results = merged(state, collapse=True)
    assert {(each.old, each.new) for each in results} == {
        ("blog.example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("blog.example.com:8080", "example.com:8080"),
    }
    assert every_host(state) == {"example.com", "example.com:8080", "example.co.uk", "github.io"}
    assert state.row("example.com")["pages_crawled"] == 111
    assert merged(state, collapse=True) == []


def test_a_dry_run_tells_what_it_would_do_and_does_nothing(state: State) -> None:
    put(state, "www.example.com")
    put(state, "example.com")
    put(state, "www.other.example")
    before = [state.row(host) for host in sorted(every_host(state))]
    results = merged(state, dry_run=True)
    assert [(each.old, each.action) for each in results] == [
        ("www.example.com", "folded"),
        ("www.other.example", "renamed"),
    ]
    assert all("dry run" in str(each.detail) for each in results)
    assert [state.row(host) for host in sorted(every_host(state))] == before


def test_a_row_that_is_no_host_is_skipped_and_told(state: State) -> None:
    put(state, "not a host")
    put(state, "www.example.com")
    results = merged(state)
    assert [(each.old, each.action) for each in results] == [("not a host", "skipped"), ("www.example.com", "renamed")]
    assert results[0].detail


def test_more_than_one_batch_is_merged(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "BATCH_ROWS", 3)
    for number in range(20):
        put(state, f"www.h{number}.example", pages_crawled=1)
        if number % 2:
            put(state, f"h{number}.example", pages_crawled=1)
    assert sorted(each.action for each in merged(state)) == ["folded"] * 10 + ["renamed"] * 10
    assert every_host(state) == {f"h{number}.example" for number in range(20)}
    assert merged(state) == []


def test_the_ledger_of_a_folded_host_is_kept(state: State) -> None:
    """Its chain ends where it was folded, and both chains stay whole."""
    first = put(state, "example.com", first_seen_at=BEGINNING)
    second = put(state, "www.example.com", first_seen_at=BEGINNING + DAY)
    with state.database.write() as connection:
        for host_id, host in ((first, "example.com"), (second, "www.example.com")):
            records.add_fetches(connection, None, [fetch(host_id, host, f"https://{host}/1", START)])
            note = robots_note(host_id, host, START - 1.0)
            ledger.keep_versions(connection, {VERSION: ROBOTS})
            ledger.append_notes(connection, [note])
            row = request(host_id, host, 1, START, policy_interval_ms=None, policy_max_concurrency=None)
            ledger.append_requests(connection, None, [row], {host_id: {START}})
    assert [each.action for each in merged(state)] == ["folded"]
    audits = list(verify_politeness(state.database, "example.com"))
    assert [(audit.host, audit.requests, audit.violations) for audit in audits] == [
        ("example.com", 1, ()),
        ("www.example.com", 1, ()),
    ]
    assert audits[1].remarks == ("the host was merged into another one, and its chain ends here",)
