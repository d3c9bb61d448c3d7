"""Budgets: reached exactly, warned of, noted with their reason, and named by `comity why`."""

from __future__ import annotations

import asyncio
import time

import pytest

from comity.assemble import State
from comity.walk.crawl.terms import CrawlHooks, HostShare
from tests.walk.crawling import DONE, QUEUED, TOO_DEEP, Place, line_of, run_crawl
from tests.walk.site import Answer, Web, page, redirect, tree


def reasons(place: Place) -> list[tuple[str, str]]:
    return [(row["status"], row["end_reason"]) for row in place.rows("SELECT * FROM crawl_runs ORDER BY started_at")]


@pytest.mark.parametrize("limit", [1, 7, 25])
def test_pages_per_run_are_exact_whatever_is_under_way(web: Web, place: Place, limit: int) -> None:
    sites = [web.site(tree(20)) for _ in range(3)]
    summary = place.crawl(*(site.url() for site in sites), max_pages=limit, per_host=3)
    assert summary.pages == limit
    assert sum(len(site.pages()) for site in sites) == limit
    assert len(place.kept()) == limit
    assert (summary.status, summary.code) == ("finished", "page_limit")
    assert summary.reason.startswith(f"the limit of {limit} page{'s' * (limit > 1)} per run was reached")
    assert reasons(place) == [("finished", "page_limit")]
    assert all(row["claimed_by"] is None for row in place.rows("SELECT claimed_by FROM domains"))


def test_a_page_that_was_begun_is_finished_with_its_redirects(web: Web, place: Place) -> None:
    site = web.site(
        {"/": page("/moved", "/a"), "/moved": redirect("/far"), "/far": page()},
        robots="User-agent: *\nCrawl-delay: 0.2\n",
    )
    other = web.site(tree(9))
    summary = place.crawl(site.url(), other.url(), max_pages=9, per_host=2)
    assert summary.pages == 9
    assert len(place.kept()) == 9


def test_every_host_of_a_run_that_ended_by_its_budget_knows_why(web: Web, place: Place) -> None:
    sites = [web.site(tree(20)) for _ in range(2)]
    place.crawl(*(site.url() for site in sites), max_pages=10)
    for site in sites:
        queued = [url for url, state in place.frontier(site.host).items() if state == QUEUED]
        told = place.comity("why", queued[0])
        assert told.code == 0
        assert "10 pages per run" in told.out


@pytest.mark.roomy
def test_minutes_per_run_end_it_in_time_also_while_everybody_waits(web: Web, place: Place) -> None:
    site = web.site(tree(20), robots="User-agent: *\nCrawl-delay: 300\n")
    started = time.monotonic()
    summary = place.crawl(site.url(), max_minutes=1 / 60)
    assert 0.9 < time.monotonic() - started < 60.0
    assert (summary.status, summary.code) == ("finished", "time_limit")
    assert "minutes per run" in (line_of(summary, site.host).reason or "")
    assert place.host(site.host)["status"] == "active"


def test_the_table_bounds_each_host_and_the_flag_lifts_it(web: Web, place: Place) -> None:
    small, large = web.site(tree(20)), web.site(tree(20))
    place.comity("seeds", "add", small.url(), large.url())
    place.execute("UPDATE domains SET max_pages_per_run = 4 WHERE domain = ?", small.host)
    summary = place.crawl(small.url(), large.url())
    assert (len(small.pages()), len(large.pages())) == (4, 20)
    assert "4 pages per host" in (line_of(summary, small.host).reason or "")
    assert (summary.status, summary.code) == ("finished", "host_page_limit"), "URLs are queued: something is left"
    assert summary.endings == {"host_page_limit": 1, "nothing_left": 1}
    assert reasons(place) == [("finished", "host_page_limit")]
    assert place.host(small.host)["status"] == "active"
    queued = [url for url, state in place.frontier(small.host).items() if state == QUEUED]
    assert "4 pages per host" in place.comity("why", queued[0]).out
    place.crawl(small.url(), enable_per_domain_budget=False)
    assert len(small.pages()) == 20


