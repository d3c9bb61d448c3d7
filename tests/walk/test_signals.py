"""Ctrl-C once, Ctrl-C twice, and SIGTERM: nothing is lost, and the same command goes on."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from tests.servers.waiting import wait_until
from tests.walk.crawling import LONG_REQUESTS, QUEUED, Place
from tests.walk.site import Answer, Asked, Web, page, tree

ENDS_WITHIN_S = 60.0  # on a slow machine too; whatever an end must not wait for takes several times as long


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_cleanly_and_the_next_run_goes_on(web: Web, place: Place, number: signal.Signals) -> None:
    sites = [web.site(tree(40)) for _ in range(2)]
    command = ["crawl", *(site.url() for site in sites), "--delay"]
    with place.begun(*command, 0.4) as process:  # sixteen seconds, of which the signal comes in the first
        wait_until(lambda: all(len(site.log) > 3 for site in sites), 60, "some pages")
        process.send(number)
        assert process.wait(ENDS_WITHIN_S) == 130
        assert "Ctrl-C again to exit at once" in process.err
        assert "stopped by the operator" in process.out
    for site in sites:
        row = place.host(site.host)
        assert (row["status"], row["claimed_by"]) == ("active", None)
        assert row["frontier_size"] == list(place.frontier(site.host).values()).count(QUEUED) > 0
        assert len(site.pages()) == row["pages_crawled"], "what was in flight was finished and kept"
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"]) == ("stopped", "stopped")
    assert len(place.kept()) == run["pages_crawled"]
    assert place.comity_apart(*command, 0).code == 0
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(40)), "each page once over both runs"
    assert len(place.kept()) == 80


def test_what_is_in_flight_is_finished_and_kept(web: Web, place: Place) -> None:
    heard = threading.Event()
    site = web.site({"/": page("/slow", "/a"), "/slow": Answer(body=page(title="slow"), held=heard), "/a": page()})
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        process.send(signal.SIGINT)
        wait_until(lambda: "again to exit" in process.err, 60, "the signal to be heard")
        heard.set()
        assert process.wait(ENDS_WITHIN_S) == 130
    assert site.url("/slow") in place.kept()
    assert place.comity_apart("crawl", site.url()).code == 0
    assert len(site.of("/slow")) == 1


def test_a_host_that_only_waits_does_not_delay_the_end(web: Web, place: Place) -> None:
    """One waits for a long delay, one for a Retry-After, one for a robots.txt that failed."""
    slow = web.site(tree(9), robots="User-agent: *\nCrawl-delay: 300\n")
    tired = web.site({"/": page("/a"), "/a": Answer(429, headers={"Retry-After": "290"})})
    with place.begun("crawl", slow.url(), tired.url()) as process:
        wait_until(lambda: "/robots.txt" in slow.paths and "/a" in tired.paths, 60, "both to wait")
        time.sleep(0.3)
        process.send(signal.SIGINT)
        assert process.wait(ENDS_WITHIN_S) == 130, "far less than either waits for"
    assert [row["claimed_by"] for row in place.rows("SELECT claimed_by FROM domains")] == [None, None]


def test_two_signals_leave_at_once_and_lose_nothing(web: Web, place: Place) -> None:
    def slow_once(asked: Asked) -> Answer:
        return Answer(body=page(title="slow"), after_s=300.0 if asked.count == 1 else 0.0)

    place.env |= LONG_REQUESTS
    site = web.site({"/": page("/a", "/b", "/slow", "/c"), "/slow": slow_once}, fallback=page())
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        wait_until(lambda: len(place.fetches(site.host)) == 3, 60, "what came before to be settled")
        process.send(signal.SIGINT)
        wait_until(lambda: "again to exit" in process.err, 60, "the first to be heard")
        process.send(signal.SIGINT)
        assert process.wait(ENDS_WITHIN_S) == 130, "far less than the page takes"
        assert "exiting at once" in process.err
    assert place.comity_apart("crawl", site.url()).code == 0
    assert set(place.kept()) == {site.url(path) for path in ("/", "/a", "/b", "/c", "/slow")}
    assert {path: len(site.of(path)) for path in ("/", "/a", "/b", "/c", "/slow")} == {
        "/": 1,
        "/a": 1,
        "/b": 1,
        "/c": 1,
        "/slow": 2,
    }
    assert place.host(site.host)["claimed_by"] is None


def test_a_signal_before_the_first_request_ends_it_too(web: Web, place: Place) -> None:
    heard = threading.Event()
    site = web.site(tree(3), robots=Answer(body="User-agent: *\nAllow: /\n", held=heard))
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: "/robots.txt" in site.paths, 60, "robots.txt")
        process.send(signal.SIGINT)
        wait_until(lambda: "again to exit" in process.err, 60, "the signal to be heard")
        heard.set()
        assert process.wait(ENDS_WITHIN_S) == 130
    assert site.pages() == []
    assert place.host(site.host)["claimed_by"] is None
    assert place.frontier(site.host) == {site.url(): QUEUED}
