"""The conductor of a whole-site crawl: leases hosts, crawls them side by side, settles, and ends cleanly.

Everything runs on one event loop; the database has a thread of its own, and so has a frontier on its own server:
one that hangs keeps no lease from being renewed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from math import inf
from typing import Final
from uuid import UUID, uuid4

from comity.clock import Clock
from comity.database.connection import Database
from comity.extract.apart import ApartReader
from comity.fetch.fetcher import Fetcher
from comity.frontier.at_hand import KEYS_MOST
from comity.frontier.store import FrontierStore, FrontierUnavailable
from comity.leases.room import Leases
from comity.model.budget import Exhausted
from comity.model.end_reason import EndReason
from comity.model.gate import WaitReason
from comity.model.outcome import Fetched, Outcome, Postponed
from comity.rules.takedown import Takedowns
from comity.store.images import ImageStore
from comity.store.sink import PageSink
from comity.walk.crawl.budget import RunBudget, Spending
from comity.walk.crawl.dispatcher import Dispatcher
from comity.walk.crawl.hooks import NO_HOOKS, CrawlHooks, Duty
from comity.walk.crawl.host_lifecycle import HostLifecycle
from comity.walk.crawl.hosts import OpenHosts
from comity.walk.crawl.metering import RunMeter
from comity.walk.crawl.progress import Progress, RunSummary, forget_outcomes, note_outcome
from comity.walk.crawl.retrying_thread import RetryingThread
from comity.walk.crawl.run_record import RunRecord
from comity.walk.crawl.settling import Settling
from comity.walk.crawl.summary import RunEnd
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.read_sitemaps import SitemapReader
from comity.walk.request import Requests
from comity.walk.robots_keeper import RobotsKeeper
from comity.walk.session.capacity import Capacity
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.session.leased_host import LeasedHost
from comity.walk.settle import RetryTerms, Settled, Settler
from comity.walk.visit_rooms import VisitRooms

# What a run builds from its terms: who settles its outcomes, who opens its hosts, what its visits ask.


def settler_for(
    terms: CrawlTerms,
    hooks: CrawlHooks,
    run_id: UUID,
    frontier: FrontierStore,
    leases: Leases,
    store: PageSink,
    images: ImageStore | None,
    clock: Clock,
) -> Settler:
    """Who turns the outcomes of a run into rows."""
    return Settler(
        frontier,
        leases,
        store,
        run_id,
        clock.now,
        RetryTerms(terms.profile.retry_limit, terms.profile.max_retry_backoff_s),
        images,
        finds_images=terms.images,
        refresh=terms.refresh,
        track=terms.track,
        waits_for_room=hooks.waits_for_room,
    )


def budget_for(terms: CrawlTerms, hooks: CrawlHooks, clock: Clock, warnings: list[str]) -> RunBudget:
    """What a run, and each of its hosts, may spend."""
    return RunBudget(
        terms.budget,
        clock.seconds,
        warnings,
        bounds_hosts=terms.per_host_budget,
        host_pages=terms.pages_per_host,
        shared=hooks.pages,
    )


def host_desk_for(
    terms: CrawlTerms,
    run_id: UUID,
    database: Database,
    frontier: FrontierStore,
    leases: Leases,
    clock: Clock,
    hosts: Collection[str] | None,
) -> HostLifecycle:
    """Who opens and closes the hosts of a run; what is remembered of links is shared among them."""
    share = terms.most_hosts if hosts is None else max(1, min(terms.most_hosts, len(hosts)))
    return HostLifecycle(
        database,
        frontier,
        leases,
        clock,
        run_id,
        max_errors_in_a_row=terms.max_errors_in_a_row,
        track=terms.track,
        traps=terms.traps,
        sitemaps=terms.scope.sitemaps and terms.scope.max_depth > 0,
        max_depth=terms.scope.max_depth,
        leaves_sitemaps=terms.scope.sitemaps and terms.scope.max_depth == 0,
        refresh=terms.refresh,
        images=terms.images,
        makes_way=hosts is None,
        links_remembered=min(KEYS_MOST, max(5_000, terms.links_remembered // share)),
    )


def visit_rooms_for(
    terms: CrawlTerms,
    hooks: CrawlHooks,
    requests: Requests,
    robots: RobotsKeeper,
    board: HeldHosts,
    apart: ApartReader,
    takedowns: Callable[[], Takedowns],
    clock: Clock,
) -> VisitRooms:
    """What every visit of a run asks and uses."""
    return VisitRooms(
        requests=requests,
        robots=robots,
        host_of=board.host_of,
        takedowns=takedowns,
        clock=clock.seconds,
        scope=terms.scope,
        tracking=terms.tracking,
        extract=hooks.extract,
        apart=apart,
        limits=terms.limits,
        agent=terms.agent,
        max_redirects=terms.max_redirects,
        finds_images=terms.images,
        image_limits=terms.image_limits,
    )


_WATCH_EVERY_S: Final = 0.2
_GRACE_S: Final = 25.0  # for what is in flight when a run is stopped; it ends within 30
_FRONTIER_GRACE_S: Final = 15.0  # for a frontier that does not answer then
_RECOVER_EVERY_S: Final = 60.0
_WARNINGS_MOST: Final = 100
_ALL_TAKEN_DOWN: Final = EndReason.TAKEN_DOWN  # why a run that names its hosts is left with none
_UNREAD_ENOUGH: Final = 20  # URLs put off for want of robots.txt, after which the rest need not be looked at


class Crawl:
    """One run. `hosts` bounds which candidates it takes; None takes whatever the table offers."""

    def __init__(
        self,
        database: Database,
        frontier: FrontierStore,
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
        self._frontier = frontier
        self._leases = leases
        self._store = store
        self._clock = clock
        self._terms = terms
        self._takedowns = Takedowns()
        self._thread = DatabaseThread()
        self._frontier_thread = DatabaseThread("comity-frontier") if frontier.has_own_server else self._thread
        self._patience = RetryingThread(
            self._frontier_thread, frontier, clock.seconds, self._on_silence, self._on_rebuilt
        )
        self._patience.waits_for_room = hooks.waits_for_room
        self._board = HeldHosts(database, self._thread, leases, clock, chance, terms.profile)
        self._run_desk = RunRecord(database, leases, store, clock, self.run_id, is_part=hooks.run_id is not None)
        self._capacity = capacity = Capacity(terms.concurrency)
        requests = Requests(fetcher, capacity, clock.seconds, hooks.on_wait)
        settler = settler_for(terms, hooks, self.run_id, frontier, leases, store, images, clock)
        self._settling = Settling(settler, self._patience, self._on_settled)
        self._hosts = OpenHosts(
            self._board,
            host_desk_for(terms, self.run_id, database, frontier, leases, clock, hosts),
            self._patience,
            self._settling,
            fetcher,
            clock,
            terms,
            self.progress,
            hosts,
            lambda: self._wake.set(),
            hooks.hosts,
        )
        alike, takedowns = terms.scope.collapse_subdomains, lambda: self._takedowns
        self._robots = RobotsKeeper(
            database,
            self._thread,
            requests,
            terms.robots,
            clock.seconds,
            takedowns,
            collapse=alike,
            waits_for_keeping=False,
        )
        rooms = visit_rooms_for(terms, hooks, requests, self._robots, self._board, self._apart, takedowns, clock)
        budget = budget_for(terms, hooks, clock, self.progress.warnings)
        self._spending = Spending(budget, self._make_ready, self._end_by_budget)
        self._dispatcher = self._hosts.dispatcher = self._make_dispatcher(rooms, capacity)
        self._hosts.on_close = self._spending.leave
        self._named = hosts
        self._ending: RunEnd | None = None
        self._ends_at = inf  # when what is in flight is given up
        self.unsettled = 0  # outcomes that are not yet committed
        self._meter = RunMeter(hooks.meter, self, clock.seconds, leases.terms.renew_every_s)

    def _make_dispatcher(self, rooms: VisitRooms, capacity: Capacity) -> Dispatcher:
        hooks = self._hooks
        sitemaps = SitemapReader(rooms, self._settling, self._terms.sitemap_bounds, self._on_listed)
        dispatcher = Dispatcher(
            rooms,
            capacity,
            self._clock.seconds,
            spending=self._spending,
            is_full=lambda: self._settling.is_full or (self._ending is None and hooks.is_held_up()),
            on_outcome=self._on_outcome,
            on_dry=self._hosts.on_dry,
            read_sitemaps=sitemaps.read,
        )
        dispatcher.on_failure = lambda: self._wake.set()
        return dispatcher

    @property
    def unsettled_bytes(self) -> int:
        """Bodies that are not yet committed."""
        return self._settling.bytes_held

    @property
    def in_flight(self) -> int:
        """Requests that are under way."""
        return self._terms.concurrency - self._capacity.free

    @property
    def hosts_held(self) -> int:
        """Leases that are held, also of hosts that are only passed through."""
        return self._leases.held_count

    @property
    def gate_waits(self) -> Mapping[WaitReason, int]:
        """How often hosts had to wait for their gates so far."""
        return self._dispatcher.waits

    def go_on(self) -> None:
        """Whoever takes the pages has caught up."""
        self._dispatcher.serve()

    def stop(self, reason: EndReason = EndReason.STOPPED) -> None:
        """Start nothing more; finish what is in flight, settle it, and give the leases back."""
        self._end_run(RunEnd("stopped", reason))

    def end_by(self, spent: Exhausted) -> None:
        """A budget that is shared with other processes is spent."""
        self._spending.end(None, spent)

    async def run(self) -> RunSummary:
        """Crawl until nothing is left, a budget is spent, or somebody stops it."""
        self._takedowns = await self._thread.run(self._run_desk.open, self._terms.settings_shown or {})
        recovery = Duty(_RECOVER_EVERY_S, self._recover)
        background = [
            asyncio.create_task(self._settling.run()),
            asyncio.create_task(self._keep_leases()),
            asyncio.create_task(self._watch()),
            *(asyncio.create_task(duty.repeat()) for duty in (*self._hooks.duties, recovery)),
        ]
        end = RunEnd("failed", EndReason.FAILED)
        self._meter.begin()
        try:
            await self._conduct(background)
            await self._settling.flush()
            await self._robots.flush()
            end = self._ending or RunEnd("finished", None if self._named is None or self._named else _ALL_TAKEN_DOWN)
        except BaseException as error:
            end = RunEnd("failed", EndReason.FAILED, f"{type(error).__name__}: {error}")
            raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            self._patience.ends_at = self._clock.seconds()
            await self._dispatcher.cancel()
            await self._robots.cancel()
            await self._hosts.finish()
            await self._apart.close()
            self._meter.end()
            summary = await self._close_run(end)
        return summary

    async def _conduct(self, background: list[asyncio.Task[None]]) -> None:
        """Keep as many hosts under way as the terms allow; end when there are none."""
        while True:
            if self._ending is None:
                await self._hosts.take_more()
            if not self._hosts:
                return
            wake = asyncio.create_task(self._wake.wait())
            left_s = max(_WATCH_EVERY_S, self._ends_at - self._clock.seconds())
            timeout = None if left_s == inf else left_s
            done, _rest = await asyncio.wait([*background, wake], return_when=asyncio.FIRST_COMPLETED, timeout=timeout)
            wake.cancel()
            self._wake.clear()
            for task in done:
                if task in background:
                    task.result()  # it only ends by failing, and its failure is the run's
            if self._dispatcher.failure is not None:
                raise self._dispatcher.failure
            if self._clock.seconds() >= self._ends_at:
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
        elif isinstance(outcome, Fetched) and outcome.too_deep:
            host.has_too_deep = True
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
                self._spending.lost(forget_outcomes(host, outcomes, self.progress))
            elif host.lease.host_id in result.has_more:
                host.work.has_more = True
            if host in self._hosts:
                self._dispatcher.ready(host)
        held = [outcome for host, each in taken.items() if host.lease.host_id not in lost for outcome in each]
        if self._hooks.on_settled is not None:
            self._hooks.on_settled(held)
        self._meter.settled(held, result, self._settling.took_s)
        progress = self.progress
        progress.bytes_received += result.received
        progress.links_found += result.links
        progress.images_found += result.images_found
        progress.images_stored += result.images_stored
        progress.queued += result.links + result.images_queued + sum(result.requeued.values()) - result.taken_off
        self._dispatcher.serve()

    def _end_by_budget(self, host: LeasedHost | None, spent: Exhausted) -> None:
        """One host's part of the run is over, or the whole run is: then everybody knows why."""
        if host is not None:
            host.spent_budget = spent
            host.is_stopped = True
        if not spent.reason.is_of_host and self._ending is None:
            self._hosts.spent_budget = spent  # also of those that are being opened just now
            for other in self._hosts:
                other.spent_budget = other.spent_budget or spent
            self._end_run(RunEnd("finished", EndReason(str(spent.reason)), spent.detail))

    def _end_run(self, end: RunEnd) -> None:
        if self._ending is None:
            self._ending = end
            self._hosts.ended_by = end.reason
            self._ends_at = self._clock.seconds() + _GRACE_S
            self._patience.ends_at = min(self._ends_at, self._clock.seconds() + _FRONTIER_GRACE_S)
            waits = end.reason is EndReason.PAGE_LIMIT  # pages that were begun are finished
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
            lost = await self._board.heartbeat()
            self._meter.renewed(len(lost))
            self._look_again(lost)

    async def _watch(self) -> None:
        """Operators' edits (policies, takedowns) take effect while the crawl goes on."""
        while True:
            self._look_again(await self._board.refresh_policies())
            self._takedowns = await self._thread.run(self._run_desk.takedowns)
            await self._board.release_guests()
            self.progress.begun = self._spending.visits
            self.progress.held = self._spending.held + self.unsettled
            self._spending.wake()  # other processes may have given pages back
            self._dispatcher.serve()
            self.progress.hosts_blocked, self.progress.hosts_waiting = self._board.standing(self._clock.seconds())
            self._spending.look_at_time()
            await asyncio.sleep(_WATCH_EVERY_S)

    async def _recover(self) -> None:
        """Bring to the frontier what workers left half-way that died, whoever they were."""
        with suppress(FrontierUnavailable):  # whoever needs it waits for it
            await self._frontier_thread.run(self._frontier.recover)

    def _on_silence(self, said: str | None) -> None:
        """The frontier does not answer; what is settled stays, and the run waits."""
        self.progress.waits_for = said
        self._hooks.on_silence(said)
        if said is not None and said not in self.progress.warnings and len(self.progress.warnings) < _WARNINGS_MOST:
            self.progress.warnings.append(said)

    def _on_rebuilt(self, host_ids: Collection[UUID]) -> None:
        """Frontiers were lost and made anew: what is remembered of their links does not hold any more."""
        scope = self._terms.scope
        for host in self._board.hosts.values():  # also those that are being opened just now
            if host.lease.host_id in host_ids:
                host.begin_anew(sitemaps=scope.sitemaps and scope.max_depth > 0)
                if host in self._hosts:
                    self._dispatcher.ready(host)

    def _make_ready(self, host: LeasedHost) -> None:
        if host in self._hosts:
            self._dispatcher.ready(host)

    def _look_again(self, hosts: list[LeasedHost]) -> None:
        """Something changed for hosts that may be waiting for a time that is not right any more."""
        for host in hosts:
            self._make_ready(host)
        if hosts:
            self._dispatcher.serve()

    async def _close_run(self, end: RunEnd) -> RunSummary:
        """Give everything back and note the end; what fails here is told unless something failed before."""
        problem: Exception | None = None
        close_store = self._frontier_thread.run(self._store.close)
        for step in (self._settling.flush(), self._give_everything_back(), close_store):
            try:
                await step
            except Exception as error:
                problem = problem or error
        if problem is not None and end.status != "failed":
            end = RunEnd("failed", EndReason.FAILED, f"{type(problem).__name__}: {problem}")
        elif problem is not None:
            problem = None
        summary: RunSummary | None = None
        try:
            left = tuple(self._hosts.lines), self._named, self._hosts.forgotten
            summary = await self._thread.run(self._run_desk.end, end, self.progress, *left)
        except Exception as error:
            problem = problem or error
        self._frontier_thread.close()
        self._thread.close()
        if problem is not None or summary is None:
            raise problem or RuntimeError("a run without a summary")
        return summary

    async def _give_everything_back(self) -> None:
        for host in list(self._board.hosts.values()):  # only a run that failed has any left, opened or not
            await self._board.give_back(host)
        await self._board.release_guests(idle_only=False)
