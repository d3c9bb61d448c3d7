"""A user's own parts of a crawl, the extractor and the sink; what cannot be given; and reading pages back."""

from __future__ import annotations

import asyncio
import gc
import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import comity
from tests.doors.crawled_site import SWIFT, assert_given_back, crawl, no_thread_stays, slowly
from tests.walk.crawling import QUEUED, Place
from tests.walk.site import Answer, Site, Web, page, tree


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


def paths(site: Site, pages: Sequence[comity.Page]) -> list[str]:
    return [each.url.removeprefix(site.url()[:-1]) for each in pages]


async def all_of(run: comity.CrawlRun) -> list[comity.Page]:
    return [each async for each in run]


def test_an_extractor_gives_what_it_likes(web: Web, place: Place) -> None:
    site = web.site(tree(4))
    shown = []

    def extract(each: comity.FetchedPage) -> Any:
        shown.append(each)
        return {"words": each.html.split(), "title": each.title}

    found = {each.url: each for each in crawl(place, site, extract=extract)}
    assert len(found) == 4
    for each in shown:
        kept = found[each.url]
        assert kept.data == {"words": kept.html.split(), "title": kept.title}
        assert (each.final_url, each.status, each.content_type, each.body, each.encoding) == (
            kept.final_url,
            kept.status,
            kept.content_type,
            kept.body,
            kept.encoding,
        )


MARKED_UP = Answer(
    type="text/html",
    body=b"""<!doctype html><meta charset=latin-1><base href=/shop/><title>Caf\xe9</title>
<meta name=Description content=All>
<meta property=og:title content=Cup>
<script type=application/ld+json>{"@graph":[{"@type":"Product","name":"Cup"}]}</script>
<div itemscope itemtype=https://schema.org/Offer><b itemprop=price>3</b></div>
<p class=p>Caf\xe9 <i>au lait</i></p>
<a href=cup?x=1>1</a><a href="cup?x=1#top">again</a><a href="mailto:a@b.c">mail</a>
<a href=//other.example/>other</a>""",
)


def assert_it_answers(each: comity.Page | comity.FetchedPage, site: Site) -> None:
    assert "Café <i>au lait</i>" in each.html
    assert [element.text for element in each.select("p.p, title")] == ["Café", "Café au lait"]
    only = each.select_one("p.p")
    assert only is not None
    assert (only.tag, only.attr("class"), only.html) == ("p", "p", '<p class="p">Café <i>au lait</i></p>')
    assert each.select_one("h6") is None
    assert each.xpath("string(//i)") == "au lait"
    assert each.xpath("//a/@href")[0] == "cup?x=1"
    assert each.links == [site.url("/shop/cup?x=1"), "http://other.example/"]
    assert each.jsonld == [{"@type": "Product", "name": "Cup"}]
    assert each.microdata == [{"@type": ["https://schema.org/Offer"], "price": "3"}]
    assert each.meta == {"description": "All", "og:title": "Cup", "charset": "latin-1"}
    assert each.opengraph == {"title": "Cup"}
    with pytest.raises(ValueError, match="invalid CSS selector"):
        each.select("p[")


def test_a_page_can_be_asked_for_its_parts(web: Web, place: Place) -> None:
    site = web.site({"/": MARKED_UP})
    asked = []

    def extract(each: comity.FetchedPage) -> None:
        assert_it_answers(each, site)
        asked.append(each.url)

    [found] = crawl(place, site, extract=extract, follow_links=False)
    assert asked == [found.url]
    assert_it_answers(found, site)
    assert pickle.loads(pickle.dumps(found)) == found
    [stored] = comity.read_pages(place.pages, state=place.state)
    assert_it_answers(stored, site)


def test_links_of_an_extractor_are_admitted_as_any_link(web: Web, place: Place) -> None:
    other = web.site(tree(2), address="127.0.0.2")
    site = web.site(
        {"/": page("/a", "/other"), "/shown": page("/from-shown")},
        robots="User-agent: *\nDisallow: /private\n",
        fallback=page(),
    )
    hidden = ["/a", "shown", "#top", "/private/x", other.url(), "mailto:x@example.com", "/shown"]

    def extract(each: comity.FetchedPage) -> comity.Extraction:
        return comity.Extraction(data=len(each.body), links=hidden if each.url == site.url() else [])

    found = list(crawl(place, site, extract=extract))
    assert Counter(paths(site, found)) == Counter(["/", "/a", "/other", "/shown", "/from-shown"])
    depths = dict(zip(paths(site, found), (each.depth for each in found), strict=True))
    assert (depths["/shown"], depths["/from-shown"]) == (1, 2)
    assert all(each.data == len(each.body) for each in found)
    assert other.log == []
    assert "/private/x" not in site.paths


