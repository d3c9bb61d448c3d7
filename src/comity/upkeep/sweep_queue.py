"""The sweeper of the crawl service: locks that ran out, retries that are due, jobs that have waited, lost hints.

Each step is a few short transactions, and harmless to repeat: any number of processes may sweep one state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import jobs
from comity.model.dataclass import dataclass
from comity.model.errors import StateUnavailable
from comity.rules.queue.job_timing import aged_priority
from comity.telemetry.loops import pause
from comity.upkeep.due_policies import make_due_jobs
from comity.walk.bots.locks import Locks
from comity.walk.bots.threads import time_of

_BATCH: Final = 500
_MOST_BATCHES: Final = 40


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of one pass."""

    made: int = 0
    expired: int = 0
    woken: int = 0
    aged: int = 0
    found: int = 0
    """Hosts with waiting jobs that no pull would have looked at."""


def refill(database: Database, clock: Clock, locks: Locks, collapse_subdomains: bool | None) -> int:
    """Do now, for a pull that found nothing, what the sweeper would do soon; returns how many jobs there may be.

    Locks that ran out are ended, and a few jobs are made of due policies; `collapse_subdomains=None` makes none.
    """
    with database.read() as connection:  # usually there are none: no need to take the write lock
        is_any_overdue = bool(jobs.overdue(connection, time_of(connection, database, clock), 1))
    ended = locks.expire() if is_any_overdue else 0
    if collapse_subdomains is None:
        return ended
    return ended + make_due_jobs(database, clock, collapse_subdomains=collapse_subdomains, most_batches=1)


class QueueSweeper:
    """Sweeps the queue: once, or until stopped."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        locks: Locks,
        *,
        every_s: float = 10.0,
        makes_jobs: bool = True,
        collapse_subdomains: bool = False,
    ) -> None:
        self._database = database
        self._clock = clock
        self._locks = locks
        self._every_s = every_s
        self._makes_jobs = makes_jobs
        self._collapse = collapse_subdomains
        self._looked_up_to: UUID | None = None

    async def serve(self, stopping: asyncio.Event, on_trouble: Callable[[str], None] = lambda _sentence: None) -> None:
        """Sweep every few seconds until stopped."""
        while not stopping.is_set():
            try:
                await asyncio.to_thread(self.sweep)
            except StateUnavailable as error:  # the next pass may find it again
                on_trouble(str(error))
            await pause(stopping, self._every_s)

    def sweep(self) -> Swept:
        """Make one pass; a state without policies and jobs costs one query."""
        with self._database.read() as connection:
            if not jobs.are_any(connection):
                return Swept()
        return Swept(
            expired=self._locks.expire(),
            woken=self._wake(),
            made=self._make_jobs(),
            aged=self._age(),
            found=self._find_lost(),
        )

    def _make_jobs(self) -> int:
        if not self._makes_jobs:
            return 0
        return make_due_jobs(self._database, self._clock, collapse_subdomains=self._collapse)

    def _wake(self) -> int:
        woken = 0
        for _ in range(_MOST_BATCHES):
            with self._database.write() as connection:
                batch = jobs.wake(connection, time_of(connection, self._database, self._clock), _BATCH)
            woken += batch
            if batch < _BATCH:
                break
        return woken

    def _age(self) -> int:
        """Raise the priority of jobs that have waited long."""
        aged = 0
        for _ in range(_MOST_BATCHES):
            with self._database.write() as connection:
                now = time_of(connection, self._database, self._clock)
                found = jobs.ageing(connection, now, _BATCH)
                changes: list[tuple[UUID, int, float | None]] = []
                for job_id, first, created_at in found:
                    priority, next_age_s = aged_priority(first, now - created_at)
                    changes.append((job_id, priority, None if next_age_s is None else created_at + next_age_s))
                jobs.age(connection, changes)
            aged += len(found)
            if len(found) < _BATCH:
                break
        return aged

    def _find_lost(self) -> int:
        """Make pulls check hosts whose jobs were inserted with SQL, or whose hint was lost; some at each pass."""
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            lost, self._looked_up_to = jobs.lost_hosts(connection, self._looked_up_to, _BATCH)
            jobs.mark_ready(connection, lost, now)
        return len(lost)
