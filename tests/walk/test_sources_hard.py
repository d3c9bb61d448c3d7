"""Sources in hard conditions: hostile words, heavy pages, killed processes, takedowns, schedules that learn."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from comity.model.job import ListingKind
from comity.model.source import RunStatus
from comity.operate.takedown import add_takedown, remove_takedown
from comity.walk.listing_reader import ListingReader
from tests.walk.crawling import Place, until
from tests.walk.site import Answer, Web
from tests.walk.sourcing import Job, Office, jobs, listing


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


def test_a_heavy_page_is_read_apart_and_the_same(web: Web, bureau: Office) -> None:
    many = jobs(500, words="Water and health for everybody. " * 30)
    page = listing(many)
    assert 300_000 < len(page) < 1_000_000
    site = web.site({"/careers": page})
    source = bureau.add(site.url("/careers"))
    assert bureau.run(source).counts.inserted == 500
    again = bureau.run(source)
    assert (again.counts.inserted, again.counts.updated, again.counts.skipped) == (0, 0, 500)


def test_a_page_that_takes_too_long_to_read_is_given_up(bureau: Office) -> None:
    source = bureau.add("https://careers.example/")
    body = listing(jobs(500, words="x" * 900)).encode()
    reader = ListingReader(max_seconds=0.01)
    found = asyncio.run(reader(body, source.careers_url, "text/html", source))
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
    report = add_takedown(bureau.database, site.url(some[0].path))
    assert report.postings_closed == 1
    assert (bureau.titles(is_open=False), bureau.outbox()[3:]) == ([some[0].title], ["delete"])
    assert bureau.run(source).counts.updated == 0
    assert bureau.titles(is_open=False) == [some[0].title]
    remove_takedown(bureau.database, site.url(some[0].path))
    assert bureau.run(source).counts.updated == 1
    assert (bureau.titles(is_open=False), bureau.outbox()[4:]) == ([], ["upsert"])


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


def test_the_next_run_lies_inside_the_hours_of_the_organisation(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(1))})
    source = bureau.add(site.url("/careers"), time_window="02:00-02:30", country="KE")
    report = bureau.run(source)
    assert report.next_run_at is not None
    local = report.next_run_at.astimezone(ZoneInfo("Africa/Nairobi"))
    assert (local.hour, local.minute < 30) == (2, True)
    assert report.next_run_at > datetime.now(UTC)