def test_without_following_links_only_those_of_the_extractor_are_visited(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b")}, fallback=page("/c"))
    found = crawl(place, site, follow_links=False, extract=lambda _: comity.Extraction(links=("/b",)))
    assert sorted(paths(site, list(found))) == ["/", "/b"]


@pytest.mark.parametrize("way", ["for", "async for"])
def test_an_extractor_that_fails_ends_the_run_and_the_page_is_visited_again(web: Web, place: Place, way: str) -> None:
    site = web.site(tree(30), robots=slowly(0.01))

    def extract(each: comity.FetchedPage) -> str:
        if each.url.endswith("/p7"):
            raise ValueError("seven")
        return "seen"

    run = crawl(place, site, extract=extract)
    found: list[comity.Page] = []
    with pytest.raises(comity.ExtractorFailed, match=r"failed on http://.*/p7: ValueError: seven") as caught:
        found = list(run) if way == "for" else asyncio.run(all_of(run))
    assert found == []
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.url == site.url("/p7")
    assert place.frontier(site.host)[site.url("/p7")] == QUEUED
    assert_given_back(place)
    with pytest.raises(comity.ComityError, match="no summary"):
        _ = run.summary
    before = set(place.kept())
    rest = list(crawl(place, site, extract=lambda _: "seen"))
    assert site.url("/p7") in {each.url for each in rest}
    assert not before & {each.url for each in rest}
    assert set(place.kept()) == {site.url(path) for path in tree(30)}
    assert len(site.of("/p7")) == 2


def test_pages_that_were_committed_come_before_the_failure(web: Web, place: Place) -> None:
    site = web.site(tree(30), robots=slowly(0.03))

    def extract(each: comity.FetchedPage) -> None:
        if each.url.endswith("/p20"):
            raise ValueError

    found: list[comity.Page] = []
    with pytest.raises(comity.ExtractorFailed):
        found.extend(crawl(place, site, extract=extract))  # extend keeps what came before
    assert {each.url for each in found} == set(place.kept())
    assert len(found) > 5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda _: comity.Extraction(links="/one-text"), "links must be a list of URLs"),
        (lambda _: comity.Extraction(links=[b"/bytes"]), "links must be strings"),  # type: ignore[list-item]
    ],
)
def test_links_that_are_none_are_told_with_the_url(web: Web, place: Place, given: Any, words: str) -> None:
    site = web.site(tree(2))
    with pytest.raises(comity.ExtractorFailed, match=words):
        list(crawl(place, site, extract=given))


class Shelf:
    """A sink that remembers, and fails when told to."""

    def __init__(self, place: Place, fails_at: int = 0) -> None:
        self.place = place
        self.fails_at = fails_at
        self.batches: list[list[comity.Page]] = []
        self.closed = 0
        self.committed_before: list[str] = []

    def write(self, pages: Sequence[comity.Page]) -> None:
        done = {row["page_url"] for row in self.place.rows("SELECT page_url FROM fetches")}
        self.committed_before += [each.url for each in pages if each.url in done]
        if len(self.batches) + 1 == self.fails_at:
            raise sqlite3.OperationalError("the shelf is full")
        self.batches.append(list(pages))

    def close(self) -> None:
        self.closed += 1

    @property
    def pages(self) -> list[comity.Page]:
        return [each for batch in self.batches for each in batch]


def test_a_sink_gets_every_page_before_it_counts_as_visited(web: Web, place: Place) -> None:
    site = web.site(tree(40), robots=slowly(0.01))
    shelf = Shelf(place)
    found = list(crawl(place, site, into=None, sink=shelf, extract=lambda each: each.title))
    assert shelf.pages == found, "the same pages, in the same order, with what was extracted"
    assert len(found) == 40
    assert shelf.committed_before == []
    assert shelf.closed == 1
    assert len(shelf.batches) > 1
    assert not place.pages.exists()
    assert not Path("comity-data").exists(), "with a sink, pages go nowhere else"


