"""Claim, renew and release leases: the right to talk to hosts.

A `Leases` object is one holder: a process creates one, and its leases end with it. All methods are plain blocking calls
on the database; the walk runs them on a thread beside its event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from comity.clock import Clock
from comity.database import ledger
from comity.database.connection import Database
from comity.database.leases import leasing
from comity.database.leases.leasing import ending_values, lease_from, memory_values, progress_values
from comity.leases.holder import is_dead, machine_name, new_holder
from comity.model.dataclass import dataclass
from comity.model.errors import LeaseLost
from comity.model.gate import GateMemory
from comity.model.host import HostEnding, HostProgress, HostStatus, Lease
from comity.rules.endings import REFRESH_AFTER


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a lease lasts and how often it is renewed; renewal comes at least twice before the end."""

    lease_s: float = 1800.0
    renew_every_s: float = 600.0
    refresh_after: timedelta = REFRESH_AFTER

    def __post_init__(self) -> None:
        if not 0 < self.renew_every_s <= self.lease_s / 2:
            raise ValueError("a lease must be renewed at least twice before it expires")


class Leases:
    """The leases of one holder."""

    def __init__(self, database: Database, clock: Clock, terms: LeaseTerms | None = None, *, holder: str = "") -> None:
        self._database = database
        self._clock = clock
        self.terms = terms or LeaseTerms()
        self.holder = holder or new_holder()
        self._held: dict[Any, Lease] = {}
        self._leaving: set[tuple[Any, int]] = set()  # being released, by host and token
        self._lock = Lock()  # heartbeats come from another thread than the work under the leases

    @property
    def held(self) -> list[Lease]:
        """The leases that this holder believes it holds."""
        with self._lock:
            return list(self._held.values())

    @property
    def held_count(self) -> int:
        """How many leases this holder believes it holds."""
        return len(self._held)

    def claim(self, limit: int, *, hosts: Collection[str] | None = None, smart: bool = True) -> list[Lease]:
        """Lease up to `limit` candidates, best first; fewer, or none, if others were faster."""
        asked_at = self._clock.now()
        with self._database.write() as connection:
            rows = leasing.claim(
                connection,
                holder=self.holder,
                limit=limit,
                lease_s=self.terms.lease_s,
                now=self._now(),
                hosts=hosts,
                smart=smart,
            )
            ledger.note_gaps(connection, rows)
        return self._keep(rows, asked_at)

    def has_candidate(self) -> bool:
        """Whether `claim` would find a host now; takes and writes nothing."""
        with self._database.read() as connection:
            return leasing.has_candidate(connection, self._now())

    def has_new_candidate(self, connection: Connection) -> bool:
        """Whether a host that was never crawled is waiting; `claim` takes hosts in progress first."""
        return leasing.has_new_candidate(connection, self._now())

    def take(self, hosts: Collection[str]) -> list[Lease]:
        """Lease the named hosts, whatever their status; those that another worker holds are left out."""
        asked_at = self._clock.now()
        with self._database.write() as connection:
            rows = leasing.take(
                connection, hosts=hosts, holder=self.holder, lease_s=self.terms.lease_s, now=self._now()
            )
            ledger.note_gaps(connection, rows)
        return self._keep(rows, asked_at)

    def heartbeat(self) -> list[Lease]:
        """Renew all leases; returns those that were lost, whose work must stop at once."""
        with self._lock:
            mine = dict(self._held)
        if not mine:
            return []
        asked_at = self._clock.now()
        with self._database.write() as connection:
            alive = leasing.renew(
                connection, leases=mine.values(), holder=self.holder, lease_s=self.terms.lease_s, now=self._now()
            )
        end = self._end(asked_at)
        with self._lock:
            # A lease that was released in the meantime is neither lost nor to be held again.
            known = {host_id: lease for host_id, lease in mine.items() if self._held.get(host_id) == lease}
            gone = [lease for lease in known.values() if (lease.host_id, lease.token) not in alive]
            lost = [lease for lease in gone if (lease.host_id, lease.token) not in self._leaving]
            for lease in lost:
                del self._held[lease.host_id]
            kept = [lease for lease in known.values() if (lease.host_id, lease.token) in alive]
            self._held |= {lease.host_id: replace(lease, expires_at=end) for lease in kept}
        return lost

    def begin(self, lease: Lease, run_id: Any) -> None:
        """Note that a crawl of the host starts under this lease."""
        with self._database.write() as connection:
            self.write(
                connection,
                lease,
                {"status": HostStatus.ACTIVE, "last_crawl_run_id": run_id, "last_crawled_at": self._clock.now()},
            )

    def write(self, connection: Connection, lease: Lease, values: dict[str, Any]) -> None:
        """Change the host's row under the lease, in the caller's transaction; raises `LeaseLost` if it is gone."""
        if not leasing.write_under(connection, lease, values, self._now()):
            self.forget(lease)
            raise LeaseLost(f"{lease.host}: the lease with token {lease.token} is no longer held; nothing was written")

    def settle(self, connection: Connection, rows: Sequence[tuple[Lease, HostProgress, GateMemory]]) -> None:
        """Add to the counters of hosts whose leases `still_held` named in this transaction."""
        leasing.add_progress(connection, rows, self._clock.now())

    def keep_memories(self, connection: Connection, rows: Sequence[tuple[Lease, GateMemory]]) -> None:
        """Store what gates remember, and nothing else, of hosts whose leases `still_held` named in this transaction."""
        leasing.keep_memories(connection, rows)

    def still_held(self, connection: Connection, leases: Collection[Lease]) -> set[UUID]:
        """Which of these leases are still held, locked until the transaction ends; the others are forgotten."""
        held = leasing.still_held(connection, leases, self._now())
        for lease in leases:
            if lease.host_id not in held:
                self.forget(lease)
        return held

    def add_progress(self, connection: Connection, lease: Lease, progress: HostProgress, memory: GateMemory) -> None:
        """Add to the host's counters and store what its gate remembers, inside the caller's transaction."""
        self.write(connection, lease, progress_values(progress, self._clock.now()) | memory_values(memory))

    def release(
        self,
        lease: Lease,
        *,
        ending: HostEnding | None = None,
        progress: HostProgress | None = None,
        memory: GateMemory | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Release the lease, and store the gate and the changes; raises `LeaseLost` if it is no longer held."""
        with self._database.write() as connection:
            self.release_within(connection, lease, ending=ending, progress=progress, memory=memory, extra=extra)
        self.forget(lease)

    def release_within(
        self,
        connection: Connection,
        lease: Lease,
        *,
        ending: HostEnding | None = None,
        progress: HostProgress | None = None,
        memory: GateMemory | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Release the lease in the caller's transaction; the caller forgets it after the commit."""
        with self._lock:
            self._leaving.add((lease.host_id, lease.token))
        values: dict[str, Any] = {"claimed_by": None, "claim_expires_at": None}
        if progress is not None:
            values |= progress_values(progress, self._clock.now())
        if memory is not None:
            values |= memory_values(memory)
        if ending is not None:
            values |= ending_values(lease, ending, self._clock.now(), self.terms.refresh_after)
        try:
            self.write(connection, lease, values | (extra or {}))
        except BaseException:
            with self._lock:
                self._leaving.discard((lease.host_id, lease.token))
            raise

    def release_dead(self) -> int:
        """Free the hosts of dead processes on this machine at once; returns how many."""
        with self._database.read() as connection:
            names = leasing.holders(connection, machine_name() + ":")
        dead = [name for name in names if name != self.holder and is_dead(name)]
        if not dead:
            return 0
        with self._database.write() as connection:
            return leasing.end_uncleanly(connection, dead, self._now())

    def any_free(self, hosts: Collection[str]) -> bool:
        """Whether one of these hosts could be leased now; hosts of dead processes on this machine are freed first."""
        self.release_dead()
        with self._database.read() as connection:
            return leasing.any_free(connection, hosts, self._now())

    def free_former(self, holders: Collection[str]) -> int:
        """Free hosts that earlier holders in this process could not release; returns how many."""
        with self._database.write() as connection:
            return leasing.end_uncleanly(connection, holders, self._now())

    def _now(self) -> datetime | None:
        """The time for a statement: a shared server uses its own clock, an embedded state uses ours."""
        return self._database.now(self._clock)

    def _end(self, asked_at: datetime) -> datetime:
        """When a lease ends by our clock: counted from before the request, so never later than on the server."""
        return asked_at + timedelta(seconds=self.terms.lease_s)

    def forget(self, lease: Lease) -> None:
        """Forget a lease, but not a newer one on the same host."""
        with self._lock:
            self._leaving.discard((lease.host_id, lease.token))
            known = self._held.get(lease.host_id)
            if known is not None and known.token == lease.token:
                del self._held[lease.host_id]

    def _keep(self, rows: Iterable[Row[Any]], asked_at: datetime) -> list[Lease]:
        leases = [replace(lease_from(row), expires_at=self._end(asked_at)) for row in rows]
        with self._lock:
            self._held |= {lease.host_id: lease for lease in leases}
        return leases
