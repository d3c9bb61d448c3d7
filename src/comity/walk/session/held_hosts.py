"""The hosts whose leases this process holds: those it crawls, and guests that a redirect led to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import ledger
from comity.database import policies as policies_table
from comity.database.connection import Database
from comity.leases.room import Leases
from comity.model.errors import BadAddress, LeaseLost
from comity.model.gate import DoorProfile, GateMemory
from comity.model.lease import Lease
from comity.model.policy import HostPolicy
from comity.rules.canonical import WebAddress, canonical_host, spelled_host
from comity.rules.politeness import later_memory
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost

_GUEST_IDLE_S: Final = 5.0
_LOST_MOST: Final = 10_000  # hosts whose lease was lost and that were not taken again


@dataclass(slots=True)
class _Guest:
    host: LeasedHost
    used_at: float


class HeldHosts:
    """Takes leases, keeps them alive and gives them back; knows every gate that is open."""

    def __init__(
        self,
        database: Database,
        thread: DatabaseThread,
        leases: Leases,
        clock: Clock,
        chance: Callable[[], float],
        profile: DoorProfile,
        *,
        touched_by: str = "redirect",
    ) -> None:
        self._database = database
        self._thread = thread
        self._leases = leases
        self._clock = clock
        self._chance = chance
        self._profile = profile
        self._touched_by = touched_by
        self._taking = asyncio.Lock()
        self.hosts: dict[str, LeasedHost] = {}
        self._guests: dict[str, _Guest] = {}
        # Of hosts whose lease was lost: a late settlement cannot write it to the row, and they may be taken again.
        self._lost_memories: dict[str, GateMemory] = {}

    async def claim(self, limit: int, hosts: Collection[str] | None, *, smart: bool) -> list[LeasedHost]:
        """Lease candidates for crawling."""
        async with self._taking:
            leases = await self._thread.run(self._leases.claim, limit, hosts=hosts, smart=smart)
            opened = await self._open(leases)
            self.hosts |= {host.name: host for host in opened}
        return opened

    async def take(self, hosts: Collection[str]) -> list[LeasedHost]:
        """Lease named hosts for crawling, whatever their status."""
        async with self._taking:
            opened = await self._open(await self._thread.run(self._leases.take, hosts))
            self.hosts |= {host.name: host for host in opened}
        return opened

    async def host_of(self, address: WebAddress) -> LeasedHost | None:
        """The holder for an address: one of ours, or a guest taken now; None if somebody else has it."""
        known = self.hosts.get(address.host)
        if known is not None:
            return None if known.is_closed else known
        async with self._taking:
            guest = self._guests.get(address.host)
            if guest is None or guest.host.is_closed:
                opened = await self._open(await self._thread.run(self._take_guest, address.host))
                if not opened:
                    return None
                guest = self._guests[address.host] = _Guest(opened[0], 0.0)
            guest.used_at = self._clock.seconds()
            return guest.host

    async def heartbeat(self) -> list[LeasedHost]:
        """Prolong every lease; gives the hosts that were lost."""
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

    async def release_guests(self, *, idle_only: bool = True, but: Collection[str] = ()) -> int:
        """Give back hosts that were only passed through, but for some; gives how many."""
        now, released = self._clock.seconds(), 0
        for name, guest in list(self._guests.items()):
            if name in but or (idle_only and _may_be_waited_for(guest, now)):
                continue
            if self._guests.get(name) is not guest:
                continue  # whoever used it gave it back while we gave back another
            del self._guests[name]
            guest.host.close()
            await self._thread.run(self._release_quietly, guest.host)
            released += 1
        return released

    async def release_guest(self, name: str) -> None:
        """Give back one host that was only passed through, unless something is under way there."""
        guest = self._guests.get(name)
        if guest is not None and not guest.host.gate.in_flight:
            del self._guests[name]
            guest.host.close()
            await self._thread.run(self._release_quietly, guest.host)

    def close_guests(self) -> None:
        """Let nothing more start on hosts that were only passed through."""
        for guest in self._guests.values():
            guest.host.close()

    async def give_back(self, host: LeasedHost) -> None:
        """Give a lease back with nothing but what the gate remembers."""
        self.drop(host.name)
        host.close()
        await self._thread.run(self._release_quietly, host)

    def drop(self, name: str) -> None:
        """Forget a host whose lease was given back."""
        host = self.hosts.pop(name, None)
        if host is not None and host.is_lost and len(self._lost_memories) < _LOST_MOST:
            self._lost_memories[name] = host.gate.memory()

    def standing(self, now: float) -> tuple[int, int]:
        """How many hosts asked for patience, and how many only wait for their delay."""
        blocked = waiting = 0
        for host in self.hosts.values():
            until = host.gate.memory().blocked_until
            if until is not None and until > now:
                blocked += 1
            elif not host.gate.in_flight:
                waiting += 1
        return blocked, waiting

    async def refresh_policies(self) -> list[LeasedHost]:
        """Put operators' edits in force on every open gate; gives the hosts that are concerned."""
        names = [host.name for host in self._all()]
        if not names:
            return []
        found = await self._thread.run(self._policies, names)
        return [host for host in self._all() if host.use_policy(found.get(host.name))]

    def _all(self) -> list[LeasedHost]:
        return [*self.hosts.values(), *(guest.host for guest in self._guests.values())]

    async def _open(self, leases: list[Lease]) -> list[LeasedHost]:
        if not leases:
            return []
        policies = await self._thread.run(self._policies, [lease.host for lease in leases])
        leases = [replace(lease, memory=self._remembered(lease)) for lease in leases]
        return [
            LeasedHost(lease, self._profile, policies.get(lease.host), clock=self._clock.seconds, chance=self._chance)
            for lease in leases
        ]

    def _remembered(self, lease: Lease) -> GateMemory:
        """What the row remembers of a host, and what we do where its lease was ours before and was lost."""
        row, own = lease.memory, self._lost_memories.pop(lease.host, None)
        return row if own is None else later_memory(row, own)

    def _policies(self, names: Collection[str]) -> dict[str, HostPolicy]:
        with self._database.read() as connection:
            return {
                host: policies_table.policy_from(row)
                for host, row in policies_table.get_many(connection, names).items()
            }

    def _take_guest(self, name: str) -> list[Lease]:
        """A host that a redirect led to gets a row for its lease and gate, and is no candidate for crawls."""
        try:
            host = canonical_host(spelled_host(name))
        except BadAddress:
            return []
        with self._database.write() as connection:
            hosts_table.touch(connection, [host], self._touched_by)
        return self._leases.take([host.authority])

    def _release_quietly(self, host: LeasedHost) -> None:
        requests, host.unsettled.requests = host.unsettled.requests, []
        if requests:  # of a visit that was cancelled on its way through
            with self._database.write() as connection:
                ledger.append_requests(connection, None, requests)
        with suppress(LeaseLost):
            self._leases.release(host.lease, memory=host.gate.memory())


def _may_be_waited_for(guest: _Guest, now: float) -> bool:
    """Whether somebody uses a guest, or may stand in line for its next start."""
    gate = guest.host.gate
    if gate.in_flight:
        return True
    used_at = guest.used_at
    blocked_until = gate.memory().blocked_until
    if blocked_until is None or blocked_until - now <= MAX_HOST_WAIT_S:
        used_at = max(used_at, gate.next_start_at())  # its delay is waited out, however long it is
    return now - used_at < _GUEST_IDLE_S
