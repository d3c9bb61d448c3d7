"""A whole-site crawl: leases hosts, visits their pages concurrently, settles the outcomes, and ends cleanly.

`run` is the main loop; `handle` reacts to events. The parts are called from here and report events (`events`); none of
them knows the parts above it:

    Crawl ─▶ OpenHosts ─▶ Dispatcher ─▶ RunBudget, visits ─▶ Session
      │          └──────▶ Settling ───▶ RetryingThread
      └◀── events of all of them

Everything runs on one event loop. The database has a thread of its own, and so has a frontier on another server: if one
hangs, leases are still renewed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Final, assert_never
from uuid import UUID, uuid4

from comity.extract.html_pool import HtmlPool
from comity.frontier.store import FrontierStore, FrontierUnavailable
from comity.model.gate import WaitReason
from comity.model.outcome import Fetched, Outcome, Postponed
from comity.model.run import EndReason, Exhausted, HostLoad
from comity.rules.expressions.printing import columns_key
from comity.store.images import ImageStore
from comity.store.sink import PageSink
from comity.walk.crawl.budget import RunBudget
from comity.walk.crawl.dispatcher import Dispatcher
from comity.walk.crawl.events import (
    BatchSettled,
    BudgetSpent,
    Event,
    FrontierRebuilt,
    FrontierSilent,
    HostDry,
    HostsChanged,
    PagesFreed,
    UrlsListed,
    VisitEnded,
    WorkFailed,
)
from comity.walk.crawl.host_closing import HostCloser
from comity.walk.crawl.host_opening import HostOpener
from comity.walk.crawl.hosts import OpenHosts
from comity.walk.crawl.metering import RunMeter
from comity.walk.crawl.progress import Progress, RunEnd, RunSummary, forget_outcomes, note_outcome
from comity.walk.crawl.run_record import RunRecord
from comity.walk.crawl.settling import RetryingThread, Settling
from comity.walk.crawl.terms import NO_HOOKS, CrawlHooks, CrawlTerms, Duty
from comity.walk.read_sitemaps import SitemapReader
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.leased_host import LeasedHost
from comity.walk.session.session import LeasesRenewed, Refreshed, Session, SlotFreed
from comity.walk.settle.settler import RetryTerms, Settled, Settler
from comity.walk.visit.columns import stored_columns
from comity.walk.visit.context import VisitContext

REFRESH_EVERY_S: Final = 0.2  # how soon operators' edits take effect, and a run's time limit
_GRACE_S: Final = 25.0  # for what is in flight when a run is stopped; it ends within 30
_FRONTIER_GRACE_S: Final = 15.0  # for a frontier that does not answer at that time
_LEAST_WAIT_S: Final = 0.2
_RECOVER_EVERY_S: Final = 60.0
_WARNINGS_MOST: Final = 100
_UNREAD_ENOUGH: Final = 20  # URLs postponed because robots.txt was unavailable, after which the rest is not tried


def _reads_apart(columns: str) -> bool:
    """Whether evaluating the expressions on a page may take unbounded time."""
    if not columns:
        return False
    from comity.extract.expressions import is_unbounded  # most crawls extract nothing

    return is_unbounded(columns)


class Crawl:
    """One run. `hosts` limits which candidates it leases; None leases whatever the table offers."""

    def __init__(
        self,
        session: Session,
        frontier: FrontierStore,
        store: PageSink,
        terms: CrawlTerms,
        hosts: Collection[str] | None,
        hooks: CrawlHooks = NO_HOOKS,
        images: ImageStore | None = None,
    ) -> None:
        self.run_id: UUID = hooks.run_id or uuid4()
        self.session = session
        self._clock = clock = session.clock
        self._frontier = frontier
        self._store = store
        self._terms = terms
        self._named = hosts
        self._hooks = hooks
        self.progress = Progress(clock.seconds())
        self._html_pool = HtmlPool()
        is_part, key = hooks.run_id is not None, self._columns_key
        self._record = RunRecord(
            session.database, session.leases, store, clock, self.run_id, terms.door, is_part=is_part, columns_key=key
        )
        self._frontier_thread = DatabaseThread("comity-frontier") if frontier.has_own_server else session.thread
        self._retrying = RetryingThread(
            self._frontier_thread, frontier, clock.seconds, self.handle, waits_for_space=hooks.waits_for_space
        )
        self._settling = Settling(self._make_settler(images), self._retrying, session.robots_keeper, self.handle)
        self._budget = self._make_budget()
        context = self._visit_context()
        self._dispatcher = Dispatcher(
            context,
            session.capacity,
            clock.seconds,
            budget=self._budget,
            is_full=self._is_full,
            read_sitemaps=self._make_sitemap_reader(context).read,
            emit=self.handle,
            on_idle=self._settling.hurry,
        )
        most, open_at_most = self._hosts_at_once()
        self._hosts = OpenHosts(
            session,
            HostOpener(session.database, frontier, session.leases, clock, self.run_id, terms, open_at_most),
            HostCloser(session.database, frontier, session.leases, clock, self.run_id, terms, hosts),
            self._retrying,
            self._settling,
            self._budget,
            self._dispatcher,
            terms,
            self.progress,
            hosts,
            hooks.hosts,
            most,
            self.handle,
            context,
        )
        self._hosts.on_host = hooks.on_host
        self.progress.loads = self.host_loads
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None
        self._ending: RunEnd | None = None
        self._ends_at = inf  # when requests in flight are cancelled
        self.unsettled = 0  # outcomes that are not yet committed
        self._meter = RunMeter(hooks.meter, self, clock.seconds, session.leases.terms.renew_every_s)
        session.subscribe(self.handle)
        session.log_waits(hooks.on_wait)

    def _hosts_at_once(self) -> tuple[int, int]:
        """How many hosts may be open, and how many of those that are known now; warns if connections are too few."""
        share = self._hooks.hosts.most if self._hooks.hosts else None
        warning = self._terms.connection_warning(share or len(self._named or ()))
        if warning is not None:
            self.progress.warnings.append(warning)
        most = self._terms.hosts_at_once(is_named=self._named is not None, share=share)
        return most, most if self._named is None else max(1, min(most, len(self._named)))

    def _make_settler(self, images: ImageStore | None) -> Settler:
        session, terms = self.session, self._terms
        return Settler(
            self._frontier,
            session.leases,
            self._store,
            self.run_id,
            session.clock.now,
            RetryTerms(terms.profile.retry_limit, terms.profile.max_retry_backoff_s),
            images,
            finds_images=terms.images,
            refresh=terms.refresh,
            track=terms.track and not terms.has_own_list,
            list_door=terms.door if terms.has_own_list else None,
            waits_for_space=self._hooks.waits_for_space,
            columns=stored_columns(terms.columns, has_extractor=self._hooks.extract is not None, details=terms.details),
            details=terms.details,
            pauses_hosts=self._hooks.pauses_hosts,
        )

    def _make_sitemap_reader(self, context: VisitContext) -> SitemapReader:
        hooks = self._hooks
        return SitemapReader(
            context,
            self._settling,
            self._terms.sitemap_bounds,
            lambda host: self.handle(UrlsListed(host)),
            on_listed=hooks.on_listed,
            kept=hooks.kept_sitemaps,
        )

    def _make_budget(self) -> RunBudget:
        terms = self._terms
        return RunBudget(
            terms.budget,
            self._clock.seconds,
            self.progress.warnings,
            bounds_hosts=terms.per_host_budget,
            host_pages=terms.pages_per_host,
            shared=self._hooks.pages,
            emit=self.handle,
        )

    def _visit_context(self) -> VisitContext:
        session, terms = self.session, self._terms
        return VisitContext(
            requests=session.requests,
            robots=session.robots_keeper,
            host_of=session.host_for,
            takedowns=session.takedowns,
            clock=session.clock.seconds,
            scope=terms.scope,
            tracking=terms.tracking,
            extract=self._hooks.extract,
            html_pool=self._html_pool,
            limits=terms.limits,
            agent=terms.agent,
            max_redirects=terms.max_redirects,
            finds_images=terms.images,
            image_limits=terms.image_limits,
            reads_text=terms.text,
            reads_markdown=terms.markdown,
            explains_links=self._hooks.explains_links,
            uses_patterns=True,
            patterns=terms.patterns,
            seeds=self._hooks.seeds,
            site=terms.site,
            columns=terms.columns,
            columns_key=self._columns_key,
            reads_apart=_reads_apart(terms.columns),
            details=terms.details,
            keeps_noindex=terms.keeps_noindex,
        )

    @property
    def _columns_key(self) -> int:
        terms = self._terms
        has_extractor = self._hooks.extract is not None
        return columns_key(
            terms.columns,
            text=terms.text,
            markdown=terms.markdown,
            has_extractor=has_extractor,
            links=terms.details.links,
            headers=terms.details.headers,
        )

    async def run(self) -> RunSummary:
        """Crawl until nothing is left, a budget is spent, or `stop` is called."""
        recorded = {**(self._terms.recorded_settings or {}), **self._hooks.recorded}
        await self.session.thread.run(self._record.open, recorded)
        duties = (*self._hooks.duties, Duty(_RECOVER_EVERY_S, self._recover))
        background = [
            asyncio.create_task(self._settling.run()),
            *(asyncio.create_task(duty.repeat()) for duty in duties),
        ]
        end = RunEnd("failed", EndReason.FAILED)
        self._meter.begin()
        try:
            await self.session.open()
            await self._crawl_hosts(background)
            await self._settling.flush()
            await self.session.robots_keeper.flush()
            is_empty = self._named is not None and not self._named
            end = self._ending or RunEnd("finished", EndReason.TAKEN_DOWN if is_empty else None)
        except BaseException as error:
            end = RunEnd("failed", EndReason.FAILED, f"{type(error).__name__}: {error}")
            raise
        finally:
            await self._stop(background)
            summary = await self._close(end)
        return summary

    async def _crawl_hosts(self, background: Collection[asyncio.Task[None]]) -> None:
        """The main loop: keep as many hosts open as the terms allow; end when there are none."""
        upkeep = self.session.upkeep
        watched = {*background, upkeep} if upkeep is not None else {*background}
        while True:
            if self._ending is None:
                await self._hosts.take_more()
            if not self._hosts:
                return
            wake = asyncio.create_task(self._wake.wait())
            left_s = max(_LEAST_WAIT_S, self._ends_at - self._clock.seconds())
            timeout = None if left_s == inf else left_s
            done, _rest = await asyncio.wait({*watched, wake}, return_when=asyncio.FIRST_COMPLETED, timeout=timeout)
            wake.cancel()
            self._wake.clear()
            for task in done & watched:
                task.result()  # it ends only by failing; then the run fails, too
            if self._failure is not None:
                raise self._failure
            if self._clock.seconds() >= self._ends_at:
                await self._cut_off()

    def handle(self, event: Event) -> None:
        """React to what happened in a run."""
        match event:
            case VisitEnded(host, outcome):
                self._count_visit(host, outcome)
                self._settling.put(host, outcome)
            case SlotFreed(host):
                self._make_ready((host,))
                asyncio.get_running_loop().call_soon(self._dispatcher.serve)
            case HostDry(host):
                self._hosts.supply(host)
            case BatchSettled(outcomes, result):
                self._after_batch(outcomes, result)
                self._dispatcher.serve()
            case UrlsListed(host):
                self._make_ready((host,))
                self._dispatcher.serve()
            case PagesFreed(hosts):
                self._make_ready(hosts)
            case Refreshed(hosts):
                self._make_ready(hosts)
                self._refresh_progress()
                self._budget.wake()  # other processes may have returned pages of the budget
                self._dispatcher.serve()
                self._budget.check_time()
            case LeasesRenewed(lost):
                self._meter.renewed(len(lost))
                self._make_ready(lost)
                self._dispatcher.serve()
            case BudgetSpent(host, spent):
                self._end_by_budget(host, spent)
            case HostsChanged():
                self._wake.set()
            case FrontierSilent(reason):
                self._report_silence(reason)
            case FrontierRebuilt(host_ids):
                self._restart_frontiers(host_ids)
            case WorkFailed(error):
                self._failure = self._failure or error
                self._wake.set()
            case _:
                assert_never(event)

    def stop(self, reason: EndReason = EndReason.STOPPED) -> None:
        """Start nothing more; finish and settle what is in flight, and release the hosts."""
        self._end(RunEnd("stopped", reason))

    def end_by(self, spent: Exhausted) -> None:
        """A budget that is shared with other processes is spent."""
        self._budget.end(None, spent)

    def resume(self) -> None:
        """The consumer of the pages has caught up."""
        self._dispatcher.serve()

    def host_loads(self) -> list[HostLoad]:
        """How many URLs each open host still has to visit, and how fast it may."""
        now = self._clock.seconds()
        return [
            HostLoad(
                host.name,
                host.work.loaded,
                host.gate.delay.seconds,
                host.gate.usual_latency_s,
                max(0.0, host.gate.blocked_until - now),
                host.gate.limits.max_concurrency,
                host.work.has_more,
            )
            for host in self._hosts
        ]

    @property
    def unsettled_bytes(self) -> int:
        """Bytes of bodies that are not committed yet."""
        return self._settling.bytes_held

    @property
    def in_flight(self) -> int:
        """Requests in flight."""
        return self._terms.concurrency - self.session.capacity.free

    @property
    def hosts_held(self) -> int:
        """Leases that are held, also of hosts leased on demand."""
        return self.session.leases.held_count

    @property
    def gate_waits(self) -> Mapping[WaitReason, int]:
        """How often hosts had to wait for their gates so far."""
        return self._dispatcher.waits

    def _is_full(self) -> bool:
        return self._settling.is_full or (self._ending is None and self._hooks.is_held_up())

    def _make_ready(self, hosts: Iterable[LeasedHost]) -> None:
        """Give hosts a turn: what they wait for may have happened."""
        for host in hosts:
            if host in self._hosts:
                self._dispatcher.ready(host)

    def _count_visit(self, host: LeasedHost, outcome: Outcome) -> None:
        note_outcome(host, outcome, self.progress)
        self.unsettled += 1
        tally = host.tally
        is_unreadable = tally.robots_unread >= _UNREAD_ENOUGH and not tally.pages
        if is_unreadable or tally.errors_in_a_row >= self._terms.max_errors_in_a_row:
            host.drain()
        if isinstance(outcome, Fetched):
            host.keep_found(outcome)

    def _after_batch(self, taken: dict[LeasedHost, list[Outcome]], result: Settled) -> None:
        """A batch is committed: postponed URLs come back later; a host whose lease is lost stops."""
        lost = {lease.host_id for lease in result.lost}
        for host, outcomes in taken.items():
            self.unsettled -= len(outcomes)
            for outcome in outcomes:
                host.work.settled(outcome.entry.key)
                if isinstance(outcome, Postponed) and outcome.not_before is None:
                    host.work.has_more = True
            for entry, until in result.postponed.get(host.lease.host_id, ()):
                host.work.postpone(entry, until)
            if host.lease.host_id in lost:
                host.lose_lease()
                self._budget.lost(forget_outcomes(host, outcomes, self.progress))
            elif host.lease.host_id in result.has_more or (self._frontier.is_selective and result.links):
                host.work.has_more = True
        self._make_ready(taken)
        held = [outcome for host, each in taken.items() if host.lease.host_id not in lost for outcome in each]
        if self._hooks.on_settled is not None:
            self._hooks.on_settled(held)
        self._meter.settled(held, result, self._settling.took_s)
        progress = self.progress
        progress.bytes_received += result.received
        progress.links_found += result.links
        progress.images_found += result.images_found
        progress.images_stored += result.images_stored
        if result.left_out:
            progress.note_left_out(result.left_out)
        if result.joined:
            self._hosts.join(result.joined)
        progress.queued += result.links + result.images_queued + sum(result.requeued.values()) - result.taken_off

    def _refresh_progress(self) -> None:
        progress = self.progress
        progress.begun = self._budget.visits
        progress.held = self._budget.held + self.unsettled
        progress.hosts_blocked, progress.hosts_waiting = self.session.held.counts(self._clock.seconds())

    def _end_by_budget(self, host: LeasedHost | None, spent: Exhausted) -> None:
        """One host's part of the run is over, or the whole run is; then every host's end says why."""
        if host is not None:
            host.drain_spent(spent)
        if not spent.reason.is_of_host and self._ending is None:
            self._hosts.spent_budget = spent  # also for hosts that are being opened
            for other in self._hosts:
                other.spent_budget = other.spent_budget or spent
            self._end(RunEnd("finished", EndReason(str(spent.reason)), spent.detail))

    def _end(self, end: RunEnd) -> None:
        if self._ending is not None:
            return
        self._ending = end
        self._hosts.ended_by = end.reason
        self._ends_at = self._clock.seconds() + _GRACE_S
        self._retrying.ends_at = min(self._ends_at, self._clock.seconds() + _FRONTIER_GRACE_S)
        finishes_pages = end.reason is EndReason.PAGE_LIMIT  # those in progress, redirects included
        for host in self._hosts:
            if finishes_pages:
                host.drain()
            else:
                host.close()
            self._dispatcher.ready(host)
        if not finishes_pages:
            self.session.held.close_on_demand()
        asyncio.get_running_loop().call_soon(self._dispatcher.serve)
        self._wake.set()

    def _report_silence(self, reason: str | None) -> None:
        """The frontier does not answer: the run waits. What is settled stays."""
        self.progress.waits_for = reason
        self._hooks.on_silence(reason)
        warnings = self.progress.warnings
        if reason is not None and reason not in warnings and len(warnings) < _WARNINGS_MOST:
            warnings.append(reason)

    def _restart_frontiers(self, host_ids: Collection[UUID]) -> None:
        """Frontiers were lost and rebuilt: what is remembered of their links is no longer true."""
        for host in self.session.held.crawled.values():  # also those that are being opened
            if host.lease.host_id in host_ids:
                host.restart_frontier(sitemaps=self._terms.reads_sitemaps)
                self._make_ready((host,))

    async def _recover(self) -> None:
        """Finish the changes to the frontier that dead workers left incomplete."""
        with suppress(FrontierUnavailable):  # the next call that needs it waits for it
            await self._frontier_thread.run(self._frontier.recover)

    async def _cut_off(self) -> None:
        """The grace period is over: cancel what is in flight and release the hosts."""
        await self._dispatcher.cancel()
        await self.session.robots_keeper.cancel()
        for host in self._hosts:
            self._hosts.release(host)

    async def _stop(self, background: Collection[asyncio.Task[None]]) -> None:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        self._retrying.ends_at = self._clock.seconds()
        await self.session.stop()
        await self._dispatcher.cancel()
        await self._hosts.finish()
        await self._html_pool.close()
        self._meter.end()

    async def _close(self, end: RunEnd) -> RunSummary:
        """Release everything and record the end; raises what fails here, unless the run had failed before."""
        problem: Exception | None = None
        close_store = self._frontier_thread.run(self._store.close)
        for step in (self._settling.flush(), self.session.held.release_all(), close_store):
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
            summary = await self.session.thread.run(self._record.end, end, self.progress, *left)
        except Exception as error:
            problem = problem or error
        self._frontier_thread.close()
        self.session.close()
        if problem is not None or summary is None:
            raise problem or RuntimeError("a run without a summary")
        return summary
