"""Hosts are filled from what older crawls left: exactly, once, and past nobody who holds them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, inspect, select, text

from comity.database.connection import Database
from comity.database.tables import domains, fetches, takedowns
from comity.model.errors import StateUnavailable
from comity.model.host import HostStatus
from comity.operate import backfill as module
from comity.operate.backfill import backfill
from comity.operate.merge import merge_hosts
from comity.reports.backfill import BackfillReport, CounterLine, HostCounts, LeftHost, Mismatch, Orphans, Skipped
from comity.rules.canonical import canonical_host, url_key
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
from comity.upkeep.wake_hosts import end_cooldowns
from tests.database.states import BEGINNING, State
from tests.sizes import sized

DAY = timedelta(days=1)
WORK_TABLES = ("backfill_run", "backfill_hosts", "backfill_spellings")


@pytest.fixture(autouse=True)
def nothing_is_left_for_the_next_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests on PostgreSQL share one database; these tables are not among those that are emptied between them."""
    yield
    database = request.node.funcargs.get("database") or request.node.funcargs["shared_database"]
    if database.engine.dialect.name == "postgresql":
        with database.write() as connection:
            for name in (*WORK_TABLES, "older_provenance"):
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")


def fetched(state: State, *urls: str, at: datetime = BEGINNING - 100 * DAY, **columns: Any) -> None:
    """Rows as an older crawl left them: not tied to any host."""
    about: dict[str, Any] = {"outcome": "fetched", "status": 200, "domain": "old", "crawled_at": at} | columns
    rows = [{"page_url": url, "url_key": url_key(url)} | about for url in urls]
    with state.database.write() as connection:
        connection.execute(insert(fetches), rows)


def provenance(state: State, *rows: tuple[str | None, str | None], indexed: bool = True) -> None:
    """Images that an older crawl kept: (image, host) each."""
    with state.database.write() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE older_provenance (id VARCHAR(36), image_id VARCHAR(36), source_domain VARCHAR(255), "
            "page_url TEXT, discovery_type VARCHAR(20))"
        )
        if indexed:
            connection.exec_driver_sql("CREATE INDEX idx_provenance_source ON older_provenance (source_domain)")
        row = text("INSERT INTO older_provenance (id, image_id, source_domain) VALUES (:id, :image, :host)")
        connection.execute(row, [{"id": str(n), "image": image, "host": host} for n, (image, host) in enumerate(rows)])


def backfilled(state: State, **options: Any) -> BackfillReport:
    return backfill(state.database, state.clock, **options)


def every_row(state: State) -> list[Any]:
    with state.database.read() as connection:
        return list(connection.execute(select(domains).order_by(domains.c.domain)).all())


def tables(state: State) -> set[str]:
    with state.database.read() as connection:
        return set(inspect(connection).get_table_names())


def counter(report: BackfillReport, name: str) -> CounterLine:
    return next(line for line in report.counters if line.counter == name)


# --- hosts that had no row


def test_a_host_gets_the_row_that_its_fetches_prove(state: State) -> None:
    first, last = BEGINNING - 30 * DAY, BEGINNING - 20 * DAY
    fetched(state, "https://a.example/1", at=last, images_found=3, depth=2)
    fetched(state, "https://a.example/2", at=first, images_found=1, depth=4)
    fetched(state, "https://a.example/3", at=first + DAY, status=404, outcome="gone", depth=9)
    report = backfilled(state)
    row = state.row("a.example")
    counters = ("pages_discovered", "pages_crawled", "images_found", "images_stored", "total_error_count")
    assert [row[name] for name in counters] == [3, 2, 4, 0, 1]
    assert (row["status"], row["source"], row["is_seeded"]) == (HostStatus.EXHAUSTED, "backfill_fetches", True)
    assert (row["first_seen_at"], row["last_crawled_at"]) == (first, last)
    assert row["next_crawl_after"] == last + 14 * DAY
    assert (row["parent_domain"], row["crawl_depth_reached"]) == ("a.example", 4)
    assert (row["image_yield_rate"], row["avg_images_per_page"], row["error_rate"]) == (0.0, 2.0, 0.5)
    assert (row["claimed_by"], row["block_reason_code"], row["consecutive_error_count"]) == (None, None, 0)
    assert (report.created, report.raised, report.unchanged, report.left) == (1, 0, 0, {})
    assert (report.before, report.after) == (HostCounts(0, 0, 1), HostCounts(1, 1, 0))
    assert (report.fetches.rows, report.fetches.hosts, report.fetches.skipped) == (3, 1, ())
    assert tables(state).isdisjoint(WORK_TABLES)


