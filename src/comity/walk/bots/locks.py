"""Locks of jobs: extended by a heartbeat, ended by a release, or expired."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import ledger
from comity.database.connection import Database
from comity.database.queue import bots, jobs, policies, reservations, webhooks
from comity.database.queue.jobs import HeldJob, JobEnd
from comity.database.queue.reservations import HostRow, bot_holder
from comity.model.gate import DoorProfile
from comity.model.ledger import LedgerNote, NoteKind
from comity.model.queue import QUEUE_PROFILE, JobStatus, KeptLocks, ReleasedJobs
from comity.rules.queue import slots
from comity.rules.queue.bot_limits import BreakerTerms, bot_after
from comity.rules.queue.job_timing import backoff_s
from comity.rules.queue.slots import note
from comity.walk.bots.submit import end_reservation, ended_slot, events_of_failure, limits_of, read_slot
from comity.walk.bots.threads import BotThreads, time_of

LONGEST_LOCK_S: Final = 3600.0
"""How long after its slot heartbeats can extend a lock."""
MOST_EXPIRIES: Final = 10
"""A job whose lock expired more often fails for good: it probably crashes every client."""
SWEEPER: Final = "sweeper"
_BATCH: Final = 200
_MOST_BATCHES: Final = 50
_LONGEST_REASON: Final = 500


class Locks:
    """Extends, releases and expires the locks of jobs."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        threads: BotThreads,
        profile: DoorProfile = QUEUE_PROFILE,
        breaker: BreakerTerms | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._threads = threads
        self._profile = profile
        self._breaker = breaker or BreakerTerms()

    async def heartbeat(self, bot_id: str, job_ids: Collection[UUID]) -> KeptLocks:
        """Extend the locks of jobs by their TTL; reports those that the bot does not hold as lost."""
        return await self._threads.run(self._keep, bot_id, list(job_ids))

    async def release(self, bot_id: str, job_ids: Collection[UUID], reason: str | None = None) -> ReleasedJobs:
        """Release jobs; they can be pulled again at once, and no retry is counted."""
        return await self._threads.run(self._release, bot_id, list(job_ids), reason)

    def expire(self) -> int:
        """End every expired lock, in short transactions; returns how many."""
        ended = 0
        for _ in range(_MOST_BATCHES):
            with self._database.write() as connection:
                batch = self._expire_some(connection, time_of(connection, self._database, self._clock))
            ended += batch
            if batch < _BATCH:
                break
        return ended

    def _keep(self, bot_id: str, job_ids: list[UUID]) -> KeptLocks:
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            found = jobs.held(connection, job_ids)
            mine = [job for job in found.values() if job.locked_by == bot_id]
            reservations.lock(connection, [*{job.host_id for job in mine}], waits=True)
            rows = jobs.keep_locks(connection, [job.id for job in mine], bot_id, now, LONGEST_LOCK_S)
            ends: dict[UUID, float] = {}
            for _job_id, host_id, ends_at in rows:
                ends[host_id] = max(ends.get(host_id, 0.0), ends_at)
            for host_id in sorted(ends):
                reservations.extend(connection, [host_id], bot_holder(bot_id), ends[host_id], now)
            bots.note_seen(connection, bot_id, now)
        kept = tuple((job_id, datetime.fromtimestamp(ends_at, UTC)) for job_id, _host_id, ends_at in rows)
        known = {job_id for job_id, _ in kept}
        return KeptLocks(kept, tuple(job_id for job_id in job_ids if job_id not in known))

    def _release(self, bot_id: str, job_ids: list[UUID], reason: str | None) -> ReleasedJobs:
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            words = f"released: {reason}"[:_LONGEST_REASON] if reason else "released"
            ending = JobEnd(JobStatus.PENDING, words, bot_holder(bot_id))
            # Lock the rows before checking again: a job may be pulled, or end, at any moment.
            hosts = {job.host_id for job in jobs.held(connection, job_ids).values() if job.locked_by == bot_id}
            rows = {row.id: row for row in reservations.lock(connection, [*hosts], waits=True)}
            mine = [
                job
                for job in jobs.held(connection, job_ids).values()
                if job.locked_by == bot_id and job.host_id in rows and (job.lock_ends_at or 0.0) > now
            ]
            # Start with the last slot: only that one can be reused.
            mine.sort(key=lambda job: job.slot_at or 0.0, reverse=True)
            released = [job for job in mine if jobs.end(connection, job, ending, now)]
            self._end_slots(connection, released, rows, now)
            jobs.mark_ready(connection, {job.host_id for job in released if job.slot is None}, now)
            bots.note_seen(connection, bot_id, now)
        done = {job.id for job in released}
        return ReleasedJobs(
            tuple(job_id for job_id in job_ids if job_id in done),
            tuple(job_id for job_id in job_ids if job_id not in done),
        )

    def _end_slots(
        self, connection: Connection, released: Iterable[HeldJob], rows: dict[UUID, HostRow], now: float
    ) -> None:
        """Return the slots of released jobs, and note that no request was made in them."""
        notes: list[LedgerNote] = []
        memories = {host_id: row.memory for host_id, row in rows.items()}
        last: dict[UUID, HeldJob] = {}
        for job in released:
            held = read_slot(job)
            if held is None or job.lease_token is None or job.locked_by is None:
                continue
            slot, terms = held
            limits = limits_of(self._profile, rows[job.host_id], terms)
            memories[job.host_id] = slots.end(memories[job.host_id], limits, slot, now, observation=None)
            notes.append(note(ended_slot(job, job.locked_by, slot, terms), NoteKind.UNUSED))
            last[job.host_id] = job
        for host_id in sorted(last):
            held = read_slot(last[host_id])
            assert held is not None
            limits = limits_of(self._profile, rows[host_id], held[1])
            end_reservation(connection, last[host_id], rows[host_id], limits, memories[host_id], now)
        ledger.append_notes(connection, notes)

    def _expire_some(self, connection: Connection, now: float) -> int:
        found = jobs.overdue(connection, now, _BATCH)
        overdue = reservations.overdue(connection, now, _BATCH)
        hosts = {job.host_id for job in found} | set(overdue)
        if not hosts:
            return 0
        rows = {row.id: row for row in reservations.lock(connection, [*hosts], waits=True)}
        expired = [job for job in found if job.host_id in rows and self._expire_one(connection, job, now)]
        notes: list[LedgerNote] = []
        for job in expired:
            held = read_slot(job)
            if held is not None and job.lease_token is not None:
                notes.append(note(ended_slot(job, job.locked_by or "", *held), NoteKind.UNREPORTED))
        ledger.append_notes(connection, notes)
        reservations.end_uncleanly(connection, rows, now)
        jobs.mark_ready(connection, {job.host_id for job in expired}, now)
        self._blame(connection, expired, now)
        return len(found)

    def _expire_one(self, connection: Connection, job: HeldJob, now: float) -> bool:
        """End one lock: the job can be pulled again, unless its lock has expired too often."""
        count = job.expiry_count + 1
        if count < MOST_EXPIRIES:
            ending = JobEnd(JobStatus.EXPIRED, "the lock ran out", SWEEPER, expiry_count=count)
            return jobs.end(connection, job, ending, now)
        reason = f"the lock ran out {count} times"
        ending = JobEnd(JobStatus.FAILED, reason, SWEEPER, error_msg=reason, expiry_count=count)
        is_ended = jobs.end(connection, job, ending, now)
        if is_ended:
            webhooks.enqueue(connection, events_of_failure(job, reason), now)
        if is_ended and job.policy_id is not None:
            policy = policies.get(connection, job.policy_id)
            if policy is not None:
                wait_s = backoff_s(policy.retry_backoff_minutes, job.max_retries + policy.failure_count)
                policies.note_failure(connection, policy.id, now + wait_s, now)
        return is_ended

    def _blame(self, connection: Connection, expired: Iterable[HeldJob], now: float) -> None:
        """Count expired locks as a failure of their bot, once per bot."""
        for bot_id in sorted({job.locked_by for job in expired if job.locked_by is not None}):
            found = bots.failures_of(connection, bot_id)
            if found is not None:
                after = bot_after(
                    succeeded=False,
                    failures=found[0],
                    times_quarantined=found[1],
                    site_failures=0,
                    now=now,
                    terms=self._breaker,
                )
                bots.note_end(
                    connection,
                    bot_id,
                    done=0,
                    failed=0,
                    failures=after.failures,
                    quarantined_until=after.quarantined_until,
                )
