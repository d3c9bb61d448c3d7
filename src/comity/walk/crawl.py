"""The conductor of a whole-site crawl: leases hosts, crawls them side by side, settles, and ends cleanly.

Everything runs on one event loop; the database has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from math import inf
from typing import Final
from uuid import UUID, uuid4

from comity.clock import Clock
from comity.database.connection import Database
from comity.fetch.fetcher import Fetcher
from comity.leases.room import Leases
from comity.model.budget import BudgetReason, Exhausted
from comity.model.errors import LeaseLost
from comity.model.host import HostStatus
from comity.model.outcome import Fetched, Outcome, Postponed
from comity.rules.takedown import Takedowns
from comity.store import pages as page_store
from comity.walk.capacity import Capacity
from comity.walk.crawl_host import WINDOW, HostDesk
from comity.walk.crawl_terms import CrawlTerms
from comity.walk.database_thread import DatabaseThread
from comity.walk.dispatch import Dispatcher
from comity.walk.host_board import HostBoard
from comity.walk.leased_host import PATIENCE_S, LeasedHost
from comity.walk.progress import HostLineInSummary, Progress, RunSummary, note_outcome, summary_of
from comity.walk.request import Requests
from comity.walk.robots_keeper import RobotsKeeper
from comity.walk.run_budget import RunBudget
from comity.walk.run_desk import RunDesk
from comity.walk.settle import RetryTerms, Settled, Settler
from comity.walk.settling import Settling
from comity.walk.visit import VisitRooms

_WATCH_EVERY_S: Final = 0.2
_LOOK_EVERY_S: Final = 0.02
_GRACE_S: Final = 30.0
_OPEN: Final = (HostStatus.PENDING, HostStatus.ACTIVE)
_UNREAD_ENOUGH: Final = 20  # URLs put off for want of robots.txt, after which the rest need not be looked at


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
        self._fetcher = fetcher
        self._store = store
        self._clock = clock
        self._terms = terms
        self._remaining = set(hosts) if hosts is not None else None
        self._takedowns = Takedowns()
        self._thread = DatabaseThread()
        self._board = HostBoard(database, self._thread, leases, clock, chance, terms.profile)
        self._run_desk = RunDesk(database, leases, store, clock, self.run_id)
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
            robots=self._robots_keeper(requests),
            host_of=self._board.host_of,
            takedowns=self._takedowns_now,
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
        self._budget = RunBudget(
            terms.budget, clock.seconds, self.progress.warnings, bounds_hosts=terms.per_host_budget
        )
        self._ending: tuple[str, str] | None = None
        self._open: dict[LeasedHost, int] = {}  # pages that each had before this run
        self._closing: dict[LeasedHost, asyncio.Task[None]] = {}
        self._lines: list[HostLineInSummary] = []
        self._begun: dict[str, int] = {}  # pages that this run began of hosts it gave back
        self._left: set[str] = set()  # hosts that this run will not take again
        self._wake = asyncio.Event()

    def _robots_keeper(self, requests: Requests) -> RobotsKeeper:
        terms, seconds = self._terms, self._clock.seconds
        alike = terms.scope.collapse_subdomains
        takedowns = self._takedowns_now
        return RobotsKeeper(self._database, self._thread, requests, terms.robots, seconds, takedowns, collapse=alike)

    def _takedowns_now(self) -> Takedowns:
        return self._takedowns

    def stop(self, reason: str = "stopped by the operator") -> None:
        """Start nothing more; finish what is in flight, settle it, and give the leases back."""
        self._end_run("stopped", reason)

    async def run(self) -> RunSummary:
        """Crawl until nothing is left, a budget is spent, or somebody stops it."""
        self._takedowns = await self._thread.run(self._run_desk.open, self._terms.settings_shown or {})
        background = [
            asyncio.create_task(self._settling.run()),
            asyncio.create_task(self._keep_leases()),
            asyncio.create_task(self._watch()),
        ]
        status, reason = "failed", "ended by an error"
        try:
            await self._conduct(background)
            await self._settling.flush()
            status, reason = self._ending or ("finished", "nothing left to visit")
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await self._dispatcher.cancel()
            await asyncio.gather(*self._closing.values(), return_exceptions=True)
            await self._close_run(status, reason)
        return summary_of(self.progress, str(self.run_id), status, reason, self._lines, self._clock.seconds())

    async def _conduct(self, background: list[asyncio.Task[None]]) -> None:
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
            done, _rest = await asyncio.wait([*background, wake], return_when=asyncio.FIRST_COMPLETED, timeout=timeout)
            wake.cancel()
            self._wake.clear()
            for task in done:
                if task in background:
                    task.result()  # it only ends by failing, and its failure is the run's
            if self._dispatcher.failure is not None:
                raise self._dispatcher.failure
            if self._clock.seconds() >= ends_at:
                await self._dispatcher.cancel()
                for host in list(self._open):
                    self._close(host)

    async def _take_hosts(self) -> None:
        """Lease more hosts while there is room for them."""
        # A host that waits for its delay holds no connection, so more hosts than connections can be under way.
        free = max(64, self._terms.concurrency * 4) - len(self._open) - len(self._closing)
        while free > 0 and (self._remaining is None or self._remaining):
            claimed = await self._claim(free)
            if not claimed:
                if not await self._board.release_guests(idle_only=bool(self._open or self._closing)):
                    return
                continue  # a host that is to be crawled may have been a guest until now
            for host in claimed:
                await self._begin(host)
            free -= len(claimed)
            self.progress.hosts_active = len(self._open)
            self._dispatcher.serve()

    async def _begin(self, host: LeasedHost) -> None:
        """Open a host that was leased just now."""
        if self._remaining is not None:
            self._remaining.discard(host.name)
        host.tally.begun = self._begun.get(host.name, 0)
        try:
            before, queued = await self._thread.run(self._desk.open, host)
        except LeaseLost:
            self._board.drop(host.name)
            self._lines.append(HostLineInSummary(host.name, "lease lost", 0, 0, 0, "another worker took over"))
            return
        self._open[host] = before
        self.progress.queued += queued
        self._dispatcher.ready(host)

    async def _claim(self, limit: int) -> list[LeasedHost]:
        """Candidates from the table; or, with claims turned off, the named hosts that are open."""
        if self._terms.claims or self._remaining is None:
            claimed = await self._board.claim(limit, self._remaining, smart=self._terms.smart)
        else:
            named = sorted(self._remaining)[:limit]
            self._remaining.difference_update(named)
            claimed = await self._board.take(named)
        fresh = [host for host in claimed if host.name not in self._left and host.lease.status in _OPEN]
        for host in claimed:
            if host not in fresh:
                await self._board.give_back(host)
        return fresh

    def _on_outcome(self, host: LeasedHost, outcome: Outcome) -> None:
        """A visit ended: count it, keep its links at hand, and hand it over to be settled."""
        note_outcome(host, outcome, self.progress)
        tally = host.tally
        is_closed = tally.robots_unread >= _UNREAD_ENOUGH and not tally.pages
        if is_closed or tally.errors_in_a_row >= self._terms.max_errors_in_a_row:
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
        self._budget.receive(progress.bytes_received)
        self._dispatcher.serve()

    def _on_dry(self, host: LeasedHost) -> None:
        """A host has nothing at hand: read on, wait for what is put off, or close it."""
        if host not in self._open or host in self._closing:
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
            if at is None or at - self._clock.seconds() > PATIENCE_S:
                self._close(host)
            else:
                self._dispatcher.ready_at(host, at)

    async def _read_on(self, host: LeasedHost) -> None:
        """Bring the next URLs of a host to hand."""
        rows, later = await self._thread.run(self._desk.read_on, host)
        if not host.work.read(rows, is_whole=len(rows) < WINDOW and later is None):
            put_off = [at for at in (host.work.next_at(), later.timestamp() if later else None) if at is not None]
            if put_off and min(put_off) - self._clock.seconds() <= PATIENCE_S and not host.is_stopped:
                self._dispatcher.ready_at(host, min(put_off))
                return
            host.work.has_more = False  # what is left is put off for longer than we wait
        self._dispatcher.ready(host)

    def _close(self, host: LeasedHost) -> None:
        """Give a host back, once."""
        if host in self._open and host not in self._closing:
            self._closing[host] = asyncio.create_task(self._give_back(host))
            self._closing[host].add_done_callback(lambda task: self._after(host, task))

    async def _give_back(self, host: LeasedHost) -> None:
        before = self._open[host]
        self._dispatcher.forget(host)
        host.close()
        while host.gate.in_flight:  # noqa: ASYNC110  # rare: somebody was redirected here, and the gate has no event
            await asyncio.sleep(_LOOK_EVERY_S)
        await self._settling.flush(host)
        line = await self._thread.run(self._desk.close, host, before)
        del self._open[host]
        self._begun[host.name] = host.tally.begun
        if host.waits_until is None:
            self._left.add(host.name)
        self._board.drop(host.name)
        self._fetcher.forget_host(host.name)  # its connections were ours for as long as its lease
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
        spent = self._budget.begin_page(host)
        if spent is not None:
            self._end_by_budget(host, spent)
        return spent is None

    def _end_by_budget(self, host: LeasedHost | None, spent: Exhausted) -> None:
        """One host's part of the run is over, or the whole run is: then everybody knows why."""
        if host is not None:
            host.spent_budget = spent
            host.is_stopped = True
        if spent.reason is not BudgetReason.HOST_PAGE_LIMIT and self._ending is None:
            for other in self._open:
                other.spent_budget = other.spent_budget or spent
            self._end_run("finished", str(spent.reason))

    def _end_run(self, status: str, reason: str) -> None:
        if self._ending is None:
            self._ending = (status, reason)
            waits = reason == BudgetReason.PAGE_LIMIT  # pages that were begun count, and are finished
            for host in self._open:
                host.is_stopped = True
                if not waits:
                    host.close()
                self._dispatcher.ready(host)
            if not waits:
                self._board.close_guests()
            asyncio.get_running_loop().call_soon(self._dispatcher.serve)
            self._wake.set()

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._leases.terms.renew_every_s)
            self._look_again(await self._board.heartbeat())

    async def _watch(self) -> None:
        """Operators' edits (policies, takedowns) take effect while the crawl goes on."""
        while True:
            self._look_again(await self._board.refresh_policies())
            self._takedowns = await self._thread.run(self._run_desk.takedowns)
            await self._board.release_guests()
            self.progress.hosts_blocked, self.progress.hosts_waiting = self._board.standing(self._clock.seconds())
            spent = self._budget.time_is_up()  # also where all hosts wait and none would ask
            if spent is not None:
                self._end_by_budget(None, spent)
            await asyncio.sleep(_WATCH_EVERY_S)

    def _look_again(self, hosts: list[LeasedHost]) -> None:
        """Something changed for hosts that may be waiting for a time that is not right any more."""
        for host in hosts:
            if host in self._open:
                self._dispatcher.ready(host)
        if hosts:
            self._dispatcher.serve()

    async def _close_run(self, status: str, reason: str) -> None:
        """Give everything back and note the end; what fails here is told unless something failed before."""
        problem: Exception | None = None
        for step in (self._give_everything_back(), self._thread.run(self._store.close)):
            try:
                await step
            except Exception as error:
                problem = problem or error
        if problem is not None and status != "failed":
            status, reason = "failed", f"{type(problem).__name__}: {problem}"
        elif problem is not None:
            problem = None
        try:
            await self._thread.run(self._run_desk.close, status, reason)
        except Exception as error:
            problem = problem or error
        self._thread.close()
        if problem is not None:
            raise problem

    async def _give_everything_back(self) -> None:
        for host in list(self._open):  # only a run that failed has any left
            await self._board.give_back(host)
        await self._board.release_guests(idle_only=False)
