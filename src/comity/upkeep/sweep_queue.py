"""Keep the queue of the crawl service moving, in a few short transactions for each step.

Due policies become jobs, expired locks end, retries wake, and jobs that have waited rise in priority. Each step is
harmless to repeat: any number of processes may sweep one state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import jobs, policies, reservations
from comity.database.queue.policies import DuePolicy, NewJob
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, StateUnavailable
from comity.model.host import CanonicalHost
from comity.rules.canonical import canonical_host, web_address
from comity.rules.queue.job_timing import FIRST_AGE_S, aged_priority, first_priority
from comity.telemetry.loops import pause
from comity.walk.bots.locks import Locks
from comity.walk.bots.threads import time_of

POLICIES_AT_A_TIME: Final = 200
_MOST_POLICY_BATCHES: Final = 100
_BATCH: Final = 500
_MOST_BATCHES: Final = 40
_UNREADABLE_S: Final = 86_400.0


class _Batch(NamedTuple):
    looked_at: int
    made: int


def make_due_jobs(
    database: Database,
    clock: Clock,
    *,
    collapse_subdomains: bool = False,
    most_batches: int = _MOST_POLICY_BATCHES,
) -> int:
    """Make the jobs of policies that are due, in a limited number of transactions; returns how many."""
    with database.read() as connection:  # usually there are none: no need to take the write lock
        is_any_hostless = jobs.are_hostless(connection)
        is_any_due = policies.is_any_due(connection, time_of(connection, database, clock))
    made = _find_hosts(database, clock, collapse_subdomains) if is_any_hostless else 0
    if not is_any_due:
        return made
    for _ in range(most_batches):
        batch = _make_some(database, clock, collapse_subdomains)
        made += batch.made
        if batch.looked_at < POLICIES_AT_A_TIME:
            break
    return made


def _find_hosts(database: Database, clock: Clock, collapse: bool) -> int:
    """Give jobs that were inserted with SQL their hosts, so that pulls find them; returns how many."""
    with database.write() as connection:
        now = time_of(connection, database, clock)
        found = {job_id: _host(url, collapse) for job_id, url in jobs.hostless(connection, POLICIES_AT_A_TIME)}
        hosts = {job_id: host for job_id, host in found.items() if host is not None}
        ids = reservations.add_hosts(connection, list(hosts.values()))
        jobs.set_hosts(connection, [(job_id, ids[host.authority]) for job_id, host in hosts.items()])
        unreadable = [job_id for job_id, host in found.items() if host is None]
        jobs.park(connection, [(job_id, now + _UNREADABLE_S, "not a web address") for job_id in unreadable])
    with database.write() as connection:
        jobs.mark_ready(connection, {ids[host.authority] for host in hosts.values()}, now)
    return len(hosts)


def _make_some(database: Database, clock: Clock, collapse: bool) -> _Batch:
    with database.write() as connection:
        now = time_of(connection, database, clock)
        due = policies.due(connection, now, POLICIES_AT_A_TIME)
        hosts = {policy.id: host for policy in due if (host := _host(policy.url, collapse)) is not None}
        ids = reservations.add_hosts(connection, list(hosts.values()))
        new: list[NewJob] = []
        postponed = []
        for policy in due:
            host = hosts.get(policy.id)
            host_id = None if host is None else ids[host.authority]
            # A policy whose job is still open is asked about again after its frequency, and so is one without a host.
            wait_s = _UNREADABLE_S if host is None else policy.frequency_hours * 3600.0
            postponed.append((policy.id, now + wait_s, host_id))
            if host_id is not None and not policy.has_open_job:
                new.append(_job(policy, host_id, now))
        policies.add_jobs(connection, new, now)
        policies.postpone(connection, postponed)
    # Afterwards, so that no one waits for these hosts meanwhile; the sweeper makes a hint again that a crash loses.
    with database.write() as connection:
        jobs.mark_ready(connection, {job.host_id for job in new}, now)
    return _Batch(len(due), len(new))


def _job(policy: DuePolicy, host_id: UUID, now: float) -> NewJob:
    return NewJob(
        policy_id=policy.id,
        host_id=host_id,
        url=policy.url,
        priority=first_priority(policy.priority, policy.importance, policy.failure_count),
        lock_ttl_s=policy.timeout_minutes * 60,
        max_retries=policy.max_retries,
        crawl_config=policy.crawl_config,
        ages_at=now + FIRST_AGE_S,
    )


def _host(url: str, collapse: bool) -> CanonicalHost | None:
    try:
        return canonical_host(web_address(url, collapse=collapse).host, collapse=collapse)
    except BadInput:
        return None


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
