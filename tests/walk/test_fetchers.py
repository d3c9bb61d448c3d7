"""A fetcher is a protocol: any that keeps it can crawl, and one whose pages take several requests stays polite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from comity.assemble import State
from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from comity.model.fetch import Ask, Fetcher, FetchFailure, FetchRequest, NotAllowed, OnSent, Response
from tests.walk.crawling import Place
from tests.walk.simulated_web import AssemblingWeb, SimulatedWeb, answer, crawl_of, crawled
from tests.walk.site import page

SHOP, CDN = "https://shop.example", "https://cdn.example"
ROBOTS = "User-agent: *\nDisallow: /private/\n"


def ledger(place: Place) -> list[tuple[str, str]]:
    rows = place.rows("SELECT url, purpose FROM politeness_ledger ORDER BY started_at, id")
    return [(row["url"], row["purpose"]) for row in rows]


def test_libcurl_and_a_web_in_memory_keep_the_same_protocol() -> None:
    fetchers: list[Fetcher] = [CurlFetcher(FetchSettings("bot/1.0"), lambda: 0.0), SimulatedWeb({}, lambda: 0.0)]
    for fetcher in fetchers:
        assert fetcher.forget_host("shop.example") == 0
        fetcher.poll()
        fetcher.close()
        fetcher.close()


async def test_libcurl_asks_once_for_a_page() -> None:
    asked: list[FetchRequest] = []
    refusal = NotAllowed("taken_down")

    async def ask(request: FetchRequest, send: object) -> NotAllowed:
        asked.append(request)
        assert send == fetcher.get
        return refusal

    fetcher = CurlFetcher(FetchSettings("bot/1.0"), lambda: 0.0)
    request = FetchRequest(f"{SHOP}/")
    assert await fetcher.get_page(request, ask) is refusal
    assert asked == [request]
    fetcher.close()


def test_a_whole_site_is_crawled_without_a_network(place: Place) -> None:
    pages = {
        f"{SHOP}/": page("/a", "/b", "/private/c", "/moved"),
        f"{SHOP}/a": page("/", "/d"),
        f"{SHOP}/b": page(f"{CDN}/elsewhere"),
        f"{SHOP}/d": page(),
        f"{SHOP}/moved": answer(f"{SHOP}/moved", None, 302, location=f"{CDN}/there"),
        f"{SHOP}/robots.txt": ROBOTS,
        f"{CDN}/there": page(),
    }
    with place.opened() as state:
        web = SimulatedWeb(pages, state.clock.seconds)
        summary = crawled(state, web, f"{SHOP}/")
    assert summary.pages == 5
    assert set(place.kept()) == {f"{SHOP}{path}" for path in ("/", "/a", "/b", "/d", "/moved")}
    assert f"{SHOP}/private/c" not in web.urls()
    assert f"{CDN}/elsewhere" not in web.urls()
    assert sorted(url for url, _purpose in ledger(place)) == sorted(web.urls()), "each request is in the ledger"
    assert "shop.example" in web.forgotten
    assert place.comity("verify-politeness", "--json").json["violations"] == 0


def test_each_request_of_a_page_has_its_own_start_and_its_own_row(place: Place) -> None:
    """One visit, four requests to two hosts: the page, one part beside it and two on another host."""
    delay_s = 0.05
    parts = (f"{CDN}/one.js", f"{SHOP}/two.js", f"{CDN}/three.js")
    pages = {f"{SHOP}/": page(title="shop"), parts[0]: "one", parts[1]: "two", parts[2]: "three"}
    with place.opened(delay_s=delay_s, per_host=1) as state:
        web = AssemblingWeb(pages, state.clock.seconds, {f"{SHOP}/": parts})
        summary = crawled(state, web, f"{SHOP}/")
    assert (summary.pages, web.refused) == (1, [])
    (kept,) = place.kept().values()
    assert all(word in kept["body"] for word in ("one", "two", "three")), "what the fetcher made of it is the page"
    assert ledger(place) == [
        (f"{SHOP}/robots.txt", "robots"),
        (f"{SHOP}/", "page"),
        (f"{CDN}/robots.txt", "robots"),
        (f"{CDN}/one.js", "part"),
        (f"{SHOP}/two.js", "part"),
        (f"{CDN}/three.js", "part"),
    ]
    rows = place.rows(
        "SELECT domain, started_at, delay_s, has_fetch, purpose, request_number FROM politeness_ledger"
        " JOIN domains ON domains.id = domain_id ORDER BY domain, started_at"
    )
    for host in ("cdn.example", "shop.example"):
        own = [row for row in rows if row["domain"] == host]
        assert [row["request_number"] for row in own] == [1, 2, 3], "none is missing in its lease"
        assert all(row["delay_s"] >= delay_s for row in own)
        starts = [row["started_at"] for row in own]
        assert starts == sorted(starts)
    assert web.most_at_once == 1
    assert [row["purpose"] for row in rows if row["has_fetch"]] == ["page"], "the visit is one, and so is its row"
    (fetch,) = place.fetches("shop.example")
    assert (fetch["page_url"], fetch["redirect_count"]) == (f"{SHOP}/", 0)
    assert place.comity("verify-politeness", "--json").json["violations"] == 0


def test_parts_that_may_not_be_fetched_are_not_and_the_page_is_kept(place: Place) -> None:
    parts = (f"{CDN}/private/a.js", f"{SHOP}/gone/b.js", "file:///etc/passwd", f"{SHOP}/c.js", "https://down.example/d")
    pages = {f"{SHOP}/": page(), f"{CDN}/robots.txt": ROBOTS, f"{SHOP}/c.js": "c"}
    assert place.comity("takedown", "add", f"{SHOP}/gone").code == 0
    with place.opened() as state:
        web = AssemblingWeb(pages, state.clock.seconds, {f"{SHOP}/": parts})
        assert crawled(state, web, f"{SHOP}/").pages == 1
    codes = ["robots_denied", "taken_down", "invalid_url", "robots_unreachable"]
    assert web.refused == list(zip((*parts[:3], parts[4]), codes, strict=True))
    assert not {*parts[:3], parts[4]} & set(web.urls())
    kinds = {url: [row["type"] for row in place.evidence(url)] for url in parts}
    assert kinds[parts[0]] == ["blocked_by_robots"]
    assert kinds[parts[1]] == ["taken_down"]
    assert kinds[parts[3]] == ["robots_allowed"]


def test_a_page_takes_a_bounded_number_of_requests(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.walk.visit.fetch_page._PARTS_MOST", 3)
    parts = tuple(f"{SHOP}/{number}.js" for number in range(5))
    with place.opened() as state:
        web = AssemblingWeb({f"{SHOP}/": page()}, state.clock.seconds, {f"{SHOP}/": parts})
        crawled(state, web, f"{SHOP}/")
    assert web.refused == [(url, "too_many_requests") for url in parts[3:]]
    assert [url for url in web.urls() if url.endswith(".js")] == list(parts[:3])


def test_a_page_behind_a_redirect_takes_its_requests_on_the_host_it_led_to(place: Place) -> None:
    pages = {
        f"{SHOP}/": answer(f"{SHOP}/", None, 302, location=f"{CDN}/page"),
        f"{CDN}/page": page(),
        f"{CDN}/part.js": "part",
    }
    with place.opened() as state:
        web = AssemblingWeb(pages, state.clock.seconds, {f"{CDN}/page": (f"{CDN}/part.js",)})
        crawled(state, web, f"{SHOP}/")
    (fetch,) = place.fetches("shop.example")
    assert (fetch["final_url"], fetch["redirect_count"]) == (f"{CDN}/page", 1), "a part is no hop"
    assert [purpose for _url, purpose in ledger(place)] == ["robots", "page", "robots", "redirect", "part"]


class Hanging(AssemblingWeb):
    """A part of a page never comes."""

    def __init__(self, place: Place, clock: Callable[[], float]) -> None:
        super().__init__({f"{SHOP}/": page()}, clock, {f"{SHOP}/": (f"{SHOP}/part.js",)})
        self.waits = asyncio.Event()

    async def get(self, request: FetchRequest, on_sent: OnSent | None = None) -> Response | FetchFailure:
        if request.url.endswith(".js"):
            self.waits.set()
            await asyncio.Event().wait()
        return await super().get(request, on_sent)


def test_the_requests_of_a_page_that_was_cancelled_are_recorded(place: Place) -> None:
    async def interrupted(state: State, web: Hanging) -> None:
        crawl = asyncio.create_task(crawl_of(state, web, f"{SHOP}/").run())
        await asyncio.wait_for(web.waits.wait(), 60)
        crawl.cancel()
        with suppress(asyncio.CancelledError):
            await crawl

    with place.opened() as state:
        asyncio.run(interrupted(state, Hanging(place, state.clock.seconds)))
    assert [purpose for _url, purpose in ledger(place)] == ["robots", "page", "part"]


class Silent(SimulatedWeb):
    async def get_page(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure | NotAllowed:
        return answer(request.url, "invented")


def test_a_fetcher_that_asks_behind_our_back_ends_the_crawl(place: Place) -> None:
    with place.opened() as state:
        web = Silent({f"{SHOP}/": page()}, state.clock.seconds)
        with pytest.raises(RuntimeError, match="through `ask`"):
            crawled(state, web, f"{SHOP}/")
    assert [purpose for _url, purpose in ledger(place)] == ["robots"]
