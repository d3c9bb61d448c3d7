"""A session on its own: a client that has URLs of several hosts, and no crawl behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from comity.assemble import State
from comity.model.errors import ComityError, HostBusy
from comity.model.fetch import FetchRequest, Response
from comity.model.gate import DOOR_PROFILES, Door, SlotTimeout, Wait
from comity.model.ledger import Purpose
from comity.operate.policy import set_policy
from comity.operate.seeds import add_seeds
from comity.rules.canonical import WebAddress, web_address
from comity.rules.seed_list import read_seed
from comity.walk.request import Exchange, NotStarted
from comity.walk.robots.keeper import RobotsTerms
from comity.walk.robots.record import UnstoredRobots
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.session.session import LeasesRenewed, Refreshed, Session, SessionEvent, SessionTerms, SlotFreed
from tests.walk.crawling import Place, until
from tests.walk.site import Site, Web, page

TERMS = SessionTerms(
    profile=replace(DOOR_PROFILES[Door.SQL], interval_s=0.0),
    robots=RobotsTerms("comity-test/1.0"),
    concurrency=4,
    touched_by="test",
    refresh_every_s=0.05,
)


@asynccontextmanager
async def session_on(state: State, terms: SessionTerms = TERMS) -> AsyncIterator[Session]:
    async with state.fetcher() as fetcher, state.session(fetcher, terms) as session:
        yield session


def address_of(site: Site, path: str = "/") -> WebAddress:
    return web_address(site.url(path))


def holders(place: Place) -> dict[str, Any]:
    return {row["domain"]: row["claimed_by"] for row in place.rows("SELECT domain, claimed_by FROM domains")}


async def test_a_client_with_urls_of_several_hosts(web: Web, place: Place) -> None:
    sites = [web.site({"/": page(title=name)}) for name in ("one", "two")]
    with place.opened() as state:
        async with session_on(state) as session:
            for site in sites:
                host = await session.host_for(address_of(site))
                assert host is not None
                assert (await session.robots(address_of(site))).verdict("/").allowed
                asked = await session.fetch(host, FetchRequest(site.url()), Purpose.PAGE)
                assert isinstance(asked, Exchange)
                assert isinstance(asked.result, Response)
                assert (asked.result.status, asked.row.host, asked.row.lease_token) == (
                    200,
                    site.host,
                    host.lease.token,
                )
            assert all(holders(place).values())
    assert holders(place) == {site.host: None for site in sites}, "the end of a session releases its hosts"
    assert [site.paths for site in sites] == [["/robots.txt", "/"]] * 2


async def test_a_host_has_one_session_at_a_time(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    with place.opened() as state:
        async with session_on(state) as first, session_on(state) as second:
            assert await first.host_for(address_of(site)) is not None
            assert await second.host_for(address_of(site)) is None
            with pytest.raises(HostBusy):
                await second.robots(address_of(site))
            await first.held.release_on_demand()
            assert await second.host_for(address_of(site)) is not None
    assert site.paths == []


async def test_operators_edits_take_effect_while_hosts_are_held(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    with place.opened() as state:
        async with session_on(state) as session:
            seen: list[SessionEvent] = []
            session.subscribe(seen.append)
            host = await session.host_for(address_of(site))
            assert host is not None
            assert (await asyncio.to_thread(place.comity, "takedown", "add", site.host)).code == 0
            place.execute(
                "INSERT INTO domain_policies (host, max_concurrency, min_request_interval_ms) VALUES (?, 1, 7000)",
                site.host,
            )
            await until(lambda: any(isinstance(event, Refreshed) and event.hosts == [host] for event in seen))
            assert host.gate.limits.policy_interval_s == 7.0
            with pytest.raises(ComityError, match="is taken down"):
                await session.robots(address_of(site))
    assert site.paths == []


async def test_a_lost_lease_closes_its_host_and_is_reported(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    with place.opened(lease_minutes=0.2, heartbeat_minutes=0.001, fetch_timeout_s=5.0) as state:
        async with session_on(state) as session:
            seen: list[SessionEvent] = []
            session.subscribe(seen.append)
            host = await session.host_for(address_of(site))
            assert host is not None
            place.execute("UPDATE domains SET lease_token = lease_token + 1, claimed_by = 'another'")
            await until(lambda: LeasesRenewed([host]) in seen)
            asked = await session.fetch(host, FetchRequest(site.url()), Purpose.PAGE)
            assert host.is_lost
            assert isinstance(asked, NotStarted)
            assert isinstance(asked.why, Wait | SlotTimeout)
    assert site.paths == []
    assert holders(place) == {site.host: "another"}


async def test_a_pinned_host_is_not_released_and_an_unpinned_one_is(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    with place.opened() as state:
        async with session_on(state) as session:
            host = await session.host_for(address_of(site))
            assert host is not None
            session.held.pin(host)
            session.held.pin(host)
            session.held.unpin(host)
            await session.held.release_unused(host)
            assert holders(place)[site.host] is not None
            session.held.unpin(host)
            await session.held.release_unused(host)
            assert holders(place) == {site.host: None}
            assert host.is_closed


async def test_a_request_that_ends_is_reported(web: Web, place: Place) -> None:
    site = web.site({"/": page()})
    with place.opened() as state:
        async with session_on(state) as session:
            freed: asyncio.Queue[SessionEvent] = asyncio.Queue()
            session.subscribe(freed.put_nowait)
            host = await session.host_for(address_of(site))
            assert host is not None
            await session.fetch(host, FetchRequest(site.url()), Purpose.PAGE)
            async with asyncio.timeout(60):
                while await freed.get() != SlotFreed(host):
                    pass


class AnswersInTurn(DatabaseThread):
    """A database thread whose answers wait until the test lets them go."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Event] = []

    async def run(self, function: Any, *arguments: Any, **options: Any) -> Any:
        answer = await super().run(function, *arguments, **options)
        self.waiting.append(turn := asyncio.Event())
        await turn.wait()
        return answer

    async def let_go(self, count: int = 1) -> None:
        while len(self.waiting) < count:  # noqa: ASYNC110  # answers come from another thread
            await asyncio.sleep(0.001)
        for _answer in range(count):
            self.waiting.pop(0).set()


async def test_a_host_that_is_leased_while_policies_are_read_keeps_its_policy(place: Place) -> None:
    first, second = web_address("http://one.example/"), web_address("http://two.example/")
    thread = AnswersInTurn()
    with place.opened() as state:
        add_seeds(state.database, state.clock, [read_seed(each.url) for each in (first, second)])
        set_policy(state.database, state.clock, second.host, min_request_interval_ms=60_000)
        leases, clock, robots = state.leases(), state.clock, UnstoredRobots()
        held = HeldHosts(state.database, thread, leases, clock, lambda: 0.5, TERMS.profile, TERMS.touched_by, robots)
        leasing = asyncio.create_task(held.host_for(first))
        await thread.let_go()
        await thread.let_go()
        assert await leasing is not None
        leasing = asyncio.create_task(held.host_for(second))
        await thread.let_go()  # it is leased, and its policy is being read
        refreshing = asyncio.create_task(held.refresh_policies())
        await thread.let_go(2)  # of both, in that order
        host = await leasing
        assert await refreshing == []
        assert host is not None
        assert host.policy is not None
        assert host.gate.limits.policy_interval_s == 60.0
    thread.close()
