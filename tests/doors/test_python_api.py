"""`comity.crawl` as an iterator and as an async iterator: what comes, and how a crawl ends that is left early."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import comity
from tests.doors.crawled_site import assert_given_back, crawl, no_thread_stays, slowly
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place, until
from tests.walk.site import Answer, Site, Web, page, redirect, tree

MOST_AHEAD = 400 + 16  # of its reader, with what is in flight


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    with no_thread_stays():
        yield


@pytest.fixture
def web(tidy: None) -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


def by_for(run: comity.CrawlRun, most: int | None = None) -> list[comity.Page]:
    """Take pages in a loop; leave it after so many."""
    found: list[comity.Page] = []
    for each in run:
        found.append(each)
        if len(found) == most:
            break
    return found


def by_async_for(run: comity.CrawlRun, most: int | None = None) -> list[comity.Page]:
    async def take() -> list[comity.Page]:
        found: list[comity.Page] = []
        async with run:
            async for each in run:
                found.append(each)
                if len(found) == most:
                    break
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task stays behind"
        return found

    return asyncio.run(take())


Take = Callable[..., list[comity.Page]]
both_ways = pytest.mark.parametrize("take", [by_for, by_async_for])


def urls(pages: list[comity.Page]) -> list[str]:
    return [each.url for each in pages]


@pytest.mark.parametrize(("module", "name"), [("comity.sql", "connect"), ("comity.sources", "add")])
def test_a_public_module_can_be_imported_by_its_name(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is getattr(getattr(comity, module.removeprefix("comity.")), name)


@both_ways
def test_every_page_comes_once(web: Web, place: Place, take: Take) -> None:
    sites = [web.site(tree(40)) for _ in range(2)]
    run = crawl(place, *sites)
    assert site_log(sites) == [], "nothing starts before iteration"
    assert not place.state.exists()
    found = take(run)
    assert Counter(urls(found)) == Counter(site.url(path) for site in sites for path in tree(40))
    assert set(place.kept()) == set(urls(found))
    assert (run.summary.status, run.summary.pages, run.idle, run.taken_down) == ("finished", 80, (), ())
    assert (run.progress.pages, run.progress.hosts_done) == (80, 2)
    assert_given_back(place)


def site_log(sites: list[Site]) -> list[Any]:
    return [seen for site in sites for seen in site.log]


@both_ways
def test_a_page_has_what_is_known_of_it(web: Web, place: Place, take: Take) -> None:
    body = page("/b", title="Straße", head='<meta charset="iso-8859-1">').encode("latin-1")
    head = {"ETag": '"a"', "Last-Modified": "Tue, 03 Feb 2026 10:00:00 GMT"}
    answer = Answer(body=body, type="text/html", headers=head, is_gzipped=True)
    site = web.site(
        {"/": page("/old"), "/old": redirect("/new"), "/new": answer, "/b": Answer(body="x", type="text/plain")}
    )
    before = datetime.now(UTC)
    found = {each.url: each for each in take(crawl(place, site))}
    first, moved, last = (found[site.url(path)] for path in ("/", "/old", "/b"))
    assert (first.final_url, first.redirect_count, first.depth, first.status) == (site.url(), 0, 0, 200)
    assert (moved.final_url, moved.redirect_count, moved.depth) == (site.url("/new"), 1, 1)
    assert (moved.title, moved.body, moved.etag, moved.last_modified) == ("Straße", body, '"a"', head["Last-Modified"])
    assert moved.encoding is not None
    assert "<title>Straße</title>" in moved.html
    assert moved.content_hash == place.kept()[moved.url]["content_hash"]
    assert before <= moved.crawl_time <= datetime.now(UTC)
    assert (last.html, last.encoding, last.title, last.data, last.error) == ("x", None, None, None, None)
    (run,) = place.rows("SELECT id FROM crawl_runs")
    assert {each.run_id.replace("-", "") for each in found.values()} == {run["id"].replace("-", "")}


@both_ways
def test_a_loop_that_is_left_gives_everything_back_and_the_next_goes_on(web: Web, place: Place, take: Take) -> None:
    site = web.site(tree(120), robots=slowly(0.01))
    run = crawl(place, site)
    first = take(run, most=10)
    assert len(first) == 10
    assert_given_back(place)
    assert run.summary.status == "stopped"
    asked = len(site.pages())
    assert asked < 120
    assert run.summary.pages == asked == len(place.kept()), "what was in flight was finished and kept"
    rest = take(crawl(place, site))
    assert not set(urls(first)) & set(urls(rest)), "no page comes twice"
    assert sorted(site.pages()) == sorted(tree(120)), "no page was asked for twice"
    assert set(place.kept()) == {site.url(path) for path in tree(120)}
    assert len(rest) == 120 - asked, "what the first run committed is in the store, and does not come again"


def fail(run: comity.CrawlRun, error: type[BaseException] = ZeroDivisionError) -> None:
    for _ in run:
        raise error


def leave_by_exception(run: comity.CrawlRun) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(run)


def leave_by_closing(run: comity.CrawlRun) -> None:
    pages = iter(run)
    next(pages)
    pages.close()  # type: ignore[attr-defined]
    assert list(pages) == []


def leave_a_with_block(run: comity.CrawlRun) -> None:
    with run:
        pages = iter(run)
        next(pages)
    list(pages)  # what was committed before; nothing hangs


def leave_a_with_block_by_exception(run: comity.CrawlRun) -> None:
    with pytest.raises(ZeroDivisionError), run:
        fail(run)


def leave_by_interrupt(run: comity.CrawlRun) -> None:
    with pytest.raises(KeyboardInterrupt):
        fail(run, KeyboardInterrupt)


def leave_an_async_loop_by_exception(run: comity.CrawlRun) -> None:
    async def take() -> None:
        async with run:
            async for _ in run:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(take())


def leave_an_async_loop_without_a_block(run: comity.CrawlRun) -> None:
    """The generator is closed by the loop, a moment later."""

    async def take() -> None:
        async for _ in run:
            break
        await until(lambda: len(asyncio.all_tasks()) == 1)

    asyncio.run(take())


def leave_an_async_loop_and_its_event_loop(run: comity.CrawlRun) -> None:
    async def take() -> None:
        async for _ in run:
            break

    asyncio.run(take())


def leave_by_cancellation(run: comity.CrawlRun) -> None:
    async def take(began: asyncio.Event) -> None:
        async for _ in run:
            began.set()

    async def main() -> None:
        began = asyncio.Event()
        task = asyncio.create_task(take(began))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def leave_by_cancelling_twice(run: comity.CrawlRun) -> None:
    async def take(began: asyncio.Event) -> None:
        async for _ in run:
            began.set()

    async def main() -> None:
        began = asyncio.Event()
        task = asyncio.create_task(take(began))
        await began.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    "leave",
    [
        leave_by_exception,
        leave_by_closing,
        leave_a_with_block,
        leave_a_with_block_by_exception,
        leave_by_interrupt,
        leave_an_async_loop_by_exception,
        leave_an_async_loop_without_a_block,
        leave_an_async_loop_and_its_event_loop,
        leave_by_cancellation,
        leave_by_cancelling_twice,
    ],
    ids=lambda leave: leave.__name__,
)
def test_however_a_loop_is_left_nothing_stays_behind(
    web: Web, place: Place, leave: Callable[[comity.CrawlRun], None]
) -> None:
    site = web.site(tree(80), robots=slowly(0.01))
    with no_thread_stays():
        leave(crawl(place, site))
    assert_given_back(place)
    assert 0 < len(site.pages()) < 80
    done = set(place.kept())
    assert len(done) == place.host(site.host)["pages_crawled"]
    rest = by_for(crawl(place, site))
    assert not done & set(urls(rest))
    assert set(place.kept()) == {site.url(path) for path in tree(80)}


def long_list(web: Web, count: int) -> Site:
    return web.site({"/": page(*(f"/p{number}" for number in range(count)))}, fallback=page())


def test_a_slow_reader_holds_the_crawl_up(web: Web, place: Place) -> None:
    sites = [long_list(web, 350) for _ in range(3)]
    taken = most_ahead = 0
    for _ in crawl(place, *sites, per_host=4):
        taken += 1
        if taken in (1, 300):
            wait_until(lambda taken=taken: len(site_log(sites)) - taken >= 300, 60, "the crawl to go ahead")
            seen = -1
            while seen != len(site_log(sites)):  # until nothing more is asked for
                seen = len(site_log(sites))
                time.sleep(0.5)
            most_ahead = max(most_ahead, seen - taken)
    assert taken == 3 * 351
    assert 300 <= most_ahead <= MOST_AHEAD + 10, "and robots.txt of each"


async def test_a_slow_async_reader_holds_the_crawl_up(web: Web, place: Place) -> None:
    sites = [long_list(web, 350) for _ in range(3)]
    taken = most_ahead = 0
    async with crawl(place, *sites, per_host=4) as run:
        async for _ in run:
            taken += 1
            if taken == 1:
                await until(lambda: len(site_log(sites)) >= 300)
                seen = -1
                while seen != len(site_log(sites)):
                    seen = len(site_log(sites))
                    await asyncio.sleep(0.5)
                most_ahead = seen
            if taken == 300:
                break
    assert 300 <= most_ahead <= MOST_AHEAD + 10, "and robots.txt of each"


def test_large_pages_hold_it_up_earlier(web: Web, place: Place) -> None:
    links = page(*(f"/p{number}" for number in range(60)))
    site = web.site({"/": links}, fallback=Answer(body=b"x" * 4_000_000, type="text/plain"))
    for taken, _ in enumerate(crawl(place, site), start=1):
        if taken == 1:
            wait_until(lambda: len(site.pages()) >= 16, 60, "64 MB to come")
            time.sleep(1.0)
            ahead = len(site.pages())
        if taken == 30:
            break
    assert ahead <= 40, "64 MB are waiting, and what was settled with them"


@pytest.mark.roomy
def test_a_reader_that_sleeps_keeps_its_leases(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The crawl is held up for longer than a lease lasts."""
    monkeypatch.setenv("COMITY_LEASE_MINUTES", "0.1")
    monkeypatch.setenv("COMITY_HEARTBEAT_MINUTES", "0.01")
    site = long_list(web, 600)
    found = []
    for each in crawl(place, site, per_host=4, timeout=3):
        found.append(each)
        if len(found) == 1:
            first_end = datetime.fromisoformat(place.host(site.host)["claim_expires_at"])
            wait_until(lambda end=first_end: datetime.now(UTC).replace(tzinfo=None) > end, 60, "its first end")
            assert len(site.pages()) < 500
            assert place.host(site.host)["claimed_by"] is not None
    assert len(set(urls(found))) == len(found) == 601
    assert len(site.pages()) == 601


