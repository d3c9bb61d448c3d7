"""Runs sources: lock, read, judge, normalize, settle. Also reads a page for an operator who tries a source out.

A runner is a client of one session: every request goes through the host's lease, robots.txt and gate, scheduled or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from comity.database import ledger
from comity.database.sources import rows as sources_table
from comity.database.sources.rows import page_from, source_from
from comity.leases.holder import is_dead, machine_name
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError, HostBusy, LeaseLost, StateUnavailable
from comity.model.host import SCRIPTS_NOT_RUN
from comity.model.job import JobFound, JobPosting
from comity.model.ledger import LedgerRow
from comity.model.source import (
    HeadRead,
    KnownPage,
    NotRun,
    Obstacle,
    Reading,
    RunStatus,
    RunVerdict,
    Source,
    SourceReport,
    SourceSkipped,
    Trouble,
)
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.jobs.identity import joined_over_pages
from comity.rules.jobs.normalize import normalize_listing
from comity.rules.source_verdict import judge
from comity.rules.takedown import Takedowns
from comity.walk.request import OnWait
from comity.walk.session.session import Session
from comity.walk.sources.listing_reader import ListingReader
from comity.walk.sources.pages import ReadingTerms, SourcePages, SourceVisit
from comity.walk.sources.plan import missed_opening
from comity.walk.sources.settle import FinishedRun, Plan, SourceSettling

RUN_S: Final = 900.0  # a run takes no longer: half of what a lock lasts
BUSY_FOR: Final = timedelta(minutes=10)
AT_ONCE: Final = 16  # requests in flight
_SETTLES: Final = 3
_SETTLE_AGAIN_S: Final = 0.5
_NO_HEADS: Final = "the site does not support HEAD requests, so this says nothing about the page; a run uses GET"


Normalize = Callable[[Sequence[JobFound], Source, datetime], Sequence[JobPosting]]


@dataclass(frozen=True, slots=True)
class SourceTerms(ReadingTerms):
    """How sources are read."""

    run_s: float = RUN_S


class SourceRunner:
    """Runs sources, any number at once; use it as an asynchronous context."""

    def __init__(
        self,
        session: Session,
        terms: SourceTerms,
        plan: Plan,
        reader: ListingReader | None = None,
    ) -> None:
        self.session = session
        self._database = session.database
        self._leases = session.leases
        self._clock = session.clock
        self._terms = terms
        self.normalize: Normalize = normalize
        self._thread = session.thread
        self._settling = SourceSettling(session.database, session.leases, plan)
        self._reader = reader or ListingReader()
        self._pages = SourcePages(session, terms, self._reader)
        self._visits: list[SourceVisit] = []

    def log_waits(self, on_wait: OnWait | None) -> None:
        """Call `on_wait` for every wait for a host; None for no calls."""
        self.session.log_waits(on_wait)

    async def __aenter__(self) -> SourceRunner:
        await self._thread.run(self._unlock_dead)
        await self.session.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            await self._pages.close()
            await self._reader.close()
        finally:
            await self.session.__aexit__(kind, error, where)

    async def run(self, source_id: UUID, *, due_only: bool = False) -> SourceReport | SourceSkipped:
        """Run one source from lock to log; a source that another process runs is skipped."""
        found = await self._thread.run(self._lock, source_id, due_only=due_only)
        if isinstance(found, SourceSkipped):
            return found
        source, known = found
        visit, started_at = SourceVisit(), self._clock.now()
        opening = missed_opening(source, started_at) if due_only else None
        if opening is not None:
            reason = f"it is outside its time window {source.time_window}"
            await self._thread.run(self._settling.postpone, source, started_at, opening, reason)
            return SourceSkipped(source.id, NotRun.OUTSIDE_WINDOW, reason)
        self._visits.append(visit)
        result: SourceReport | SourceSkipped
        try:
            result = await self._run(source, known, visit, started_at)
        except LeaseLost as lost:
            await self._record_requests(visit.reading.requests)
            await self._thread.run(self._unlock, source)
            result = SourceSkipped(source.id, NotRun.LOST, str(lost))
        except BaseException:  # stopped, or the state is gone: the source stays due
            with suppress(ComityError):
                await asyncio.shield(self._thread.run(self._give_up, source, visit))
            raise
        finally:
            self._end(visit)
        await self._release(visit)
        return result

    def _end(self, visit: SourceVisit) -> None:
        self._visits.remove(visit)
        for host in visit.hosts.values():
            self.session.held.unpin(host)

    async def _release(self, visit: SourceVisit) -> None:
        """Release the hosts of a run that has ended: others may wait for them."""
        for host in visit.hosts.values():
            await self.session.held.release_unused(host)

    async def _run(
        self, source: Source, known: Sequence[KnownPage], visit: SourceVisit, started_at: datetime
    ) -> SourceReport | SourceSkipped:
        reading, postings = visit.reading, dict[int, list[JobPosting]]()
        try:
            await self._read(source, known, visit)
            verdict = judge(reading, last_found=source.last_found, empty_reads=source.empty_reads)
            if verdict.stores:
                postings = await asyncio.to_thread(self._normalized, source, reading)
        except ComityError:
            raise
        except Exception as error:  # a page that our own code fails on costs its source a run, and no other source
            verdict = _broken(source, f"unexpected {type(error).__name__}: {str(error)[:200]}")
        if not reading.pages and reading.obstacle is not None and reading.obstacle.trouble is Trouble.BUSY:
            now = self._clock.now()
            await self._thread.run(self._settling.postpone, source, now, now + BUSY_FOR, reading.obstacle.reason)
            await self._record_requests(reading.requests)
            return SourceSkipped(source.id, NotRun.BUSY, reading.obstacle.reason)
        hosts = list(visit.hosts.values())
        run = FinishedRun(source, reading, verdict, postings, started_at, self._clock.now(), hosts)
        try:
            return await self._settle(run)
        except ComityError:
            raise
        except Exception as error:  # the content of a page cannot be stored: the run failed, and the log has the reason
            verdict = _broken(source, f"could not be stored: {type(error).__name__}")
            bare = Reading(
                obstacle=reading.obstacle, requests=reading.requests, fetches=reading.fetches, host=reading.host
            )
            return await self._settle(replace(run, verdict=verdict, reading=bare, postings={}))

    async def _read(self, source: Source, known: Sequence[KnownPage], visit: SourceVisit, **bounds: Any) -> None:
        """Read for as long as a run may take; what was read until then counts."""
        try:
            async with asyncio.timeout(self._terms.run_s):
                await self._pages.read(source, known, visit, **bounds)
        except TimeoutError:
            reason = f"it took longer than {self._terms.run_s:g} seconds"
            visit.reading.obstacle = Obstacle(Trouble.FAILED, reason)

    async def _settle(self, run: FinishedRun) -> SourceReport:
        """Write a run; a database that is away for a moment, or two writers that collide, cost no page."""
        for tried in range(1, _SETTLES + 1):
            try:
                return await self._thread.run(self._settling.settle, run)
            except StateUnavailable:
                if tried == _SETTLES:
                    raise
                await asyncio.sleep(tried * _SETTLE_AGAIN_S)
        raise AssertionError("the last try returns or raises")

    async def simulate(self, source: Source) -> Reading:
        """Read the first page of a source that may not even be stored; only the requests are recorded.

        Where that page only leads to the jobs, read the next one, too.
        """
        async with self._trying() as visit:
            await self._read(source, (), visit, most_pages=2, until_found=True)
        return visit.reading

    def normalized(self, source: Source, jobs: Sequence[JobFound]) -> list[JobPosting]:
        """What would be stored of jobs."""
        return list(self.normalize(jobs, source, self._clock.now()))

    async def head(self, url: str) -> HeadRead:
        """The answer of a site to a HEAD request for a page; `ComityError` if it cannot be requested."""
        address = resolve_link(url, url, collapse=self._terms.collapse_subdomains)
        assert address is not None, "checked by the caller"
        began = self._clock.seconds()
        async with self._trying() as visit:
            answer = await self._pages.head(address, visit)
        if isinstance(answer, Obstacle):
            raise _as_error(answer)
        response = answer.response
        length = response.headers.get("content-length") or ""
        return HeadRead(
            address.url,
            answer.final_url,
            response.status,
            int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None,
            response.content_type,
            response.headers.get("etag"),
            response.headers.get("last-modified"),
            round((self._clock.seconds() - began) * 1000),
            _note_on(response.status, wants_scripts=visit.reading.wants_scripts),
        )

    @property
    def in_flight(self) -> int:
        """How many runs are in progress here."""
        return len(self._visits)

    @asynccontextmanager
    async def _trying(self) -> AsyncIterator[SourceVisit]:
        """A trial: its hosts are held meanwhile, and its requests are in the ledger afterwards."""
        visit = SourceVisit()
        self._visits.append(visit)
        try:
            yield visit
        finally:
            self._end(visit)
            await self._record_requests(visit.reading.requests)
        await self._release(visit)

    async def _record_requests(self, rows: Sequence[LedgerRow]) -> None:
        if rows:
            await self._thread.run(self._enter, rows)

    def _enter(self, rows: Sequence[LedgerRow]) -> None:
        with self._database.write() as connection:
            ledger.append_requests(connection, None, rows)

    def _normalized(self, source: Source, reading: Reading) -> dict[int, list[JobPosting]]:
        """What is stored of the pages that were read in full, without what was taken down."""
        now, takedowns = self._clock.now(), self.session.takedowns()
        in_full = [page for page in reading.pages if page.unchanged is None]
        found: dict[int, list[JobPosting]] = {}
        for page, jobs in zip(
            in_full, joined_over_pages([(page.final_url, page.jobs) for page in in_full]), strict=True
        ):
            postings = self.normalize(jobs, source, now)
            found[page.number] = [
                each for each in postings if each.title and not _is_covered(takedowns, each.apply_url)
            ]
        return found

    def _lock(self, source_id: UUID, *, due_only: bool) -> tuple[Source, list[KnownPage]] | SourceSkipped:
        now = self._database.now(self._clock)
        with self._database.write() as connection:
            row = sources_table.lock(connection, source_id, self._leases.holder, now, due_only=due_only)
            if row is not None:
                return source_from(row), [page_from(page) for page in sources_table.pages_of(connection, source_id)]
            if sources_table.is_locked(connection, source_id, now):
                return SourceSkipped(source_id, NotRun.LOCKED, "it is being run by another process")
        return SourceSkipped(source_id, NotRun.NOT_DUE, "it is not due, or there is no such source")

    def _give_up(self, source: Source, visit: SourceVisit) -> None:
        self._enter(visit.reading.requests)
        self._unlock(source)

    def _unlock(self, source: Source) -> None:
        with self._database.write() as connection:
            sources_table.unlock(connection, source.id, self._leases.holder)

    def _unlock_dead(self) -> None:
        """Unlock the sources of dead processes of this machine."""
        with self._database.read() as connection:
            holders = sources_table.lock_holders(connection, machine_name() + ":")
        dead = [holder for holder in holders if holder != self._leases.holder and is_dead(holder)]
        if dead:
            with self._database.write() as connection:
                sources_table.unlock_all_of(connection, dead)


def normalize(jobs: Sequence[JobFound], source: Source, now: datetime) -> Sequence[JobPosting]:
    """What is stored of the jobs of a page, with what their source adds."""
    return normalize_listing(
        jobs, org_name=source.org_name or "", org_type=source.org_type, source_country=source.country, now=now
    )


def _broken(source: Source, message: str) -> RunVerdict:
    return RunVerdict(
        RunStatus.FAIL,
        message,
        is_failure=True,
        counts_as_visit=False,
        last_found=source.last_found,
        empty_reads=source.empty_reads,
    )


def _note_on(status: int, *, wants_scripts: bool) -> str | None:
    said = [_NO_HEADS] if status in (405, 501) else []
    return "; ".join(said + [SCRIPTS_NOT_RUN] * wants_scripts) or None


def _as_error(obstacle: Obstacle) -> ComityError:
    if obstacle.trouble in (Trouble.BUSY, Trouble.ASKED_TO_WAIT):
        return HostBusy(f"{obstacle.reason}; try again later")
    return ComityError(
        f"not requested: {obstacle.reason}" if obstacle.trouble is not Trouble.FAILED else obstacle.reason
    )


def _is_covered(takedowns: Takedowns, url: str) -> bool:
    address: WebAddress | None = resolve_link(url, url)
    return address is not None and takedowns.covering(address) is not None