def test_its_priority_is_that_of_its_counters(state: State) -> None:
    fetched(state, "https://a.example/1", "https://a.example/2", at=BEGINNING - 20 * DAY)
    weights = PriorityWeights(day_waiting=7.0)
    backfilled(state, weights=weights)
    signals = HostSignals(pages_discovered=2, pages_crawled=2, last_crawled_at=BEGINNING - 20 * DAY)
    row = state.row("a.example")
    assert row["priority_score"] == priority_score(signals, weights, BEGINNING) == 140
    assert row["priority_computed_at"] == BEGINNING


@pytest.mark.parametrize(
    ("statuses", "status", "code", "cooldown"),
    [
        ([200, 404], HostStatus.EXHAUSTED, None, 14),
        ([200, 404, 404], HostStatus.BLOCKED, "forbidden", 14),
        ([403], HostStatus.BLOCKED, "forbidden", 14),
        ([429, 429, 403, 200], HostStatus.BLOCKED, "rate_limited", 7),
        ([401, 401, 403, 200], HostStatus.BLOCKED, "login_required", 30),
        ([500, 503, 403], HostStatus.BLOCKED, "server_errors", 7),
        ([None, None, 200], HostStatus.UNREACHABLE, "connection_failure", 7),
        ([None, 200], HostStatus.EXHAUSTED, None, 14),
        ([None, 500, 200], HostStatus.EXHAUSTED, None, 14),
    ],
)
def test_more_than_half_decides_how_a_host_was_left(
    state: State, statuses: list[int | None], status: HostStatus, code: str | None, cooldown: int
) -> None:
    for number, each in enumerate(statuses):
        outcome = "fetched" if each == 200 else "failed"
        fetched(state, f"https://a.example/{number}", status=each, outcome=outcome, at=BEGINNING - number * DAY)
    backfilled(state)
    row = state.row("a.example")
    assert (row["status"], row["block_reason_code"]) == (status, code)
    assert row["next_crawl_after"] == BEGINNING + cooldown * DAY
    assert row["first_blocked_at"] == (None if code is None else BEGINNING)
    assert (row["block_reason"] is None) == (code is None)
    assert row["total_error_count"] == sum(each != 200 for each in statuses)


def test_a_host_left_blocked_wakes_when_its_cooldown_is_over(state: State) -> None:
    fetched(state, "https://old.example/", status=403, outcome="gone", at=BEGINNING - 15 * DAY)
    fetched(state, "https://new.example/", status=403, outcome="gone", at=BEGINNING - 13 * DAY)
    backfilled(state)
    assert end_cooldowns(state.database, state.clock) == 1
    assert state.row("old.example")["status"] is HostStatus.PENDING
    assert state.row("new.example")["status"] is HostStatus.BLOCKED


def test_when_a_host_is_due_again_is_a_setting(state: State) -> None:
    fetched(state, "https://a.example/", at=BEGINNING)
    backfilled(state, refresh_after=3 * DAY)
    assert state.row("a.example")["next_crawl_after"] == BEGINNING + 3 * DAY


