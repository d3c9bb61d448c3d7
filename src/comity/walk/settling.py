"""Gathers outcomes and settles them in batches beside the event loop: at 200, or after 50 ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from comity.model.outcome import Outcome
from comity.walk.database_thread import DatabaseThread
from comity.walk.leased_host import LeasedHost
from comity.walk.settle import HostBatch, Settled, Settler

BATCH: Final = 200
INTERVAL_S: Final = 0.05
_MOST_WAITING: Final = 5 * BATCH


class Settling:
    """The line between visits and the database."""

    def __init__(self, settler: Settler, thread: DatabaseThread, on_settled: Callable[[Settled], None]) -> None:
        self._settler = settler
        self._thread = thread
        self._on_settled = on_settled
        self._waiting: dict[LeasedHost, list[Outcome]] = {}
        self._count = 0
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._settled = asyncio.Condition()
        self._turn = asyncio.Lock()
        self.failure: BaseException | None = None

    async def put(self, host: LeasedHost, outcome: Outcome) -> None:
        """Hand over an outcome; waits when the database is far behind."""
        self._waiting.setdefault(host, []).append(outcome)
        self._count += 1
        self._some.set()
        if self._count >= _MOST_WAITING:
            self._room.clear()
            await self._room.wait()

    async def run(self) -> None:
        """Settle for as long as the run lasts; a failure to write ends the run, and acknowledges nothing."""
        while True:
            await self._some.wait()
            if self._count < BATCH:
                await asyncio.sleep(INTERVAL_S)
            await self.flush()

    async def flush(self) -> None:
        """Settle everything that waits."""
        async with self._turn:
            while self._count:
                await self._settle_some()
            self._some.clear()

    async def settled(self) -> None:
        """Wait until something was settled."""
        async with self._settled:
            await self._settled.wait()

    async def _settle_some(self) -> None:
        taken = self._take(BATCH)
        batches = [_batch(host, outcomes) for host, outcomes in taken.items()]
        try:
            result = await self._thread.run(self._settler.settle, batches)
        except BaseException as error:
            self.failure = error
            self._room.set()
            async with self._settled:
                self._settled.notify_all()
            raise
        for host, outcomes in taken.items():
            host.handed.difference_update(outcome.entry.id for outcome in outcomes)
        for lease in result.lost:
            for host in taken:
                if host.lease.host_id == lease.host_id:
                    host.lose_lease()
        self._on_settled(result)
        if self._count < _MOST_WAITING:
            self._room.set()
        async with self._settled:
            self._settled.notify_all()

    def _take(self, most: int) -> dict[LeasedHost, list[Outcome]]:
        taken: dict[LeasedHost, list[Outcome]] = {}
        for host in list(self._waiting):
            outcomes = self._waiting[host]
            taken[host] = outcomes[:most]
            most -= len(taken[host])
            self._count -= len(taken[host])
            if len(outcomes) > len(taken[host]):
                self._waiting[host] = outcomes[len(taken[host]) :]
            else:
                del self._waiting[host]
            if most <= 0:
                break
        return taken


def _batch(host: LeasedHost, outcomes: list[Outcome]) -> HostBatch:
    requests, host.unsettled_requests = host.unsettled_requests, []
    evidence, host.unsettled_evidence = host.unsettled_evidence, []
    return HostBatch(
        lease=host.lease,
        memory=host.gate.memory(),
        errors_in_a_row=host.tally.errors_in_a_row,
        outcomes=outcomes,
        requests=requests,
        evidence=evidence,
    )
