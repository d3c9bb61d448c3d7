"""What an operator may do with sources, and what is refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from comity.database.sources import rows as sources_table
from comity.model.errors import AlreadyThere, BadInput, ComityError, NotFound, Remedy, RemedyCode
from comity.model.job import ListingKind
from comity.model.source import ScheduleName, SourceStatus
from comity.operate import sources as operate
from comity.operate.takedown import add_takedowns, remove_takedowns
from comity.reports.sources import find_source, list_sources, sources_status
from tests.database.states import MovedClock
from tests.walk.site import Answer, Web
from tests.walk.sourcing import LOGIN, Office, jobs, listing, office

HINT = '{"item": ".job", "title": "a"}'
PAGE = "https://Careers.Example/Jobs#top"


@pytest.fixture
def bureau(sqlite_url: str) -> Iterator[Office]:
    with office(sqlite_url) as opened:
        yield opened


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def test_a_country_may_be_named(bureau: Office) -> None:
    assert bureau.add(PAGE, country="Kenya").country == "KE"


@pytest.mark.parametrize(("org_type", "days"), [("UN", 1), ("ingo", 2), ("ngo", 3), ("academic", 7), ("Company", 3)])
def test_a_source_is_due_at_once_as_often_as_its_kind_asks_for(bureau: Office, org_type: str, days: int) -> None:
    before = bureau.state.clock.now()
    source = bureau.add(PAGE, org_type=org_type)
    assert source.careers_url == "https://careers.example/Jobs"
    assert (source.org_type, source.crawl_frequency_days, source.status) == (org_type.lower(), days, "active")
    assert source.next_run_at is not None
    assert before <= source.next_run_at <= bureau.state.clock.now()
    assert sources_status(bureau.database, bureau.state.clock).due_count == 1


def test_a_proposed_source_waits_for_approval(bureau: Office) -> None:
    source = bureau.add(PAGE, approved=False)
    assert (source.status, source.next_run_at) == (SourceStatus.PAUSED, None)
    assert sources_status(bureau.database, bureau.state.clock).due_count == 0
    approved = operate.approve_source(bureau.database, bureau.state.clock, source.id)
    assert (approved.status, approved.next_run_at is not None) == (SourceStatus.ACTIVE, True)


@pytest.mark.parametrize(
    ("url", "columns", "words"),
    [
        ("careers.example/jobs", {}, "a full URL such as https://"),
        ("ftp://careers.example/", {}, "a full URL such as https://"),
        ("https://", {}, "https://"),
        ("https://ex ample/", {}, "ex ample"),
        (PAGE, {"source_type": "pdf"}, "source_type: must be html, rss or api, not 'pdf'"),
        (PAGE, {"schedule": "often"}, "schedule: must be s0 or adaptive"),
        (PAGE, {"crawl_frequency_days": 0}, "crawl_frequency_days: must be between 1 and 365, not 0"),
        (PAGE, {"crawl_frequency_days": 366}, "crawl_frequency_days: must be between 1 and 365"),
        (PAGE, {"importance": -1.0}, "importance: must be between 0 and 1000"),
        (PAGE, {"time_window": "22-5"}, "time_window: '22' is not a time of day"),
        (PAGE, {"time_window": "09:00-09:00"}, "time_window: '09:00-09:00' ends when it starts"),
        (PAGE, {"time_zone": "Mars/Olympus"}, "time_zone: must be a name such as Africa/Nairobi"),
        (PAGE, {"time_zone": "../../etc/passwd"}, "time_zone: must be a name"),
        (PAGE, {"country": "Kenyaa"}, "country: must be two letters such as KE (ISO 3166) or a country's name"),
        (PAGE, {"org_type": "foo"}, "org_type: 'foo' is not known; it is one of un, "),
        (PAGE, {"country": "ZZ"}, "country: must be two letters such as KE"),
        (PAGE, {"parser_hint": "{"}, "parser_hint: The hint is not JSON"),
        (PAGE, {"parser_hint": '{"item": "li", "titel": "a"}'}, "parser_hint: “titel”"),
        (PAGE, {"org_name": "x" * 301}, "org_name: is longer than 300 characters"),
        (PAGE, {"org_name": "two\nlines"}, "org_name: contains a line break"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    bureau: Office, url: str, columns: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput) as refused:
        bureau.add(url, **columns)
    assert words in str(refused.value)
    assert list_sources(bureau.database) == ([], 0)
    if columns:
        source = bureau.add(PAGE)
        with pytest.raises(BadInput):
            operate.edit_source(bureau.database, bureau.state.clock, source.id, **columns)
        assert find_source(bureau.database, str(source.id)) == source


def test_one_address_is_one_source_until_it_is_deleted(bureau: Office) -> None:
    source = bureau.add(PAGE, time_window="22:00-05:00", org_type="un")
    with pytest.raises(BadInput, match="is already a source"):
        bureau.add("https://careers.example/Jobs")
    operate.delete_source(bureau.database, bureau.state.clock, source.id)
    with pytest.raises(NotFound):
        operate.pause_source(bureau.database, bureau.state.clock, source.id)
    again = bureau.add(PAGE)
    assert (again.id, again.status) == (source.id, SourceStatus.ACTIVE)
    assert (again.time_window, again.crawl_frequency_days) == (None, 3)


def test_an_edit_changes_what_is_named_and_an_empty_text_takes_a_value_away(bureau: Office) -> None:
    source = bureau.add(PAGE, time_window="22:00-05:00", country="ke", org_type="un")
    assert bureau.add("https://uk.example/", country="uk").country == "GB"  # as people there write it
    edited = operate.edit_source(
        bureau.database, bureau.state.clock, source.id, time_window="", schedule="adaptive", importance=2.5
    )
    assert (edited.time_window, edited.schedule, edited.importance) == (None, ScheduleName.ADAPTIVE, 2.5)
    assert (edited.country, edited.org_type, edited.next_run_at) == ("KE", "un", source.next_run_at)
    other = bureau.add("https://other.example/")
    with pytest.raises(BadInput, match="already another source"):
        operate.edit_source(bureau.database, bureau.state.clock, other.id, careers_url=PAGE)
    with pytest.raises(BadInput, match="cannot be empty"):
        operate.edit_source(bureau.database, bureau.state.clock, other.id, schedule=None)
    with pytest.raises(BadInput, match="source_type: cannot be empty"):
        operate.edit_source(bureau.database, bureau.state.clock, other.id, source_type=" ")
    assert bureau.add("https://plain.example/", source_type="", schedule=" ").schedule is ScheduleName.S0
    with pytest.raises(BadInput, match="nothing to change"):
        operate.edit_source(bureau.database, bureau.state.clock, other.id)
    with pytest.raises(NotFound):
        operate.edit_source(bureau.database, bureau.state.clock, uuid4(), org_name="Nobody")


def test_resume_forgets_failures_and_makes_a_source_due(bureau: Office) -> None:
    source = bureau.add(PAGE)
    bureau.execute("UPDATE sources SET consecutive_failures = 5, status = 'paused', next_run_at = '2099-01-01'")
    resumed = operate.resume_source(bureau.database, bureau.state.clock, source.id)
    assert (resumed.status, resumed.consecutive_failures) == (SourceStatus.ACTIVE, 0)
    assert resumed.next_run_at is not None
    assert resumed.next_run_at - bureau.state.clock.now() < timedelta(seconds=1)
    paused = operate.pause_source(bureau.database, bureau.state.clock, source.id)
    assert paused.status is SourceStatus.PAUSED
    assert sources_status(bureau.database, bureau.state.clock).due_count == 0


def test_deleting_a_source_closes_what_only_it_lists(web: Web, bureau: Office) -> None:
    both, own = jobs(1), jobs(2, start=5)
    site = web.site({"/one": listing(both + own), "/two": listing(both)})
    one, two = bureau.add(site.url("/one")), bureau.add(site.url("/two"))
    bureau.run(one)
    bureau.run(two)
    operate.delete_source(bureau.database, bureau.state.clock, one.id)
    assert bureau.titles() == [both[0].title]
    assert bureau.outbox()[3:] == ["delete", "delete"]
    assert len(bureau.logs(one)) == 1
    operate.delete_source(bureau.database, bureau.state.clock, two.id)
    assert bureau.titles() == []


def test_a_test_fetch_asks_for_the_head_only(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": Answer(body="x" * 1234, etag='"v1"', headers={"Last-Modified": "Tue, 03 Mar 2026"})})
    head = bureau.do(lambda desk: operate.test_fetch(desk, site.url("/careers")))
    assert (head.status, head.size, head.etag, head.last_modified) == (200, 1234, '"v1"', "Tue, 03 Mar 2026")
    assert bureau.rows("SELECT purpose FROM politeness_ledger ORDER BY id") == [
        {"purpose": "robots"},
        {"purpose": "page"},
    ]
    missing = bureau.do(lambda desk: operate.test_fetch(desk, site.url("/missing")))
    assert (missing.status, missing.content_type) == (404, "text/html; charset=utf-8")
    assert missing.elapsed_ms > 0
    site.routes["/no-heads"] = Answer(405)
    refused = bureau.do(lambda desk: operate.test_fetch(desk, site.url("/no-heads")))
    assert (refused.status, "does not support HEAD requests" in (refused.note or "")) == (405, True)
    for path, words in (("/private", "not requested"), ("/gone", "taken down")):
        site.routes["/robots.txt"] = Answer(body="User-agent: *\nDisallow: /private\n", type="text/plain")
        bureau.execute("DELETE FROM robots_cache")
        add_takedowns(bureau.database, [site.url("/gone")])
        with pytest.raises(ComityError, match=words):
            bureau.do(lambda desk, path=path: operate.test_fetch(desk, site.url(path)))  # type: ignore[misc]
    assert "/private" not in site.paths
    assert "/gone" not in site.paths


def test_a_simulation_shows_three_jobs_and_writes_nothing(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(5), following="/more"), "/login": LOGIN})
    tried = operate.source_to_try(bureau.database, site.url("/careers"), country="ke")
    found = bureau.do(lambda desk: operate.simulate_extract(desk, tried))
    assert (found.kind, found.found, len(found.jobs)) == (ListingKind.JOBS, 5, 3)
    assert [job.title for job in found.jobs] == [job.title for job in jobs(3)]
    assert found.jobs[0].country_iso == "KE"
    assert site.pages() == ["/careers"]
    for table in ("sources", "job_postings", "crawl_logs", "crawl_locks", "search_outbox", "source_pages"):
        assert bureau.rows(f"SELECT * FROM {table}") == []
    wall = operate.source_to_try(bureau.database, site.url("/login"))
    assert bureau.do(lambda desk: operate.simulate_extract(desk, wall)).kind is ListingKind.LOGIN
    stored = bureau.add(site.url("/nowhere"))
    nowhere = operate.source_to_try(bureau.database, str(stored.id))
    found = bureau.do(lambda desk: operate.simulate_extract(desk, nowhere))
    assert (found.kind, found.status, found.message) == (None, 404, "the server answered 404")


def test_an_edit_holds_for_the_run_that_is_planned_already(bureau: Office) -> None:
    def edited(**changes: Any) -> timedelta:
        """How far off the next run is after an edit of a source that ran a day ago and waits for ten more."""
        with bureau.database.write() as connection:
            then = {"last_crawled_at": now - timedelta(days=1), "next_run_at": now + timedelta(days=10)}
            usual = {"time_window": None, "crawl_frequency_days": 11}
            sources_table.change(connection, source.id, then | usual, now)
        found = operate.edit_source(bureau.database, bureau.state.clock, source.id, **changes).next_run_at
        assert found is not None
        return found - now

    source, now = bureau.add(PAGE, country="KE"), datetime(2030, 1, 15, 12, tzinfo=UTC)
    bureau.state = replace(bureau.state, clock=MovedClock(now))
    assert edited(careers_url="https://careers.example/new") == timedelta(0)
    assert edited(parser_hint=HINT) == timedelta(0)
    assert edited(parser_hint=HINT, org_name="The same hint") == timedelta(days=10)
    assert edited(crawl_frequency_days=3) == timedelta(days=2)
    assert edited(crawl_frequency_days=1) == timedelta(0)
    assert edited(crawl_frequency_days=30) == timedelta(days=10)
    assert edited(time_window="22:00-05:00") == timedelta(days=10, hours=7)  # from 15:00 there
    assert edited(time_window="22:00-05:00", crawl_frequency_days=3) == timedelta(days=2, hours=7)
    assert edited(time_window="09:00-18:00") == timedelta(days=10)


def test_an_address_that_somebody_else_takes_at_the_same_moment_is_taken(bureau: Office) -> None:
    one, other = bureau.add(PAGE), bureau.add("https://other.example/")
    with pytest.raises(AlreadyThere, match="already another source"), bureau.database.write() as connection:
        sources_table.change(connection, other.id, {"careers_url": one.careers_url}, bureau.state.clock.now())
    assert bureau.again(other).careers_url == "https://other.example/"


def test_a_source_under_a_takedown_is_refused_by_every_path(bureau: Office) -> None:
    database, clock = bureau.database, bureau.state.clock
    waiting = bureau.add("https://gone.example/careers", approved=False)
    other = bureau.add("https://other.example/careers")
    add_takedowns(database, ["gone.example"])
    for refused in (
        lambda: operate.add_source(database, clock, "https://sub.gone.example/jobs"),
        lambda: operate.add_source(database, clock, "https://gone.example/jobs", approved=False),
        lambda: operate.approve_source(database, clock, waiting.id),
        lambda: operate.resume_source(database, clock, waiting.id),
        lambda: operate.edit_source(database, clock, other.id, careers_url="https://gone.example/x"),
    ):
        with pytest.raises(BadInput, match=r"is taken down \(gone\.example\)$") as error:
            refused()
        assert error.value.remedy == Remedy(RemedyCode.LIFT_TAKEDOWN, "gone.example")
    statuses = [row["status"] for row in bureau.rows("SELECT status FROM sources ORDER BY status")]
    assert statuses == ["active", "paused"]


def test_a_source_is_blocked_by_a_takedown_and_active_again_without_it(bureau: Office) -> None:
    source = bureau.add("https://gone.example/careers")
    bureau.add("https://other.example/careers")
    add_takedowns(bureau.database, ["gone.example", "https://gone.example/careers"])
    remove_takedowns(bureau.database, ["gone.example"])
    assert bureau.again(source).status is SourceStatus.BLOCKED, "another entry still covers it"
    remove_takedowns(bureau.database, ["https://gone.example/careers"])
    again = bureau.again(source)
    assert (again.status, again.next_run_at, again.last_crawl_message) == (SourceStatus.ACTIVE, None, None)
    assert len(bureau.rows("SELECT id FROM sources WHERE status = 'active'")) == 2


def test_a_takedown_is_what_blocks_a_source_whatever_its_last_message_says(bureau: Office) -> None:
    """A run that ends after the takedown writes its own message over it; a sentence is no reason."""
    taken = bureau.add("https://gone.example/careers")
    by_hand = bureau.add("https://hand.example/careers")
    with bureau.database.write() as connection:
        connection.execute(
            text("UPDATE sources SET status = 'blocked', last_crawl_message = :said WHERE careers_url = :url"),
            {"url": by_hand.careers_url, "said": "taken down: by hand"},
        )
    add_takedowns(bureau.database, ["gone.example"])
    with bureau.database.write() as connection:
        connection.execute(text("UPDATE sources SET last_crawl_message = '3 found' WHERE status = 'blocked'"))
    remove_takedowns(bureau.database, ["gone.example"])
    assert bureau.again(taken).status is SourceStatus.ACTIVE
    assert bureau.again(by_hand).status is SourceStatus.BLOCKED


def test_a_source_that_was_paused_under_a_takedown_stays_paused_without_it(bureau: Office) -> None:
    source = bureau.add("https://gone.example/careers")
    add_takedowns(bureau.database, ["gone.example"])
    operate.pause_source(bureau.database, MovedClock(), source.id)
    remove_takedowns(bureau.database, ["gone.example"])
    assert bureau.again(source).status is SourceStatus.PAUSED
    rows = bureau.rows("SELECT block_reason_code FROM sources")
    assert [row["block_reason_code"] for row in rows] == [None]
