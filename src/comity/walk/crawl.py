"""The conductor of a whole-site crawl: leases hosts, crawls them side by side, settles, and ends cleanly.

Everything runs on one event loop; the database has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final
from uuid import UUID, uuid4

from comity.clock import Clock
from comity.database import records, runs
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.instants import from_seconds
from comity.fetch.fetcher import Fetcher
from comity.fetch.inflate import inflate_coded
from comity.leases.holder import is_dead_store_name
from comity.leases.room import Leases
from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.model.fetch import FetchLimits
from comity.model.gate import DoorProfile
from comity.model.outcome import Fetched, Outcome, Postponed
from comity.model.page_record import PageRecord
from comity.model.scope import CrawlScope
from comity.rules.budget import check
from comity.rules.takedown import Takedowns
from comity.store import pages as page_store
from comity.walk.capacity import Capacity
from comity.walk.crawl_host import WINDOW, HostDesk
from comity.walk.database_thread import DatabaseThread
from comity.walk.dispatch import Dispatcher
from comity.walk.host_board import HostBoard
from comity.walk.leased_host import LeasedHost
from comity.walk.progress import HostLineInSummary, Progress, RunSummary, note_outcome
from comity.walk.request import Requests
from comity.walk.robots_keeper import RobotsKeeper, RobotsTerms
from comity.walk.settle import RetryTerms, Settled, Settler
from comity.walk.settling import Settling
from comity.walk.visit import VisitRooms

_WATCH_EVERY_S: Final = 0.2
_GRACE_S: Final = 30.0
_PATIENCE_S: Final = 60.0  # a host whose next URL is further away than this is given back meanwhile


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
        self._desk = HostDesk(
            database,
            leases,
            clock,
            self.run_id,
            max_errors_in_a_row=terms.max_errors_in_a_row,
            track=terms.track,
        )
        capacity = Capacity(terms.concurrency)
        requests = Requests(fetcher, capacity, clock.seconds)
        retries = RetryTerms(terms.retry_limit)
        settler = Settler(database, leases, store, self.run_id, clock.now, retries, track=terms.track)
        self._settling = Settling(settler, self._thread, self._on_settled)
        rooms = VisitRooms(
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
        self._dispatcher = Dispatcher(
            rooms,
            capacity,
            clock.seconds,
            may_begin=self._may_begin,
            is_full=lambda: self._settling.is_full,
            on_outcome=self._on_outcome,
            on_dry=self._on_dry,
        )
        self._dispatcher.on_failure = lambda: self._wake.set()
        self._spent = Spent(clock.seconds())
        self._ending: tuple[str, str] | None = None
        self._open: dict[LeasedHost, int] = {}  # pages that each had before this run
        self._closing: dict[LeasedHost, asyncio.Task[None]] = {}
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
        status, reason = "failed", "ended by an error"
        try:
            await self._conduct(helpers)
            await self._settling.flush()
            status, reason = self._ending or ("finished", "nothing left to visit")
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            raise
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self._dispatcher.cancel()
            await self._close_run(status, reason)
        return self._summary(status, reason)

    async def _conduct(self, helpers: list[asyncio.Task[None]]) -> None:
        """Keep as many hosts under way as the terms allow; end when there are none."""
        ends_at = inf
        while True:
            if self._ending is None:
                await self._take_hosts()
            elif ends_at == inf:
                ends_at = self._clock.seconds() + _GRACE_S
            if not self._open and not self._closing:
                return
            wake = asyncio.create_task(self._wake.wait())
            timeout = None if ends_at == inf else max(0.0, ends_at - self._clock.seconds())
            done, _rest = await asyncio.wait([*helpers, wake], return_when=asyncio.FIRST_COMPLETED, timeout=timeout)
            wake.cancel()
            self._wake.clear()
            for task in done:
                if task in helpers:
                    task.result()  # a helper only ends by failing, and its failure is the run's
            if self._dispatcher.failure is not None:
                raise self._dispatcher.failure
            if self._clock.seconds() >= ends_at:
                await self._dispatcher.cancel()
                for host in list(self._open):
                    self._close(host)

    async def _take_hosts(self) -> None:
        """Lease more hosts while there is room for them."""
        free = self._hosts_at_once() - len(self._open) - len(self._closing)
        while free > 0 and (self._remaining is None or self._remaining):
            claimed = await self._claim(free)
            if not claimed:
                await self._board.release_guests()
                return
            for host in claimed:
                if self._remaining is not None:
                    self._remaining.discard(host.name)
                before, queued = await self._thread.run(self._desk.open, host)
                self._open[host] = before
                self.progress.queued += queued
                self._dispatcher.ready(host)
            free -= len(claimed)
            self.progress.hosts_active = len(self._open)
            self._dispatcher.serve()

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

    def _on_outcome(self, host: LeasedHost, outcome: Outcome) -> None:
        """A visit ended: count it, keep its links at hand, and hand it over to be settled."""
        note_outcome(host, outcome, self.progress)
        if host.tally.errors_in_a_row >= self._terms.max_errors_in_a_row:
            host.is_stopped = True
        if isinstance(outcome, Fetched) and outcome.links:
            host.work.found(outcome.links)
        self._settling.put(host, outcome)

    def _on_settled(self, taken: dict[LeasedHost, list[Outcome]], result: Settled) -> None:
        """A batch is committed: what was put off comes back later, what was lost stops."""
        lost = {lease.host_id for lease in result.lost}
        for host, outcomes in taken.items():
            for outcome in outcomes:
                host.work.settled(outcome.entry.key)
                if isinstance(outcome, Postponed) and outcome.not_before is None:
                    host.work.has_more = True
            for entry, until in result.put_off.get(host.lease.host_id, ()):
                host.work.put_off(entry, until)
            if host.lease.host_id in lost:
                host.lose_lease()
            if host in self._open:
                self._dispatcher.ready(host)
        progress = self.progress
        progress.bytes_received += result.received
        progress.links_found += result.links
        progress.queued += result.links - result.taken_off
        self._spent = replace(self._spent, bytes_received=progress.bytes_received)
        self._dispatcher.serve()

    def _on_dry(self, host: LeasedHost) -> None:
        """A host has nothing at hand: read on, wait for what is put off, or close it."""
        if host not in self._open:
            return
        if host.is_stopped or self._ending is not None:
            self._close(host)
        elif self._settling.is_waiting(host):
            return  # its links may be on their way; settling brings it back
        elif host.work.has_more:
            self._closing[host] = asyncio.create_task(self._read_on(host))
            self._closing[host].add_done_callback(lambda task: self._after(host, task))
        else:
            at = host.work.next_at()
            if at is None or at - self._clock.seconds() > _PATIENCE_S:
                self._close(host)
            else:
                self._dispatcher.ready_at(host, at)

    async def _read_on(self, host: LeasedHost) -> None:
        """Bring the next URLs of a host to hand."""
        rows, later = await self._thread.run(self._desk.read_on, host)
        fresh = host.work.read(rows, is_whole=len(rows) < WINDOW)
        if not fresh and later is not None and host.work.next_at() is None:
            seconds = later.timestamp()
            if seconds - self._clock.seconds() <= _PATIENCE_S:
                host.work.has_more = True
                self._dispatcher.ready_at(host, seconds)
                return
        self._dispatcher.ready(host)

    def _close(self, host: LeasedHost) -> None:
        """Give a host back, once."""
        if host in self._open and host not in self._closing:
            self._closing[host] = asyncio.create_task(self._give_back(host))
            self._closing[host].add_done_callback(lambda task: self._after(host, task))

    async def _give_back(self, host: LeasedHost) -> None:
        before = self._open[host]
        self._dispatcher.forget(host)
        await self._settling.flush(host)
        line = await self._thread.run(self._desk.close, host, before)
        del self._open[host]
        self._board.drop(host.name)
        self._lines.append(line)
        self.progress.hosts_active = len(self._open)
        self.progress.hosts_done += 1

    def _after(self, host: LeasedHost, task: asyncio.Task[None]) -> None:
        """A host was read on or given back."""
        self._closing.pop(host, None)
        if not task.cancelled() and task.exception() is not None:
            self._dispatcher.failure = self._dispatcher.failure or task.exception()
        self._wake.set()
        self._dispatcher.serve()

    def _may_begin(self, host: LeasedHost) -> bool:
        """Ask the budgets for one more page, and count it as begun if they allow it."""
        budget = self._budget_of(host)
        verdict = check(budget, replace(self._spent, host_pages=host.tally.begun), self._clock.seconds())
        if isinstance(verdict, Exhausted):
            host.spent_budget = verdict
            host.is_stopped = True
            if verdict.reason is not BudgetReason.HOST_PAGE_LIMIT:
                self._end_run("finished", str(verdict.reason))
            return False
        if isinstance(verdict, BudgetWarning):
            self.progress.warnings.append(verdict.sentence)
            self._spent = replace(self._spent, warned=self._spent.warned | {verdict.reason})
        self._spent = replace(self._spent, pages=self._spent.pages + 1)
        return True

    def _budget_of(self, host: LeasedHost) -> Budget:
        budget = self._terms.budget
        limit = host.lease.max_pages_per_run if self._terms.per_host_budget else None
        if not limit or (budget.pages_per_host and budget.pages_per_host <= limit):
            return budget
        return replace(budget, pages_per_host=limit)

    def _end_run(self, status: str, reason: str) -> None:
        if self._ending is None:
            self._ending = (status, reason)
            for host in self._open:
                host.is_stopped = True
                self._dispatcher.ready(host)
            asyncio.get_running_loop().call_soon(self._dispatcher.serve)
            self._wake.set()

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
        page_store.recover(self._store.folder, is_dead_store_name, self._committed, inflate_coded)
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
        await self._thread.run(self._store.close)
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