def test_a_held_up_crawl_can_be_left_at_once(web: Web, place: Place) -> None:
    site = long_list(web, 900)
    run = crawl(place, site, per_host=8)
    for _ in run:
        wait_until(lambda: len(site.log) >= 300, 60, "the crawl to go ahead")
        break
    assert run.summary.status == "stopped"
    assert_given_back(place)


def test_a_held_up_crawl_ends_when_its_time_is_up(web: Web, place: Place) -> None:
    site = long_list(web, 900)
    ended = "SELECT 1 FROM crawl_runs WHERE ended_at IS NOT NULL"
    run = crawl(place, site, per_host=8, max_minutes=0.02)
    for number, _ in enumerate(run):
        if number == 0:
            wait_until(lambda: place.rows(ended) != [], 60, "the end, while nothing is read")
    assert run.summary.code == "time_limit"


@pytest.mark.parametrize("where", ["in the loop", "from a thread"])
def test_stop_ends_the_loop_after_what_is_committed(web: Web, place: Place, where: str) -> None:
    site = web.site(tree(200), robots=slowly(0.01))
    run = crawl(place, site)
    found = []
    thread = None
    for each in run:
        found.append(each)
        if len(found) == 10:
            if where == "in the loop":
                run.stop()
            else:
                thread = threading.Thread(target=run.stop)
                thread.start()
    if thread is not None:
        thread.join()
    assert (run.summary.status, run.summary.reason) == ("stopped", "stopped by the operator")
    assert 10 <= len(found) < 200
    assert len(found) == run.summary.pages == len(place.kept()), "every committed page came"
    assert_given_back(place)


