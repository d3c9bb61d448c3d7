"""The scheduler of sources: nothing twice, nothing lost, no host hurried, no more at once than allowed."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from comity.assemble import open_state
from comity.model.source import SourceReport
from comity.operate.policy import set_policy
from comity.reports.sources import sources_status
from comity.settings import read_settings
from comity.upkeep.due_sources import DueSources, DueTerms
from comity.walk.sources.runner import SourceRunner
from tests.walk.crawling import until
from tests.walk.site import Answer, Asked, Site, Web
from tests.walk.sourcing import LOOPBACK, Office, jobs, listing


def test_many_sources_on_few_hosts_all_run_once_within_the_limits(web: Web, bureau: Office) -> None:
    sites = [web.site(fallback=lambda asked: Answer(body=listing(jobs(2)), after_s=0.02)) for _ in range(8)]
    for site in sites:
        set_policy(bureau.database, bureau.state.clock, site.host, min_request_interval_ms=60)
        for number in range(5):
            bureau.add(site.url(f"/careers/{number}"))
    most: list[int] = []

    async def watch(desk: SourceRunner) -> Any:
        due = DueSources(bureau.database, bureau.state.clock, desk, DueTerms(limit=20, at_once=3))
        task = asyncio.create_task(due.run_due(None))
        while not task.done():
            most.append(desk.in_flight)
            await asyncio.sleep(0.005)
        return await task

    report = bureau.do(watch)
    assert (len(report.reports), report.skipped) == (40, [])
    assert max(most) == 3
    for site in sites:
        assert sorted(site.pages()) == sorted(f"/careers/{number}" for number in range(5))
        assert site.paths.count("/robots.txt") == 1
        assert site.overlaps() == 0
        assert min(site.gaps()) >= 0.055
    assert bureau.run_due().queued == 0
    assert bureau.rows("SELECT count(*) AS n FROM crawl_logs")[0]["n"] == 40


def test_the_status_counts_down_while_sources_run(web: Web, bureau: Office) -> None:
    looked = threading.Event()

    def answer(_asked: Asked) -> Answer:
        """The first source runs to its end; the others wait until the status was looked at meanwhile."""
        return Answer(body=listing(jobs(1)), held=looked if len(site.pages()) > 1 else None)

    site = web.site(fallback=answer)
    for number in range(4):
        bureau.add(site.url(f"/{number}"))
    seen: set[tuple[int, int]] = set()

    async def watch(desk: SourceRunner) -> None:
        task = asyncio.create_task(bureau.state.due_sources(desk).run_due(None))
        while not task.done():
            status = await asyncio.to_thread(sources_status, bureau.database, bureau.state.clock)
            seen.add((status.due_count, status.locked))
            if status.due_count in (1, 2, 3) and status.locked:
                looked.set()
            await asyncio.sleep(0.005)

    assert sources_status(bureau.database, bureau.state.clock).due_count == 4
    bureau.do(watch)
    counts = [due for due, _ in seen]
    assert {1, 2, 3} & set(counts)
    assert max(locked for _, locked in seen) >= 1
    assert sources_status(bureau.database, bureau.state.clock).due_count == 0


def test_an_edit_of_a_policy_holds_from_the_next_request_of_a_run_that_is_under_way(web: Web, bureau: Office) -> None:
    def second(_: Asked) -> str:
        set_policy(bureau.database, bureau.state.clock, site.host, min_request_interval_ms=300, max_pages=3)
        return listing(jobs(1, start=2), following="/3")

    site = web.site({"/1": listing(jobs(1), following="/2"), "/2": second})
    site.routes |= {"/3": listing(jobs(1, start=3), following="/4"), "/4": listing(jobs(1, start=4))}
    report = bureau.run(bureau.add(site.url("/1")))
    assert site.pages() == ["/1", "/2", "/3"]
    assert site.gaps()[-1] >= 0.295
    assert "max_pages" in report.message


def test_one_look_takes_up_twenty_those_that_never_ran_first(web: Web, bureau: Office) -> None:
    site = web.site(fallback=listing(jobs(1)))
    late = bureau.add(site.url("/late"))
    for number in range(22):
        bureau.add(site.url(f"/careers/{number}"))
    bureau.execute("UPDATE sources SET next_run_at = NULL WHERE id <> :id", id=_stored(bureau, late.id))
    assert bureau.run_due(20).queued == 20
    assert "/late" not in site.pages()
    assert bureau.run_due(20).queued == 3
    assert "/late" in site.pages()


def test_two_schedulers_at_once_run_no_source_twice(web: Web, bureau: Office, sources_url: str) -> None:
    sites = [web.site(fallback=lambda asked: Answer(body=listing(jobs(1)), after_s=0.01)) for _ in range(12)]
    for site in sites:
        bureau.add(site.url("/one"))
        bureau.add(site.url("/two"))
    reports: list[SourceReport] = []
    begun = threading.Barrier(2)

    def work() -> None:
        settings = read_settings(database_url=sources_url, source_delay_s=0.0, allow_networks=(LOOPBACK,))
        with open_state(settings) as state:
            begun.wait(60)
            reports.extend(Office(state).run_due(None).reports)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    bureau.execute("UPDATE sources SET next_run_at = NULL WHERE last_crawled_at IS NULL")
    reports.extend(bureau.run_due(None).reports)  # those whose host the other had
    assert Counter(report.careers_url for report in reports) == {
        site.url(path): 1 for site in sites for path in ("/one", "/two")
    }
    for site in sites:
        assert sorted(site.pages()) == ["/one", "/two"]
        assert site.overlaps() == 0


def test_a_lock_left_by_a_crash_runs_out_and_the_next_completes(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    source = bureau.add(site.url("/careers"))
    now = bureau.state.clock.now()
    lock = "INSERT INTO crawl_locks (source_id, holder, locked_at, expires_at) VALUES (:id, 'gone:1:1:x', :at, :until)"
    values = {
        "id": _stored(bureau, source.id),
        "at": _time(bureau, now),
        "until": _time(bureau, now + timedelta(minutes=5)),
    }
    bureau.execute(lock, **values)
    assert bureau.run_due().queued == 0
    assert bureau.skip(source).why == "locked"
    bureau.execute("UPDATE crawl_locks SET expires_at = :until", until=_time(bureau, now - timedelta(seconds=1)))
    assert bureau.run_due().reports[0].counts.inserted == 2
    assert bureau.rows("SELECT * FROM crawl_locks") == []
    # One written by hand, without an end, ends like any other.
    bureau.make_due()
    bureau.execute("INSERT INTO crawl_locks (source_id) VALUES (:id)", id=values["id"])
    assert bureau.run_due().queued == 0
    bureau.execute("UPDATE crawl_locks SET locked_at = :at", at=_time(bureau, now - timedelta(hours=1)))
    assert bureau.run_due().queued == 1


def test_a_stopped_scheduler_leaves_no_lock_and_what_it_had_begun_is_still_due(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(2)), after_s=30.0)})
    source = bureau.add(site.url("/careers"))

    async def stop_in_the_midst(desk: SourceRunner) -> None:
        task = asyncio.create_task(bureau.state.due_sources(desk).run_due(None))
        await until(lambda: bool(site.of("/careers")))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    bureau.do(stop_in_the_midst)
    assert bureau.rows("SELECT * FROM crawl_locks") == []
    assert bureau.rows("SELECT claimed_by FROM domains") == [{"claimed_by": None}]
    site.routes["/careers"] = listing(jobs(2))
    assert bureau.run_due().reports[0].source_id == source.id


def test_the_loop_looks_again_and_again_until_it_is_stopped(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": lambda asked: listing(jobs(asked.count))})
    embedded_bureau.add(site.url("/careers"))

    async def serve(desk: SourceRunner) -> None:
        told: list[Any] = []
        due = DueSources(
            embedded_bureau.database, embedded_bureau.state.clock, desk, DueTerms(every_s=0.05), told.append
        )
        task = asyncio.create_task(due.serve())
        for count in (1, 2):
            await until(partial(_holds, told, count))
            await asyncio.to_thread(embedded_bureau.make_due)
        due.stop()
        await asyncio.wait_for(task, 60)

    embedded_bureau.do(serve)
    assert len(site.pages()) >= 2


def test_a_scheduler_that_is_stopped_lets_runs_end_and_begins_no_more(web: Web, embedded_bureau: Office) -> None:
    site = web.site(fallback=Answer(body=listing(jobs(1)), after_s=0.3))
    for number in range(6):
        embedded_bureau.add(site.url(f"/{number}"))

    async def stop_soon(desk: SourceRunner) -> Any:
        due = embedded_bureau.state.due_sources(desk)
        task = asyncio.create_task(due.run_due(None))
        await until(lambda: bool(site.pages()))
        due.stop()
        return await task

    report = embedded_bureau.do(stop_soon)
    assert (len(report.reports), len(site.pages())) == (1, 1)  # one host, so one at a time
    assert embedded_bureau.run_due().queued == 5


def test_a_page_our_own_code_stumbles_over_costs_one_run(web: Web, embedded_bureau: Office) -> None:
    bad, good = (web.site({"/careers": listing(jobs(2))}) for _ in range(2))
    for site in (bad, good):
        embedded_bureau.add(site.url("/careers"))

    async def stumble(desk: SourceRunner) -> Any:
        read = desk.normalize

        def normalize(found: Any, source: Any, now: Any) -> Any:
            if bad.host in source.careers_url:
                raise RecursionError("a bug of ours")
            return read(found, source, now)

        desk.normalize = normalize
        return await embedded_bureau.state.due_sources(desk).run_due(None)

    report = embedded_bureau.do(stumble)
    said = {each.careers_url: (str(each.status), each.message) for each in report.reports}
    assert said[good.url("/careers")] == ("ok", "")
    assert said[bad.url("/careers")] == ("fail", "unexpected RecursionError: a bug of ours")


def test_a_run_takes_no_longer_than_it_may(web: Web, embedded_bureau: Office) -> None:
    def endless(asked: Asked) -> Answer:
        return Answer(body=listing(jobs(1, start=len(asked.path)), following=f"{asked.path}x"), after_s=0.4)

    # A first run imports what reads listings, which may take longer than the run below may.
    embedded_bureau.run(embedded_bureau.add(web.site({"/careers": listing(jobs(1))}).url("/careers")))
    site: Site = web.site(fallback=endless)
    source = embedded_bureau.add(site.url("/careers"))

    async def hurry(desk: SourceRunner) -> Any:
        desk._terms = replace(desk._terms, run_s=3.0)
        return await desk.run(source.id)

    report = embedded_bureau.do(hurry)
    assert (str(report.status), report.pages >= 1) == ("warn", True)
    assert report.message == f"page {report.pages + 1}: it took longer than 3 seconds; nothing is closed"
    assert report.counts.inserted == report.pages  # what was read until then counts
    assert len(embedded_bureau.rows("SELECT * FROM politeness_ledger")) >= 4  # what was asked is known all the same
    site.fallback = Answer(after_s=300.0)
    assert embedded_bureau.do(hurry).message == "it took longer than 3 seconds"


def _holds(told: list[Any], count: int) -> bool:
    return len(told) >= count


def _stored(bureau: Office, identity: Any) -> Any:
    return identity if bureau.database.is_shared else identity.hex


def _time(bureau: Office, at: Any) -> Any:
    return at if bureau.database.is_shared else at.replace(tzinfo=None).isoformat(" ")