def test_whoever_says_how_many_pages_means_it(web: Web, place: Place) -> None:
    """A run that is told nothing leaves each host after its part; one that is told is not held to that as well."""
    place.env["COMITY_PAGES_PER_HOST"] = "4"
    told, single, first, second = (web.site(tree(12)) for _ in range(4))
    assert "4 pages per host" in place.comity("crawl", told.url()).out
    assert len(told.pages()) == 4
    shown = place.comity("crawl", told.url(), "--max-pages", "0")
    assert len(told.pages()) == 12
    assert "Run the same command to continue." not in shown.out
    shown = place.comity("crawl", single.url(), "--max-pages", "9")
    assert len(single.pages()) == 9
    assert "Ended: the limit of 9 pages per run was reached." in shown.out
    assert "Still to visit: 3 URLs. Run the same command to continue." in shown.out
    place.comity("crawl", first.url(), second.url(), "--max-pages", "20")
    assert (len(first.pages()), len(second.pages())) == (4, 4), "a limit that is shared does not undo fair parts"
    place.execute("UPDATE domains SET max_pages_per_run = 2 WHERE domain = ?", first.host)
    place.comity("crawl", first.url(), "--max-pages", "0")
    assert len(first.pages()) == 6, "what somebody wrote of this host holds"


def test_a_run_over_everything_takes_a_host_once_however_much_is_left(web: Web, place: Place) -> None:
    """Without names a run takes what the table offers; a host whose part is spent is not offered twice."""
    sites = [web.site(tree(12)) for _ in range(2)]
    place.comity("seeds", "add", *(site.url() for site in sites))
    place.execute("UPDATE domains SET max_pages_per_run = 5")
    with place.opened() as state:
        summary = asyncio.run(asyncio.wait_for(run_crawl(state, None), 60))
    assert [len(site.pages()) for site in sites] == [5, 5]
    assert summary.pages == 10


def test_depth_is_counted_from_the_seed(web: Web, place: Place) -> None:
    routes = {f"/{number}": page(f"/{number + 1}") for number in range(10)}
    site = web.site(routes)
    place.crawl(site.url("/0"), max_depth=3)
    assert site.pages() == ["/0", "/1", "/2", "/3"]
    states = place.frontier(site.host)
    assert states.pop(site.url("/4")) == TOO_DEEP
    assert set(states.values()) == {DONE}
    assert place.host(site.host)["crawl_depth_reached"] == 3


def test_a_limit_that_is_near_is_warned_of_once(web: Web, place: Place) -> None:
    sites = [web.site(tree(9)) for _ in range(2)]
    place.comity("seeds", "add", *(site.url() for site in sites))
    place.execute("UPDATE domains SET max_pages_per_run = 10")
    summary = place.crawl(*(site.url() for site in sites), max_pages=40)
    near = [warning for warning in summary.warnings if "pages per host" in warning]
    assert len(near) == 2, "each host has its own limit"
    assert all(any(site.host in warning for warning in near) for site in sites)
    assert all("80 %" in warning for warning in near)
    told = place.comity("crawl", web.site(tree(9)).url(), "--max-pages", 10)
    assert "80 % of the limit of 10 pages per run is used." in told.out


def test_a_limit_that_is_reached_was_not_only_near(web: Web, place: Place) -> None:
    site = web.site(tree(20))
    told = place.comity("crawl", site.url(), "--max-pages", 5)
    assert "limit of 5 pages per run was reached" in told.out
    assert "80 %" not in told.out
    place.execute("UPDATE domains SET max_pages_per_run = 5")
    told = place.comity("crawl", site.url())
    assert "limit of 5 pages per host was reached" in told.out
    assert "80 %" not in told.out


