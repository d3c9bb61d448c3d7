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
from comity.extract.apart import ApartReader
from comity.fetch.fetcher import Fetcher
from comity.frontier.at_hand import KEYS_MOST
from comity.leases.room import Leases
from comity.model.budget import BudgetReason, Exhausted
from comity.model.outcome import Fetched, Outcome, Postponed
from comity.rules.takedown import Takedowns
from comity.store.images import ImageStore
from comity.store.sink import PageSink
from comity.walk.capacity import Capacity
from comity.walk.crawl_hooks import NO_HOOKS, CrawlHooks
from comity.walk.crawl_host import HostDesk
from comity.walk.crawl_terms import CrawlTerms
from comity.walk.database_thread import DatabaseThread
from comity.walk.dispatch import Dispatcher
from comity.walk.host_board import HostBoard
from comity.walk.leased_host import LeasedHost
from comity.walk.open_hosts import OpenHosts
from comity.walk.progress import Progress, RunSummary, note_outcome, summary_of
from comity.walk.read_sitemaps import SitemapReader
from comity.walk.request import Requests
from comity.walk.robots_keeper import RobotsKeeper
from comity.walk.run_budget import RunBudget
from comity.walk.run_desk import RunDesk
from comity.walk.settle import RetryTerms, Settled, Settler
from comity.walk.settling import Settling
from comity.walk.visit_rooms import VisitRooms

_WATCH_EVERY_S: Final = 0.2
_GRACE_S: Final = 30.0
_UNREAD_ENOUGH: Final = 20  # URLs put off for want of robots.txt, after which the rest need not be looked at


