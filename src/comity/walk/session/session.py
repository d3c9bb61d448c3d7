"""The session: the one object that may talk to hosts.

It owns the database thread, the leases and their renewal, the policies and takedowns in force, robots.txt, and the
requests that go out. A client (a crawl, sources, an audit, a query, a browser) brings URLs and a budget of its own:

    async with Session(database, leases, fetcher, clock, chance, terms) as session:
        host = await session.host_for(address)      # leased; None while another worker has it
        robots = await session.robots(address)      # what robots.txt says, from the cache or from the host
        answer = await session.fetch(host, request, purpose)   # through the host's gate, with a row for the ledger

A client that decides URL by URL whether one may be visited at all does so with `visit.clear` and `visit.follow`, which
ask this session for takedowns, robots.txt and the lease of the next hop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from types import TracebackType
from typing import Final, NamedTuple, Self

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.leases.leases import Leases
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError, HostBusy
from comity.model.fetch import Fetcher, FetchRequest
from comity.model.gate import DoorProfile
from comity.model.ledger import Purpose
from comity.rules.canonical import WebAddress
from comity.rules.takedown import Takedowns
from comity.telemetry.loops import Loops
from comity.walk.request import Exchange, NotStarted, OnWait, Requests
from comity.walk.robots.keeper import RobotsKeeper, RobotsPostponed, RobotsRefused, RobotsTerms
from comity.walk.robots.record import RobotsInForce, UnstoredRobots
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.held_hosts import Capacity, HeldHosts
from comity.walk.session.identity import Identities
from comity.walk.session.leased_host import LeasedHost

REFRESH_EVERY_S: Final = 1.0
_UPKEEP: Final = "upkeep of leases"


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """How a client talks to hosts."""

    profile: DoorProfile
    robots: RobotsTerms
    concurrency: int
    """Requests in flight at once, over all hosts."""
    collapse_subdomains: bool = False
    touched_by: str = "redirect"
    """What created the row of a host that was only leased on demand."""
    refresh_every_s: float = REFRESH_EVERY_S
    """How soon operators' edits take effect while hosts are held."""
    waits_for_robots_cache: bool = True
    """Whether a host's first page waits until its robots.txt is saved."""
    outlasts_outages: bool = False
    """Whether upkeep waits for a database that is unavailable for a moment, instead of ending."""
    identities: Identities | None = None
    """What the requests to each host carry besides the usual."""


class LeasesRenewed(NamedTuple):
    """Every lease was renewed, except those of these hosts."""

    lost: list[LeasedHost]


class Refreshed(NamedTuple):
    """Policies and takedowns are up to date; the limits of these hosts changed."""

    hosts: list[LeasedHost]


class SlotFreed(NamedTuple):
    """A request that was not a visit's first (a redirect, robots.txt) released its slot."""

    host: LeasedHost


SessionEvent = LeasesRenewed | Refreshed | SlotFreed


