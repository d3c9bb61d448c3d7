"""Workers: they crawl what the table offers, share it, stop cleanly, and outlast a state that goes away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from comity.model.errors import StateUnavailable
from comity.run.work.worker import Idle, News, Shift, StateLost, Worker, WorkerTerms
from comity.walk.crawl.progress import RunSummary
from tests.servers.postgres import PostgresServer, conninfo
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.forking import Apart, children_of
from tests.walk.site import Answer, Site, Web, page, tree


def seed(place: Place, *sites: Site) -> None:
    path = place.folder / "seeds.txt"
    path.write_text("".join(f"{site.url()}\n" for site in sites), encoding="utf-8")
    assert place.comity("seeds", "load", path).code == 0


def claims(place: Place) -> list[Any]:
    return place.rows("SELECT domain, claimed_by FROM domains WHERE claimed_by IS NOT NULL")


def test_what_was_seeded_is_crawled_and_the_worker_ends_when_idle(web: Web, place: Place) -> None:
    sites = [web.site(tree(8)) for _ in range(3)]
    seed(place, *sites)
    told = place.comity_apart("work", "--idle-exit", "--json")
    assert told.code == 0
    runs = [json.loads(line) for line in told.out.splitlines()]
    assert [(run["status"], run["pages"], run["hosts"]) for run in runs] == [("finished", 24, 3)]
    assert all(sorted(site.pages()) == sorted(tree(8)) for site in sites)
    assert len(place.kept()) == 24
    assert claims(place) == []
    assert place.comity_apart("work", "--idle-exit").code == 0
    assert len(place.rows("SELECT id FROM crawl_runs")) == 1, "no run is written for nothing"


@pytest.mark.usefixtures("without_state")
def test_hosts_seeded_while_it_idles_or_crawls_are_picked_up(web: Web, place: Place) -> None:
    early, slow, late = web.site(tree(3)), web.site(tree(400)), web.site(tree(3))
    with place.begun("work", "--delay", 0.2) as process:
        wait_until(place.state.exists, 60, "the worker to begin")
        wait_until(lambda: "waiting for hosts" in process.err, 60, "the worker to idle")
        seed(place, early, slow)
        wait_until(lambda: len(early.pages()) == 3 and len(slow.pages()) > 2, 60, "what was seeded")
        wait_until(lambda: [row["domain"] for row in claims(place)] == [slow.host], 60, "one to be given back")
        seed(place, late)  # while another is under way, and nothing else happens
        wait_until(lambda: len(late.pages()) == 3, 60, "what was seeded later")
        process.send(signal.SIGINT)
        assert process.wait(60) == 130
    assert claims(place) == []
    assert len(place.rows("SELECT id FROM crawl_runs")) == 1


def test_two_workers_share_hosts_and_no_page_is_fetched_twice(web: Web, place: Place) -> None:
    sites = [web.site(tree(12)) for _ in range(6)]
    seed(place, *sites)
    command = ("work", "--idle-exit", "--hosts", 2, "--delay", 0.05)
    with place.begun(*command) as one, place.begun(*command) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(12))
        assert site.overlaps() == 0
    assert len(place.kept()) == 72
    assert len({row["id"] for row in place.rows("SELECT id FROM crawl_runs WHERE pages_crawled > 0")}) >= 2
    assert claims(place) == []


def test_sigterm_drains_with_exit_code_0(web: Web, place: Place) -> None:
    sites = [web.site(tree(200)) for _ in range(2)]
    seed(place, *sites)
    with place.begun("work", "--delay", 0.04) as process:
        wait_until(lambda: all(len(site.log) > 5 for site in sites), 60, "some pages")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0
    for site in sites:
        row = place.host(site.host)
        assert (row["status"], row["claimed_by"]) == ("active", None)
        assert len(site.pages()) == row["pages_crawled"] < 200, "what was in flight was finished and kept"
    assert [row["status"] for row in place.rows("SELECT status FROM crawl_runs")] == ["stopped"]


def test_hosts_that_spent_their_part_of_a_run_keep_nobody_out(web: Web, place: Place) -> None:
    """An active host comes before all pending ones, also when this run is through with it."""
    large, small = [web.site(tree(40)) for _ in range(3)], [web.site(tree(2)) for _ in range(3)]
    seed(place, *large, *small)
    for site in large:
        place.execute("UPDATE domains SET max_pages_per_run = 3, priority_score = 100000 WHERE domain = ?", site.host)
    with place.begun("work", "--hosts", 1) as process:
        wait_until(lambda: all(len(site.pages()) == 2 for site in small), 60, "those that come last")
        assert [len(site.pages()) for site in large] == [3, 3, 3]
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0


def test_no_request_goes_out_once_leases_could_not_be_renewed(web: Web, place: Place) -> None:
    # Every page is at hand from the beginning, so that nothing but the lease can hold it up.
    site = web.site({"/": page(*(f"/{number}" for number in range(400)))}, fallback=page())
    seed(place, site)
    place.env |= {"COMITY_LEASE_MINUTES": "0.04", "COMITY_HEARTBEAT_MINUTES": "0.01", "COMITY_FETCH_TIMEOUT": "1"}
    with place.begun("work", "--delay", 0.05) as process:
        wait_until(lambda: len(site.pages()) > 3, 60, "some pages")
        lock = sqlite3.connect(place.state, timeout=30, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        ends_at = time.monotonic() + 2.4  # no later than this
        wait_until(lambda: time.monotonic() > ends_at + 1.2, 60, "the lease to be over")
        asked = [seen.at for seen in site.log]
        assert len([at for at in asked if at > ends_at]) <= 1, "at most one, begun in time and sent late"
        lock.execute("ROLLBACK")
        lock.close()
        wait_until(lambda: site.log[-1].at > ends_at + 1.0, 60, "it to be taken anew")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0
    assert claims(place) == []


def all_have_more_than(sites: list[Site], pages: int) -> bool:
    return all(len(site.pages()) > pages for site in sites)


def is_said_more_often(process: Apart, times: int) -> bool:
    return process.err.count("trying again") > times


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    # Killed, it keeps what it has confirmed, as any server does that is to be trusted with a crawl.
    with PostgresServer(fsync=False, settings={"synchronous_commit": "on"}) as server:
        yield server


def test_a_restart_of_postgresql_is_outlasted(web: Web, place: Place, own_postgres: PostgresServer) -> None:
    sites = [web.site(tree(60)) for _ in range(3)]
    url = own_postgres.create_database()
    place.env["COMITY_DATABASE_URL"] = url
    assert place.comity("db", "upgrade").code == 0
    seed(place, *sites)
    with place.begun("work", "--idle-exit", "--delay", 0.06) as process:
        for number, pages in enumerate((8, 25)):
            enough = partial(all_have_more_than, sites, pages)
            wait_until(enough, 60, "some pages")
            own_postgres.kill()
            noticed = partial(is_said_more_often, process, number)
            wait_until(noticed, 60, "the loss to be noticed")
            own_postgres.start()
        assert process.wait(60) == 0
    for site in sites:
        assert set(site.pages()) == set(tree(60))
        assert site.overlaps() == 0
    assert len(place.kept()) == 180, "each page is kept, and once"
    with own_postgres.connect(conninfo(url)) as connection:
        runs = connection.execute("SELECT status, count(*) FROM crawl_runs GROUP BY status").fetchall()
        held = connection.execute("SELECT count(*) FROM domains WHERE claimed_by IS NOT NULL").fetchone()
        hosts = connection.execute("SELECT DISTINCT status, pages_crawled FROM domains").fetchall()
    assert {status for status, _count in runs} == {"failed", "finished"}
    assert held == (0,)
    assert hosts == [("exhausted", 60)]


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_processes_of_a_worker_end_with_it_and_give_everything_back(
    web: Web, place: Place, number: signal.Signals
) -> None:
    sites = [web.site(tree(300)) for _ in range(2)]
    seed(place, *sites)
    with place.begun("work", "--processes", 2, "--hosts", 2, "--delay", 0.05) as process:
        wait_until(lambda: all(len(site.pages()) > 5 for site in sites), 60, "both to be crawled")
        children = children_of(process.pid)
        assert len(children) == 2
        if number == signal.SIGTERM:  # first, one that dies is replaced
            os.kill(children[0], signal.SIGKILL)
            wait_until(lambda: "another starts" in process.err, 60, "its death to be noticed")
            wait_until(lambda: len(set(children_of(process.pid)) - {children[0]}) == 2, 60, "another")
            gone, children = children[0], children_of(process.pid)
            wait_until(
                lambda: not any(f":{gone}:" in row["claimed_by"] for row in claims(place)), 60, "it to take over"
            )
        process.send(number)
        assert process.wait(60) == (0 if number == signal.SIGTERM else -9)
        wait_until(lambda: not any(map(is_running, children)), 60, "the children to end")
    ended = claims(place)
    assert ended == [], "nothing is held"
    for site in sites:
        assert site.overlaps() == 0


class _Pretended:
    """A shift that does what it is told."""

    def __init__(self, doings: Iterator[Any]) -> None:
        self._doings = doings
        self.minutes: list[float] = []
        self.crawls_fail = False

    async def find_work(self) -> bool:
        doing = next(self._doings)
        if isinstance(doing, Exception):
            raise doing
        return bool(doing)

    async def crawl(self, minutes: float) -> RunSummary:
        if self.crawls_fail:
            raise StateUnavailable("the other store is gone")
        self.minutes.append(minutes)
        return RunSummary("run", "finished", "time_limit", "time", 1, 0, 0, 0, 1.0, (), ())

    def stop(self) -> None:
        pass


async def test_the_pauses_grow_while_the_state_is_away_and_begin_anew_after_it() -> None:
    gone = StateUnavailable("gone")
    doings = iter([True, *[gone] * 8, True, gone, False])
    shift = _Pretended(doings)
    told: list[News] = []
    waited: list[float] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Shift]:
        yield shift

    worker = Worker(opened, WorkerTerms(is_to_exit_when_idle=True), time.monotonic, lambda: 0.5, told.append)

    async def rest(seconds: float) -> None:
        waited.append(seconds)

    worker._rest = rest  # type: ignore[method-assign]
    await worker.run()
    assert [news.pause_s for news in told if isinstance(news, StateLost)] == [1, 2, 4, 8, 16, 32, 60, 60, 1]
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60, 1]
    assert shift.minutes == [30.0, 30.0]


async def test_the_pauses_grow_also_where_only_runs_fail() -> None:
    """PostgreSQL answers each look, and Redis no run: without pauses that grow, a run would fail every second."""
    shift = _Pretended(iter([*[True] * 5, False]))
    shift.crawls_fail = True
    waited: list[float] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Shift]:
        yield shift

    worker = Worker(opened, WorkerTerms(is_to_exit_when_idle=True), time.monotonic, lambda: 0.5, lambda _news: None)

    async def rest(seconds: float) -> None:
        waited.append(seconds)

    worker._rest = rest  # type: ignore[method-assign]
    await worker.run()
    assert waited == [1, 2, 4, 8, 16]


async def test_an_idle_worker_says_so_once_and_ends_at_once_when_stopped() -> None:
    shift = _Pretended(iter([False] * 1000))
    told: list[News] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Shift]:
        yield shift

    worker = Worker(opened, WorkerTerms(poll_s=0.01), time.monotonic, lambda: 0.5, told.append)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0.1)
    assert told == [Idle()]
    worker.stop()
    await asyncio.wait_for(running, 60)


async def test_its_time_bounds_the_last_run_and_its_waits() -> None:
    shift = _Pretended(iter([True, *[False] * 100]))
    told: list[News] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Shift]:
        yield shift

    terms = WorkerTerms(max_minutes=0.5 / 60, poll_s=100.0)
    await asyncio.wait_for(Worker(opened, terms, time.monotonic, lambda: 0.5, told.append).run(), 60)
    assert 0 < shift.minutes[0] <= 0.5 / 60
    assert [type(news) for news in told] == [RunSummary, Idle]


def test_a_host_that_opens_its_robots_file_is_crawled_before_its_cooldown_is_over(web: Web, place: Place) -> None:
    closed, other = web.site(tree(3), robots="User-agent: *\nDisallow: /\n"), web.site(tree(400))
    seed(place, closed)
    assert place.comity_apart("work", "--idle-exit").code == 1  # no page came of all that it tried
    assert (place.host(closed.host)["status"], closed.pages()) == ("blocked", [])
    closed.routes["/robots.txt"] = Answer(body="User-agent: *\nAllow: /\n", type="text/plain")
    place.execute("UPDATE robots_cache SET expires_at = '2026-01-01 00:00:00.000000'")
    seed(place, other)
    with place.begun("work", "--delay", 0.05) as process:
        wait_until(lambda: len(closed.pages()) == 3, 60, "the host that was opened")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_front_page_alone_is_a_run_too(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    seed(place, site)
    assert place.comity_apart("work", "--idle-exit").code == 0
    assert site.pages() == ["/"]