@pytest.mark.parametrize(
    ("outcome", "status", "pages", "errors"),
    [
        # As settling counts its own outcomes …
        ("fetched", 200, 1, 0),
        ("not_modified", 304, 1, 0),
        ("gone", 404, 0, 1),
        ("rate_limited", 429, 0, 1),
        ("rejected", 200, 0, 1),
        ("failed", None, 0, 1),
        ("failed", 503, 0, 1),
        ("refused", 302, 0, 1),
        # … and by the status where an older log has words of its own.
        ("fetched", 404, 0, 1),
        ("crawled", 200, 1, 0),
        ("crawled", 500, 0, 1),
        ("fetched", None, 1, 0),
        ("who knows", None, 0, 0),
    ],
)
def test_what_counts_as_a_page_and_as_an_error(
    state: State, outcome: str, status: int | None, pages: int, errors: int
) -> None:
    fetched(state, "https://a.example/", outcome=outcome, status=status)
    backfilled(state)
    row = state.row("a.example")
    assert (row["pages_discovered"], row["pages_crawled"], row["total_error_count"]) == (1, pages, errors)


def test_a_url_is_discovered_once_however_often_it_is_fetched(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 2)
    for number in range(5):
        fetched(state, "https://a.example/1", at=BEGINNING - number * DAY)
    fetched(state, "https://a.example/2")
    backfilled(state)
    row = state.row("a.example")
    assert (row["pages_discovered"], row["pages_crawled"]) == (2, 6)


# --- names


@pytest.mark.parametrize(
    ("urls", "host"),
    [
        (["https://www.Example.com/a", "http://example.com", "HTTPS://EXAMPLE.COM.:443/b"], "example.com"),
        (["https://example.com?q=a/b c", "https://example.com#x", "https://example.com\\x"], "example.com"),
        (["http://example.com:8080/", "http://www.example.com:8080/y"], "example.com:8080"),
        (["https://münchen.de/", "https://xn--mnchen-3ya.de/x"], "xn--mnchen-3ya.de"),
        (["http://[::1]/", "http://[0:0::1]:80/x"], "[::1]"),
        (["http://a/", "http://a"], "a"),
        ([f"https://example.com?{'q' * 9000}", " https://example.com/ "], "example.com"),
    ],
)
def test_spellings_of_one_host_are_one_row(state: State, urls: list[str], host: str) -> None:
    fetched(state, *urls)
    report = backfilled(state)
    assert [row.domain for row in every_row(state)] == [host]
    assert (state.row(host)["pages_crawled"], report.fetches.skipped) == (len(urls), ())


def test_sub_domains_are_hosts_of_their_own_unless_the_setting_folds_them(state: State) -> None:
    fetched(state, "https://a.example.com/", "https://b.example.com/", "https://example.com/")
    assert backfilled(state, dry_run=True).created == 3
    assert backfilled(state, collapse=True).created == 1
    assert state.row("example.com")["pages_crawled"] == 3


def test_rows_that_are_no_web_address_are_counted_with_their_reason(state: State) -> None:
    fetched(state, "https://good.example/")
    fetched(state, "ftp://files.example/a", "ftp://files.example/b", "mailto:somebody", "", "plain.example/x")
    fetched(state, "https://user:secret@host.example/", "https:///nothing", "https://a..b/", "https://under score/")
    report = backfilled(state)
    assert [row.domain for row in every_row(state)] == ["good.example"]
    assert (report.fetches.rows, report.fetches.rows_skipped, report.fetches.hosts) == (10, 9, 1)
    assert report.fetches.skipped[0] == Skipped("only http and https are crawled", 2, "ftp://files.example/")
    reasons = {line.reason: line.example for line in report.fetches.skipped}
    assert reasons["does not start with http:// or https://"] == "plain.example/"
    assert reasons["contains a user name or password, which Comity never sends"] == "…@host.example"
    assert "secret" not in str(report)


def test_reasons_are_told_apart_up_to_a_bound(state: State) -> None:
    fetched(state, *(f"https://a*{number}.example/" for number in range(60)))
    fetched(state, *(f"https://-.{number}x!y.example/" for number in range(60)))
    report = backfilled(state)
    assert report.fetches.rows_skipped == 120
    assert len(report.fetches.skipped) <= 21