class Crawl:
    """One run. `hosts` bounds which candidates it takes; None takes whatever the table offers."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        fetcher: Fetcher,
        store: PageSink,
        clock: Clock,
        chance: Callable[[], float],
        terms: CrawlTerms,
        hosts: Collection[str] | None,
        hooks: CrawlHooks = NO_HOOKS,
        images: ImageStore | None = None,
    ) -> None:
        self.run_id: UUID = hooks.run_id or uuid4()
        self._hooks = hooks
        self._wake = asyncio.Event()
        self._apart = ApartReader()
        self.progress = Progress(clock.seconds())
        self._database = database
        self._leases = leases
        self._fetcher = fetcher
        self._store = store
        self._clock = clock
        self._terms = terms
        self._takedowns = Takedowns()
        self._thread = DatabaseThread()
        self._board = HostBoard(database, self._thread, leases, clock, chance, terms.profile)
        self._run_desk = RunDesk(database, leases, store, clock, self.run_id, is_part=hooks.run_id is not None)
        capacity = Capacity(terms.concurrency)
        requests = Requests(fetcher, capacity, clock.seconds)
        settler = self._settler(images)
        self._settling = Settling(settler, self._thread, self._on_settled)
        self._hosts = OpenHosts(
            self._board,
            self._host_desk(hosts),
            self._thread,
            self._settling,
            fetcher,
            clock,
            terms,
            self.progress,
            hosts,
            lambda: self._wake.set(),
            hooks.hosts,
        )
        rooms = self._visit_rooms(requests)
        sitemaps = SitemapReader(rooms, self._settling, terms.sitemap_bounds, self._on_listed)
        self._dispatcher = Dispatcher(
            rooms,
            capacity,
            clock.seconds,
            may_begin=self._may_begin,
            is_full=lambda: self._settling.is_full or (self._ending is None and hooks.is_held_up()),
            on_outcome=self._on_outcome,
            on_dry=self._hosts.on_dry,
            read_sitemaps=sitemaps.read,
        )
        self._dispatcher.on_failure = lambda: self._wake.set()
        self._hosts.dispatcher = self._dispatcher
        self._budget = RunBudget(
            terms.budget,
            clock.seconds,
            self.progress.warnings,
            bounds_hosts=terms.per_host_budget,
            shared=hooks.begin_page,
        )
        self._ending: tuple[str, str] | None = None
        self.unsettled = 0  # outcomes that are not yet committed

    def _settler(self, images: ImageStore | None) -> Settler:
        terms = self._terms
        return Settler(
            self._database,
            self._leases,
            self._store,
            self.run_id,
            self._clock.now,
            RetryTerms(terms.retry_limit),
            images,
            finds_images=terms.images,
            refresh=terms.refresh,
            track=terms.track,
        )

    def _host_desk(self, hosts: Collection[str] | None) -> HostDesk:
        terms = self._terms
        share = terms.most_hosts if hosts is None else max(1, min(terms.most_hosts, len(hosts)))
        return HostDesk(
            self._database,
            self._leases,
            self._clock,
            self.run_id,
            max_errors_in_a_row=terms.max_errors_in_a_row,
            track=terms.track,
            traps=terms.traps,
            sitemaps=terms.scope.sitemaps and terms.scope.max_depth > 0,
            refresh=terms.refresh,
            images=terms.images,
            links_remembered=min(KEYS_MOST, max(5_000, terms.links_remembered // share)),
        )

    def _visit_rooms(self, requests: Requests) -> VisitRooms:
        terms = self._terms
        self._robots = self._robots_keeper(requests)
        return VisitRooms(
            requests=requests,
            robots=self._robots,
            host_of=self._board.host_of,
            takedowns=self._takedowns_now,
            clock=self._clock.seconds,
            scope=terms.scope,
            tracking=terms.tracking,
            extract=self._hooks.extract,
            apart=self._apart,
            limits=terms.limits,
            agent=terms.agent,
            max_redirects=terms.max_redirects,
            finds_images=terms.images,
            image_limits=terms.image_limits,
        )

    def _robots_keeper(self, requests: Requests) -> RobotsKeeper:
        terms, seconds = self._terms, self._clock.seconds
        alike = terms.scope.collapse_subdomains
        takedowns = self._takedowns_now
        return RobotsKeeper(self._database, self._thread, requests, terms.robots, seconds, takedowns, collapse=alike)

    def _takedowns_now(self) -> Takedowns:
        return self._takedowns

    @property
    def unsettled_bytes(self) -> int:
        """Bodies that are not yet committed."""
        return self._settling.bytes_held

    def go_on(self) -> None:
        """Whoever takes the pages has caught up."""
        self._dispatcher.serve()

    def stop(self, reason: str = "stopped by the operator") -> None:
        """Start nothing more; finish what is in flight, settle it, and give the leases back."""
        self._end_run("stopped", reason)

    def end_by(self, spent: Exhausted) -> None:
        """A budget that is shared with other processes is spent."""
        self._end_by_budget(None, spent)

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
            await self._robots.cancel()
            await self._hosts.finish()
            await self._apart.close()
            await self._close_run(status, reason)
        return summary_of(self.progress, str(self.run_id), status, reason, self._hosts.lines, self._clock.seconds())

    async def _conduct(self, background: list[asyncio.Task[None]]) -> None:
        """Keep as many hosts under way as the terms allow; end when there are none."""
        ends_at = inf
        while True:
            if self._ending is None:
                await self._hosts.take_more()
            elif ends_at == inf:
                ends_at = self._clock.seconds() + _GRACE_S
            if not self._hosts:
                return
            wake = asyncio.create_task(self._wake.wait())
            timeout = None if ends_at == inf else max(_WATCH_EVERY_S, ends_at - self._clock.seconds())
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
                await self._robots.cancel()
                for host in self._hosts:
                    self._hosts.close(host)

    def _on_outcome(self, host: LeasedHost, outcome: Outcome) -> None:
        """A visit ended: count it, keep its links at hand, and hand it over to be settled."""
        note_outcome(host, outcome, self.progress)
        tally = host.tally
        is_closed = tally.robots_unread >= _UNREAD_ENOUGH and not tally.pages
        if is_closed or tally.errors_in_a_row >= self._terms.max_errors_in_a_row:
            host.is_stopped = True
        if isinstance(outcome, Fetched) and outcome.links:
            host.work.found(outcome.links)
        if isinstance(outcome, Fetched) and outcome.new_images:
            host.work.has_images = True
        self.unsettled += 1
        self._settling.put(host, outcome)

    def _on_listed(self, host: LeasedHost) -> None:
        """A sitemap brought URLs to hand."""
        self._dispatcher.ready(host)
        self._dispatcher.serve()

    def _on_settled(self, taken: dict[LeasedHost, list[Outcome]], result: Settled) -> None:
        """A batch is committed: what was put off comes back later, what was lost stops."""
        lost = {lease.host_id for lease in result.lost}
        for host, outcomes in taken.items():
            self.unsettled -= len(outcomes)
            for outcome in outcomes:
                host.work.settled(outcome.entry.key)
                if isinstance(outcome, Postponed) and outcome.not_before is None:
                    host.work.has_more = True
            for entry, until in result.put_off.get(host.lease.host_id, ()):
                host.work.put_off(entry, until)
            if host.lease.host_id in lost:
                host.lose_lease()
            elif host.lease.host_id in result.has_more:
                host.work.has_more = True
            if host in self._hosts:
                self._dispatcher.ready(host)
        if self._hooks.on_settled is not None:
            held = [outcome for host, each in taken.items() if host.lease.host_id not in lost for outcome in each]
            self._hooks.on_settled(held)
        progress = self.progress
        progress.bytes_received += result.received
        progress.links_found += result.links
        progress.images_found += result.images_found
        progress.images_stored += result.images_stored
        progress.queued += result.links + result.images_queued + sum(result.requeued.values()) - result.taken_off
        self._budget.receive(progress.bytes_received)
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
            self._hosts.spent_budget = spent  # also of those that are being opened just now
            for other in self._hosts:
                other.spent_budget = other.spent_budget or spent
            self._end_run("finished", str(spent.reason))

    def _end_run(self, status: str, reason: str) -> None:
        if self._ending is None:
            self._ending = (status, reason)
            self._hosts.is_ending = True
            waits = reason == BudgetReason.PAGE_LIMIT  # pages that were begun count, and are finished
            for host in self._hosts:
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
            self.progress.begun = self._budget.pages
            self.progress.hosts_blocked, self.progress.hosts_waiting = self._board.standing(self._clock.seconds())
            spent = self._budget.time_is_up()  # also where all hosts wait and none would ask
            if spent is not None:
                self._end_by_budget(None, spent)
            await asyncio.sleep(_WATCH_EVERY_S)

    def _look_again(self, hosts: list[LeasedHost]) -> None:
        """Something changed for hosts that may be waiting for a time that is not right any more."""
        for host in hosts:
            if host in self._hosts:
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
        for host in list(self._board.hosts.values()):  # only a run that failed has any left, opened or not
            await self._board.give_back(host)
        await self._board.release_guests(idle_only=False)
