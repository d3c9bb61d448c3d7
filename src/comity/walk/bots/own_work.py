"""Comity's own worker does jobs of the crawl service: lease the host, take a job, fetch, read the product, settle.

A host is leased as for a crawl, so no bot can hold it at the same time. Under the lease, jobs are locked one by one,
fetched through the session and settled like a bot's submit. A job's lock carries the token of the lease, so a worker
that lost its lease and returns late changes nothing. If a worker dies, the sweeper ends its locks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from uuid import UUID

from sqlalchemy import Connection

from comity.database import ledger, records
from comity.database.queue import jobs, reservations
from comity.database.queue.jobs import JobEnd, ReadyHost, WaitingJob
from comity.database.queue.reservations import bot_holder
from comity.extract.decode import decode_body
from comity.extract.product import parse_config
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, ComityError, StateUnavailable
from comity.model.evidence import Evidence
from comity.model.queue import LONGEST_ERROR, OWN_BOT, BotRefused, JobStatus, Submission
from comity.model.source import Obstacle, Reading, Trouble
from comity.rules.canonical import WebAddress, web_address
from comity.rules.queue import slots
from comity.telemetry.loops import pause
from comity.walk.bots.product_reader import ProductReader, UnreadablePage
from comity.walk.bots.submit import Submitter
from comity.walk.bots.threads import time_of
from comity.walk.evidence import taken_down_of
from comity.walk.session.leased_host import LeasedHost
from comity.walk.session.session import Session
from comity.walk.sources.pages import PageAnswer, ReadingTerms, SourcePages, SourceVisit

AT_ONCE: Final = 16
"""Hosts that are requested at the same time."""
BY_POLICY: Final = "policy"
"""`fetches.discovery_type` of a page that was fetched for a job."""
POLL_S: Final = 1.0
IDLE_S: Final = 60.0
_SOON_S: Final = 5.0
_MOST_JOBS: Final = 50  # longest turn of one host
_FRONT: Final = 5  # the first of these that may be done is taken
_LOOKS: Final = 4  # hosts considered for each that can be requested
_HELD_LOOK_S: Final = 2.0
_BUSY_S: Final = 10.0
_ROBOTS_S: Final = 3600.0
_TAKEN_DOWN_S: Final = 3600.0
_BAD_URL_S: Final = 86_400.0
_LOCK_SHARE: Final = 0.8  # share of a job's lock; the rest is for settling
_WOKEN: Final = 500
_STOP_WITHIN_S: Final = 20.0
_PATIENT: Final = frozenset({Trouble.BUSY, Trouble.ASKED_TO_WAIT})
_NOT_ALLOWED: Final = frozenset({Trouble.ROBOTS_DENIED, Trouble.ROBOTS_UNREACHABLE, Trouble.TAKEN_DOWN})


@dataclass(frozen=True, slots=True)
class OwnTerms(ReadingTerms):
    """How the worker does jobs."""

    at_once: int = AT_ONCE
    turn_s: float = slots.TURN_S
    most_html_bytes: int = 5_000_000


@dataclass(frozen=True, slots=True)
class JobDone:
    """The outcome of a job: its status now, and a sentence if there is no result."""

    job_id: UUID
    url: str
    host: str
    status: str
    message: str = ""
    price: str | None = None
    currency: str | None = None
    in_stock: bool | None = None


class _GivenBack(NamedTuple):
    """A job that was not requested and waits until a time; no retry is counted."""

    until: float
    why: str
    leave_s: float | None = None
    """How long to leave the whole host alone, if more than this job has to wait."""


class _Taken(NamedTuple):
    """A job that is locked here."""

    job: WaitingJob
    address: WebAddress


class OwnWorker:
    """Does jobs of many hosts at once; use it as an asynchronous context."""

    def __init__(
        self,
        session: Session,
        submitter: Submitter,
        terms: OwnTerms,
        on_done: Callable[[JobDone], None] = lambda _done: None,
    ) -> None:
        self._session = session
        self._submitter = submitter
        self._terms = terms
        self._on_done = on_done
        self._database, self._clock, self._thread = session.database, session.clock, session.thread
        self._reader = ProductReader()
        self._pages = SourcePages(session, terms, None)
        self._turns: dict[UUID, asyncio.Task[None]] = {}
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._session.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            await self._end_turns()
            await self._pages.close()
            await self._reader.close()
        finally:
            await self._session.__aexit__(kind, error, where)

    def stop(self) -> None:
        """Take no more jobs; those in progress are finished."""
        self._stopping.set()

    async def serve(self, on_trouble: Callable[[str], None] = lambda _sentence: None) -> None:
        """Do jobs until stopped."""
        while not self._stopping.is_set():
            try:
                await self.look()
            except StateUnavailable as error:  # the next look may find it again
                on_trouble(str(error))
            await pause(self._stopping, POLL_S)
        await self._end_turns()

    async def run_due(self, idle_s: float = IDLE_S) -> None:
        """Do what is due; end when nothing could be done for some seconds and no host is due soon."""
        idle_since = self._clock.seconds()
        while not self._stopping.is_set():
            if await self.look() or self._turns:
                idle_since = self._clock.seconds()
            elif not await self._thread.run(self._is_soon) or self._clock.seconds() - idle_since > idle_s:
                break
            waiting = [*self._turns.values(), asyncio.create_task(self._stopping.wait())]
            await asyncio.wait(waiting, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
            waiting[-1].cancel()
        await self._end_turns()

    def _is_soon(self) -> bool:
        with self._database.read() as connection:
            next_at = jobs.next_look_at(connection)
            return next_at is not None and next_at - time_of(connection, self._database, self._clock) < _SOON_S

    async def look(self) -> int:
        """Start turns for hosts with waiting jobs; returns how many."""
        self._turns = {host_id: task for host_id, task in self._turns.items() if not task.done()}
        room = self._terms.at_once - len(self._turns)
        if room <= 0:
            return 0
        found = await self._thread.run(self._ready, room * _LOOKS + len(self._turns))
        chosen = [host for host in found if host.id not in self._turns][:room]
        for host in chosen:
            self._turns[host.id] = asyncio.create_task(self._turn(host))
        return len(chosen)

    async def _end_turns(self) -> None:
        """Wait briefly for jobs in progress; cancel and release the rest."""
        if self._turns:
            await asyncio.wait(self._turns.values(), timeout=_STOP_WITHIN_S)
            for task in self._turns.values():
                task.cancel()
            await asyncio.gather(*self._turns.values(), return_exceptions=True)
        self._turns = {}

    def _ready(self, limit: int) -> list[ReadyHost]:
        """Hosts to request, best job first. Outdated hints are removed."""
        with self._database.read() as connection:
            if not jobs.are_any(connection):
                return []
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            jobs.wake(connection, now, _WOKEN)
            found = jobs.ready_hosts(connection, now, limit)
            empty = [host.id for host in found if host.priority is None]
            if empty:
                rows = reservations.lock(connection, empty)
                jobs.set_ready(connection, [(row.id, now) for row in rows])
        waiting = [host for host in found if host.priority is not None]
        return sorted(waiting, key=lambda host: (-(host.priority or 0), host.ready_at or 0.0))

    async def _turn(self, ready: ReadyHost) -> None:
        """Do jobs of one host, for a minute at most, so that others get their turn."""
        try:
            await self._hold(ready)
        except StateUnavailable:
            pass  # the lease and the lock expire, or the next search finds the host
        except Exception as error:  # an error of one host costs the others nothing, and is not retried at every search
            said = str(error) if isinstance(error, ComityError) else f"unexpected {type(error).__name__}: {error}"
            self._on_done(JobDone(ready.id, "", ready.host, "error", said[:500]))
            with suppress(ComityError):
                await self._thread.run(self._look_later, ready.id, slots.LOOK_WITHIN_S)

    async def _hold(self, ready: ReadyHost) -> None:
        address = web_address(f"https://{ready.host}/", collapse=self._terms.collapse_subdomains)
        host = await self._session.host_for(address)
        if host is None:  # a worker or a bot has it
            await self._thread.run(self._look_later, ready.id, _HELD_LOOK_S)
            return
        held = self._session.held
        held.pin(host)
        began, wait_s = self._clock.seconds(), 0.0
        try:
            for _ in range(_MOST_JOBS):
                is_over = self._stopping.is_set() or self._clock.seconds() - began > self._terms.turn_s
                if is_over or host.is_closed:
                    break
                said = await self._one(host)
                if said is not None:
                    wait_s = said
                    break
        finally:
            held.unpin(host)
            next_at = max(host.gate.next_start_at(), host.gate.memory().blocked_until or 0.0)
            await held.release_unused(host)
            wait_s = min(max(wait_s, next_at - self._clock.seconds()), slots.LOOK_WITHIN_S)
            await self._thread.run(self._look_later, ready.id, wait_s)

    def _look_later(self, host_id: UUID, wait_s: float) -> None:
        with self._database.write() as connection:
            rows = reservations.lock(connection, [host_id])
            now = time_of(connection, self._database, self._clock)
            jobs.set_ready(connection, [(row.id, now + wait_s) for row in rows])

    async def _one(self, host: LeasedHost) -> float | None:
        """Take the best job of a host and do it; None if the next may follow, else how long to leave the host alone."""
        taken = await self._thread.run(self._take, host)
        if isinstance(taken, float):
            return taken
        visit = SourceVisit()
        try:
            outcome = await self._fetch(host, taken, visit)
            await self._settle(host, taken, outcome, visit.reading)
        except asyncio.CancelledError:
            back = _GivenBack(self._clock.seconds(), "the worker was stopped")
            with suppress(ComityError):
                await asyncio.shield(self._thread.run(self._give_back, host, taken.job, back, visit.reading))
            raise
        finally:
            for each in visit.hosts.values():
                self._session.held.unpin(each)
            for each in visit.hosts.values():
                if each is not host:
                    await self._session.held.release_unused(each)
        if isinstance(outcome, _GivenBack):
            return outcome.leave_s
        return 0.0 if outcome.http_status in (429, 503) else None  # the gate knows how long

    def _take(self, host: LeasedHost) -> _Taken | float:
        """Lock the best job of a host that is leased here; if there is none, how long to leave the host alone."""
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            parked: list[tuple[UUID, float, str | None]] = []
            evidence: list[Evidence] = []
            # The holder of the lease waits for the row: another worker may lock it for a moment while it searches.
            rows, fronts = jobs.take_front(connection, [host.lease.host_id], _FRONT, waits=True)
            if not rows or rows[0].token != host.lease.token or rows[0].holder != self._session.leases.holder:
                return _HELD_LOOK_S
            if rows[0].queue_parked_until is not None and rows[0].queue_parked_until > now:
                return rows[0].queue_parked_until - now
            taken: _Taken | float = 0.0
            for job in fronts[rows[0].id]:
                address = self._judge(host, job, now, parked, evidence)
                if address is not None:
                    if jobs.lock_own(connection, job.id, now + job.lock_ttl_s, host.lease.token, now):
                        taken = _Taken(job, address)
                    break
            jobs.park(connection, parked)
            records.add_evidence(connection, None, evidence)
        return taken

    def _judge(
        self,
        host: LeasedHost,
        job: WaitingJob,
        now: float,
        parked: list[tuple[UUID, float, str | None]],
        evidence: list[Evidence],
    ) -> WebAddress | None:
        """The address of a job that may be done; others are parked, as a pull does it."""
        try:
            address = web_address(job.url, collapse=self._terms.collapse_subdomains)
        except BadInput:
            parked.append((job.id, now + _BAD_URL_S, "not a web address"))
            return None
        if address.host != host.name:
            parked.append((job.id, now + _BAD_URL_S, f"the URL is of {address.host}, not of {host.name}"))
            return None
        entry = self._session.takedowns().covering(address)
        if entry is not None:
            parked.append((job.id, now + _TAKEN_DOWN_S, f"taken down: {entry}"))
            evidence.append(taken_down_of(host.lease.host_id, address, entry, now))
            return None
        return address

    async def _fetch(self, host: LeasedHost, taken: _Taken, visit: SourceVisit) -> Submission | _GivenBack:
        """Fetch the page of a job, and read its product."""
        job, address = taken
        config = parse_config(job.crawl_config)
        if isinstance(config, str):
            return _failure(job.id, config)
        try:
            async with asyncio.timeout(job.lock_ttl_s * _LOCK_SHARE):
                answer = await self._pages.get(address, visit)
                if isinstance(answer, Obstacle):
                    return self._hindered(host, taken, answer)
                return await self._read(job, answer)
        except TimeoutError:
            return _failure(job.id, f"the page did not come within {job.lock_ttl_s * _LOCK_SHARE:g} seconds")

    def _hindered(self, host: LeasedHost, taken: _Taken, obstacle: Obstacle) -> Submission | _GivenBack:
        """What an obstacle means for a job: a failure if a request was made, otherwise it waits."""
        job, now, until = taken.job, self._clock.seconds(), obstacle.until
        if obstacle.trouble in _NOT_ALLOWED:
            known = host.robots.get(taken.address.origin)
            expires_at = known.expires_at if known is not None else now + _ROBOTS_S
            return _GivenBack(max(until or expires_at, now + 1.0), obstacle.reason)
        if obstacle.trouble in _PATIENT and obstacle.status is None:
            return _GivenBack(max(until or 0.0, now + _BUSY_S), obstacle.reason, _HELD_LOOK_S)
        retry_after_s = None if until is None else max(0.0, until - now)
        return _failure(job.id, obstacle.reason, obstacle.status, retry_after_s)

    async def _read(self, job: WaitingJob, answer: PageAnswer) -> Submission:
        response = answer.response
        if response.status == 304:
            return _failure(job.id, "the server answered 304 to an unconditional request", 304)
        try:
            found = await self._reader.read(response.body, response.content_type, answer.final_url, job.crawl_config)
        except UnreadablePage as error:
            return _failure(job.id, str(error), response.status)
        except Exception as error:  # a page on which our own code fails costs its own job a try, and no other job
            return _failure(job.id, f"unexpected {type(error).__name__}: {str(error)[:200]}", response.status)
        if not found.is_known:
            reason = "no price and no stock found in JSON-LD, microdata, Open Graph or by crawl_config"
            return _failure(job.id, reason, response.status)
        data: dict[str, Any] = {
            "found_in": {name: str(place) for name, place in sorted((found.found_in or {}).items())},
            "final_url": answer.final_url,
        }
        if found.alternatives:
            data["other_products"] = found.alternatives
        return Submission(
            OWN_BOT,
            job.id,
            success=True,
            price=found.price,
            currency=found.currency,
            title=found.title,
            in_stock=found.in_stock,
            parsed_data=data,
            raw_html=self._kept_page(job.crawl_config, response.body, response.content_type),
            http_status=response.status,
        )

    def _kept_page(self, config: Mapping[str, Any] | None, body: bytes, content_type: str | None) -> str | None:
        """The page itself, if the policy wants it and it is not too large."""
        if not config or config.get("raw_html") is not True:
            return None
        text = decode_body(body, content_type).encode("utf-8", "replace").decode()
        return text if len(text.encode()) <= self._terms.most_html_bytes else None

    async def _settle(
        self, host: LeasedHost, taken: _Taken, outcome: Submission | _GivenBack, reading: Reading
    ) -> None:
        job = taken.job
        done = JobDone(job.id, job.url, host.name, str(JobStatus.PENDING))
        if isinstance(outcome, _GivenBack):
            await self._thread.run(self._give_back, host, job, outcome, reading)
            self._on_done(replace(done, message=outcome.why))
            return
        try:
            answer = await self._submitter.settle_own(
                outcome, host.lease.token, lambda connection: self._record(connection, host, reading)
            )
        except BotRefused as refused:  # it took longer than its lock
            self._on_done(replace(done, status=str(refused.code), message=refused.message))
            return
        self._on_done(
            replace(
                done,
                status=answer["status"],
                message=outcome.error_msg or "",
                price=None if outcome.price is None else format(outcome.price, "f"),
                currency=outcome.currency,
                in_stock=outcome.in_stock,
            )
        )

    def _give_back(self, host: LeasedHost, job: WaitingJob, back: _GivenBack, reading: Reading) -> None:
        """Return a job to the queue; it can be taken again from a given time on."""
        with self._database.write() as connection:
            own_time = self._database.now(self._clock)
            found = jobs.take(connection, job.id, None if own_time is None else self._clock.seconds())
            if found is not None and found[0].lease_token == host.lease.token:
                held, _row, now = found
                ending = JobEnd(
                    JobStatus.PENDING,
                    f"returned: {back.why}"[:500],
                    bot_holder(OWN_BOT),
                    error_msg=back.why,
                    not_before=back.until if back.until > now else None,
                )
                jobs.end(connection, held, ending, now)
            self._record(connection, host, reading)

    def _record(self, connection: Connection, host: LeasedHost, reading: Reading) -> None:
        """Write the requests, and what the gate has to remember if the lease is still held."""
        fetched: dict[UUID, set[float]] = {}
        for row in reading.fetches:
            fetched.setdefault(row.host_id, set()).add(row.at)
        ledger.append_requests(connection, None, reading.requests, fetched)
        records.add_fetches(connection, None, [row._replace(discovery_type=BY_POLICY) for row in reading.fetches])
        records.add_evidence(connection, None, reading.evidence)
        leases = self._session.leases
        if leases.still_held(connection, [host.lease]):
            leases.keep_memories(connection, [(host.lease, host.gate.memory())])


def _failure(
    job_id: UUID, reason: str, http_status: int | None = None, retry_after_s: float | None = None
) -> Submission:
    return Submission(
        OWN_BOT,
        job_id,
        success=False,
        error_msg=reason.replace("\0", " ")[:LONGEST_ERROR],
        http_status=http_status,
        retry_after_s=retry_after_s,
    )
