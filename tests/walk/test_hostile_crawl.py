"""A crawl over a web that does everything wrong: it ends within its limits, and each URL has its own ending."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.hostile.web import HostileWeb
from tests.walk.crawling import DONE, QUEUED, Place, line_of
from tests.walk.site import LOG_IS_EXACT_TO_S

LARGEST = 200_000
DELAY_S = 0.03
SECONDS = 20.0  # on a slow machine, too, each URL is tried at least once

FETCHED = {
    *("/all", "/ok", "/size?bytes=1000", "/length/short", "/encoded/gzip", "/encoded/br", "/encoded/zstd"),
    *(
        "/encoded/deflate",
        "/encoding/members",
        "/charset/lie",
        "/cookies",
        "/interim/3",
        "/validators",
        "/head-with-body",
    ),
    *(
        "/redirect/chain/3",
        "/redirect/to/spaces",
        "/redirect/to/control",
        "/redirect/to/fragment",
        "/redirect/status/308",
    ),
    *("/status/200", "/no-body/204"),
}
REJECTED = {
    "/echo": "wrong_type",
    "/size?bytes=500000": "too_large",
    "/endless": "too_large",
    "/encoding/lie": "bad_encoding",
    "/bomb/gzip": "too_large",
    "/bomb/br": "too_large",
    "/bomb/zstd": "too_large",
    "/endless-headers": "header_flood",
    "/header-flood": "header_flood",
    "/long-header": "header_flood",
}
GONE = {"/status/404": 404, "/status/410": 410, "/status/418": 418, "/redirect/nowhere": 302, "/no-body/304": 304}
REFUSED = {
    "/redirect/loop": "too_many_redirects",
    "/redirect/ping": "too_many_redirects",
    "/redirect/growing": "too_many_redirects",
    "/redirect/to/private": "address_refused",
    "/redirect/to/metadata": "address_refused",
    "/redirect/to/file": "bad_redirect",
    "/redirect/to/data": "bad_redirect",
    "/redirect/to/javascript": "bad_redirect",
    "/redirect/to/userinfo": "bad_redirect",
    "/redirect/to/huge": "bad_redirect",
}
TRIED_AGAIN = {
    *("/stalled-body", "/length/long", "/reset/before", "/reset/head", "/reset/body", "/close/before", "/garbage"),
    *("/slow-first-byte?ms=5000", "/hang", "/upgrade", "/redirect/twice", "/status/500"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileWeb, Place, float]]:
    place = Place(tmp_path_factory.mktemp("hostile"))
    with HostileWeb() as web:
        web.robots[web.address] = "allow"
        paths = [*sorted(FETCHED), *REJECTED, *GONE, *REFUSED, *sorted(TRIED_AGAIN)]
        web.page("/all", "".join(f'<a href="{path}">x</a>' for path in paths))
        started = time.monotonic()
        place.crawl(
            web.url("/all"),
            fetch_timeout_s=2.0,
            max_domain_errors=1000,
            max_response_bytes=LARGEST,
            max_minutes=SECONDS / 60,
            allow_networks=("127.0.0.1/32",),
            delay_s=DELAY_S,
        )
        yield web, place, time.monotonic() - started


def rows(crawled: tuple[HostileWeb, Place, float], path: str) -> list[tuple[str, int | None, str]]:
    web, place, _seconds = crawled
    found = [row for row in place.fetches(web.authority) if row["page_url"] == web.url(path)]
    return [(row["outcome"], row["status"], row["error"] or "") for row in found]


def test_it_ends_in_time_and_gives_its_leases_back(crawled: tuple[HostileWeb, Place, float]) -> None:
    web, place, seconds = crawled
    assert seconds < SECONDS + 30.0
    assert all(row["claimed_by"] is None for row in place.rows("SELECT claimed_by FROM domains"))
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"]) == ("finished", "time_limit")
    assert place.host(web.authority)["status"] == "active"


@pytest.mark.parametrize("path", sorted(FETCHED))
def test_what_is_good_is_fetched_once(crawled: tuple[HostileWeb, Place, float], path: str) -> None:
    ((outcome, status, _error),) = rows(crawled, path)
    assert outcome == "fetched"
    assert status in (200, 204)


@pytest.mark.parametrize("path", sorted(REJECTED))
def test_what_we_do_not_take_is_left_with_its_reason(crawled: tuple[HostileWeb, Place, float], path: str) -> None:
    ((outcome, _status, error),) = rows(crawled, path)
    assert outcome == "rejected"
    assert error.startswith(REJECTED[path])


@pytest.mark.parametrize("path", sorted(GONE))
def test_what_the_site_refuses_is_final(crawled: tuple[HostileWeb, Place, float], path: str) -> None:
    assert rows(crawled, path) == [("gone", GONE[path], f"http_{GONE[path]}")]


@pytest.mark.parametrize("path", sorted(REFUSED))
def test_what_leads_astray_is_not_followed(crawled: tuple[HostileWeb, Place, float], path: str) -> None:
    ((outcome, _status, error),) = rows(crawled, path)
    assert outcome == "refused"
    assert error.startswith(REFUSED[path])


@pytest.mark.parametrize("path", sorted(TRIED_AGAIN))
def test_what_breaks_on_the_way_is_tried_again_later(crawled: tuple[HostileWeb, Place, float], path: str) -> None:
    web, place, _seconds = crawled
    tries = rows(crawled, path)
    assert {outcome for outcome, _status, _error in tries} == {"failed"}
    assert 1 <= len(tries) <= 6
    assert place.frontier(web.authority)[web.url(path)] == QUEUED


def test_every_page_is_accounted_for(crawled: tuple[HostileWeb, Place, float]) -> None:
    web, place, _seconds = crawled
    host, kept = place.host(web.authority), place.kept()
    assert host["pages_crawled"] == len(FETCHED)
    assert host["pages_crawled"] + host["total_error_count"] == len(place.fetches(web.authority))
    done = {url for url, state in place.frontier(web.authority).items() if state == DONE}
    assert set(kept) == done
    assert all(len(row["body"] or "") <= LARGEST for row in kept.values())


def test_it_was_polite_all_the_while(crawled: tuple[HostileWeb, Place, float]) -> None:
    web, place, _seconds = crawled
    assert min(web.log.gaps_s(web.address)) >= DELAY_S - LOG_IS_EXACT_TO_S
    assert not any("cookie" in arrival.headers for arrival in web.log.arrivals)
    told = place.comity("verify-politeness", "--json").json
    assert told["violations"] == 0
    assert told["requests"] >= len(web.log.arrivals), "what was refused before it was sent is in the ledger, too"


@pytest.mark.parametrize("kind", ["reset", "endless", "html", "binary", "redirect-9", "big"])
def test_a_robots_file_of_any_kind_ends_in_a_decision(tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    place = Place(tmp_path_factory.mktemp("robots"))
    with HostileWeb() as web:
        web.robots[web.address] = kind
        web.page("/", '<a href="/early/x">x</a> <a href="/fine">y</a>')
        web.page("/fine", "fine")
        summary = place.crawl(web.url("/"), within_s=60, max_minutes=1)
        asked = set(web.log.paths())
    line = line_of(summary, web.authority)
    if kind == "reset":
        assert line.status in ("blocked", "unreachable")
        assert "/" not in asked
    else:
        assert {"/", "/fine"} <= asked
        assert line.status == "exhausted"
    assert ("/early/x" in asked) == (kind in ("html", "binary", "redirect-9", "endless"))
    assert place.host(web.authority)["claimed_by"] is None
