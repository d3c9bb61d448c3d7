"""The pool of runs on real sites: no more at once than it may, nothing twice, and an end that leaves nothing held."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from comity.model.errors import HostBusy
from comity.model.source import SourceReport
from comity.upkeep.due_sources import MOST_WAITING, SourcePool
from comity.walk.sources.runner import SourceRunner
from tests.walk.crawling import until
from tests.walk.site import Answer, Web
from tests.walk.sourcing import Office, jobs, listing


def _pool(office: Office, desk: SourceRunner, at_once: int, told: list[Any]) -> SourcePool:
    return SourcePool(office.database, office.state.clock, desk, at_once, told.append)


def test_what_is_asked_for_runs_once_and_a_few_at_a_time(web: Web, bureau: Office) -> None:
    counted = threading.Event()  # none ends before all that wait were counted
    sites = [web.site({"/careers": Answer(body=listing(jobs(1)), after_s=0.05, held=counted)}) for _ in range(5)]
    sources = [bureau.add(site.url("/careers")) for site in sites]
    told: list[Any] = []
    seen: list[int] = []

    async def ask(desk: SourceRunner) -> None:
        pool = _pool(bureau, desk, 2, told)
        assert pool.ask(sources[0].id)
        assert not pool.ask(sources[0].id)
        assert await pool.ask_for_due(20) == 4
        assert await pool.ask_for_due(20) == 0
        assert pool.waiting >= 3
        counted.set()
        while pool.waiting or pool.in_flight:
            seen.append(pool.in_flight)
            await asyncio.sleep(0.005)
        await pool.close()

    bureau.do(ask)
    assert max(seen) == 2
    assert [type(each) for each in told] == [SourceReport] * 5
    assert all(site.pages() == ["/careers"] for site in sites)


def test_sources_of_different_hosts_go_first(web: Web, bureau: Office) -> None:
    one, other = (web.site(fallback=listing(jobs(1))) for _ in range(2))
    for number in range(3):
        bureau.add(one.url(f"/{number}"))
    bureau.add(other.url("/careers"))
    told: list[Any] = []

    async def ask(desk: SourceRunner) -> None:
        pool = _pool(bureau, desk, 1, told)
        assert await pool.ask_for_due(20) == 4
        await until(lambda: len(told) == 4)
        await pool.close()

    bureau.do(ask)
    assert other.url("/careers") in [each.careers_url for each in told[:2]]


def test_a_pool_that_is_closed_ends_within_its_bound_and_frees_what_it_held(
    web: Web,
    bureau: Office,
) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(2)), after_s=30.0)})
    held, waiting = bureau.add(site.url("/careers")), bureau.add(web.site().url("/careers"))

    async def close(desk: SourceRunner) -> None:
        pool = _pool(bureau, desk, 1, [])
        pool.ask(held.id)
        await until(lambda: bool(site.of("/careers")))
        pool.ask(waiting.id)
        await asyncio.wait_for(pool.close(within_s=0.1), 60)
        with pytest.raises(HostBusy):
            pool.ask(waiting.id)

    bureau.do(close)
    assert bureau.rows("SELECT * FROM crawl_locks") == []
    assert bureau.rows("SELECT claimed_by FROM domains") == [{"claimed_by": None}]
    assert bureau.again(held).next_run_at == held.next_run_at


def test_what_waits_is_bounded(web: Web, bureau: Office) -> None:
    from uuid import uuid4

    async def flood(desk: SourceRunner) -> None:
        pool = _pool(bureau, desk, 1, [])
        for _ in range(MOST_WAITING):
            pool.ask(uuid4())
        with pytest.raises(HostBusy, match="too many runs are queued"):
            pool.ask(uuid4())
        assert await pool.ask_for_due(20) == 0
        await pool.close()

    bureau.do(flood)
