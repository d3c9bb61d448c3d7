"""One site from its seed to its Parquet part: what was asked, what is remembered, what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import xxhash

from tests.walk.crawling import DONE, Place, line_of
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Site, Web, page, redirect, tree

ROBOTS = "User-agent: *\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 0.01\nDisallow: /*?session=\n"
CYRILLIC = "<title>Привет</title><p>Съешь ещё этих мягких французских булок</p>"
JAPANESE = "<title>髙島屋</title><p>①～㌔ 日本語の文章</p>"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def a_site_of_every_kind(web: Web) -> Site:
    """Twelve pages, a missing one, forbidden ones, and every way to write text."""
    home = page(
        *(
            "/a",
            "/b",
            "/b#part",
            "./a",
            "/gone",
            "/private/diary",
            "/private/open",
            "/list?session=1",
            "/moved",
            "/nofollowed",
        ),
        *("/cyrillic", "/japanese", "/wide", "/marked", "/plain", "/gzipped", "/hidden", "/hidden.txt", "/image"),
        title="home",
        body='<a rel="nofollow" href="/never">never</a> <a href="mailto:x@example.org">x</a> <a href="http://[bad">y</a>',
    )
    return web.site(
        {
            "/": Answer(body=home, etag='"one"', headers={"Last-Modified": "Sat, 07 Feb 2026 12:00:00 GMT"}),
            "/a": page("/", "/b", "/deep/1"),
            "/b": page("/a", "/private/notes"),
            "/deep/1": page("/deep/2"),
            "/deep/2": page("/"),
            "/private/open": page("/private/secret"),
            "/moved": redirect("/landed"),
            "/landed": page("/landed-further"),
            "/landed-further": page(),
            "/nofollowed": page("/unreached", head='<meta name="robots" content="nofollow">'),
            "/hidden": page("/behind-hidden", title="secret", head='<meta name="robots" content="noindex">'),
            "/hidden.txt": Answer(body="hush", type="text/plain", headers={"X-Robots-Tag": "noindex"}),
            "/behind-hidden": page(),
            "/cyrillic": Answer(body=CYRILLIC.encode("windows-1251"), type="text/html; charset=windows-1251"),
            "/japanese": Answer(body=JAPANESE.encode("cp932"), type="text/html; charset=Shift_JIS"),
            "/wide": Answer(body="\ufeff<title>wide</title>ширь".encode("utf-16-le"), type="text/html"),
            "/marked": Answer(body="\ufeff<title>marked</title>".encode(), type="text/html"),
            "/plain": Answer(body="слова".encode("windows-1251"), type="text/plain; charset=windows-1251"),
            "/gzipped": Answer(body=page(title="small") + "x" * 5000, is_gzipped=True),
            "/image": Answer(body=PNG, type="image/png"),
        },
        robots=ROBOTS,
    )


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Place, Any]]:
    """One crawl, looked at from many sides."""
    place = Place(tmp_path_factory.mktemp("whole-site"))
    with Web() as web:
        site = a_site_of_every_kind(web)
        summary = place.crawl(site.url())
        yield site, place, summary


FETCHED = {
    *("/", "/a", "/b", "/deep/1", "/deep/2", "/private/open", "/moved", "/nofollowed", "/landed-further", "/hidden"),
    *("/hidden.txt", "/behind-hidden", "/cyrillic", "/japanese", "/wide", "/marked", "/plain", "/gzipped"),
}
FAILED = {"/gone", "/image"}


def test_every_reachable_page_is_asked_for_once_after_robots(crawled: tuple[Site, Place, Any]) -> None:
    site, _place, summary = crawled
    assert site.paths[0] == "/robots.txt"
    asked = Counter(site.paths)
    assert asked.pop("/landed") == 1, "a redirect's target is asked for once"
    assert asked == Counter(FETCHED | FAILED | {"/robots.txt"})
    assert summary.status == "finished"
    assert summary.pages == len(FETCHED)
    assert summary.errors == len(FAILED)
    assert line_of(summary, site.host).status == "exhausted"


def test_who_we_are_is_said_with_every_request(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots="User-agent: *\nAllow: /\n")
    place.crawl(site.url(), contact="ops@example.org")
    assert len(site.log) == 4
    for seen in site.log:
        assert seen.headers["user-agent"].startswith("ComityBot/")
        assert "ops@example.org" in seen.headers["user-agent"]
        assert seen.headers["from"] == "ops@example.org"
        assert "cookie" not in seen.headers


@pytest.mark.parametrize("path", ["/private/diary", "/private/notes", "/private/secret", "/list?session=1"])
def test_what_robots_forbids_is_never_asked_and_leaves_evidence(crawled: tuple[Site, Place, Any], path: str) -> None:
    site, place, _summary = crawled
    assert path not in site.paths
    (found,) = place.evidence(site.url(path))
    rule = "Disallow: /*?session=" if "session" in path else "Disallow: /private/"
    assert found["type"] == "blocked_by_robots"
    assert found["confidence"] == "high"
    content, metadata = found["content"], found["metadata"]
    assert content["allowed"] is False
    assert content["matchedRule"] == rule
    assert content["crawlDelay"] == 0.01
    assert abs(_read_iso(content["timestamp"]).timestamp() - datetime.now(UTC).timestamp()) < 60
    assert metadata == {"url": site.url(path), "allowed": False, "matchedRule": rule, "crawlDelay": 0.01}


def test_what_robots_allows_leaves_evidence_too(crawled: tuple[Site, Place, Any]) -> None:
    site, place, _summary = crawled
    (found,) = place.evidence(site.url("/private/open"))
    assert found["type"] == "robots_allowed"
    assert found["content"]["matchedRule"] == "Allow: /private/open"
    assert found["metadata"]["allowed"] is True
    assert found["content"]["timestamp"].endswith("Z")


def test_counters_are_the_rows(crawled: tuple[Site, Place, Any]) -> None:
    site, place, summary = crawled
    host, fetches, frontier = place.host(site.host), place.fetches(site.host), place.frontier(site.host)
    assert host["status"] == "exhausted"
    assert host["pages_crawled"] == sum(row["outcome"] == "fetched" for row in fetches) == len(FETCHED)
    assert host["total_error_count"] == sum(row["outcome"] != "fetched" for row in fetches) == len(FAILED)
    assert host["pages_discovered"] == len(frontier) == len(FETCHED | FAILED)
    assert set(frontier.values()) == {DONE}
    assert host["crawl_depth_reached"] == 3
    assert (host["claimed_by"], host["claim_expires_at"], host["frontier_size"]) == (None, None, 0)
    run = place.run_row(summary.run_id)
    assert (run["status"], run["end_reason"], run["door"]) == ("finished", "nothing_left", "crawl")
    assert (run["pages_crawled"], run["pages_failed"]) == (len(FETCHED), len(FAILED))
    assert run["bytes_received"] == sum(row["bytes_received"] for row in fetches) == summary.bytes_received
    assert run["started_at"] < run["ended_at"]
    assert host["last_crawl_run_id"] == run["id"]


def test_the_ledger_has_every_request_that_the_site_saw(crawled: tuple[Site, Place, Any]) -> None:
    site, place, _summary = crawled
    ledger = place.rows("SELECT url, purpose, status FROM politeness_ledger ORDER BY started_at, id")
    assert [row["url"] for row in ledger] == [site.url(path) for path in site.paths]
    assert Counter(row["purpose"] for row in ledger) == {"robots": 1, "page": len(FETCHED | FAILED), "redirect": 1}


def test_parts_hold_each_page_once_with_every_column(crawled: tuple[Site, Place, Any]) -> None:
    site, place, summary = crawled
    kept = place.kept()
    assert set(kept) == {site.url(path) for path in FETCHED | FAILED}
    columns = {"url", "surt_key", "http_status", "body", "content_type", "crawl_time", "error", "etag"}
    columns |= {"last_modified", "content_hash", "final_url", "redirect_count"}
    assert columns <= set(kept[site.url()])
    home = kept[site.url()]
    body = site.routes["/"].body.encode()  # type: ignore[union-attr]
    assert home["http_status"] == 200
    assert home["body"] == body.decode()
    assert home["content_type"] == "text/html; charset=utf-8"
    assert home["error"] is None
    assert (home["etag"], home["last_modified"]) == ('"one"', "Sat, 07 Feb 2026 12:00:00 GMT")
    assert home["content_hash"] == xxhash.xxh3_128_hexdigest(body)
    assert (home["final_url"], home["redirect_count"]) == (site.url(), 0)
    assert home["surt_key"] == f"1,0,0,127:{site.port})/"
    assert home["title"] == "home"
    assert home["run_id"] == summary.run_id
    assert abs(home["crawl_time"].timestamp() - datetime.now(UTC).timestamp()) < 60
    assert not list(place.pages.glob("segment-*")), "a finished run leaves no segment"


def test_a_redirected_page_says_where_it_came_from(crawled: tuple[Site, Place, Any]) -> None:
    site, place, _summary = crawled
    moved = place.kept()[site.url("/moved")]
    assert (moved["final_url"], moved["redirect_count"], moved["http_status"]) == (site.url("/landed"), 1, 200)
    assert moved["body"] == site.routes["/landed"]


def test_failures_are_kept_with_their_reason(crawled: tuple[Site, Place, Any]) -> None:
    site, place, _summary = crawled
    kept = place.kept()
    gone, image = kept[site.url("/gone")], kept[site.url("/image")]
    assert (gone["http_status"], gone["body"], gone["error"]) == (404, None, "http_404")
    assert (image["http_status"], image["body"], image["body_bytes"]) == (200, None, None)
    assert "image/png" in image["error"], "a type that was not asked for is left on the wire"
    outcomes = {row["page_url"]: (row["outcome"], row["status"]) for row in place.fetches(site.host)}
    assert outcomes[site.url("/gone")] == ("gone", 404)
    assert outcomes[site.url("/image")] == ("rejected", 200)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/cyrillic", CYRILLIC),
        ("/japanese", JAPANESE),
        ("/wide", "<title>wide</title>ширь"),
        ("/marked", "<title>marked</title>"),
        ("/plain", "слова"),
    ],
)
def test_bodies_are_decoded_as_a_browser_would(crawled: tuple[Site, Place, Any], path: str, text: str) -> None:
    site, place, _summary = crawled
    row = place.kept()[site.url(path)]
    assert row["body"] == text
    assert row["body_bytes"] is None
    octets = site.routes[path].body  # type: ignore[union-attr]
    assert row["content_hash"] == xxhash.xxh3_128_hexdigest(octets)


def test_a_gzipped_page_is_kept_as_what_it_says(crawled: tuple[Site, Place, Any]) -> None:
    site, place, _summary = crawled
    row, fetch = place.kept()[site.url("/gzipped")], {row["page_url"]: row for row in place.fetches(site.host)}
    assert row["body"] == site.routes["/gzipped"].body  # type: ignore[union-attr]
    assert 0 < fetch[site.url("/gzipped")]["bytes_received"] < 1000 < len(row["body"])


@pytest.mark.parametrize("path", ["/hidden", "/hidden.txt"])
def test_a_page_that_says_noindex_is_visited_but_not_kept(crawled: tuple[Site, Place, Any], path: str) -> None:
    site, place, _summary = crawled
    row = place.kept()[site.url(path)]
    assert (row["http_status"], row["body"], row["body_bytes"], row["title"]) == (200, None, None, None)
    assert row["error"] == "noindex"
    assert "noindex" in [found["type"] for found in place.evidence(site.url(path))]
    assert "/behind-hidden" in site.paths, "its links are followed unless it says nofollow"
    assert "/unreached" not in site.paths
    assert "/never" not in site.paths


def test_what_is_not_text_is_kept_as_octets(web: Web, place: Place) -> None:
    """XML without a charset is text; something that only claims to be nothing in particular may not be."""
    site = web.site(
        {
            "/": page("/feed.xml", "/raw"),
            "/feed.xml": Answer(body="<rss>né</rss>".encode(), type="application/xml"),
            "/raw": Answer(body=PNG, type=None),
        },
    )
    place.crawl(site.url())
    kept = place.kept()
    assert kept[site.url("/feed.xml")]["body"] == "<rss>né</rss>"
    assert (kept[site.url("/raw")]["body"], kept[site.url("/raw")]["body_bytes"]) == (None, PNG)


def test_two_sites_side_by_side_keep_their_own_pace_and_pages(web: Web, place: Place) -> None:
    sites = [web.site(tree(8), robots=f"User-agent: *\nCrawl-delay: {delay}\n") for delay in (0.05, 0.12)]
    summary = place.crawl(*(site.url() for site in sites))
    for site, delay in zip(sites, (0.05, 0.12), strict=True):
        assert len(site.pages()) == len(set(site.pages())) == 8
        assert min(site.gaps()[1:]) >= delay - LOG_IS_EXACT_TO_S
        assert place.host(site.host)["pages_crawled"] == 8
    assert summary.pages == len(place.kept()) == 16


def test_more_urls_than_are_held_in_memory_are_each_visited_once_over_two_runs(web: Web, place: Place) -> None:
    """A page with 2,500 links, every page with thirty more, some that fail at first; one run is cut short."""
    count = 2500

    def crowd(asked: Asked) -> Answer | str:
        number = int(asked.path.removeprefix("/n"))
        if number % 97 == 5 and asked.count == 1:
            return Answer(500)
        return page(*(f"/n{(number * 7 + step) % count}" for step in range(30)))

    site = web.site({"/": page(*(f"/n{number}" for number in range(count)))}, fallback=crowd)
    terms = {"per_host": 4, "max_domain_errors": 1000, "enable_per_domain_budget": False}
    place.crawl(site.url(), max_pages=700, **terms)
    place.crawl(site.url(), **terms)
    expected = {f"/n{number}": 2 if number % 97 == 5 else 1 for number in range(count)} | {"/": 1}
    assert Counter(site.pages()) == expected
    assert place.host(site.host)["status"] == "exhausted"
    assert set(place.frontier(site.host).values()) == {DONE}
    assert len(place.kept()) == count + 1


@pytest.mark.parametrize(
    "rule", [b"Disallow: /caf\xe9\n", b"Disallow: /caf\xc3\xa9\n", b"Disallow: /a\0b\nDisallow: /caf\n"]
)
def test_a_robots_file_in_any_octets_is_obeyed_and_remembered(web: Web, place: Place, rule: bytes) -> None:
    site = web.site(
        {"/": page("/caf%E9", "/caf%C3%A9", "/ok"), "/ok": page()},
        robots=Answer(body=b"User-agent: *\n" + rule, type="text/plain"),
    )
    place.crawl(site.url())
    assert {"/", "/ok"} <= set(site.paths)
    forbidden = "/caf%C3%A9" if b"\xc3" in rule else "/caf%E9"
    assert forbidden not in site.paths
    (found,) = place.evidence(site.url(forbidden))
    assert found["type"] == "blocked_by_robots"
    assert place.crawl(site.url("/more")).status == "finished", "the copy in the cache is read as well"


def _read_iso(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