def test_a_sink_and_a_store_get_the_same(web: Web, place: Place) -> None:
    site = web.site({"/": page("/none")})
    shelf = Shelf(place)
    assert len(list(crawl(place, site, sink=shelf, errors=True))) == 2
    assert {each.url: each.error for each in shelf.pages} == {site.url(): None, site.url("/none"): "http_404"}
    assert set(place.kept()) == {each.url for each in shelf.pages}


@pytest.mark.parametrize("into", [None, "pages"])
def test_a_sink_that_fails_stops_the_run_and_the_next_one_completes(web: Web, place: Place, into: str | None) -> None:
    sites = [web.site(tree(40), robots=slowly(0.01)) for _ in range(2)]
    shelf = Shelf(place, fails_at=4)
    found: list[comity.Page] = []
    with pytest.raises(comity.SinkFailed, match="OperationalError: the shelf is full") as caught:
        found.extend(crawl(place, *sites, into=into, sink=shelf))
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert shelf.closed == 1
    assert shelf.pages == found, "nothing of the batch was acknowledged"
    assert len(shelf.batches) == 3, "after a failure it is given nothing more"
    done = {row["page_url"] for row in place.rows("SELECT page_url FROM fetches")}
    assert {each.url for each in found} == done
    for site in sites:
        assert {url for url, state in place.frontier(site.host).items() if state != QUEUED} <= done
    assert_given_back(place)
    again = Shelf(place)
    rest = list(crawl(place, *sites, into=into, sink=again))
    everything = {site.url(path) for site in sites for path in tree(40)}
    assert Counter(each.url for each in [*found, *rest]) == Counter(everything)
    assert {each.url for each in [*shelf.pages, *again.pages]} == everything
    if into is not None:
        assert set(place.kept()) == everything


def test_a_sink_that_cannot_be_closed_is_told(web: Web, place: Place) -> None:
    class Jammed:
        def write(self, pages: Sequence[comity.Page]) -> None:
            assert pages

        def close(self) -> None:
            raise OSError("jammed")

    site = web.site(tree(5))
    found: list[comity.Page] = []
    with pytest.raises(comity.SinkFailed, match="failed to close: OSError: jammed"):
        found.extend(crawl(place, site, sink=Jammed()))
    assert len(found) == len(place.kept()) == 5
    assert_given_back(place)


class Late:
    """A sink that fails once the reader has gone."""

    def write(self, pages: Sequence[comity.Page]) -> None:
        pass

    def close(self) -> None:
        raise OSError("too late")


def test_a_failure_after_the_loop_was_left_is_raised_by_the_block(web: Web, place: Place) -> None:
    site = web.site(tree(40), robots=slowly(0.01))
    with pytest.raises(comity.SinkFailed, match="too late"), crawl(place, site, sink=Late()) as run:  # noqa: PT012
        for _ in run:
            break
    assert_given_back(place)


