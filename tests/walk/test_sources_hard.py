"""Sources in hard conditions: hostile words, heavy pages, killed processes, takedowns, schedules that learn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from comity.database.sources.rows import change
from comity.model.host import SCRIPTS_NOT_RUN
from comity.model.job import Listing, ListingKind
from comity.model.source import NotRun, RunStatus, SourceReport, SourceStatus
from comity.operate.policy import set_policy
from comity.operate.sources import (
    delete_source,
    edit_source,
    ignored_settings,
    pause_source,
    resume_source,
    simulate_extract,
)
from comity.operate.sources import test_fetch as head_of
from comity.operate.takedown import add_takedowns, remove_takedowns
from comity.reports.sources import find_source
from comity.rules.canonical import resolve_link
from comity.upkeep.due_sources import PassReport
from comity.walk.sources.listing_reader import ListingReader
from comity.walk.sources.runner import SourceRunner
from tests.walk.crawling import Place, until
from tests.walk.site import Answer, Asked, Web
from tests.walk.sourcing import NO_OPENINGS, Job, Office, jobs, listing


def test_whatever_a_page_says_is_stored_or_left_out_but_breaks_nothing(web: Web, bureau: Office) -> None:
    hard = [
        Job("Doctor \0 with a NUL", words="\0\ud83d\ude00 <script>alert(1)</script> '; DROP TABLE sources; --"),
        Job("x" * 5000),
        Job("مدير المشروع", place="عمّان، الأردن"),
        Job("Officer %s {} \\ \" ' `"),
    ]
    body = listing(hard).encode("utf-8", "surrogatepass")
    site = web.site({"/careers": Answer(body=body)})
    source = bureau.add(site.url("/careers"))
    first = bureau.run(source)
    assert first.status is RunStatus.OK
    assert first.counts.inserted >= 3
    again = bureau.run(source)
    assert (again.counts.inserted, again.counts.updated) == (0, 0)
    assert len(bureau.rows("SELECT * FROM sources")) == 1


def test_a_validator_that_cannot_be_sent_back_is_not_kept(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(2)), headers={"ETag": '"' + "x" * 3000 + '"'})})
    source = embedded_bureau.add(site.url("/careers"))
    for _ in range(2):
        assert embedded_bureau.run(source).status is RunStatus.OK
    assert [seen.headers.get("if-none-match") for seen in site.of("/careers")] == [None, None]
    site.routes["/careers"] = Answer(body=listing(jobs(2)), headers={"ETag": '"caf\xe9\x7f"'})
    for _ in range(2):
        assert embedded_bureau.run(source).status is RunStatus.OK


def test_a_site_that_has_one_page_under_every_number_is_asked_for_two(web: Web, embedded_bureau: Office) -> None:
    def same(asked: Asked) -> str:
        number = int(asked.path.rpartition("=")[2]) if "=" in asked.path else 1
        return listing(jobs(3), following=f"/careers?page={number + 1}")

    site = web.site(fallback=same)
    report = embedded_bureau.run(embedded_bureau.add(site.url("/careers")))
    assert site.pages() == ["/careers", "/careers?page=2"]
    assert (report.status, report.counts.found, report.message) == (RunStatus.OK, 3, "")


def test_a_source_that_is_deleted_or_edited_while_it_runs(web: Web, bureau: Office) -> None:
    def deleted(_: Asked) -> str:
        delete_source(bureau.database, bureau.state.clock, going.id)
        return listing(jobs(2))

    def edited(_: Asked) -> Answer:
        edit_source(bureau.database, bureau.state.clock, changing.id, org_name="Another House")
        return Answer(body=listing(jobs(2, start=7)), etag='"x"')

    site = web.site({"/going": deleted, "/changing": edited})
    going, changing = bureau.add(site.url("/going")), bureau.add(site.url("/changing"))
    assert bureau.skip(going).why == "lost"
    assert (bureau.titles(), bureau.rows("SELECT * FROM crawl_locks")) == ([], [])
    assert bureau.run(changing).counts.inserted == 2
    assert bureau.rows("SELECT * FROM source_pages") == []  # the next run reads it by the new rules


def test_what_is_edited_while_it_runs_holds_for_the_next_run(web: Web, bureau: Office) -> None:
    def during(act: Callable[[UUID], object], status: int = 200) -> tuple[SourceReport, float]:
        """Run a source, and do something to it meanwhile; gives the days until its next run."""

        def answer(_: Asked) -> Answer:
            act(source.id)
            return Answer(status=status, body=listing(jobs(2)))

        site = web.site({"/careers": answer, "/new": listing(jobs(1))})
        source = bureau.add(site.url("/careers"), crawl_frequency_days=30)
        bureau.execute("UPDATE sources SET consecutive_failures = 4 WHERE careers_url = :url", url=source.careers_url)
        report = bureau.run(source)
        assert report.next_run_at is not None
        assert bureau.again(source).next_run_at == report.next_run_at
        assert bureau.logs(source)[0].next_run_reason == report.next_run_reason
        return report, (report.next_run_at - bureau.state.clock.now()).total_seconds() / 86_400

    doing = partial(edit_source, bureau.database, bureau.state.clock)
    report, days = during(lambda each: doing(each, crawl_frequency_days=2))
    assert 1.6 < days < 2.4
    assert "the source's own base of 2 days" in report.next_run_reason
    report, days = during(lambda each: doing(each, careers_url=f"https://{each}.example/"))
    assert days <= 0  # what was read is not what is to be read
    assert "edited" in report.next_run_reason
    report, days = during(lambda each: pause_source(bureau.database, bureau.state.clock, each))
    assert (report.source_status, 25 < days < 35) == (SourceStatus.PAUSED, True)
    report, _ = during(lambda each: resume_source(bureau.database, bureau.state.clock, each), status=404)
    assert report.status is RunStatus.FAIL
    assert report.source_status is SourceStatus.ACTIVE  # the fifth failure in a row, had nobody resumed it


def test_a_source_that_missed_its_hours_waits_for_the_next_ones(web: Web, bureau: Office) -> None:
    now = datetime.now(UTC)

    def planned(hours_ago: float, opened: float, closed: float) -> UUID:
        """A source that was to be read so long ago, with a window from one hour before now to another."""
        window = "-".join(f"{now - timedelta(hours=hours):%H:%M}" for hours in (opened, closed))
        url = web.site({"/careers": listing(jobs(1))}).url("/careers")
        source = bureau.add(url, time_window=window, time_zone="UTC")
        with bureau.database.write() as connection:
            change(connection, source.id, {"next_run_at": now - timedelta(hours=hours_ago)}, now)
        return source.id

    missed, late, asked_for = planned(4, 5, 3), planned(4, 5, 0.1), planned(0, 5, 3)
    done = bureau.run_due()
    assert {report.source_id for report in done.reports} == {late, asked_for}
    assert [(skipped.source_id, skipped.why) for skipped in done.skipped] == [(missed, NotRun.OUTSIDE_WINDOW)]
    after = find_source(bureau.database, str(missed))
    assert after.next_run_at is not None
    assert timedelta(hours=18.9) < after.next_run_at - now < timedelta(hours=19.1)
    assert (after.last_crawl_message or "").startswith("waiting: it is outside its time window")
    assert bureau.run(after).status is RunStatus.OK  # by hand, whatever the hour


def test_hosts_that_are_given_back_from_two_sides_are_given_back_once(embedded_bureau: Office) -> None:
    addresses = [resolve_link(url, url) for url in ("http://one.example/", "http://two.example/")]

    async def both(desk: SourceRunner) -> None:
        held = desk.session.held
        hosts = []
        for address in addresses:
            assert address is not None
            hosts.append(await held.host_for(address))
        second = hosts[1]
        assert second is not None
        # The upkeep of leases goes through all of them while a run that has ended releases the second.
        await asyncio.gather(held.release_on_demand(), held.release_unused(second))

    embedded_bureau.do(both)
    assert embedded_bureau.rows("SELECT DISTINCT claimed_by FROM domains") == [{"claimed_by": None}]


def test_what_cannot_be_stored_fails_its_source_and_no_other(web: Web, bureau: Office) -> None:
    site, other = (web.site({"/careers": listing(jobs(2))}) for _ in range(2))
    bad, good = bureau.add(site.url("/careers")), bureau.add(other.url("/careers"))

    async def spoil(desk: SourceRunner) -> PassReport:
        normalize = desk.normalize

        def spoilt(found: Any, source: Any, now: Any) -> Any:
            postings = normalize(found, source, now)
            if source.id != bad.id:
                return postings
            return [replace(each, deadline=datetime(2030, 1, 1)) for each in postings]  # noqa: DTZ001

        desk.normalize = spoilt
        return await bureau.state.due_sources(desk).run_due(None)

    said = {report.source_id: report for report in bureau.do(spoil).reports}
    assert (str(said[good.id].status), said[good.id].counts.inserted) == ("ok", 2)
    assert str(said[bad.id].status) == "fail"
    assert said[bad.id].message.startswith("could not be stored")
    assert bureau.rows("SELECT * FROM crawl_locks") == []


def test_rows_written_by_hand_are_run_as_well_as_they_can_be(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    insert = "INSERT INTO sources (careers_url) VALUES (:url)"
    for url in ("no address at all", site.url("/careers")):
        bureau.execute(insert, url=url)
    said = {report.careers_url: (str(report.status), report.message) for report in bureau.run_due().reports}
    assert said == {
        "no address at all": ("fail", "careers_url is not an http or https URL"),
        site.url("/careers"): ("ok", ""),
    }


def test_a_heavy_page_is_read_apart_and_the_same(web: Web, bureau: Office) -> None:
    many = jobs(500, words="Water and health for everybody. " * 30)
    page = listing(many)
    assert 300_000 < len(page) < 1_000_000
    site = web.site({"/careers": page})
    source = bureau.add(site.url("/careers"))
    assert bureau.run(source).counts.inserted == 500
    again = bureau.run(source)
    assert (again.counts.inserted, again.counts.updated, again.counts.skipped) == (0, 0, 500)


def test_a_page_that_takes_too_long_to_read_is_given_up(embedded_bureau: Office) -> None:
    source = embedded_bureau.add("https://careers.example/")
    body = listing(jobs(500, words="x" * 900)).encode()

    async def read() -> Listing:
        reader = ListingReader(max_seconds=0.01)
        try:
            return await reader(body, source.careers_url, "text/html", source)
        finally:
            await reader.close()

    found = asyncio.run(read())
    assert (found.kind, "0.01 seconds" in found.message) == (ListingKind.UNREADABLE, True)


def test_a_process_that_is_killed_leaves_a_source_that_the_next_one_completes(web: Web, place: Place) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(3)), after_s=20.0)})
    place.env["COMITY_SOURCE_DELAY"] = "0"
    assert place.comity("sources", "add", site.url("/careers")).code == 0
    with place.begun("sources", "run-due") as process:
        asyncio.run(until(lambda: bool(site.of("/careers"))))
        process.kill()
    assert len(place.rows("SELECT * FROM crawl_locks")) == 1
    assert place.rows("SELECT * FROM job_postings") == []
    site.routes["/careers"] = listing(jobs(3))
    done = place.comity("sources", "run-due", "--json").json
    assert [run["inserted"] for run in done["runs"]] == [3]
    assert place.rows("SELECT * FROM crawl_locks") == []


def test_a_takedown_takes_postings_out_of_search_until_it_is_removed(web: Web, bureau: Office) -> None:
    some = jobs(3)
    site = web.site({"/careers": Answer(body=listing(some), etag='"same"')})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    report = add_takedowns(bureau.database, [site.url(some[0].path)])[0]
    assert report.postings_closed == 1
    assert (bureau.titles(is_open=False), bureau.outbox()[-1]) == ([some[0].title], "delete")
    assert bureau.run(source).counts.updated == 0
    assert bureau.titles(is_open=False) == [some[0].title]
    remove_takedowns(bureau.database, [site.url(some[0].path)])
    assert bureau.run(source).counts.updated == 1
    assert (bureau.titles(is_open=False), bureau.outbox()[-1]) == ([], "upsert")


def test_the_adaptive_schedule_learns_from_every_look(web: Web, bureau: Office) -> None:
    site = web.site({"/busy": lambda asked: listing(jobs(asked.count)), "/quiet": listing(jobs(2, start=100))})
    busy, quiet = (bureau.add(site.url(path), schedule="adaptive") for path in ("/busy", "/quiet"))
    waits: dict[str, timedelta] = {}
    for _ in range(6):
        for source in (busy, quiet):
            told = bureau.again(source).change_statistics
            if told is not None:  # as if the last look had been two days ago
                past = datetime.fromisoformat(told["last_look_at"]) - timedelta(days=2)
                statement = "UPDATE sources SET change_statistics = :told WHERE careers_url = :url"
                told = json.dumps(told | {"last_look_at": past.isoformat()})
                bureau.execute(statement, told=told, url=source.careers_url)
            report = bureau.run(source)
            assert report.next_run_at is not None
            waits[source.careers_url] = report.next_run_at - bureau.state.clock.now()
    assert waits[busy.careers_url] < waits[quiet.careers_url]
    statistics = bureau.again(busy).change_statistics
    assert statistics is not None
    assert statistics["visits"] == 5


def test_the_next_run_lies_inside_the_hours_of_the_organisation(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(1))})
    source = embedded_bureau.add(site.url("/careers"), time_window="02:00-02:30", country="KE")
    report = embedded_bureau.run(source)
    assert report.next_run_at is not None
    local = report.next_run_at.astimezone(ZoneInfo("Africa/Nairobi"))
    assert (local.hour, local.minute < 30) == (2, True)
    assert report.next_run_at > datetime.now(UTC)
    # So does one that a site put off to an hour of its own.
    site.routes["/careers"] = Answer(429, headers={"Retry-After": "864000"})
    put_off = embedded_bureau.run(source).next_run_at
    assert put_off is not None
    assert put_off > datetime.now(UTC) + timedelta(days=9)
    assert put_off.astimezone(ZoneInfo("Africa/Nairobi")).hour == 2


def test_a_source_whose_run_cannot_be_written_ends_no_other_and_is_not_asked_again(
    web: Web, embedded_bureau: Office
) -> None:
    """As where a table came from elsewhere, and a row is against a rule that was made later."""
    bureau = embedded_bureau
    site = web.site({"/one": listing(jobs(2)), "/two": listing(jobs(2, start=5))})
    poisoned, other = bureau.add(site.url("/one")), bureau.add(site.url("/two"))
    bureau.execute(
        "CREATE TRIGGER rule BEFORE UPDATE ON sources WHEN NEW.careers_url LIKE '%/one' "
        "BEGIN SELECT RAISE(ABORT, 'against a rule'); END"
    )

    async def twice(desk: SourceRunner) -> list[PassReport]:
        due = bureau.state.due_sources(desk)
        return [await due.run_due(None) for _ in range(2)]

    first, second = bureau.do(twice)
    assert [report.source_id for report in first.reports] == [other.id]
    assert [(skipped.source_id, skipped.why) for skipped in first.skipped] == [(poisoned.id, NotRun.BROKEN)]
    assert (second.queued, len(site.of("/one"))) == (0, 1)
    assert bureau.rows("SELECT * FROM crawl_locks") == []


def test_openings_in_a_frame_are_read_where_they_are(web: Web, bureau: Office) -> None:
    board = web.site({"/board": Answer(body=listing(jobs(3)), etag='"b1"')})
    frame = f'<iframe title="Open positions" src="{board.url("/board")}"></iframe>'
    page = Answer(body=f"<title>Join us</title><h1>Join us</h1><p>Our openings:</p>{frame}", etag='"p1"')
    site = web.site({"/careers": page})
    source = bureau.add(site.url("/careers"))
    tried = bureau.do(lambda desk: simulate_extract(desk, source))
    assert (tried.found, tried.message) == (3, f"its openings are embedded: {board.url('/board')}")
    for inserted, message in ((3, ""), (0, "not modified")):
        report = bureau.run(source)
        assert (report.status, report.message, report.pages) == (RunStatus.OK, message, 2)
        assert (report.counts.found, report.counts.inserted, report.counts.updated) == (3, inserted, 0)
    board.routes["/board"] = NO_OPENINGS
    assert bureau.run(source).status is RunStatus.WARN
    report = bureau.run(source)
    assert (report.status, report.counts.closed) == (RunStatus.OK, 3)  # the board was believed, not the page around it


def test_a_page_that_scripts_fill_in_is_called_that_whatever_the_policy_allows(web: Web, bureau: Office) -> None:
    shell = (
        '<title>Careers</title><div id="root"></div><noscript>Enable JavaScript</noscript><script src="/a"></script>'
    )
    site = web.site({"/careers": Answer(body=shell, etag='"v1"'), "/jobs": listing(jobs(2))})
    shown, whole = bureau.add(site.url("/careers")), bureau.add(site.url("/jobs"))
    report = bureau.run(shown)
    assert (report.status, report.counts.found) == (RunStatus.WARN, 0)
    assert "filled in by scripts, which are not run" in report.message
    again = bureau.run(shown)
    assert (again.message, [seen.headers.get("if-none-match") for seen in site.of("/careers")]) == (
        report.message,
        [None, None],  # it is asked for as a whole while there is nothing on it
    )
    assert ignored_settings(bureau.database, shown) == []
    set_policy(bureau.database, bureau.state.clock, site.host, allow_js=True, min_request_interval_ms=0)
    assert ignored_settings(bureau.database, shown) == [SCRIPTS_NOT_RUN]
    for source in (shown, whole):
        assert bureau.run(source).message.endswith(SCRIPTS_NOT_RUN)
        assert (bureau.again(source).last_crawl_message or "").endswith(SCRIPTS_NOT_RUN)
    assert bureau.do(lambda desk: head_of(desk, shown.careers_url)).note == SCRIPTS_NOT_RUN
    assert bureau.do(lambda desk: simulate_extract(desk, whole)).message == SCRIPTS_NOT_RUN
