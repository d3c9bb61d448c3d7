"""A crawl that was suspended for longer than its lease (SIGSTOP, a laptop asleep) takes its hosts again and goes on."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.forking import children_of
from tests.walk.site import LOG_IS_EXACT_TO_S, Site, Web, tree

DELAY_S = 0.1
PAGES = 40
# A lease of two seconds, so that a test need not wait for half an hour.
SHORT = {"COMITY_LEASE_MINUTES": "0.0334", "COMITY_HEARTBEAT_MINUTES": "0.01", "COMITY_FETCH_TIMEOUT": "1"}


def slow_site(web: Web) -> Site:
    return web.site(tree(PAGES), robots=f"User-agent: *\nCrawl-delay: {DELAY_S}\n")


def sleep_through_the_lease(place: Place, sites: list[Site], processes: list[int]) -> None:
    """Suspend processes until every lease that they had is over."""
    wait_until(lambda: all(len(site.pages()) > 8 for site in sites), 60, "some pages")
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    now = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    held = f"SELECT count(*) AS leases FROM domains WHERE claim_expires_at > {now}"
    wait_until(lambda: place.rows(held)[0]["leases"] == 0, 60, "the leases to run out")
    for pid in processes:
        os.kill(pid, signal.SIGCONT)


def assert_whole(place: Place, sites: list[Site]) -> None:
    for site in sites:
        assert set(site.pages()) == set(tree(PAGES)), "the whole site was crawled"
        row = place.host(site.host)
        assert (row["status"], row["claimed_by"], row["frontier_size"]) == ("exhausted", None, 0)
        assert row["lease_token"] > 1, "the host was taken again"
        assert min(site.gaps()[1:]) >= DELAY_S - LOG_IS_EXACT_TO_S
        assert row["pages_crawled"] == PAGES
    assert len(place.kept()) == PAGES * len(sites)


def test_a_crawl_goes_on(web: Web, place: Place) -> None:
    place.env |= SHORT
    sites = [slow_site(web) for _ in range(2)]
    with place.begun("crawl", *(site.url() for site in sites), "--json") as process:
        sleep_through_the_lease(place, sites, [process.pid])
        assert process.wait(60) == 0
        summary = json.loads(process.out)["summary"]
    assert (summary["status"], summary["code"], summary["pages"]) == ("finished", "nothing_left", 2 * PAGES)
    assert [line["pages"] for line in summary["hosts"]] == [PAGES, PAGES], "one line for each host"
    assert_whole(place, sites)
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"], run["pages_crawled"]) == ("finished", "nothing_left", 2 * PAGES)


def test_a_crawl_of_several_processes_goes_on(web: Web, place: Place) -> None:
    place.env |= SHORT
    sites = [slow_site(web) for _ in range(2)]
    with place.begun("crawl", *(site.url() for site in sites), "--processes", 2, "--json") as process:
        wait_until(lambda: len(children_of(process.pid)) == 2, 60, "both processes")
        sleep_through_the_lease(place, sites, [process.pid, *children_of(process.pid)])
        assert process.wait(60) == 0
        summary = json.loads(process.out)["summary"]
    assert (summary["code"], summary["pages"]) == ("nothing_left", 2 * PAGES)
    assert [line["pages"] for line in summary["hosts"]] == [PAGES, PAGES]
    assert_whole(place, sites)


def test_a_worker_goes_on(web: Web, place: Place) -> None:
    place.env |= SHORT
    site = slow_site(web)
    place.comity("seeds", "add", site.url())
    with place.begun("work", "--idle-exit", "--json") as process:
        sleep_through_the_lease(place, [site], [process.pid])
        assert process.wait(60) == 0
    assert_whole(place, [site])


@pytest.mark.parametrize("reads_on_a_thread", [True, False])
def test_a_python_crawl_goes_on(web: Web, place: Place, reads_on_a_thread: bool) -> None:
    """The lease runs out while the reader holds the crawl up, as a slow reader or a slow disk does."""
    import asyncio

    import comity

    site = slow_site(web)
    options = {
        "state": place.state,
        "into": place.pages,
        "delay": 0,
        "sitemaps": False,
        "allow_networks": ["127.0.0.0/8"],
    }
    run = comity.crawl(site.url(), **options)

    def lose_lease(seen: int) -> None:
        if seen == 10:
            place.execute("UPDATE domains SET claim_expires_at = '2020-01-01 00:00:00.000000'")

    async def read() -> int:
        seen = 0
        async for _page in run:
            seen += 1
            lose_lease(seen)
        return seen

    if reads_on_a_thread:
        for seen, _page in enumerate(run, 1):
            lose_lease(seen)
    else:
        seen = asyncio.run(read())
    assert (run.summary.code, run.summary.reason) == ("nothing_left", "nothing left to visit")
    assert (seen, run.summary.pages) == (PAGES, PAGES)
    assert_whole(place, [site])