async def test_the_same_for_an_async_block(web: Web, place: Place) -> None:
    site = web.site(tree(40), robots=slowly(0.01))

    async def leave() -> None:
        async with crawl(place, site, sink=Late()) as run:
            async for _ in run:
                break

    with pytest.raises(comity.SinkFailed, match="too late"):
        await leave()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_a_block_it_is_at_least_shown(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has nobody to raise it to: it goes to stderr, by `sys.unraisablehook`."""
    told: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: told.append(str(unraisable.exc_value)))
    site = web.site(tree(40), robots=slowly(0.01))
    for _ in crawl(place, site, sink=Late()):
        break
    gc.collect()
    assert told == ["the sink failed to close: OSError: too late"]


async def _coroutine(_: comity.FetchedPage) -> None:
    return None


class _AsyncSink:
    async def write(self, pages: Sequence[comity.Page]) -> None:
        return None


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: comity.crawl(), comity.BadInput, "nothing to crawl: give a URL such as https://example.com/"),
        (lambda: comity.crawl([]), comity.BadInput, "nothing to crawl"),
        (lambda: comity.crawl("http://"), comity.BadInput, "there is no host after the scheme"),
        (lambda: comity.crawl(["example.com", "ftp://example.com/"]), comity.BadInput, "ftp"),
        (lambda: comity.crawl("a.example", delay=-1), comity.BadInput, "^delay: .*at least 0"),
        (lambda: comity.crawl("a.example", timeout=0), comity.BadInput, "^timeout: "),
        (lambda: comity.crawl("a.example", max_pages=-1), comity.BadInput, "max_pages"),
        (lambda: comity.crawl("a.example", concurrency="many"), comity.BadInput, "concurrency"),
        (lambda: comity.crawl("a.example", accept="text/html; q=1"), comity.BadInput, "^accept: .*media type"),
        (lambda: comity.crawl("a.example", allow_networks=["x"]), comity.BadInput, "allow_networks"),
        (lambda: comity.crawl("a.example", user_agent="7"), comity.BadInput, "user_agent"),
        (lambda: comity.crawl("a.example", contact="a\nb"), comity.BadInput, "contact"),
        (lambda: comity.crawl("a.example", into="pages.tsv"), comity.BadInput, "pages go into a folder"),
        (lambda: comity.crawl("a.example", into=""), comity.BadInput, "path for pages is empty"),
        (lambda: comity.crawl("a.example", state=":memory:"), comity.BadInput, "TEMPORARY"),
        (lambda: comity.crawl("a.example", max_page=1), TypeError, "max_page"),
        (lambda: comity.crawl(7), TypeError, "not iterable"),
        (lambda: comity.crawl([b"a.example"]), TypeError, "a seed must be a string"),
        (lambda: comity.crawl("a.example", extract=3), TypeError, "extract must be expressions or a function"),
        (lambda: comity.crawl("a.example", extract=_coroutine), TypeError, "extract must be a plain function"),
        (lambda: comity.crawl("a.example", sink=[]), TypeError, r"sink must have a method write\(pages\)"),
        (lambda: comity.crawl("a.example", sink=_AsyncSink()), TypeError, "must be a plain function"),
    ],
)
def test_what_cannot_be_used_is_told_at_once(
    place: Place, make: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make()
    assert list(place.folder.iterdir()) == [], "nothing was made"


def test_one_text_is_a_list_of_one(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": Answer(body="x", type="text/plain")})
    options = SWIFT | {"allow_networks": "127.0.0.0/8", "accept": "text/html", "state": place.state}
    assert paths(site, list(comity.crawl([site.url()], into=place.pages, **options))) == ["/"]


@pytest.mark.parametrize("name", ["pages", "pages.jsonl", "pages.duckdb"])
def test_pages_are_read_back(web: Web, place: Place, name: str) -> None:
    latin = Answer(body="<title>Straße</title>ß".encode("latin-1"), type="text/html; charset=latin-1")
    picture = Answer(body=b"\x89PNG\0", type="image/png", etag='"1"')
    site = web.site({"/": page("/latin", "/picture", "/none"), "/latin": latin, "/picture": picture})
    into = place.folder / name
    crawled = {each.url: each for each in crawl(place, site, into=into, accept=["*/*"], errors=True)}
    found = {each.url: each for each in comity.read_pages(into, state=place.state)}
    assert sorted(paths(site, list(found.values()))) == ["/", "/latin", "/picture"]
    for url, each in found.items():
        before = crawled[url]
        assert (each.final_url, each.status, each.title, each.html) == (url, 200, before.title, before.html)
        assert (each.run_id, each.etag, each.content_hash) == (before.run_id, before.etag, before.content_hash)
        assert abs((each.crawl_time - before.crawl_time).total_seconds()) < 0.001
        assert each.depth is None
    assert found[site.url("/picture")].body == picture.body
    assert found[site.url("/latin")].html.endswith("ß")
    with_errors = {each.url: each for each in comity.read_pages(into, state=place.state, errors=True)}
    assert with_errors[site.url("/none")].error == "http_404"
    assert set(with_errors) == set(crawled)


def test_what_is_taken_down_is_not_read_back(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    assert len(list(crawl(place, site))) == 3
    assert place.comity("takedown", "add", site.url("/p1")).code == 0
    assert sorted(paths(site, list(comity.read_pages(place.pages, state=place.state)))) == ["/", "/p2"]


def test_where_nothing_was_crawled_nothing_is_read(place: Place) -> None:
    assert list(comity.read_pages()) == []
    assert list(place.folder.iterdir()) == []
    with pytest.raises(comity.BadInput, match="cannot be queried"):
        comity.read_pages("pages.warc")
