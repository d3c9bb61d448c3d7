"""A pull: a bot asks for jobs, and gets each with a lock and a slot, as fast as the hosts' gates allow.

One transaction considers hosts that are ready, locks the rows of the best, plans slots, locks jobs and holds the hosts
for the bot. A host that cannot be requested now is parked for a while, so that the next pulls skip it, however many
jobs it has. robots.txt comes from the cache; an unknown file is read after the transaction, and a pull that would be
empty waits a moment for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from threading import Lock
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import records
from comity.database.connection import Database
from comity.database.queue import bots, jobs, reservations
from comity.database.queue.bots import PullCount
from comity.database.queue.jobs import JobLock, ReadyHost, WaitingJob
from comity.database.queue.reservations import Hold, HostRow, bot_holder
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.evidence import Evidence
from comity.model.gate import DoorProfile, GateLimits, GateMemory, WaitReason
from comity.model.queue import QUEUE_PROFILE, BotError, BotRefused, PulledJob, PulledJobs, SkipReason, Slot
from comity.model.robots import RobotsVerdict
from comity.rules.canonical import WebAddress, canonical_host, web_address
from comity.rules.politeness.pace import limits_for
from comity.rules.queue import slots
from comity.rules.queue.bot_limits import Allowance, allowance
from comity.rules.queue.slots import SlotTerms, to_document
from comity.rules.takedown import Takedowns
from comity.walk.bots.robots import ClientRobots, ReadsRobots, RobotsBook
from comity.walk.bots.takedowns import TakedownsInForce
from comity.walk.bots.threads import BotThreads, time_of
from comity.walk.evidence import taken_down_of
from comity.walk.robots.record import ClientLease

MOST_HOSTS: Final = 100  # looked at in one pull
ROBOTS_WAIT_S: Final = 3.0
_LOOKS_PER_JOB: Final = 4
_HOSTS_STEP: Final = 20
_HELD_LOOK_S: Final = 2.0
_ROBOTS_LOOK_S: Final = 0.5
_UNREADABLE_LOOK_S: Final = 60.0
_TAKEN_DOWN_LOOK_S: Final = 3600.0
_BAD_URL_LOOK_S: Final = 86_400.0
_NOTHING_WAITS_S: Final = 10.0
_LONGEST_RETRY_AFTER_S: Final = 60.0
_TRIES: Final = 3
_WAKE_EVERY_S: Final = 1.0
_WOKEN: Final = 500
_ANY_AGE: Final = 0.0


@dataclass(frozen=True, slots=True)
class PullTerms:
    """How jobs are handed out."""

    profile: DoorProfile = QUEUE_PROFILE
    collapse_subdomains: bool = False
    window_s: float = slots.WINDOW_S
    horizon_s: float = slots.HORIZON_S
    turn_s: float = slots.TURN_S
    robots_wait_s: float = ROBOTS_WAIT_S


class _Allowed(NamedTuple):
    """A job that can be handed out."""

    job: WaitingJob
    robots: ClientRobots
    verdict: RobotsVerdict


@dataclass(slots=True)
class _Host:
    """A host whose row is locked in the transaction, and what is known about its front jobs."""

    row: HostRow
    order: int
    limits: GateLimits
    memory: GateMemory
    allowed: list[_Allowed] = field(default_factory=list)
    fitting: int = 0
    """How many slots begin within the horizon."""
    chosen: int = 0


@dataclass(slots=True)
class _Round:
    """One transaction of a pull."""

    bot_id: str
    holder: str
    now: float
    room: int
    hosts: list[_Host] = field(default_factory=list)
    skipped: dict[SkipReason, int] = field(default_factory=dict)
    looks: list[tuple[UUID, float]] = field(default_factory=list)
    parked: list[tuple[UUID, float, str | None]] = field(default_factory=list)
    denials: list[tuple[UUID, WebAddress, RobotsVerdict, str | None]] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    unread: dict[str, UUID] = field(default_factory=dict)
    """Origins whose robots.txt is unknown, with their hosts."""
    seen: set[UUID] = field(default_factory=set)
    """Hosts that were considered."""

    def skip(self, reason: SkipReason, count: int) -> None:
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + count


class _Before(NamedTuple):
    """What a pull reads before it locks any row."""

    hosts: list[ReadyHost]
    takedowns: Takedowns
    robots: dict[str, ClientRobots]
    origins: set[str]
    """The origins whose robots.txt was looked up."""


class _Tried(NamedTuple):
    pulled: PulledJobs
    unread: dict[str, UUID]
    seen: frozenset[UUID] = frozenset()
    now: float = 0.0
    room: int = 0
    """How many more jobs the bot could have had."""


class _OvertakenError(Exception):
    """An operator took a job off the queue while it was being handed out; the pull starts again."""


class Puller:
    """Hands out jobs to bots."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        threads: BotThreads,
        book: RobotsBook,
        reader: ReadsRobots | None = None,
        terms: PullTerms | None = None,
        make_due_jobs: Callable[[], int] | None = None,
    ) -> None:
        """`make_due_jobs` makes some jobs of due policies and returns how many; without it, pulls make none."""
        self._database = database
        self._clock = clock
        self._threads = threads
        self._book = book
        self._reader = reader
        self._terms = terms or PullTerms()
        self._make_due_jobs = make_due_jobs
        self._lock = Lock()  # of the book and of what follows
        self._takedowns = TakedownsInForce()
        self._woken_at: float | None = None

    async def pull(self, bot_id: str, max_jobs: int, domain: str | None = None) -> PulledJobs:
        """Up to `max_jobs` jobs for a bot, only of one host (without a port: any port) or registrable domain if named.

        Raises `BotRefused` for a bot that is revoked.
        """
        tried = await self._threads.run(self._try_ready, bot_id, max_jobs, domain)
        if not tried.unread or self._reader is None:
            return tried.pulled
        if tried.pulled.jobs:
            await self._reader.known(list(tried.unread), 0.0)  # for the next pull
            return tried.pulled
        await self._reader.known(list(tried.unread), self._terms.robots_wait_s)
        hosts = list(dict.fromkeys(tried.unread.values()))
        again = await self._threads.run(self._try, bot_id, max_jobs, domain, hosts)
        skipped = dict(again.pulled.skipped)
        for reason, count in tried.pulled.skipped.items():
            if reason is not SkipReason.ROBOTS_UNKNOWN:  # those were looked at again
                skipped[reason] = skipped.get(reason, 0) + count
        return PulledJobs(again.pulled.jobs, skipped, again.pulled.retry_after_s)

    def _try_ready(self, bot_id: str, max_jobs: int, domain: str | None) -> _Tried:
        """Consider the hosts that are ready. If they have nothing for the bot, try again with jobs of due policies.

        So the job of a new policy is available at once, even if the policy was added by another process or in SQL.
        """
        self._wake()
        tried = self._try(bot_id, max_jobs, domain, None)
        if not tried.pulled.jobs and self._make_due_jobs is not None and self._make_due_jobs():
            again = self._try(bot_id, max_jobs, domain, None)
            skipped = dict(tried.pulled.skipped)  # those hosts are parked now
            for reason, count in again.pulled.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
            pulled = PulledJobs(again.pulled.jobs, skipped, again.pulled.retry_after_s)
            unread, seen = tried.unread | again.unread, tried.seen | again.seen
            tried = _Tried(pulled, unread, seen, again.now, again.room)
        if domain is None and tried.room > 0:  # a pull that names a domain has considered all its hosts
            self._count_parked(bot_holder(bot_id), tried, max_jobs)
        return tried

    def _count_parked(self, holder: str, tried: _Tried, max_jobs: int) -> None:
        """Count what the pull did not consider: the front jobs of hosts that are parked.

        Outside the transaction, so that nothing waits for it; bounded, however many jobs there are.
        """
        with self._database.read() as connection:
            found = jobs.parked_hosts(connection, tried.now, MOST_HOSTS, max_jobs)
        skipped = tried.pulled.skipped
        for row, count in found:
            if row.id not in tried.seen and count:
                reason = self._why_parked(row, holder, tried.now)
                skipped[reason] = skipped.get(reason, 0) + count

    def _why_parked(self, row: HostRow, holder: str, now: float) -> SkipReason:
        if row.queue_parked_until is not None and row.queue_parked_until > now:
            return SkipReason.PARKED
        if row.is_held(now) and row.holder != holder:
            of_client = (row.holder or "").startswith((reservations.BOT, reservations.GRANT))
            return SkipReason.RESERVED if of_client else SkipReason.LEASED
        blocked_until = row.memory.blocked_until
        return SkipReason.BLOCKED if blocked_until is not None and blocked_until > now else SkipReason.TOO_SOON

    def _try(self, bot_id: str, max_jobs: int, domain: str | None, host_ids: Sequence[UUID] | None) -> _Tried:
        for _ in range(_TRIES):
            try:
                with self._database.write() as connection:
                    return self._hand_out(connection, bot_id, max_jobs, domain, host_ids)
            except _OvertakenError:
                continue
        return _Tried(PulledJobs((), {}, 1.0), {})

    def _hand_out(
        self,
        connection: Connection,
        bot_id: str,
        max_jobs: int,
        domain: str | None,
        host_ids: Sequence[UUID] | None,
    ) -> _Tried:
        own_time = None if self._database.now(self._clock) is None else self._clock.seconds()
        before = self._read(connection, max_jobs, domain, host_ids, own_time)
        bot, now = bots.row_for_pull(connection, bot_id, own_time, keeps=False)
        if bot.is_limited:
            bot, now = bots.row_for_pull(connection, bot_id, own_time)
        if bot.status == "revoked":
            raise BotRefused(BotError.NOT_ASSIGNED, f"the bot {bot_id} is revoked", {"bot_id": bot_id})
        may = allowance(
            max_jobs,
            now,
            in_hand=0 if bot.max_jobs_in_hand is None else jobs.in_hand(connection, bot_id),
            most_in_hand=bot.max_jobs_in_hand,
            most_per_minute=bot.max_jobs_per_minute,
            minute_started_at=bot.minute_started_at,
            pulled_this_minute=bot.pulled_this_minute,
            quarantined_until=bot.quarantined_until if bot.status == "quarantined" else None,
        )
        if may.jobs == 0:
            bots.note_pull(connection, _count(bot_id, now, may, 0, resumes=False))
            return _Tried(PulledJobs((), {}, may.retry_after_s), {})
        work = _Round(bot_id, bot_holder(bot_id), now, may.jobs)
        for batch in self._batches(connection, work, before, is_of_hosts=host_ids is not None):
            self._look(connection, work, before, batch)
            if sum(host.fitting for host in work.hosts) >= work.room:
                break
        handed = self._take(connection, work, may, resumes=bot.status == "quarantined")
        self._write_rest(connection, work)
        retry_after_s = None if handed else self._retry_after(connection, work)
        pulled = PulledJobs(tuple(handed), work.skipped, retry_after_s)
        return _Tried(pulled, work.unread, frozenset(work.seen), work.now, work.room - len(handed))

    def _read(
        self,
        connection: Connection,
        max_jobs: int,
        domain: str | None,
        host_ids: Sequence[UUID] | None,
        now: float | None,
    ) -> _Before:
        """Read everything possible before any row is locked: after that, each wait for an answer delays others, too."""
        # In steps, so that the server sees few different statements.
        most = min(MOST_HOSTS, _HOSTS_STEP * -(-max_jobs * _LOOKS_PER_JOB // _HOSTS_STEP))
        if host_ids is not None:
            found = jobs.named_hosts(connection, host_ids)
        elif domain is not None:
            parent = canonical_host(domain, collapse=self._terms.collapse_subdomains).parent_domain
            found = jobs.hosts_of_domain(connection, domain, parent, most)
        else:
            found = jobs.ready_hosts(connection, now, most)
        found.sort(key=lambda host: (-(host.priority or 0), host.ready_at or 0.0))
        first = [host.host for host in found if host.priority is not None][:max_jobs]
        # Almost always the origins of a host's jobs.
        origins = {f"{scheme}://{name}" for name in first for scheme in ("https", "http")}
        with self._lock:
            robots = self._book.find(connection, origins, _ANY_AGE) if origins else {}
        return _Before(found, self._takedowns.at(connection), robots, origins)

    def _batches(
        self, connection: Connection, work: _Round, before: _Before, *, is_of_hosts: bool
    ) -> list[list[ReadyHost]]:
        """The hosts to consider, a few at a time: those with the best job first, then those that waited longest."""
        found = before.hosts
        empty = [host for host in found if host.priority is None]
        waiting = [host for host in found if host.priority is not None]
        batches = [waiting[start : start + work.room] for start in range(0, len(waiting), max(1, work.room))]
        # Hints of hosts without jobs are outdated. Hosts whose robots.txt was read are ready for other pulls, too.
        again = found if is_of_hosts else empty
        if again:
            rows = reservations.lock(connection, [host.id for host in again])
            jobs.set_ready(connection, [(row.id, work.now) for row in rows])
        return batches

    def _look(self, connection: Connection, work: _Round, before: _Before, batch: Sequence[ReadyHost]) -> None:
        """Lock the rows of some hosts, and find out which of their jobs can be handed out."""
        order = {host.id: place for place, host in enumerate(batch, start=len(work.hosts))}
        each = min(slots.MOST_SLOTS, -(-work.room // max(1, len(batch))) + 1)
        rows, fronts = jobs.take_front(connection, list(order), each)
        rows.sort(key=lambda row: order[row.id])
        work.seen.update(order)
        addresses = {
            job.id: address
            for front in fronts.values()
            for job in front
            if (address := self._address(job.url)) is not None
        }
        robots = {origin: each for origin, each in before.robots.items() if each.in_force.expires_at > work.now}
        others = {address.origin for address in addresses.values()} - before.origins
        if others:
            with self._lock:
                robots |= self._book.find(connection, others, work.now)
        for row in rows:
            host = self._judge_host(work, row, order[row.id], fronts[row.id])
            if host is not None:
                for job in fronts[row.id]:
                    self._judge_job(work, host, job, addresses.get(job.id), before.takedowns, robots)
                self._fit(work, host)

    def _judge_host(self, work: _Round, row: HostRow, order: int, front: Sequence[WaitingJob]) -> _Host | None:
        """A host that the bot may hold; any other is parked."""
        now = work.now
        reason, look_at = None, now + _HELD_LOOK_S
        if row.queue_parked_until is not None and row.queue_parked_until > now:
            reason, look_at = SkipReason.PARKED, min(row.queue_parked_until, now + slots.LOOK_WITHIN_S)
        elif row.is_held(now):
            is_turn = row.holder == work.holder and now - (row.held_since or now) <= self._terms.turn_s
            if not is_turn:
                of_client = (row.holder or "").startswith((reservations.BOT, reservations.GRANT))
                reason = SkipReason.RESERVED if of_client else SkipReason.LEASED
        if reason is not None:
            work.skip(reason, len(front))
            work.looks.append((row.id, look_at))
            return None
        return _Host(row, order, self._limits(row, None), row.memory_at(now))

    def _judge_job(
        self,
        work: _Round,
        host: _Host,
        job: WaitingJob,
        address: WebAddress | None,
        takedowns: Takedowns,
        robots: dict[str, ClientRobots],
    ) -> None:
        """Decide about one job: allowed, or parked with a reason."""
        if address is None or address.host != host.row.host:
            work.skip(SkipReason.BAD_URL, 1)
            why = "not a web address" if address is None else f"the URL is of {address.host}, not of {host.row.host}"
            work.parked.append((job.id, work.now + _BAD_URL_LOOK_S, why))
            return
        entry = takedowns.covering(address)
        if entry is not None:
            work.skip(SkipReason.TAKEN_DOWN, 1)
            work.parked.append((job.id, work.now + _TAKEN_DOWN_LOOK_S, f"taken down: {entry}"))
            work.evidence.append(taken_down_of(host.row.id, address, entry, work.now))
            return
        found = robots.get(address.origin)
        if found is None:
            work.skip(SkipReason.ROBOTS_UNKNOWN, 1)
            obstacle = None if self._reader is None else self._reader.why_not(address.origin)
            if obstacle is None:
                work.unread[address.origin] = host.row.id
            else:  # such as an address that may not be requested: the operator finds the reason with the job
                work.parked.append((job.id, work.now + _UNREADABLE_LOOK_S, f"robots.txt cannot be read: {obstacle}"))
            return
        verdict = found.verdict(address)
        if not verdict.allowed:
            work.skip(SkipReason.ROBOTS_DENIED, 1)
            work.parked.append((job.id, found.in_force.expires_at, verdict.reason))
            work.denials.append((host.row.id, address, verdict, found.in_force.version))
            return
        host.allowed.append(_Allowed(job, found, verdict))

    def _fit(self, work: _Round, host: _Host) -> None:
        """Find how many of a host's jobs get a slot within the horizon; if none, the host is parked."""
        row, now = host.row, work.now
        if not host.allowed:
            is_unread = any(host_id == row.id for host_id in work.unread.values())
            work.looks.append((row.id, now + _ROBOTS_LOOK_S if is_unread else now))
            return
        delays = [each.robots.in_force.crawl_delay_s for each in host.allowed]
        host.limits = self._limits(row, max((each for each in delays if each is not None), default=None))
        planned, _ = self._plan(host, now, len(host.allowed))
        host.fitting = len(planned)
        if planned:
            work.skip(SkipReason.TOO_SOON, len(host.allowed) - len(planned))
            work.hosts.append(host)
            return
        reason = slots.next_start(host.memory, host.limits, now).reason
        work.skip(SkipReason.BLOCKED if reason is WaitReason.BLOCK else SkipReason.TOO_SOON, len(host.allowed))
        work.looks.append((row.id, slots.look_again_at(host.memory, host.limits, now)))

    def _take(self, connection: Connection, work: _Round, may: Allowance, *, resumes: bool) -> list[PulledJob]:
        """Hold hosts and lock the best jobs: by priority, then one of each host before a second of any."""
        offers = sorted(
            (-each.job.priority, place, host.order, number)
            for number, host in enumerate(work.hosts)
            for place, each in enumerate(host.allowed[: host.fitting])
        )
        for _priority, _place, _order, number in offers[: work.room]:
            work.hosts[number].chosen += 1
        holds: list[Hold] = []
        locks: list[JobLock] = []
        handed: list[PulledJob] = []
        notes: list[tuple[ClientRobots, ClientLease]] = []
        for host in work.hosts:
            if not host.chosen:
                continue
            row, now = host.row, work.now
            planned, memory = self._plan(host, now, host.chosen)
            token = row.token_for(work.holder, now)
            first = row.number_after(work.holder, now) + 1
            chosen = host.allowed[: host.chosen]
            until = now + max(each.job.lock_ttl_s for each in chosen)
            look_at = max(now + _HELD_LOOK_S, min(memory.next_fetch_at or now, now + slots.LOOK_WITHIN_S))
            holds.append(Hold(row, until, memory, look_at, len(chosen)))
            for number, (each, slot) in enumerate(zip(chosen, planned, strict=True), start=first):
                locks.append(_lock_of(host, each, slot, token, number, now))
                handed.append(_handed(row.host, each.job, slot, now))
                notes.append((each.robots, ClientLease(row.id, row.host, token)))
        count = _count(work.bot_id, work.now, may, len(handed), resumes=resumes)
        if not handed:
            bots.note_pull(connection, count)
            return []
        if jobs.hand_out(connection, holds, locks, count, work.holder) != len(locks):
            raise _OvertakenError
        with self._lock:
            self._book.note(connection, notes, work.now)
        handed.sort(key=lambda job: job.slot.not_before)
        return handed

    def _write_rest(self, connection: Connection, work: _Round) -> None:
        """Park what was skipped, with evidence of why."""
        jobs.park(connection, work.parked)
        records.add_evidence(connection, None, work.evidence)
        if work.denials:
            with self._lock:
                self._book.deny(connection, work.denials, work.now)
        jobs.set_ready(connection, work.looks)

    def _retry_after(self, connection: Connection, work: _Round) -> float:
        """When a pull is likely to find something."""
        next_at = jobs.next_look_at(connection)
        if next_at is None:
            return _NOTHING_WAITS_S
        return round(min(max(1.0, next_at - work.now), _LONGEST_RETRY_AFTER_S), 3)

    def _plan(self, host: _Host, now: float, count: int) -> tuple[list[Slot], GateMemory]:
        terms = self._terms
        return slots.plan(host.memory, host.limits, now, count, window_s=terms.window_s, horizon_s=terms.horizon_s)

    def _limits(self, row: HostRow, crawl_delay_s: float | None) -> GateLimits:
        interval_ms = row.policy_interval_ms
        return limits_for(
            self._terms.profile,
            policy_interval_s=None if interval_ms is None else interval_ms / 1000,
            policy_max_concurrency=row.policy_max_concurrency,
            crawl_delay_s=crawl_delay_s,
        )

    def _address(self, url: str) -> WebAddress | None:
        try:
            return web_address(url, collapse=self._terms.collapse_subdomains)
        except BadInput:
            return None

    def _wake(self) -> None:
        """Make jobs available whose time has come; the sweeper does the same, but less often."""
        now = self._clock.seconds()
        with self._lock:
            if self._woken_at is not None and 0.0 <= now - self._woken_at < _WAKE_EVERY_S:
                return
            self._woken_at = now
        with self._database.write() as connection:
            jobs.wake(connection, time_of(connection, self._database, self._clock), _WOKEN)
        if self._make_due_jobs is not None:
            self._make_due_jobs()


def _count(bot_id: str, now: float, may: Allowance, handed: int, *, resumes: bool) -> PullCount:
    return PullCount(bot_id, now, handed, may.minute_started_at, may.pulled_this_minute + handed, resumes)


def _lock_of(host: _Host, each: _Allowed, slot: Slot, token: int, number: int, now: float) -> JobLock:
    row, robots = host.row, each.robots
    terms = SlotTerms(
        number=number,
        max_concurrency=host.limits.max_concurrency,
        policy_interval_ms=row.policy_interval_ms,
        policy_max_concurrency=row.policy_max_concurrency,
        crawl_delay_s=host.limits.crawl_delay_s,
        robots_version=robots.in_force.version,
        rule_line=each.verdict.line_number,
        rule=each.verdict.rule,
    )
    ends_at = now + each.job.lock_ttl_s
    return JobLock(each.job.id, ends_at, slot.not_before, slot.start_by, to_document(slot, terms), token)


def _handed(host: str, job: WaitingJob, slot: Slot, now: float) -> PulledJob:
    return PulledJob(
        job_id=job.id,
        policy_id=job.policy_id,
        url=job.url,
        host=host,
        priority=job.priority,
        retry_count=job.retry_count,
        max_retries=job.max_retries,
        lock_ttl_s=job.lock_ttl_s,
        locked_until=datetime.fromtimestamp(now + job.lock_ttl_s, UTC),
        slot=slot,
        crawl_config=job.crawl_config,
    )