class Session:
    """Talks to hosts on behalf of one client; use it as an asynchronous context."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        fetcher: Fetcher,
        clock: Clock,
        chance: Callable[[], float],
        terms: SessionTerms,
        loops: Loops | None = None,
    ) -> None:
        self._loops = loops or Loops()
        self.database = database
        self.leases = leases
        self.clock = clock
        self.thread = DatabaseThread()
        self.capacity = Capacity(terms.concurrency)
        robots = UnstoredRobots()
        self.held = HeldHosts(
            database, self.thread, leases, clock, chance, terms.profile, terms.touched_by, robots, terms.identities
        )
        self.requests = Requests(fetcher, self.capacity, clock.seconds)
        self.robots_keeper = RobotsKeeper(
            database,
            self.thread,
            self.requests,
            terms.robots,
            clock.seconds,
            self.takedowns,
            collapse=terms.collapse_subdomains,
            unstored=robots,
            waits_for_storing=terms.waits_for_robots_cache,
        )
        self._fetcher = fetcher
        self._terms = terms
        self._takedowns = Takedowns()
        self._takedowns_read_at = -inf
        self._emit: Callable[[SessionEvent], None] = lambda _event: None
        self._renewed_at = 0.0
        self.upkeep: asyncio.Task[None] | None = None

    def subscribe(self, emit: Callable[[SessionEvent], None]) -> None:
        """Register the client of this session as the handler of its events."""
        self._emit = emit
        self.requests.on_end = lambda host: emit(SlotFreed(host))

    def log_waits(self, on_wait: OnWait | None) -> None:
        """Call `on_wait` for every wait for a host; None for no calls."""
        self.requests.on_wait = on_wait

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()
        await self.held.release_all()  # and record the requests made
        self.close()

    async def open(self) -> None:
        """Free the leases of dead processes of this machine; from now on, keep leases and policies up to date."""
        await self.thread.run(self.leases.release_dead)
        await self.refresh()
        self._renewed_at = asyncio.get_running_loop().time()
        # Only a crawl watches this task. In other sessions its failure would go unnoticed, and leases would run out.
        kept = self._loops.keep(_UPKEEP, self._keep_up) if self._terms.outlasts_outages else self._keep_up()
        self.upkeep = asyncio.create_task(kept)

    async def stop(self) -> None:
        """Stop the upkeep and cancel every read of robots.txt. Leases are still held."""
        if self.upkeep is not None:
            self.upkeep.cancel()
            await asyncio.gather(self.upkeep, return_exceptions=True)
        await self.robots_keeper.cancel()

    def close(self) -> None:
        """End the database thread."""
        self.thread.close()

    def takedowns(self) -> Takedowns:
        """The takedowns in force."""
        return self._takedowns

    async def host_for(self, address: WebAddress) -> LeasedHost | None:
        """The leased host of an address, leased now if needed; None while another worker holds it."""
        return await self.held.host_for(address)

    async def fetch(self, host: LeasedHost, request: FetchRequest, purpose: Purpose) -> Exchange | NotStarted:
        """Make one request as soon as the gate of its host allows it."""
        return await self.requests.ask(host, request, purpose)

    async def robots(self, address: WebAddress) -> RobotsInForce:
        """The robots.txt in force for an address's origin; `ComityError` if it cannot be requested."""
        covered = self._takedowns.covering_host(address.host)
        if covered is not None:
            raise ComityError(f"{address.host} is taken down ({covered}), so it was not contacted")
        host = await self.held.host_for(address)
        if host is None:
            raise HostBusy(f"{address.host} is being crawled by another process; try again when that crawl has ended")
        found = await self.robots_keeper.in_force(host, address.origin, self.held.host_for)
        if isinstance(found, RobotsRefused):
            raise ComityError(f"{address.host} was not contacted: {found.failure.detail}")
        if isinstance(found, RobotsPostponed):
            if found.failure is not None:
                raise ComityError(f"{address.host} was not contacted: {found.failure}")
            raise HostBusy(f"{address.host} asked Comity to wait; try again later")
        return found

    async def robots_once(self, address: WebAddress) -> RobotsInForce:
        """The same for a client that needs nothing else of the host: the lease is released at once."""
        host = await self.held.host_for(address)
        if host is None:
            return await self.robots(address)  # says why not
        self.held.pin(host)
        try:
            return await self.robots(address)
        finally:
            self.held.unpin(host)
            await self.held.release_unused(host)

    async def refresh(self) -> list[LeasedHost]:
        """Put operators' edits (policies, takedowns) in force; returns the hosts whose limits changed."""
        now = asyncio.get_running_loop().time()
        if now - self._takedowns_read_at >= self._terms.refresh_every_s:
            self._takedowns = await self.thread.run(self._read_takedowns)
            self._takedowns_read_at = now
        return await self.held.refresh_policies()

    def forget(self, host: LeasedHost) -> None:
        """Forget a crawled host whose lease was released, and close its connections: they end with the lease."""
        self.held.forget(host)
        self._fetcher.forget_host(host.name)

    async def _keep_up(self) -> None:
        """Renew leases, apply operators' edits, and release hosts that are no longer used."""
        while True:
            if self.held:
                try:
                    await self._keep_up_once()
                except ComityError:
                    if not self._terms.outlasts_outages:
                        raise
                    # The database may be unavailable for a moment; leases outlast that, or are lost.
            await asyncio.sleep(self._terms.refresh_every_s)

    async def _keep_up_once(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._renewed_at >= self.leases.terms.renew_every_s:
            lost = await self.held.renew()
            self._renewed_at = now
            self._emit(LeasesRenewed(lost))
        hosts = await self.refresh()
        await self.held.release_idle()
        self._emit(Refreshed(hosts))

    def _read_takedowns(self) -> Takedowns:
        with self.database.read() as connection:
            return Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
