"""The conductor of a whole-site crawl: leases hosts, crawls them side by side, settles, and ends cleanly.

Everything runs on one event loop; the database has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID, uuid4

from comity.clock import Clock
from comity.database import records, runs
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.instants import from_seconds
from comity.fetch.fetcher import Fetcher
from comity.leases.holder import is_dead_store_name
from comity.leases.room import Leases
from comity.model.budget import Budget, BudgetWarning, Exhausted, Spent
from comity.model.fetch import FetchLimits
from comity.model.gate import DoorProfile
from comity.model.page_record import PageRecord
from comity.model.scope import CrawlScope
from comity.rules.budget import check
from comity.rules.takedown import Takedowns
from comity.store import pages as page_store
from comity.walk.capacity import Capacity
from comity.walk.crawl_host import HostCrawl, HostTerms, is_run_budget
from comity.walk.database_thread import DatabaseThread
from comity.walk.host_board import HostBoard
from comity.walk.leased_host import LeasedHost
from comity.walk.progress import HostLineInSummary, Progress, RunSummary
from comity.walk.request import Requests
from comity.walk.robots_keeper import RobotsKeeper, RobotsTerms
from comity.walk.settle import RetryTerms, Settled, Settler
from comity.walk.settling import Settling
from comity.walk.visit import VisitRooms

_WATCH_EVERY_S: Final = 0.2
_GRACE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class CrawlTerms:
    """What a run may do, and how."""

    profile: DoorProfile
    scope: CrawlScope
    limits: FetchLimits
    budget: Budget
    robots: RobotsTerms
    agent: str
    concurrency: int
    max_redirects: int = 5
    max_errors_in_a_row: int = 10
    retry_limit: int = 5
    per_host_budget: bool = True
    smart: bool = True
    claims: bool = True
    track: bool = True
    settings_shown: dict[str, Any] | None = None


class Crawl:
    """One run. `hosts` bounds which candidates it takes; None takes whatever the table offers."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        fetcher: Fetcher,
        store: page_store.PageStore,
        clock: Clock,
        chance: Callable[[], float],
        terms: CrawlTerms,
        hosts: Collection[str] | None,
    ) -> None:
        self.run_id: UUID = uuid4()
        self.progress = Progress(clock.seconds())
        self._database = database
        self._leases = leases
        self._store = store
        self._clock = clock
        self._terms = terms
        self._remaining = set(hosts) if hosts is not None else None
        self._takedowns = Takedowns()
        self._thread = DatabaseThread()
        self._board = HostBoard(database, self._thread, leases, clock, chance, terms.profile)
        requests = Requests(fetcher, Capacity(terms.concurrency), clock.seconds)
        retries = RetryTerms(terms.retry_limit)
        settler = Settler(database, leases, store, self.run_id, clock.now, retries, track=terms.track)
        self._settling = Settling(settler, self._thread, self._on_settled)
        self._rooms = VisitRooms(
            requests=requests,
            robots=RobotsKeeper(database, self._thread, requests, terms.robots, clock.seconds),
            host_of=self._board.host_of,
            takedowns=lambda: self._takedowns,
            clock=clock.seconds,
            scope=terms.scope,
            limits=terms.limits,
            agent=terms.agent,
            max_redirects=terms.max_redirects,
        )
        self._spent = Spent(clock.seconds())
        self._ending: tuple[str, str] | None = None
        self._crawls: dict[asyncio.Task[HostLineInSummary], HostCrawl] = {}
        self._lines: list[HostLineInSummary] = []
        self._wake = asyncio.Event()

    def stop(self, reason: str = "stopped by the operator") -> None:
        """Start nothing more; finish what is in flight, settle it, and give the leases back."""
        self._end_run("stopped", reason)

    async def run(self) -> RunSummary:
        """Crawl until nothing is left, a budget is spent, or somebody stops it."""
        await self._thread.run(self._open_run)
        helpers = [
            asyncio.create_task(self._settling.run()),
            asyncio.create_task(self._keep_leases()),
            asyncio.create_task(self._watch()),
        ]
        try:
            await self._conduct(helpers)
            await self._settling.flush()
            status, reason = self._ending or ("finished", "nothing left to visit")
        except BaseException as error:
            status, reason = "failed", f"{type(error).__name__}: {error}"
            raise
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self._close_run(status, reason)
        return self._summary(status, reason)

    async def _conduct(self, helpers: list[asyncio.Task[None]]) -> None:
        """Keep as many hosts under way as the terms allow; end when there are none."""
        while True:
            if self._ending is None:
                await self._take_hosts()
            if not self._crawls:
                return
            wake = asyncio.create_task(self._wake.wait())
            timeout = _GRACE_S if self._ending is not None else None
            done, _pending = await asyncio.wait(
                [*self._crawls, *helpers, wake], return_when=asyncio.FIRST_COMPLETED, timeout=timeout
            )
            wake.cancel()
            self._wake.clear()
            for task in done:
                if task in helpers:
                    task.result()  # a helper only ends by failing, and its failure is the run's
                elif task in self._crawls:
                    self._finish(task)  # type: ignore[arg-type]
            if not done and self._ending is not None:
                for task in self._crawls:
                    task.cancel()

    async def _take_hosts(self) -> None:
        free = self._hosts_at_once() - len(self._crawls)
        while free > 0 and (self._remaining is None or self._remaining):
            claimed = await self._claim(free)
            if not claimed:
                await self._board.release_guests()
                return
            for host in claimed:
                if self._remaining is not None:
                    self._remaining.discard(host.name)
                self._start(host)
            free -= len(claimed)

    async def _claim(self, limit: int) -> list[LeasedHost]:
        """Candidates from the table; or, with claims turned off, the named hosts whatever their status."""
        if self._terms.claims or self._remaining is None:
            return await self._board.claim(limit, self._remaining, smart=self._terms.smart)
        named = sorted(self._remaining)[:limit]
        self._remaining.difference_update(named)
        return await self._board.take(named)

    def _hosts_at_once(self) -> int:
        """A host that waits for its delay holds no connection, so more hosts than connections can be under way."""
        return max(64, self._terms.concurrency * 4)

    def _start(self, host: LeasedHost) -> None:
        crawl = HostCrawl(
            host,
            database=self._database,
            thread=self._thread,
            leases=self._leases,
            clock=self._clock,
            rooms=self._rooms,
            settling=self._settling,
            progress=self.progress,
            may_start=self._may_start,
            terms=HostTerms(self._terms.max_errors_in_a_row, self._terms.track),
            run_id=self.run_id,
        )
        self._crawls[asyncio.create_task(crawl.run(), name=f"crawl {host.name}")] = crawl
        self.progress.hosts_active = len(self._crawls)

    def _finish(self, task: asyncio.Task[HostLineInSummary]) -> None:
        crawl = self._crawls.pop(task)
        self._board.drop(crawl.host_name)
        self.progress.hosts_active = len(self._crawls)
        self.progress.hosts_done += 1
        if not task.cancelled():
            self._lines.append(task.result())

    def _may_start(self, host: LeasedHost) -> Exhausted | None:
        """Ask the budgets for one more page, and count it as begun if they allow it."""
        limit = host.lease.max_pages_per_run if self._terms.per_host_budget else 0
        per_host = min(value for value in (limit, self._terms.budget.pages_per_host, 10**12) if value)
        budget = replace(self._terms.budget, pages_per_host=per_host if per_host < 10**12 else 0)
        verdict = check(budget, replace(self._spent, host_pages=host.tally.begun), self._clock.seconds())
        if isinstance(verdict, Exhausted):
            if is_run_budget(verdict.reason):
                self._end_run("finished", str(verdict.reason))
            return verdict
        warned = self._spent.warned
        if isinstance(verdict, BudgetWarning):
            self.progress.warnings.append(verdict.sentence)
            warned = warned | {verdict.reason}
        host.tally.begun += 1
        self._spent = replace(self._spent, pages=self._spent.pages + 1, warned=warned)
        return None

    def _end_run(self, status: str, reason: str) -> None:
        if self._ending is None:
            self._ending = (status, reason)
            for crawl in self._crawls.values():
                crawl.stop()
            self._wake.set()

    def _on_settled(self, result: Settled) -> None:
        self.progress.bytes_received += result.received
        found = sum(result.new_links.values())
        self.progress.links_found += found
        self.progress.queued += found - result.taken_off
        self._spent = replace(self._spent, bytes_received=self.progress.bytes_received)

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._leases.terms.renew_every_s)
            await self._board.heartbeat()

    async def _watch(self) -> None:
        """Operators' edits (policies, takedowns) take effect while the crawl goes on."""
        while True:
            await self._board.refresh_policies()
            self._takedowns = await self._thread.run(self._read_takedowns)
            await self._board.release_guests()
            self.progress.hosts_blocked, self.progress.hosts_waiting = self._board.standing(self._clock.seconds())
            await asyncio.sleep(_WATCH_EVERY_S)

    def _read_takedowns(self) -> Takedowns:
        with self._database.read() as connection:
            return Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))

    def _open_run(self) -> None:
        """Take over what dead processes of this machine left, and note that the run starts."""
        self._leases.free_own_dead()
        page_store.recover(self._store.folder, is_dead_store_name, self._committed)
        with self._database.write() as connection:
            runs.begin(
                connection,
                self.run_id,
                door="crawl",
                holder=self._leases.holder,
                settings=self._terms.settings_shown or {},
                now=self._clock.now(),
            )
        self._takedowns = self._read_takedowns()

    def _committed(self, batch: Collection[PageRecord]) -> list[bool]:
        with self._database.read() as connection:
            found = {
                (run_id, *visit)
                for run_id in {record.run_id for record in batch}
                for visit in records.committed(connection, run_id, [record.url_key for record in batch])
            }
        return [(record.run_id, record.url_key, from_seconds(record.crawl_time)) in found for record in batch]

    async def _close_run(self, status: str, reason: str) -> None:
        await self._board.release_guests(idle_only=False)
        await self._thread.run(self._store.roll)
        await self._thread.run(self._write_end, status, reason)
        self._thread.close()

    def _write_end(self, status: str, reason: str) -> None:
        with self._database.write() as connection:
            runs.end(connection, self.run_id, status=status, reason=reason[:50], now=self._clock.now())

    def _summary(self, status: str, reason: str) -> RunSummary:
        progress = self.progress
        return RunSummary(
            run_id=str(self.run_id),
            status=status,
            reason=reason,
            pages=progress.pages,
            errors=progress.errors,
            refused=progress.refused,
            bytes_received=progress.bytes_received,
            seconds=self._clock.seconds() - progress.started_at,
            hosts=tuple(sorted(self._lines, key=lambda line: line.host)),
            warnings=tuple(progress.warnings),
        )