def test_a_page_that_is_too_large_is_left_and_says_so(web: Web, place: Place) -> None:
    site = web.site({"/": page("/large", "/a"), "/large": "x" * 50_000, "/a": page()})
    summary = place.crawl(site.url(), max_response_bytes=20_000)
    assert (summary.pages, summary.errors) == (2, 1)
    row = place.kept()[site.url("/large")]
    assert row["body"] is None
    assert "too_large" in row["error"]


def test_what_robots_refuses_costs_no_page_of_the_budget(web: Web, place: Place) -> None:
    site = web.site(tree(6), robots="User-agent: *\nDisallow: /private\n")
    seeds = [site.url(f"/private{number}") for number in range(5)]
    summary = place.crawl(*seeds, site.url(), max_pages=3)
    assert summary.pages == 3
    assert summary.refused == 5


def test_zero_means_no_limit(web: Web, place: Place) -> None:
    site = web.site(tree(15))
    assert place.crawl(site.url(), max_pages=0, max_minutes=0).pages == 15


@pytest.mark.parametrize("per_host", [1, 4])
def test_a_page_counts_when_it_came(web: Web, place: Place, per_host: int) -> None:
    dead = [f"/dead{number}" for number in range(7)]
    routes = {"/": page(*dead, *(f"/p{number}" for number in range(30)))} | dict.fromkeys(dead, Answer(404))
    site = web.site(routes, fallback=page())
    summary = place.crawl(site.url(), max_pages=20, per_host=per_host)
    assert (summary.pages, summary.errors, summary.code) == (20, 7, "page_limit")
    assert len(site.pages()) == 27, "what is under way is held back from the limit"


def test_visits_that_bring_no_page_come_to_an_end(web: Web, place: Place) -> None:
    routes = {"/": page(*(f"/dead{number}" for number in range(400)))}
    site = web.site(routes)
    summary = place.crawl(site.url(), max_pages=5)
    assert (summary.pages, len(site.pages()), summary.code) == (1, 100, "visit_limit")
    assert "100 visits per run" in summary.reason
    assert place.frontier(site.host)[site.url("/dead399")] == QUEUED


def test_a_run_whose_budget_is_spent_waits_for_no_delay(web: Web, place: Place) -> None:
    """The budget is asked before the gate: nothing is waited for, and no start is booked that is not used."""
    site = web.site(tree(9), robots="User-agent: *\nCrawl-delay: 6\n")
    summary = place.crawl(site.url(), max_pages=1)
    assert time.monotonic() - site.log[-1].at < 5.5, "the run does not sleep one delay to find its budget spent"
    assert (summary.pages, summary.code) == (1, "page_limit")
    row = place.host(site.host)
    (last,) = place.rows("SELECT max(started_at) AS at FROM politeness_ledger")
    assert row["last_start_at"][:19] == last["at"][:19], "the last start is that of a request"


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_host_that_had_its_part_makes_way_while_others_wait(web: Web, place: Place, is_alone: bool) -> None:
    large, other = web.site(tree(12)), web.site(tree(2))
    place.comity("seeds", "add", large.url(), *([] if is_alone else [other.url()]))
    place.execute("UPDATE domains SET max_pages_per_run = 5")
    place.execute("UPDATE domains SET priority_score = 100000 WHERE domain = ?", large.host)

    async def one_at_a_time(state: State) -> None:
        async with state.fetcher() as fetcher:
            share = HostShare(1, tuple, lambda _host: None, lambda _host: None, report=lambda _line: None)
            await state.crawl(fetcher, None, CrawlHooks(hosts=share)).run()

    with place.opened() as state:
        asyncio.run(asyncio.wait_for(one_at_a_time(state), 60))
    assert len(large.pages()) == 5
    assert len(other.pages()) == (0 if is_alone else 2)
    assert (place.host(large.host)["next_crawl_after"] is None) == is_alone
    place.crawl(large.url())
    assert len(large.pages()) == (10 if is_alone else 5), "it is taken again at once, or in a few minutes"
