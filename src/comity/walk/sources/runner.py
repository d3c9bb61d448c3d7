"""The desk at which sources are run: lock, read, judge, normalize, settle; and at which a page is tried out.

One desk is one holder of leases. Whatever is asked of a host goes through its lease, robots.txt and gate, whether the
schedule wants it or an operator who tries something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import ledger
from comity.database import sources as sources_table
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.source_values import page_from, source_from
from comity.extract.apart import ApartReader
from comity.fetch.fetcher import Fetcher
from comity.leases.holder import is_dead, machine_name
from comity.leases.room import Leases
from comity.model.errors import ComityError, HostBusy, LeaseLost, StateUnavailable
from comity.model.fetch import FetchLimits
from comity.model.gate import DoorProfile
from comity.model.job import JobFound, JobPosting
from comity.model.ledger import LedgerRow
from comity.model.policy import SCRIPTS_NOT_RUN
from comity.model.scope import CrawlScope
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
from comity.rules.jobs.normalize import normalize_listing
from comity.rules.jobs.several_places import joined_over_pages
from comity.rules.source_verdict import judge
from comity.rules.takedown import Takedowns
from comity.walk.request import OnWait, Requests
from comity.walk.robots_keeper import RobotsKeeper, RobotsTerms
from comity.walk.session.capacity import Capacity
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.sources.listing_reader import ListingReader
from comity.walk.sources.pages import SourcePages, SourceVisit
from comity.walk.sources.plan import missed_opening
from comity.walk.sources.settle import FinishedRun, Plan, SourceSettling
from comity.walk.visit_rooms import VisitRooms

RUN_S: Final = 900.0  # a run takes no longer; half of what a lock lasts
BUSY_FOR: Final = timedelta(minutes=10)
_TICK_S: Final = 1.0
_TAKEDOWNS_FRESH_S: Final = 2.0
_AT_ONCE: Final = 16
_SETTLES: Final = 3
_SETTLE_AGAIN_S: Final = 0.5
_NO_HEADS: Final = "the site answers no HEAD requests, so this says nothing about the page; a run asks with GET"


@dataclass(frozen=True, slots=True)
class SourceTerms:
    """How sources are read."""

    profile: DoorProfile
    limits: FetchLimits
    robots: RobotsTerms
    agent: str
    max_redirects: int = 5
    collapse_subdomains: bool = False
    run_s: float = RUN_S


class SourceRunner:
    """Runs sources, any number at once; use it as an asynchronous context."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        fetcher: Fetcher,
        clock: Clock,
        chance: Callable[[], float],
        terms: SourceTerms,
        plan: Plan,
        reader: ListingReader | None = None,
    ) -> None:
        self._database = database
        self._leases = leases
        self._clock = clock
        self._terms = terms
        self._thread = DatabaseThread()
        self._takedowns = Takedowns()
        self._takedowns_at: float | None = None
        self._board = HeldHosts(database, self._thread, leases, clock, chance, terms.profile, touched_by="source")
        self._settling = SourceSettling(database, leases, plan)
        self._apart = ApartReader()
        self._reader = reader or ListingReader()
        rooms = self._rooms(fetcher)
        self._requests = rooms.requests
        self._pages = SourcePages(rooms, self._reader, terms.profile, self._before_request)
        self._visits: list[SourceVisit] = []
        self._upkeep: asyncio.Task[None] | None = None

    def tell_of_waits(self, on_wait: OnWait | None) -> None:
        """Have every wait for a host told, or none of them."""
        self._requests.on_wait = on_wait

    def _rooms(self, fetcher: Fetcher) -> VisitRooms:
        terms, seconds = self._terms, self._clock.seconds
        requests = Requests(fetcher, Capacity(_AT_ONCE), seconds)
        alike = terms.collapse_subdomains
        robots = RobotsKeeper(
            self._database, self._thread, requests, terms.robots, seconds, self._takedowns_now, collapse=alike
        )
        return VisitRooms(
            requests=requests,
            robots=robots,
            host_of=self._board.host_of,
            takedowns=self._takedowns_now,
            clock=seconds,
            scope=CrawlScope(follow_links=False, collapse_subdomains=alike),
            tracking=None,
            extract=None,
            apart=self._apart,
            limits=terms.limits,
            agent=terms.agent,
            max_redirects=terms.max_redirects,
        )

    async def __aenter__(self) -> SourceRunner:
        await self._thread.run(self._clear_up)
        self._upkeep = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await self._upkeep
        await self._board.release_guests(idle_only=False)
        await self._apart.close()
        await self._reader.close()
        self._thread.close()

    async def run(self, source_id: UUID, *, due_only: bool = False) -> SourceReport | SourceSkipped:
        """Run one source from lock to log; a source that somebody else runs is left alone."""
        found = await self._thread.run(self._lock, source_id, due_only=due_only)
        if isinstance(found, SourceSkipped):
            return found
        source, known = found
        visit, started_at = SourceVisit(), self._clock.now()
        opening = missed_opening(source, started_at) if due_only else None
        if opening is not None:
            reason = f"it is outside of its time window {source.time_window}"
            await self._thread.run(self._settling.put_off, source, started_at, opening, reason)
            return SourceSkipped(source.id, NotRun.OUTSIDE_WINDOW, reason)
        self._visits.append(visit)
        result: SourceReport | SourceSkipped
        try:
            result = await self._run(source, known, visit, started_at)
        except LeaseLost as lost:
            await self._note(visit.reading.requests)
            await self._thread.run(self._unlock, source)
            result = SourceSkipped(source.id, NotRun.LOST, str(lost))
        except BaseException:  # stopped, or the state is gone: the source stays due
            with suppress(ComityError):
                await asyncio.shield(self._thread.run(self._give_up, source, visit))
            raise
        finally:
            self._visits.remove(visit)
        await self._give_back(visit)
        return result

    async def _give_back(self, visit: SourceVisit) -> None:
        """Others may wait for the hosts of a run that has ended."""
        for name in visit.hosts.keys() - {name for other in self._visits for name in other.hosts}:
            await self._board.release_guest(name)

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
        except Exception as error:  # a page that our own code stumbles over costs its source a run, and no other
            verdict = _broken(source, f"unexpected {type(error).__name__}: {str(error)[:200]}")
        if not reading.pages and reading.obstacle is not None and reading.obstacle.trouble is Trouble.BUSY:
            now = self._clock.now()
            await self._thread.run(self._settling.put_off, source, now, now + BUSY_FOR, reading.obstacle.reason)
            await self._note(reading.requests)
            return SourceSkipped(source.id, NotRun.BUSY, reading.obstacle.reason)
        hosts = list(visit.hosts.values())
        run = FinishedRun(source, reading, verdict, postings, started_at, self._clock.now(), hosts)
        try:
            return await self._settle(run)
        except ComityError:
            raise
        except Exception as error:  # what a page said cannot be stored: the run failed, and says so
            said = _broken(source, f"could not be stored: {type(error).__name__}")
            bare = Reading(
                obstacle=reading.obstacle, requests=reading.requests, fetches=reading.fetches, host=reading.host
            )
            return await self._settle(replace(run, verdict=said, reading=bare, postings={}))

    async def _read(self, source: Source, known: Sequence[KnownPage], visit: SourceVisit, **bounds: Any) -> None:
        """Read as far as there is time; what was read until then counts."""
        try:
            async with asyncio.timeout(self._terms.run_s):
                await self._pages.read(source, known, visit, **bounds)
        except TimeoutError:
            reason = f"it took longer than {self._terms.run_s:g} seconds"
            visit.reading.obstacle = Obstacle(Trouble.FAILED, reason)

    async def _settle(self, run: FinishedRun) -> SourceReport:
        """Write a run; a state that is away for a moment, or two writers that cross, cost no page that was read."""
        for tried in range(1, _SETTLES + 1):
            try:
                return await self._thread.run(self._settling.settle, run)
            except StateUnavailable:
                if tried == _SETTLES:
                    raise
                await asyncio.sleep(tried * _SETTLE_AGAIN_S)
        raise AssertionError("the last try returns or raises")

    async def simulate(self, source: Source) -> Reading:
        """Read the first page of a source that may not even be stored; nothing is kept but who was asked what.

        Where that page only leads to the jobs, the next one, too.
        """
        async with self._trying() as visit:
            await self._read(source, (), visit, most_pages=2, until_found=True)
        return visit.reading

    def normalized(self, source: Source, jobs: Sequence[JobFound]) -> list[JobPosting]:
        """What would be kept of jobs."""
        return list(_normalize(jobs, source, self._clock.now()))

    async def head(self, url: str) -> HeadRead:
        """What a site says about a page without sending it; `ComityError` where it cannot be asked."""
        address = resolve_link(url, url, collapse=self._terms.collapse_subdomains)
        assert address is not None, "checked by whoever asks"
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
        """How many runs are under way here."""
        return len(self._visits)

    @asynccontextmanager
    async def _trying(self) -> AsyncIterator[SourceVisit]:
        """Something that is tried out: its hosts are kept meanwhile, its requests are in the ledger afterwards."""
        visit = SourceVisit()
        self._visits.append(visit)
        try:
            yield visit
        finally:
            self._visits.remove(visit)
            await self._note(visit.reading.requests)
        await self._give_back(visit)

    async def _note(self, rows: Sequence[LedgerRow]) -> None:
        if rows:
            await self._thread.run(self._enter, rows)

    def _enter(self, rows: Sequence[LedgerRow]) -> None:
        with self._database.write() as connection:
            ledger.append_requests(connection, None, rows)

    def _normalized(self, source: Source, reading: Reading) -> dict[int, list[JobPosting]]:
        """What is kept of the pages that were read anew, without what must never be served."""
        now, takedowns = self._clock.now(), self._takedowns
        anew = [page for page in reading.pages if page.unchanged is None]
        found: dict[int, list[JobPosting]] = {}
        for page, jobs in zip(anew, joined_over_pages([(page.final_url, page.jobs) for page in anew]), strict=True):
            postings = _normalize(jobs, source, now)
            found[page.number] = [
                each for each in postings if each.title and not _is_covered(takedowns, each.apply_url)
            ]
        return found

    async def _before_request(self) -> None:
        """Operators' edits hold from the next request on."""
        now = self._clock.seconds()
        if self._takedowns_at is None or now - self._takedowns_at > _TAKEDOWNS_FRESH_S:
            self._takedowns, self._takedowns_at = await self._thread.run(self._load_takedowns), now
        await self._board.refresh_policies()

    def _takedowns_now(self) -> Takedowns:
        return self._takedowns

    def _load_takedowns(self) -> Takedowns:
        with self._database.read() as connection:
            return Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))

    def _lock(self, source_id: UUID, *, due_only: bool) -> tuple[Source, list[KnownPage]] | SourceSkipped:
        now = None if self._database.is_shared else self._clock.now()
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

    def _clear_up(self) -> None:
        """Free what dead processes of this machine held."""
        self._leases.free_own_dead()
        with self._database.read() as connection:
            holders = sources_table.lock_holders(connection, machine_name() + ":")
        dead = [holder for holder in holders if holder != self._leases.holder and is_dead(holder)]
        if dead:
            with self._database.write() as connection:
                sources_table.unlock_all_of(connection, dead)

    async def _keep(self) -> None:
        """Keep leases alive while runs need them, and give back those that none needs."""
        renewed_at = self._clock.seconds()
        while True:
            await asyncio.sleep(_TICK_S)
            with suppress(ComityError):  # the state may be away for a moment; leases outlast that, or are lost
                if self._clock.seconds() - renewed_at >= self._leases.terms.renew_every_s:
                    await self._board.heartbeat()
                    renewed_at = self._clock.seconds()
                await self._board.release_guests(but={name for visit in self._visits for name in visit.hosts})


def _normalize(jobs: Sequence[JobFound], source: Source, now: datetime) -> Sequence[JobPosting]:
    return normalize_listing(
        jobs, org_name=source.org_name or "", org_type=source.org_type, source_country=source.country, now=now
    )


def _broken(source: Source, message: str) -> RunVerdict:
    return RunVerdict(
        RunStatus.FAIL,
        message,
        is_failure=True,
        counts_as_look=False,
        last_found=source.last_found,
        empty_reads=source.empty_reads,
    )


def _note_on(status: int, *, wants_scripts: bool) -> str | None:
    said = [_NO_HEADS] if status in (405, 501) else []
    return "; ".join(said + [SCRIPTS_NOT_RUN] * wants_scripts) or None


def _as_error(obstacle: Obstacle) -> ComityError:
    if obstacle.trouble in (Trouble.BUSY, Trouble.PATIENCE):
        return HostBusy(f"{obstacle.reason}; try again later")
    return ComityError(f"not asked: {obstacle.reason}" if obstacle.trouble is not Trouble.FAILED else obstacle.reason)


def _is_covered(takedowns: Takedowns, url: str) -> bool:
    address: WebAddress | None = resolve_link(url, url)
    return address is not None and takedowns.covering(address) is not None
