"""A lease that is lost in the middle: the late hand writes nothing, the others go on, and the end says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from comity.assemble import State
from comity.leases.leases import Leases
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.host_opening import HostOpener
from tests.walk.crawling import QUEUED, Place, line_of, until
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Web, page, tree


def steal(state: State, host: str) -> Leases:
    """Let the lease run out and take it as somebody else."""
    with state.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE domains SET claim_expires_at = '2020-01-01 00:00:00.000000' WHERE domain = ?", (host,)
        )
    thief = Leases(state.database, state.clock, holder="somebody:else:0:0")
    (lease,) = thief.take([host])
    assert lease.host == host
    return thief


def test_a_late_settle_writes_nothing_and_the_others_go_on(web: Web, place: Place) -> None:
    taken = threading.Event()
    routes = {"/": page("/slow", "/a"), "/slow": Answer(body=page("/b"), held=taken), "/a": page()}
    stolen = web.site(routes, robots="User-agent: *\nCrawl-delay: 0.6\n")
    others = [web.site(tree(12), robots="User-agent: *\nCrawl-delay: 0.1\n") for _ in range(2)]
    seen: dict[str, Any] = {}

    async def thief(_crawl: Crawl, state: State) -> None:
        await until(lambda: "/slow" in stolen.paths)
        await until(lambda: len(place.fetches(stolen.host)) == 1)
        seen["thief"] = steal(state, stolen.host)
        seen["row"] = place.host(stolen.host)
        taken.set()

    summary = place.crawl(stolen.url(), *(site.url() for site in others), meanwhile=thief)
    assert summary.status == "finished"
    line = line_of(summary, stolen.host)
    assert (line.status, line.code, line.reason) == ("lease lost", "held_elsewhere", "another worker took the host")
    assert (summary.code, summary.pages) == ("held_elsewhere", 25), "what could not be kept is not counted"
    assert place.host(stolen.host) == seen["row"], "the row is as the new holder has it"
    assert place.frontier(stolen.host) == {stolen.url(): 1, stolen.url("/slow"): QUEUED, stolen.url("/a"): QUEUED}
    assert [row["page_url"] for row in place.fetches(stolen.host)] == [stolen.url()]
    assert "/a" not in stolen.paths, "nothing more is asked without the lease"
    for site in others:
        assert line_of(summary, site.host).status == "exhausted"
        assert sorted(site.pages()) == sorted(tree(12))
    kept = place.kept()
    assert stolen.url("/slow") not in kept
    assert len(kept) == 25
    run = place.run_row(summary.run_id)
    assert (run["status"], run["pages_crawled"]) == ("finished", 25)


def test_the_heartbeat_notices_a_lease_that_is_gone(web: Web, place: Place) -> None:
    """The host only waits for its delay: nothing is settled that could notice."""
    site = web.site(tree(9), robots="User-agent: *\nCrawl-delay: 300\n")
    seen: dict[str, Any] = {}

    async def thief(_crawl: Crawl, state: State) -> None:
        await until(lambda: site.paths == ["/robots.txt"])
        await asyncio.sleep(0.2)
        seen["thief"] = steal(state, site.host)

    summary = place.crawl(site.url(), meanwhile=thief, within_s=60, lease_minutes=5, heartbeat_minutes=0.005)
    assert line_of(summary, site.host).status == "lease lost"
    assert place.host(site.host)["claimed_by"] == "somebody:else:0:0"
    assert site.pages() == []


def test_the_new_holder_finishes_what_the_old_one_began(web: Web, place: Place) -> None:
    taken = threading.Event()
    site = web.site({"/": page("/slow", "/a"), "/slow": Answer(body=page("/b"), held=taken)}, fallback=page())
    seen: dict[str, Any] = {}

    async def thief(_crawl: Crawl, state: State) -> None:
        await until(lambda: "/slow" in site.paths)
        await until(lambda: len(place.fetches(site.host)) == 1)
        seen["thief"] = steal(state, site.host)
        taken.set()

    place.crawl(site.url(), meanwhile=thief)
    thief_holds = seen["thief"]
    with place.opened() as state:
        mine = Leases(state.database, state.clock, holder=thief_holds.holder)
        with state.database.write() as connection:
            connection.exec_driver_sql("UPDATE domains SET claimed_by = NULL, claim_expires_at = NULL")
        assert mine.held == []
    assert place.crawl(site.url()).pages == 3
    assert set(place.kept()) == {site.url(path) for path in ("/", "/slow", "/a", "/b")}


def test_a_lease_that_ran_out_while_a_crawl_was_paused_is_taken_again(web: Web, place: Place) -> None:
    """As after a suspended machine: time passes, nobody took the host, but the lease is over."""
    site = web.site(tree(30), robots="User-agent: *\nCrawl-delay: 0.06\n")

    crawls: list[Crawl] = []

    async def sleeper(crawl: Crawl, state: State) -> None:
        crawls.append(crawl)
        await until(lambda: len(site.pages()) > 5)
        with state.database.write() as connection:
            now = f"{state.clock.now():%Y-%m-%d %H:%M:%S.%f}"
            connection.exec_driver_sql("UPDATE domains SET claim_expires_at = ?", (now,))

    summary = place.crawl(site.url(), meanwhile=sleeper)
    (line,) = summary.hosts
    assert (line.status, line.pages, line.code) == ("exhausted", 30, "nothing_left"), "one line, with all pages"
    assert (summary.code, summary.pages) == ("nothing_left", 30)
    assert crawls[0].progress.queued == 0, "what was left is not counted again when the host is leased again"
    assert place.host(site.host)["lease_token"] == 2, "the late hand wrote nothing: a new lease was taken"
    assert set(place.kept()) == {site.url(path) for path in tree(30)}
    assert min(site.gaps()[1:]) >= 0.06 - LOG_IS_EXACT_TO_S


def test_a_lease_that_is_lost_again_and_again_comes_to_an_end(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = web.site(tree(3))
    original, taken = HostOpener.open_some, []

    def lose(self: HostOpener, hosts: Sequence[Any]) -> Any:
        taken.append(1)
        place.execute("UPDATE domains SET lease_token = lease_token + 1, claimed_by = NULL, claim_expires_at = NULL")
        return original(self, hosts)

    monkeypatch.setattr(HostOpener, "open_some", lose)
    summary = place.crawl(site.url(), within_s=60)
    assert (summary.pages, summary.code, len(taken)) == (0, "held_elsewhere", 21)


def test_a_lease_that_is_lost_while_its_host_is_opened_is_taken_again(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a frontier on a server of its own, a renewal may find the lease gone while the host's URLs are read."""
    site = web.site(tree(4))
    open_some, lost = HostOpener.open_some, []

    def open_slowly(self: HostOpener, hosts: Sequence[Any]) -> Any:
        opened = open_some(self, hosts)
        if not lost:
            lost.extend(hosts)
            for host in hosts:
                host.lose_lease()
        return opened

    monkeypatch.setattr(HostOpener, "open_some", open_slowly)
    summary = place.crawl(site.url())
    assert (summary.status, summary.pages, len(lost)) == ("finished", 4, 1)
    assert sorted(site.pages()) == sorted(tree(4))