async def test_stop_from_another_task(web: Web, place: Place) -> None:
    site = web.site(tree(200), robots=slowly(0.01))
    run = crawl(place, site)

    async def stop() -> None:
        await until(lambda: run.progress.pages > 5)
        run.stop()

    task = asyncio.create_task(stop())
    found = [each async for each in run]
    await task
    assert len(found) == run.summary.pages < 200
    assert run.summary.status == "stopped"


def test_a_run_that_was_stopped_before_it_began_asks_for_nothing(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    run = crawl(place, site)
    run.stop()
    assert list(run) == []
    assert site.log == []
    assert run.summary.status == "stopped"
    assert_given_back(place)


async def test_a_plain_loop_works_where_an_event_loop_is_running(web: Web, place: Place) -> None:
    """As in a notebook."""
    site = web.site(tree(20))
    assert len(by_for(crawl(place, site))) == 20
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_two_crawls_can_be_read_in_turns(web: Web, place: Place) -> None:
    sites = [web.site(tree(30)) for _ in range(2)]
    pairs = list(zip(*(crawl(place, site) for site in sites), strict=True))
    assert [{pair[index].url for pair in pairs} for index in (0, 1)] == [
        {site.url(path) for path in tree(30)} for site in sites
    ]


async def test_two_async_crawls_share_one_loop(web: Web, place: Place) -> None:
    sites = [web.site(tree(30)) for _ in range(2)]

    async def take(site: Site) -> int:
        return len([each async for each in crawl(place, site)])

    assert await asyncio.gather(*map(take, sites)) == [30, 30]


@both_ways
def test_a_run_is_iterated_once(web: Web, place: Place, take: Take) -> None:
    site = web.site(tree(3))
    run = crawl(place, site)
    assert len(take(run)) == 3
    with pytest.raises(RuntimeError, match="was already iterated"):
        take(run)


def test_a_summary_is_asked_for_too_early(web: Web, place: Place) -> None:
    run = crawl(place, web.site(tree(3)))
    with pytest.raises(comity.ComityError, match="the crawl has not ended"):
        _ = run.summary
    assert (run.progress.pages, run.idle) == (0, ())


@both_ways
def test_a_second_run_has_nothing_to_do_and_says_why(
    web: Web, place: Place, take: Take, caplog: pytest.LogCaptureFixture
) -> None:
    site = web.site(tree(5))
    assert len(take(crawl(place, site))) == 5
    run = crawl(place, site)
    assert take(run) == []
    (idle,) = run.idle
    assert (idle.host, idle.why) == (site.host, "everything found there has been crawled")
    assert "domains reset" in idle.remedy
    assert idle.why in caplog.text
    assert sorted(site.pages()) == sorted(tree(5))


def test_the_command_line_and_the_api_share_a_crawl(web: Web, place: Place) -> None:
    site = web.site(tree(30), robots=slowly(0.01))
    first = by_for(crawl(place, site), most=3)
    told = place.comity("crawl", site.url(), "--json")
    assert told.code == 0
    (earlier,) = place.rows("SELECT pages_crawled FROM crawl_runs WHERE status = 'stopped'")
    assert told.json["summary"]["pages"] == 30 - earlier["pages_crawled"]
    assert sorted(site.pages()) == sorted(tree(30))
    assert set(urls(first)) <= set(place.kept())
    assert by_for(crawl(place, site)) == []


def test_by_default_everything_is_where_the_command_line_has_it(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = web.site(tree(3))
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_DELAY", "0")
    assert len(by_for(comity.crawl([site.url()], sitemaps=False))) == 3
    assert Path("comity-data/state.db").is_file()
    assert len(list(Path("comity-data/pages").glob("*.parquet"))) == 1


@both_ways
def test_a_temporary_crawl_leaves_nothing_and_begins_anew(web: Web, place: Place, take: Take) -> None:
    site = web.site(tree(4))
    for times in (1, 2):
        found = take(crawl(place, site, state=comity.TEMPORARY, into=None))
        assert len(found) == 4
        assert len(site.of("/")) == times
    assert list(place.folder.iterdir()) == []


@both_ways
def test_errors_come_when_they_are_asked_for(web: Web, place: Place, take: Take) -> None:
    hidden = page(head='<meta name="robots" content="noindex">', body="secret")
    routes = {
        "/": page("/none", "/hidden", "/picture"),
        "/hidden": hidden,
        "/picture": Answer(body=b"x", type="image/png"),
    }
    site = web.site(routes)
    assert urls(take(crawl(place, site, state=comity.TEMPORARY))) == [site.url()]
    found = {each.url: each for each in take(crawl(place, site, errors=True))}
    told = {url.removeprefix(site.url()): (each.error, each.status, each.body) for url, each in found.items()}
    assert told.pop("") == (None, 200, found[site.url()].body)
    assert told == {
        "none": ("http_404", 404, b""),
        "hidden": ("noindex", 200, b""),
        "picture": ("wrong_type", 200, b""),
    }
    assert "image/png" in (found[site.url("/picture")].reason or "")
    assert found[site.url("/hidden")].html == ""


def test_a_url_that_is_tried_again_comes_once(web: Web, place: Place) -> None:
    def flaky(asked: Any) -> Answer:
        return Answer(503) if asked.count < 3 else Answer(body=page(title="at last"))

    site = web.site({"/": page("/flaky"), "/flaky": flaky})
    found = by_for(crawl(place, site, errors=True))
    assert [each.title for each in found] == ["page", "at last"]


def test_a_page_that_is_read_apart_does_not_disturb_the_thread(web: Web, place: Place) -> None:
    """Large pages are read by a child process, which the crawl's own loop must start and end."""
    site = web.site({"/": page("/a", body="<b>x</b>" * 40_000)}, fallback=page())
    assert sorted(urls(by_for(crawl(place, site)))) == [site.url(), site.url("/a")]


@both_ways
def test_what_the_state_cannot_bear_is_told(web: Web, place: Place, take: Take) -> None:
    site = web.site(tree(3))
    place.state.write_bytes(b"this is no database at all, but long enough to be looked at" * 20)
    with pytest.raises(comity.ComityError, match="cannot be used"):
        take(crawl(place, site))
    assert site.log == []


def test_taken_down_seeds_are_left_out(web: Web, place: Place) -> None:
    site, other = web.site(tree(2)), web.site(tree(2), address="127.0.0.2")
    assert place.comity("takedown", "add", other.host).code == 0
    run = crawl(place, site, other)
    assert len(by_for(run)) == 2
    assert run.taken_down == (other.host,)
    assert other.log == []


def test_a_shared_state(web: Web, place: Place, migrated_postgres_url: str) -> None:
    site = web.site(tree(12), robots=slowly(0.01))
    first = by_for(crawl(place, site, state=migrated_postgres_url), most=3)
    rest = by_for(crawl(place, site, state=migrated_postgres_url))
    assert not set(urls(first)) & set(urls(rest))
    assert set(place.kept()) == {site.url(path) for path in tree(12)}


async def test_an_async_generator_is_what_async_for_gets(web: Web, place: Place) -> None:
    pages: AsyncIterator[comity.Page] = aiter(crawl(place, web.site(tree(2))))
    assert (await anext(pages)).depth == 0
    assert (await anext(pages)).depth == 1
    with pytest.raises(StopAsyncIteration):
        await anext(pages)


async def test_a_plain_block_is_not_for_async_loops(web: Web, place: Place) -> None:
    site = web.site(tree(60), robots=slowly(0.01))
    run = crawl(place, site)
    pages = aiter(run)
    with pytest.raises(TypeError, match="must be closed by `async with`"), run:
        await anext(pages)
    await pages.aclose()  # type: ignore[attr-defined]
    assert run.summary.status == "stopped"
