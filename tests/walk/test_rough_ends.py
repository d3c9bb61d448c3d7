"""Ends in the midst of things: a stop while hosts are taken, a failure while pages are kept or hosts are left."""

from __future__ import annotations

import asyncio
import errno
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from comity.store.pages import PageStore
from comity.walk.crawl import crawl as crawl_module
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.host_closing import HostCloser
from comity.walk.crawl.host_opening import HostOpener
from comity.walk.crawl.hosts import OpenHosts
from tests.walk.crawling import Place
from tests.walk.site import Answer, Asked, Web, page, tree


def test_a_stop_while_hosts_are_being_taken_stops_them_too(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(asked: Asked) -> str:
        return page(f"/p{int(asked.path.strip('/p') or 0) + 1}", title=asked.path)

    sites = [web.site(fallback=endless) for _ in range(3)]
    stopping: list[Any] = []
    original = HostOpener.open_some

    def slow(self: HostOpener, hosts: Sequence[Any]) -> Any:
        loop, stop = stopping
        loop.call_soon_threadsafe(stop)
        time.sleep(0.1)
        return original(self, hosts)

    def meanwhile(crawl: Crawl, _state: object) -> None:
        stopping[:] = [asyncio.get_running_loop(), crawl.stop]

    monkeypatch.setattr(HostOpener, "open_some", slow)
    summary = place.crawl(*(site.url() for site in sites), meanwhile=meanwhile, delay_s=0.2, within_s=60)
    assert (summary.status, summary.pages) == ("stopped", 0)


def test_a_failure_while_hosts_are_given_back_ends_the_run(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = [web.site({"/": page()}) for _ in range(4)]
    together, calls = HostCloser.close_some, []
    leave, waiting, everybody = OpenHosts._close_with_others, [], asyncio.Event()

    def failing(self: HostCloser, hosts: Sequence[Any], ended_by: Any = None) -> Any:
        calls.append(len(hosts))
        if len(hosts) > 1:
            raise OSError("the database was away for a moment")
        return together(self, hosts, ended_by)

    async def at_the_same_time(self: OpenHosts, host: Any, before: int) -> Any:
        waiting.append(host)
        if len(waiting) == len(sites):
            everybody.set()
        await everybody.wait()
        return await leave(self, host, before)

    monkeypatch.setattr(HostCloser, "close_some", failing)
    monkeypatch.setattr(OpenHosts, "_close_with_others", at_the_same_time)
    with pytest.raises(OSError, match="away"):
        place.crawl(*(site.url() for site in sites), within_s=60)
    assert len(calls) < 10


def test_after_a_failure_to_keep_pages_nothing_more_is_settled(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = [*(web.site({"/": page()}) for _ in range(3)), *(web.site(tree(300, width=4)) for _ in range(3))]
    original, calls = PageStore.append, []

    def fails_once(self: PageStore, records: Sequence[Any]) -> Any:
        calls.append(len(records))
        time.sleep(0.03)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "no space left on device")
        return original(self, records)

    monkeypatch.setattr(PageStore, "append", fails_once)
    with pytest.raises(OSError, match="no space"):
        place.crawl(*(site.url() for site in sites), per_host=16, concurrency=64)
    assert len(calls) == 3
    place.crawl(*(site.url() for site in sites), per_host=16, concurrency=64)
    kept = Counter(row["url"] for row in place.parts())
    assert (len(kept), max(kept.values())) == (903, 1)


def test_a_lost_lease_leaves_nothing_behind_when_a_host_is_opened(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = web.site({"/": page()})
    place.crawl(site.url())
    before = place.frontier(site.host)
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    original = HostOpener.open_some

    def late(self: HostOpener, hosts: Sequence[Any]) -> Any:
        place.execute("UPDATE domains SET lease_token = lease_token + 1, claimed_by = 'another'")
        return original(self, hosts)

    monkeypatch.setattr(HostOpener, "open_some", late)
    (line,) = place.crawl(site.url()).hosts
    assert line.status == "lease lost"
    assert place.frontier(site.host) == before


def test_after_the_grace_nobody_looks_without_pause(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl_module, "_GRACE_S", 0.2)
    site = web.site({"/": page()}, robots=Answer(body="", after_s=2.0))
    original, turns = OpenHosts.__bool__, []

    def counted(self: OpenHosts) -> bool:
        turns.append(1)
        return original(self)

    async def stop(crawl: Crawl) -> None:
        await asyncio.sleep(0.3)
        crawl.stop()

    monkeypatch.setattr(OpenHosts, "__bool__", counted)
    place.crawl(site.url(), meanwhile=lambda crawl, _state: stop(crawl))
    assert 0 < len(turns) < 200


def test_pages_that_wait_to_be_read_apart_are_few(web: Web, place: Place) -> None:
    heavy = "<p>word</p>" * 1600 + "x" * 300_000
    site = web.site(
        {"/": page(*(f"/p{number}" for number in range(150)))},
        fallback=lambda asked: page(title=asked.path, body=heavy),
    )
    under_way: list[int] = [0]

    async def look(crawl: Crawl) -> None:
        while not crawl.progress.hosts_done:
            under_way.extend(host.visits_under_way for host in crawl._hosts)
            await asyncio.sleep(0.005)

    summary = place.crawl(site.url(), meanwhile=lambda crawl, _state: look(crawl), per_host=16, concurrency=16)
    assert summary.pages == 151
    assert 0 < max(under_way) <= 32


def test_a_link_with_a_zero_octet_in_a_name_does_not_end_a_run(
    web: Web, place: Place, migrated_postgres_url: str
) -> None:
    """It is told in a reason, and PostgreSQL keeps no such octet."""
    site = web.site({"/": page("/x?date%00=2099-01-01", "/y"), "/y": page()})
    assert place.crawl(site.url(), database_url=migrated_postgres_url).pages == 2