def test_a_host_by_another_name_waits_for_its_merge(state: State) -> None:
    with state.database.write() as connection:
        connection.execute(insert(domains).values(domain="WWW.a.example", pages_crawled=1))
        connection.execute(insert(domains).values(domain="not a host", pages_crawled=1))
    fetched(state, "https://www.a.example/1", "https://a.example/2", "https://b.example/")
    before = every_row(state)
    report = backfilled(state)
    assert report.left == {"misnamed": 1}
    assert report.left_hosts == (LeftHost("a.example", "misnamed", "WWW.a.example"),)
    assert report.after.without_row == 1
    assert [row for row in every_row(state) if row.domain != "b.example"] == before
    list(merge_hosts(state.database, state.clock))
    assert (backfilled(state).raised, state.row("a.example")["pages_crawled"]) == (1, 2)


def test_a_host_that_was_merged_while_a_backfill_was_interrupted_does_not_come_back(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    with state.database.write() as connection:
        row = insert(domains).values(domain="www.a.example").returning(domains.c.id)
        host_id = connection.execute(row).scalar_one()
    fetched(state, "https://www.a.example/1", "https://www.a.example/2", domain_id=host_id)
    with pytest.raises(Stopped):
        backfilled(state, bars=stopping_after(1))
    list(merge_hosts(state.database, state.clock))
    report = backfilled(state)
    assert report.left_hosts == (LeftHost("www.a.example", "misnamed", "a.example"),)
    assert [row.domain for row in every_row(state)] == ["a.example"]
    assert (backfilled(state).raised, state.row("a.example")["pages_crawled"]) == (1, 2)


def test_a_fetch_that_a_lease_tied_to_a_host_belongs_to_it(state: State) -> None:
    host_id = state.add("example.com", pages_crawled=1, pages_discovered=1)
    fetched(state, "https://sub.example.com/", domain_id=host_id, domain="example.com")
    report = backfilled(state)
    assert (report.created, report.unchanged, report.raised) == (0, 0, 1)  # only its time was not known
    assert [row.domain for row in every_row(state)] == ["example.com"]


def test_a_host_that_is_taken_down_gets_no_row(state: State) -> None:
    with state.database.write() as connection:
        connection.execute(insert(takedowns).values(domain_or_url="a.example"))
    fetched(state, "https://sub.a.example/", "https://b.example/")
    report = backfilled(state)
    assert [row.domain for row in every_row(state)] == ["b.example"]
    assert report.left_hosts == (LeftHost("sub.a.example", "taken_down", "a.example"),)
    assert report.after == HostCounts(1, 1, 1)


# --- hosts that had one


def test_a_row_keeps_all_but_the_counters_that_are_too_low(state: State) -> None:
    kept = {
        "status": HostStatus.BLOCKED,
        "block_reason": "because",
        "block_reason_code": "login_required",
        "first_blocked_at": BEGINNING - 5 * DAY,
        "cooldown_count": 2,
        "lease_token": 7,
        "images_found": 50,
        "max_pages_per_run": 12,
        "consecutive_error_count": 3,
        "priority_score": 77,
        "seed_rank": 5,
        "source": "tranco",
        "first_seen_at": BEGINNING - DAY,
        "next_crawl_after": BEGINNING + 9 * DAY,
        "is_seeded": False,
        "blocked_until": BEGINNING + DAY,
        "backoff_step": 2,
    }
    state.add("a.example", pages_crawled=1, pages_discovered=9, last_crawled_at=BEGINNING - 50 * DAY, **kept)
    fetched(state, "https://a.example/1", "https://a.example/2", at=BEGINNING - 40 * DAY, images_found=2)
    fetched(state, "https://a.example/3", status=404, outcome="gone", at=BEGINNING - 45 * DAY, depth=3)
    before = state.row("a.example")
    report = backfilled(state)
    row = state.row("a.example")
    changed = {name for name, value in row.items() if value != before[name]} - {"updated_at"}
    rates = {"image_yield_rate", "avg_images_per_page", "error_rate"}
    assert changed == {"pages_crawled", "total_error_count", "last_crawled_at", "version"} | rates
    assert (row["pages_crawled"], row["total_error_count"]) == (2, 1)
    assert (row["last_crawled_at"], row["version"]) == (BEGINNING - 40 * DAY, before["version"] + 1)
    assert (row["image_yield_rate"], row["avg_images_per_page"], row["error_rate"]) == (0.0, 25.0, 0.5)
    assert (report.created, report.raised) == (0, 1)
    assert counter(report, "pages_crawled") == CounterLine("pages_crawled", 1, 1, 0, 0)
    assert counter(report, "pages_discovered") == CounterLine("pages_discovered", 0, 0, 0, 1)
    assert report.mismatches == (
        Mismatch("a.example", "images_found", 50, 4),
        Mismatch("a.example", "pages_discovered", 9, 3),
    )


def test_a_host_that_waits_goes_on_waiting_with_a_new_score(state: State) -> None:
    state.add("a.example", seed_rank=3, priority_score=1)
    fetched(state, "https://a.example/", at=BEGINNING - DAY)
    backfilled(state)
    row = state.row("a.example")
    signals = HostSignals(pages_discovered=1, pages_crawled=1, seed_rank=3, last_crawled_at=BEGINNING - DAY)
    assert row["status"] is HostStatus.PENDING
    assert row["priority_score"] == priority_score(signals, PriorityWeights(), BEGINNING)


def test_a_second_run_changes_nothing(state: State) -> None:
    state.add("known.example", pages_crawled=1)
    for host in ("known.example", "new.example", "www.new.example"):
        fetched(state, *(f"https://{host}/{number}" for number in range(5)), images_found=1)
    provenance(state, ("1", "new.example"), ("2", "known.example"))
    assert (backfilled(state).created, backfilled(state).created) == (1, 0)
    before = every_row(state)
    state.clock.advance(days=3)
    report = backfilled(state)
    assert every_row(state) == before
    assert (report.created, report.raised, report.unchanged) == (0, 0, 2)
    assert report.before == report.after == HostCounts(2, 1, 0)
    assert (report.mismatches, report.is_resumed) == ((), False)


def test_a_leased_host_is_left_to_its_holder(state: State) -> None:
    state.add("busy.example", pages_crawled=1)
    leases = state.leases("worker:7")
    assert leases.take(["busy.example"])
    fetched(state, "https://busy.example/1", "https://busy.example/2", "https://free.example/")
    before = state.row("busy.example")
    report = backfilled(state)
    assert state.row("busy.example") == before
    assert (report.created, report.left) == (1, {"leased": 1})
    assert report.left_hosts == (LeftHost("busy.example", "leased", "worker:7"),)
    assert counter(report, "pages_crawled") == CounterLine("pages_crawled", 1, 0, 1, 0)
    state.clock.advance(minutes=31)
    assert (backfilled(state).raised, state.row("busy.example")["pages_crawled"]) == (1, 2)
    assert state.row("busy.example")["claimed_by"] == "worker:7"  # a lease that ran out is the next holder's to end


def test_pages_that_were_counted_without_a_fetch_are_told(state: State) -> None:
    state.add("a.example", pages_crawled=4)
    state.add("b.example")
    fetched(state, "https://c.example/")
    report = backfilled(state)
    assert report.orphans == Orphans(0, 0, 1)
    assert state.row("a.example")["pages_crawled"] == 4


# --- images


@pytest.mark.parametrize("indexed", [True, False])
def test_images_are_counted_once_for_a_host_whatever_its_spelling(
    state: State, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    monkeypatch.setattr(module, "NAMES_PER_BATCH", 2)
    monkeypatch.setattr(module, "HOSTS_PER_BATCH", 1)
    for host in ("a.example", "b.example", "c.example"):
        fetched(state, *(f"https://{host}/{number}" for number in range(4)))
    state.add("c.example", images_stored=9)
    images = [("1", "a.example"), ("1", "a.example"), ("1", "www.a.example"), ("2", "A.example"), ("1", "b.example")]
    provenance(state, *images, ("7", "c.example"), (None, "b.example"), ("3", None), ("4", "no host"), indexed=indexed)
    report = backfilled(state)
    stored = {row.domain: (row.images_stored, row.image_yield_rate) for row in every_row(state)}
    assert stored == {"a.example": (2, 0.5), "b.example": (1, 0.25), "c.example": (9, 2.25)}
    assert report.provenance is not None
    assert (report.provenance.rows, report.provenance.hosts, report.provenance.rows_skipped) == (9, 3, 2)
    assert {line.reason for line in report.provenance.skipped} == {
        "no source_domain",
        "contains a space or an invisible character",
    }
    assert Mismatch("c.example", "images_stored", 9, 1) in report.mismatches
    lines = {line.status: (line.hosts, line.average_yield, line.average_pages) for line in report.backfilled}
    assert lines == {HostStatus.EXHAUSTED: (2, 0.375, 4.0)}


def test_images_of_a_host_that_nobody_fetched_are_orphans(state: State) -> None:
    fetched(state, "https://a.example/")
    state.add("known.example")
    provenance(state, ("1", "lost.example"), ("2", "lost.example"), ("3", "known.example"))
    report = backfilled(state)
    assert report.orphans == Orphans(1, 2, 0)
    assert {row.domain: row.images_stored for row in every_row(state)} == {"a.example": 0, "known.example": 1}
    assert (report.left, report.after.without_row) == ({}, 0)


def test_without_the_table_images_are_left_as_they_are(state: State) -> None:
    state.add("a.example", images_stored=5)
    fetched(state, "https://a.example/")
    report = backfilled(state)
    assert (report.provenance, report.provenance_lacks) == (None, "provenance is empty")
    assert state.row("a.example")["images_stored"] == 5
    assert all(line.counter != "images_stored" for line in (*report.counters, *report.mismatches))


def test_a_table_without_the_column_is_taken_for_what_it_is(state: State) -> None:
    with state.database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE older_provenance (id INTEGER, image_id INTEGER)")
    fetched(state, "https://a.example/")
    report = backfilled(state)
    assert (report.created, report.provenance_lacks) == (1, "older_provenance has no column source_domain")


# --- long logs, interruptions and rehearsals


def random_history(state: State, rows: int, seed: int) -> dict[str, tuple[int, ...]]:
    """A log with repeats, errors, gaps and spellings; gives what each host's counters must come to."""
    chance = random.Random(seed)
    number = 0
    values, urls = [], defaultdict(set)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for _ in range(rows):
        number += chance.choice([1, 1, 1, 2, 50])
        prefix = chance.choice(["", "www."])
        url = f"https://{prefix}h{chance.randrange(9)}.example/{chance.randrange(12)}"
        host = canonical_host(url).authority
        is_error = chance.random() < 0.3
        images, depth = chance.randrange(4), chance.randrange(9)
        values.append(
            {
                "id": number,
                "domain": "old",
                "page_url": url,
                "url_key": url_key(url),
                "outcome": "failed" if is_error else "fetched",
                "status": 500 if is_error else 200,
                "images_found": images,
                "depth": depth,
                "crawled_at": BEGINNING - timedelta(minutes=chance.randrange(9999)),
            }
        )
        urls[host].add(url)
        line = sums[host]
        line[0] += not is_error
        line[1] += is_error
        line[2] += images
        line[3] = max(line[3], 0 if is_error else depth)
    with state.database.write() as connection:
        connection.execute(insert(fetches), values)
    return {host: (len(urls[host]), *line) for host, line in sums.items()}


def counted(state: State) -> dict[str, tuple[int, ...]]:
    names = ("pages_discovered", "pages_crawled", "total_error_count", "images_found", "crawl_depth_reached")
    return {row.domain: tuple(getattr(row, name) for name in names) for row in every_row(state)}


@pytest.mark.parametrize("seed", range(sized(2, 4)))
def test_batches_of_any_size_come_to_the_same(state: State, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    expected = random_history(state, sized(60, 200), seed)
    for name in ("FETCHES_PER_BATCH", "NAMES_PER_BATCH", "HOSTS_PER_BATCH"):
        monkeypatch.setattr(module, name, chance.choice([1, 3, 20]))
    backfilled(state)
    assert counted(state) == expected
    rows = every_row(state)
    monkeypatch.undo()
    assert backfilled(state).unchanged == len(expected)
    assert every_row(state) == rows


def test_gaps_between_row_numbers_cost_nothing(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    fetched(state, "https://a.example/1", id=1)
    fetched(state, "https://a.example/2", id=2_000_000_000)
    steps: list[int] = []
    backfilled(state, bars=lambda title, _total: steps.append if title == "Reading fetches" else _ignore)
    assert steps == [1, 2_000_000_000]
    assert state.row("a.example")["pages_crawled"] == 2


class Stopped(Exception):
    """Somebody pulled the plug."""


def stopping_after(steps: int) -> Callable[[str, int | None], Callable[[int], None]]:
    """Bars that let so many reports pass, and then end the run."""
    left = steps

    def show(_done: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stopped

    return lambda _title, _total: show


def test_an_interrupted_run_goes_on_and_counts_nothing_twice(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("FETCHES_PER_BATCH", 40), ("NAMES_PER_BATCH", 2), ("HOSTS_PER_BATCH", 3)):
        monkeypatch.setattr(module, name, size)
    expected = random_history(state, 60, seed=5)
    provenance(state, *((str(number % 7), f"h{number % 9}.example") for number in range(40)))
    runs = 0
    while True:  # every run comes one report further than the one before it stopped
        try:
            report = backfilled(state, bars=stopping_after(1))
            break
        except Stopped:
            runs += 1
            assert runs < 100
            assert tables(state) >= set(WORK_TABLES)
    assert runs >= 5
    assert counted(state) == expected
    assert (report.is_resumed, report.fetches.rows, report.created) == (True, 60, len(expected))
    assert report.provenance is not None
    assert report.provenance.rows == 40
    assert report.before == HostCounts(0, 0, len(expected))
    assert report.after == HostCounts(len(expected), len(expected), 0)
    assert tables(state).isdisjoint(WORK_TABLES)
    assert backfilled(state).unchanged == len(expected)


@pytest.mark.parametrize("options", [{"restart": True}, {"collapse": True}])
def test_what_was_read_under_other_terms_is_forgotten(
    state: State, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]
) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    fetched(state, "https://a.example/1", "https://a.example/2", "https://a.example/3")
    with pytest.raises(Stopped):
        backfilled(state, bars=stopping_after(1))
    report = backfilled(state, **options)
    assert (report.is_resumed, report.fetches.rows) == (False, 3)
    assert state.row("a.example")["pages_crawled"] == 3


def test_of_two_backfills_the_later_one_takes_over(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 40)
    expected = random_history(state, 60, seed=6)
    reports = []

    def start_another(_done: int) -> None:
        if not reports:
            reports.append(backfilled(state))

    with pytest.raises(StateUnavailable, match="took over"):
        backfilled(state, bars=lambda _title, _total: start_another)
    assert (reports[0].is_resumed, reports[0].fetches.rows) == (True, 60)
    assert counted(state) == expected


def test_rows_that_come_while_the_log_is_read_wait_for_the_next_time(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    fetched(state, "https://a.example/1", "https://a.example/2")
    came: list[int] = []

    def fetch_another(done: int) -> None:
        if not came:
            fetched(state, "https://a.example/3")
        came.append(done)

    report = backfilled(state, bars=lambda title, _total: fetch_another if title == "Reading fetches" else _ignore)
    assert (report.fetches.rows, state.row("a.example")["pages_crawled"]) == (2, 2)
    assert (backfilled(state).raised, state.row("a.example")["pages_crawled"]) == (1, 3)


def test_a_dry_run_tells_the_same_and_writes_nothing(state: State) -> None:
    state.add("known.example", pages_crawled=1)
    state.add("busy.example")
    state.leases("worker:7").take(["busy.example"])
    for host in ("known.example", "new.example", "busy.example"):
        fetched(state, *(f"https://{host}/{number}" for number in range(5)))
    provenance(state, ("1", "new.example"), ("1", "lost.example"))
    before, tables_before = every_row(state), tables(state)
    rehearsed = backfilled(state, dry_run=True)
    assert (every_row(state), tables(state)) == (before, tables_before)
    assert rehearsed == backfilled(state, dry_run=True)
    done = backfilled(state)
    same = (
        "fetches",
        "provenance",
        "before",
        "after",
        "created",
        "raised",
        "left",
        "left_hosts",
        "counters",
        "orphans",
    )
    assert [getattr(rehearsed, name) for name in same] == [getattr(done, name) for name in same]
    assert (rehearsed.is_dry_run, done.is_dry_run) == (True, False)


def test_a_dry_run_leaves_what_an_interrupted_one_has_read_alone(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    fetched(state, "https://a.example/1", "https://a.example/2")
    with pytest.raises(Stopped):
        backfilled(state, bars=stopping_after(1))
    assert backfilled(state, dry_run=True).fetches.rows == 2
    with pytest.raises(Stopped):
        backfilled(state, dry_run=True, bars=stopping_after(0))
    report = backfilled(state)
    assert (report.is_resumed, state.row("a.example")["pages_crawled"]) == (True, 2)


def test_others_write_while_a_dry_run_reads(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCHES_PER_BATCH", 1)
    fetched(state, "https://a.example/1", "https://a.example/2")
    written: list[int] = []

    def write_something(done: int) -> None:
        state.add(f"other{len(written)}.example")
        written.append(done)

    backfilled(state, dry_run=True, bars=lambda _title, _total: write_something)
    assert len(written) == len(every_row(state)) >= 3


def _ignore(_done: int) -> None:
    pass


# --- a server that is shared


def test_a_row_that_somebody_writes_to_is_waited_for_by_nobody(shared_database: Database) -> None:
    state = State(shared_database)
    state.add("a.example")
    state.add("b.example")
    fetched(state, "https://a.example/", "https://b.example/", "https://c.example/")
    with shared_database.write() as other:
        other.execute(select(domains).where(domains.c.domain == "a.example").with_for_update())
        report = backfilled(state)
    assert (report.created, report.raised, report.left) == (1, 1, {"busy": 1})
    assert report.left_hosts == (LeftHost("a.example", "busy", None),)
    assert state.row("a.example")["pages_crawled"] == 0
    assert backfilled(state).raised == 1


def test_the_clock_of_the_server_says_which_leases_hold(shared_database: Database) -> None:
    state = State(shared_database)  # whose own clock stands in the past
    hour = "interval '1 hour'"
    for host, end in (("held.example", f"now() + {hour}"), ("ended.example", f"now() - {hour}")):
        state.add(host)
        fetched(state, f"https://{host}/")
        with shared_database.write() as connection:
            lease = f"UPDATE domains SET claimed_by = 'worker:7', claim_expires_at = {end} WHERE domain = '{host}'"
            connection.exec_driver_sql(lease)
    report = backfilled(state)
    assert (report.raised, report.left) == (1, {"leased": 1})
    assert state.row("ended.example")["pages_crawled"] == 1
    assert state.row("ended.example")["priority_computed_at"] > BEGINNING
