"""The hosts whose leases this process holds: those that it crawls, and those leased on demand.

A host is leased on demand when a redirect leads to it or a client has a URL of it. It is released when it has been idle
for some seconds and no client has pinned it. `Capacity` limits how many requests are in flight at once, over all hosts.

"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import ledger
from comity.database import policies as policies_table
from comity.database.connection import Database
from comity.leases.leases import Leases
from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress, LeaseLost
from comity.model.fetch import Cookie
from comity.model.gate import DoorProfile, GateMemory
from comity.model.host import HostPolicy, Lease
from comity.rules.canonical import WebAddress, canonical_host, host_in_url
from comity.rules.politeness.pace import stricter_memory
from comity.walk.robots.record import UnstoredRobots
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.identity import HostIdentity, Identities
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost

_IDLE_S: Final = 5.0
_LOST_MOST: Final = 10_000  # hosts whose lease was lost and that were not leased again


@dataclass(slots=True)
class _OnDemand:
    host: LeasedHost
    used_at: float
    pins: int = 0


class HeldHosts:
    """Takes, renews and releases leases; knows every open gate."""

    def __init__(
        self,
        database: Database,
        thread: DatabaseThread,
        leases: Leases,
        clock: Clock,
        chance: Callable[[], float],
        profile: DoorProfile,
        touched_by: str,
        unstored_robots: UnstoredRobots,
        identities: Identities | None = None,
    ) -> None:
        self._database = database
        self._thread = thread
        self._leases = leases
        self._clock = clock
        self._chance = chance
        self._profile = profile
        self._touched_by = touched_by
        self._unstored_robots = unstored_robots
        self._identities = identities
        self._leasing = asyncio.Lock()
        self.crawled: dict[str, LeasedHost] = {}
        self._on_demand: dict[str, _OnDemand] = {}
        # A late settlement cannot write the memory of a lost lease to the row, and its host may be leased again.
        self._lost_memories: dict[str, GateMemory] = {}

    def __bool__(self) -> bool:
        """Whether any lease is held."""
        return bool(self.crawled or self._on_demand)

    async def claim(self, limit: int, names: Collection[str] | None, *, smart: bool) -> list[LeasedHost]:
        """Lease the best candidates for crawling, of these hosts or of the whole table."""
        async with self._leasing:
            leases = await self._thread.run(self._leases.claim, limit, hosts=names, smart=smart)
            return await self._crawl(leases)

    async def claim_named(self, names: Collection[str]) -> list[LeasedHost]:
        """Lease hosts for crawling whatever their status."""
        async with self._leasing:
            return await self._crawl(await self._thread.run(self._leases.take, names))

    async def host_for(self, address: WebAddress) -> LeasedHost | None:
        """The leased host of an address, leased now if needed; None while another worker has it, or at a run's end."""
        known = self.crawled.get(address.host)
        if known is not None:
            return None if known.is_closed else known
        async with self._leasing:
            entry = self._on_demand.get(address.host)
            if entry is None or entry.host.is_closed:
                opened = await self._open(await self._thread.run(self._take_on_demand, address.host))
                if not opened:
                    return None
                entry = self._on_demand[address.host] = _OnDemand(opened[0], 0.0)
            entry.used_at = self._clock.seconds()
            return entry.host

    def pin(self, host: LeasedHost) -> None:
        """Keep a host that was leased on demand, idle or not, until `unpin`."""
        entry = self._on_demand.get(host.name)
        if entry is not None and entry.host is host:
            entry.pins += 1

    def unpin(self, host: LeasedHost) -> None:
        """Undo a `pin`."""
        entry = self._on_demand.get(host.name)
        if entry is not None and entry.host is host:
            entry.pins -= 1

    async def release_unused(self, host: LeasedHost) -> None:
        """Release a host that was leased on demand, unless something still uses it."""
        entry = self._on_demand.get(host.name)
        if entry is not None and entry.host is host and not entry.pins and not host.gate.in_flight:
            await self._release_on_demand(host.name)

    async def renew(self) -> list[LeasedHost]:
        """Renew every lease; returns the hosts whose lease turned out to be lost."""
        lost = await self._thread.run(self._leases.heartbeat)
        held = {lease.host: lease for lease in self._leases.held}
        for host in self._all():
            if host.name in held:
                host.keep_lease(held[host.name])
        gone = {(lease.host_id, lease.token) for lease in lost}
        lost_hosts = [host for host in self._all() if (host.lease.host_id, host.lease.token) in gone]
        for host in lost_hosts:
            host.lose_lease()
        return lost_hosts

    async def refresh_policies(self) -> list[LeasedHost]:
        """Apply operators' edits to every open gate; returns the hosts that they change."""
        hosts = self._all()
        if not hosts:
            return []
        found = await self._thread.run(self._policies, [host.name for host in hosts])
        identity_of = None if self._identities is None else self._identities.identity_of
        # Only the hosts that were queried: one that was leased in the meantime came with its policy.
        return [host for host in hosts if host.use_policy(found.get(host.name), identity_of)]

    async def release(self, host: LeasedHost) -> None:
        """Release the lease of a crawled host, storing only what its gate remembers."""
        host.close()
        self.forget(host)
        await self._thread.run(self._release_quietly, host)

    def forget(self, host: LeasedHost) -> None:
        """Forget a crawled host that is closed or lost and whose lease was released."""
        if host.is_lost and len(self._lost_memories) < _LOST_MOST:
            self._lost_memories[host.name] = host.gate.memory()
        self._keep_cookies(host)
        host.release()
        self.crawled.pop(host.name, None)

    async def release_idle(self) -> int:
        """Release hosts that were leased on demand and are idle; returns how many."""
        now, released = self._clock.seconds(), 0
        for name, entry in list(self._on_demand.items()):
            # Checked one by one: while one is released, a client may come for the next, or its lease may be lost.
            if self._on_demand.get(name) is entry and not _is_in_use(entry, now):
                released += await self._release_on_demand(name)
        return released

    async def release_on_demand(self) -> int:
        """Release every host that was leased on demand; returns how many."""
        released = 0
        for name in list(self._on_demand):
            released += await self._release_on_demand(name)
        return released

    async def release_all(self) -> None:
        """Release everything; only a client that failed still has hosts that it crawls."""
        for host in list(self.crawled.values()):
            await self.release(host)
        await self.release_on_demand()

    def close_on_demand(self) -> None:
        """Start no more requests to hosts that were leased on demand."""
        for entry in self._on_demand.values():
            entry.host.close()

    def counts(self, now: float) -> tuple[int, int]:
        """How many crawled hosts are rate-limited, and how many only wait for their delay."""
        blocked = waiting = 0
        for host in self.crawled.values():
            if host.gate.blocked_until > now:
                blocked += 1
            elif not host.gate.in_flight:
                waiting += 1
        return blocked, waiting

    def _all(self) -> list[LeasedHost]:
        return [*self.crawled.values(), *(entry.host for entry in self._on_demand.values())]

    async def _crawl(self, leases: list[Lease]) -> list[LeasedHost]:
        opened = await self._open(leases)
        self.crawled |= {host.name: host for host in opened}
        return opened

    async def _open(self, leases: list[Lease]) -> list[LeasedHost]:
        if not leases:
            return []
        policies = await self._thread.run(self._policies, [lease.host for lease in leases])
        leases = [replace(lease, memory=self._remembered(lease)) for lease in leases]
        identities = await self._identities_of(leases, policies) if self._identities is not None else {}
        return [
            LeasedHost(
                lease,
                self._profile,
                policies.get(lease.host),
                clock=self._clock.seconds,
                chance=self._chance,
                identity=identities.get(lease.host),
            )
            for lease in leases
        ]

    async def _identities_of(self, leases: list[Lease], policies: Mapping[str, HostPolicy]) -> dict[str, HostIdentity]:
        """What the requests to some hosts carry, with the cookies that were stored for them."""
        assert self._identities is not None
        found: dict[str, HostIdentity] = {}
        for lease in leases:
            terms = self._identities.identity_of(lease.host, policies.get(lease.host))
            if terms is not None:
                kept: tuple[Cookie, ...] = ()
                if terms.keeps_cookies and self._identities.kept is not None:
                    kept = await self._thread.run(self._identities.kept.load, lease.host)
                found[lease.host] = HostIdentity(terms, kept)
        return found

    def _keep_cookies(self, host: LeasedHost) -> None:
        """Store the cookies of a host whose lease ends, if the operator wants that."""
        if host.identity is None or self._identities is None or self._identities.kept is None or host.is_lost:
            return
        cookies = host.identity.to_keep
        if cookies is not None:
            self._identities.kept.save(host.name, cookies)

    def _remembered(self, lease: Lease) -> GateMemory:
        """What the row stores about a host, plus what is in memory from a lease that was lost."""
        row, own = lease.memory, self._lost_memories.pop(lease.host, None)
        return row if own is None else stricter_memory(row, own)

    async def _release_on_demand(self, name: str) -> bool:
        entry = self._on_demand.pop(name, None)
        if entry is None:
            return False  # released while another one was
        entry.host.close()
        await self._thread.run(self._release_quietly, entry.host)
        self._keep_cookies(entry.host)
        entry.host.release()
        return True

    def _policies(self, names: Collection[str]) -> dict[str, HostPolicy]:
        with self._database.read() as connection:
            return {
                host: policies_table.policy_from(row)
                for host, row in policies_table.get_many(connection, names).items()
            }

    def _take_on_demand(self, name: str) -> list[Lease]:
        """A host that is leased on demand gets a row for its lease and gate; that makes it no candidate for crawls."""
        try:
            host = canonical_host(host_in_url(name))
        except BadAddress:
            return []
        with self._database.write() as connection:
            hosts_table.touch(connection, [host], self._touched_by)
        return self._leases.take([host.authority])

    def _release_quietly(self, host: LeasedHost) -> None:
        requests, host.unsettled.requests = host.unsettled.requests, []
        if requests:  # of a visit that was cancelled on its way through
            with self._unstored_robots.stored_first(self._database) as connection:
                ledger.append_requests(connection, None, requests)
        with suppress(LeaseLost):
            self._leases.release(host.lease, memory=host.gate.memory())


def _is_in_use(entry: _OnDemand, now: float) -> bool:
    """Whether a client uses a host, or may be waiting for its next start."""
    gate = entry.host.gate
    if entry.pins or gate.in_flight:
        return True
    used_at = entry.used_at
    blocked_until = gate.memory().blocked_until
    if blocked_until is None or blocked_until - now <= MAX_HOST_WAIT_S:
        used_at = max(used_at, gate.next_start_at())  # its delay is waited out, however long it is
    return now - used_at < _IDLE_S


class Capacity:
    """A counter. The dispatcher starts nothing while none are free; a visit in progress may continue."""

    __slots__ = ("free",)

    def __init__(self, places: int) -> None:
        self.free = places

    def take(self) -> None:
        """Take a place."""
        self.free -= 1

    def release(self) -> None:
        """Free a place."""
        self.free += 1
