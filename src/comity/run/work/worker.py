"""A worker: it crawls what the table of hosts offers, until it is stopped; alone, or as one of several processes."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, field, replace
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from comity.assemble import REREAD_EVERY_S, open_state, read_request_options
from comity.clock import SystemClock
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, StateUnavailable
from comity.model.run import EndReason
from comity.model.wording import counted
from comity.run.crawl.view import Visit, show_no_progress, visits_of
from comity.run.logs import StoreLog, log_for, log_host, log_run, log_settings_warnings, log_start, wait_logger
from comity.run.observe import observed
from comity.run.queue import QUEUE_UPKEEP, WEBHOOKS, PolicyWork
from comity.run.remedies import CRAWL_ADVICE
from comity.run.signals import FORCED_EXIT, INTERRUPTED, exit_in_time, stop_on_signals
from comity.store.sink import is_full
from comity.store.target import read_target, try_folder
from comity.telemetry import events, metrics
from comity.upkeep.rescore import rescore, rescore_run
from comity.upkeep.wake_hosts import end_cooldowns, follow_left_out, go_deeper, lift_refusals
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks, Duty, HostShare

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.run.child_process import ParentChannel
    from comity.run.remedies import CommandFailure
    from comity.settings import Settings
    from comity.telemetry.logs import Log
    from comity.telemetry.meter import Meter
    from comity.telemetry.metrics import Metric
    from comity.walk.crawl.crawl import Crawl
    from comity.walk.crawl.progress import HostSummary, Progress, RunSummary
    from comity.walk.crawl.terms import CrawlHooks

STOPPING: Final = "finishing the requests in flight (send the signal again to exit at once)"
_RUN_MINUTES: Final = 30.0  # the longest run, so that upkeep gets its turn
_RECHECK_EVERY_S: Final = 15.0  # a frontier that did not answer
_RUN_FIELDS: Final = ("run_id", "status", "code", "reason", "pages", "unchanged", "errors", "refused", "bytes_received")
_RESCORE_EVERY_S: Final = 3600.0
_UPKEEP_EVERY_S: Final = 60.0  # while there is nothing to crawl
_WEBHOOKS_EVERY_S: Final = 5.0
_LEAST_PAUSE_S: Final = 1.0
_MOST_PAUSE_S: Final = 60.0


def check_worker_settings(settings: Settings) -> None:
    """`BadInput` for settings that need seeds, which a worker does not have, and for secrets that cannot be read."""
    if settings.subdomains and not settings.site_hosts:
        raise BadInput("subdomains", "a worker has no seeds; name the hosts of the site (--site-hosts)")
    field = read_request_options(settings, SystemClock().seconds).unaddressed
    if field is not None:
        raise BadInput(
            field,
            "a worker has no seeds, so this must name its host, as in 'https://example.com: …'; or set "
            "COMITY_REQUEST_ORIGINS",
        )


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How much a worker does, and when it ends by itself."""

    hosts: int | None = None
    max_minutes: float = 0.0
    exits_when_idle: bool = False
    does_policies: bool = False
    """Whether it does jobs of the crawl service, too."""
    crawls: bool = True


@dataclass(frozen=True, slots=True)
class WorkObserver:
    """What a front door wants to know of workers while they run."""

    on_run: Callable[[dict[str, Any]], None] | None = None
    """Called at the end of each run, with its figures; None if they are not wanted."""
    on_visits: Callable[[Sequence[Visit]], None] | None = None
    """Called with visits, a batch at a time; None if they are not wanted."""
    on_host: Callable[[HostSummary], None] | None = None
    """Called with how a host ended, once it is released."""
    on_start: Callable[[Callable[[], None]], None] = lambda _stop: None
    """Called before the work begins, with the function that stops it."""
    on_failure: Callable[[CommandFailure], None] = lambda _failure: None
    """Called when a worker process fails, while the others continue."""
    watch: Callable[[Progress, State], AbstractAsyncContextManager[None]] = show_no_progress
    """A context in which the progress of a run is shown."""


class WorkerProcess:
    """One worker: its signals, its shifts, and its log."""

    def __init__(
        self, settings: Settings, limits: WorkLimits, log: Log, view: WorkObserver, *, reports_to: int | None = None
    ) -> None:
        self.memory = WorkerMemory()
        self._settings = settings
        self._limits = limits
        self._log = log
        self._view = view
        self._reports_to = reports_to
        self._meter: Meter | None = None
        self._stores = StoreLog(log, lambda: self._count(metrics.STATE_LOST))
        run_minutes = min(_RUN_MINUTES, settings.max_minutes or _RUN_MINUTES)
        terms = WorkerTerms(run_minutes, max_minutes=limits.max_minutes, is_to_exit_when_idle=limits.exits_when_idle)
        self._worker = Worker(self._shift, terms, monotonic, random.random, self._on_news)
        self._policies: PolicyWork | None = None
        if limits.does_policies:
            self._policies = PolicyWork(
                settings, log, self._count, exits_when_idle=limits.exits_when_idle, max_minutes=limits.max_minutes
            )

    async def run_alone(self) -> int:
        """Work to the end as its own process; returns the exit code."""
        codes: list[int] = []

        def on_signal(number: int) -> None:
            codes.append(INTERRUPTED if number == signal.SIGINT else 0)
            self._log.emit(events.STOPPING, STOPPING, signal=signal.Signals(number).name)
            self.finish()

        stop_on_signals(on_signal, on_timeout=self._log_forced_exit)
        if self._limits.crawls:
            try_folder(read_target(self._settings.pages))  # before a host is leased for nothing
        self._view.on_start(self.finish)
        await self.run(warns=True)
        if codes:
            return codes[0]
        return 1 if self.memory.brought_nothing and not self.memory.pages else 0

    async def run(self, *, warns: bool = False) -> None:
        """Work until stopped, or until the limits end it; `warns` of likely mistakes in the environment."""
        async with observed(self._settings, self._log, self._reports_to) as self._meter:
            started_at = monotonic()
            log_start(self._log, self._settings)
            if warns:
                log_settings_warnings(self._log, self._settings)
            await self._work()
            seconds, runs = round(monotonic() - started_at, 3), self.memory.runs
            message = f"worker ended after {counted(runs, 'run')}"
            self._log.emit(events.WORKER_ENDED, message, runs=runs, seconds=seconds)

    def stop(self) -> None:
        """Finish the requests in flight and end, within the time that a command may take."""
        exit_in_time(1, self._log_forced_exit)
        self.finish()

    def finish(self) -> None:
        """The same without a time limit, since other parts of the process continue."""
        self._worker.stop()
        if self._policies is not None:
            self._policies.stop()

    async def _work(self) -> None:
        """Crawl, and do jobs of policies beside it; an error of one ends both."""
        if self._policies is None:
            return await self._worker.run()
        parts = [self._policies.run(), *([self._worker.run()] if self._limits.crawls else [])]
        tasks = [asyncio.create_task(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        finally:
            if any(task.done() and not task.cancelled() and task.exception() for task in tasks):
                self.finish()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            task.result()
        return None

    def _log_forced_exit(self) -> None:
        self._log.emit(events.WORKER_LEFT, FORCED_EXIT, error="no_answer")

    @asynccontextmanager
    async def _shift(self) -> AsyncIterator[WorkerShift]:
        """Open the state again; opening and closing wait for a server, so a thread does them."""
        opened = open_state(self._settings, connections=2)
        state = await asyncio.to_thread(opened.__enter__)
        try:
            await asyncio.to_thread(self._stores.check_frontier, state)
            yield WorkerShift(state, self._hooks(state), self.memory, self._view.watch)
        finally:
            await asyncio.to_thread(opened.__exit__, None, None, None)

    def _on_news(self, news: News) -> None:
        if isinstance(news, RunSummary):
            self._on_run(news)
        elif isinstance(news, StateLost):
            message = f"{news.reason}; trying again in {news.pause_s:.0f} s"
            self._log.emit(events.STATE_LOST, message, error=StateUnavailable.code, pause_s=round(news.pause_s, 3))
            self._count(metrics.STATE_LOST)
        else:
            self._log.emit(events.IDLE, "no host to crawl now; waiting for hosts")

    def _on_run(self, summary: RunSummary) -> None:
        self.memory.runs += 1
        self.memory.pages += summary.pages
        self.memory.brought_nothing |= summary.brought_nothing
        log_run(self._log, summary)
        self._count(metrics.RUNS, summary.status)
        if self._view.on_run is not None:
            figures = {name: getattr(summary, name) for name in _RUN_FIELDS}
            figures |= {"seconds": round(summary.seconds, 3), "hosts": len(summary.hosts)}
            self._view.on_run(figures | {"endings": summary.endings, "warnings": summary.warnings[:5]})

    def _on_host(self, line: HostSummary) -> None:
        log_host(self._log, line)
        if self._view.on_host is not None:
            self._view.on_host(line)
        self._count(metrics.HOSTS_LEFT, line.status.replace(" ", "_"))

    def _count(self, metric: Metric, value: str = "") -> None:
        if self._meter is not None:
            self._meter.add(metric, 1, value)

    async def _outlast(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do something that may wait until the state is there again: the crawl itself reports that it is not.

        It is no part of the crawl, so an unexpected error is reported, and does not end the run.
        """
        try:
            await work()
        except StateUnavailable:
            return
        except Exception as error:
            message = f"the {name} failed and will be tried again: {type(error).__name__}: {str(error)[:200]}"
            self._log.emit(events.LOOP_FAILED, message, loop=name, error="unexpected")
            self._count(metrics.WORKER_FAULTS, name)

    def _hooks(self, state: State) -> CrawlHooks:
        # Other workers learn from the table which hosts are finished.
        share = HostShare(self._limits.hosts, tuple, leave=_do_nothing, take_back=_do_nothing, report=self._on_host)
        on_visits = self._view.on_visits
        duty = Duty(_RECHECK_EVERY_S, partial(self._stores.recheck_frontier, state))
        sweep = partial(asyncio.to_thread, state.queue_sweeper().sweep)
        sweeping = Duty(self._settings.queue_every_s, partial(self._outlast, QUEUE_UPKEEP, sweep))
        calling = Duty(self._settings.queue_every_s, partial(self._outlast, WEBHOOKS, state.webhook_sender().send_due))
        return CrawlHooks(
            on_settled=(lambda outcomes: on_visits(visits_of(outcomes))) if on_visits is not None else None,
            hosts=share,
            meter=self._meter,
            on_silence=self._stores.on_silence,
            on_wait=wait_logger(self._log),
            waits_for_space=True,
            duties=(duty, sweeping, calling),
            advice=CRAWL_ADVICE,
        )


def _do_nothing(_host: str) -> None:
    pass


async def work_part(
    settings: Settings, job: dict[str, Any], orders: AsyncIterator[dict[str, Any]], parent: ParentChannel
) -> None:
    """Be one of several worker processes, until the parent orders the end or is gone."""
    has_events = job["reports_events"]
    view = WorkObserver(
        on_run=(lambda figures: parent.send(run=figures)) if job["reports_runs"] else None,
        on_visits=(lambda visits: parent.send(visits=[asdict(each) for each in visits])) if has_events else None,
        on_host=(lambda line: parent.send(host=asdict(line))) if has_events else None,
    )
    log = log_for(settings, as_json=job["logs_json"])
    worker = WorkerProcess(settings, WorkLimits(**job["limits"]), log, view, reports_to=job["reports_to"])
    for number in (signal.SIGINT, signal.SIGTERM):  # a service manager may signal every process
        asyncio.get_running_loop().add_signal_handler(number, worker.stop)
    obeying = asyncio.create_task(_obey(orders, worker))
    try:
        await worker.run()
    finally:
        obeying.cancel()
        await asyncio.gather(obeying, return_exceptions=True)
    parent.send(ended={"pages": worker.memory.pages, "brought_nothing": worker.memory.brought_nothing})


async def _obey(orders: AsyncIterator[dict[str, Any]], worker: WorkerProcess) -> None:
    async for order in orders:
        if "stop" in order:
            break
    worker.stop()


@dataclass(slots=True)
class WorkerMemory:
    """What a worker remembers from one shift to the next."""

    unfinished: list[tuple[str, UUID]] = field(default_factory=list)  # holders and runs left open by a lost state
    rescored_at: float = field(default_factory=monotonic)
    upkeep_at: float = -inf
    reread_at: float = -inf  # robots.txt of hosts that it closed, while there was nothing to crawl
    webhooks_at: float = -inf
    runs: int = 0
    pages: int = 0
    brought_nothing: bool = False  # whether a run tried to get pages and got none


class WorkerShift:
    """Runs on one open state.

    Upkeep is due before a run and every minute while there is nothing to crawl; priorities are computed every hour.
    """

    def __init__(
        self,
        state: State,
        hooks: CrawlHooks,
        memory: WorkerMemory,
        watch: Callable[[Progress, State], AbstractAsyncContextManager[None]],
    ) -> None:
        self._state = state
        self._leases = state.leases()
        self._hooks = hooks
        self._memory = memory
        self._webhooks = state.webhook_sender()
        self._watch = watch
        self._running: Crawl | None = None
        self._is_stopped = False

    async def find_work(self) -> bool:
        """Do the upkeep that is due; returns whether there is a host to crawl."""
        memory, now = self._memory, monotonic()
        if await asyncio.to_thread(self._keep_up):
            return True
        if now - memory.webhooks_at >= _WEBHOOKS_EVERY_S:  # a run does it itself
            memory.webhooks_at = now
            await self._webhooks.send_due(batches=1)
        if now - memory.reread_at < REREAD_EVERY_S:
            return False
        memory.reread_at = now
        async with self._state.fetcher() as fetcher:
            await self._state.reread_robots(fetcher)
        return await asyncio.to_thread(self._leases.has_candidate)

    def stop(self) -> None:
        """End the current run, and start no other."""
        self._is_stopped = True
        if self._running is not None:
            self._running.stop()

    async def crawl(self, minutes: float) -> RunSummary:
        """One run, at most this long."""
        settings = self._state.settings.model_copy(update={"max_minutes": minutes})
        leases = self._state.leases()
        state = replace(self._state, settings=settings)
        without_limit = replace(self._state, settings=settings.model_copy(update={"max_minutes": 0.0}))
        async with state.fetcher() as fetcher:
            crawl = self._running = state.crawl(fetcher, None, self._hooks, leases=leases)
            if self._is_stopped:
                crawl.stop()
            try:
                async with self._watch(crawl.progress, without_limit):
                    summary = await crawl.run()
            except BaseException:
                self._memory.unfinished.append((leases.holder, crawl.run_id))
                raise
            finally:
                self._running = None
        with suppress(StateUnavailable):  # the next look reports it; what was crawled is settled
            await asyncio.to_thread(rescore_run, state.database, state.clock, summary.run_id, settings.weights)
        self._memory.upkeep_at = -inf  # before the next run
        return summary

    def _keep_up(self) -> bool:
        state, memory, now = self._state, self._memory, monotonic()
        self._close_unfinished_runs()
        if now - memory.upkeep_at >= _UPKEEP_EVERY_S:
            self._leases.release_dead()
            if memory.upkeep_at == -inf:  # the setting cannot change while the worker runs
                lift_refusals(state.database, state.settings.allow_networks)
            state.queue_sweeper().sweep()
            end_cooldowns(state.database, state.clock, refresh=state.settings.enable_refresh_mode)
            go_deeper(state.database, state.clock, state.frontier, state.settings.max_depth)
            follow_left_out(state.database, state.clock, state.frontier, state.left_out_terms())
            if now - memory.rescored_at >= _RESCORE_EVERY_S:
                rescore(state.database, state.clock, state.settings.weights)
                memory.rescored_at = now
            memory.upkeep_at = now
        return self._leases.has_candidate()

    def _close_unfinished_runs(self) -> None:
        """The state is back: free the hosts of runs that lost it, and record how those ended."""
        unfinished = self._memory.unfinished
        while unfinished:
            holder, run_id = unfinished[0]
            self._leases.free_former([holder])
            record, lost = self._state.run_record(run_id), EndReason.STATE_LOST
            record.take_over()  # also pages for which there was no disk space
            record.close("failed", lost, lost.sentence)
            del unfinished[0]


class Shift(Protocol):
    """Work on one open state; `StateUnavailable` ends it."""

    async def find_work(self) -> bool:
        """Do what is due between runs; say whether there is a host to crawl."""
        ...

    async def crawl(self, minutes: float) -> RunSummary:
        """Crawl, at most for this many minutes."""
        ...

    def stop(self) -> None:
        """Stop the current run, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """How long a worker works, and how it waits. Without `max_minutes` it ends when it is stopped."""

    stint_minutes: float = 30.0
    poll_s: float = 5.0
    max_minutes: float = 0.0
    is_to_exit_when_idle: bool = False


@dataclass(frozen=True, slots=True)
class StateLost:
    """The state did not answer; the worker tries again after a pause."""

    reason: str
    pause_s: float


@dataclass(frozen=True, slots=True)
class Idle:
    """There is nothing to crawl now."""


News = RunSummary | StateLost | Idle


class Worker:
    """Opens shifts and lets them crawl. `clock` gives seconds that never go back, `chance` a number in 0..1.

    One bounded run follows another while the table offers hosts. What happened is reported as `News`. A state that does
    not answer ends the shift; the next one is opened after a growing pause and continues where the last one stopped. So
    does a disk of pages that was full for longer than a run waits.
    """

    def __init__(
        self,
        open_shift: Callable[[], AbstractAsyncContextManager[Shift]],
        terms: WorkerTerms,
        clock: Callable[[], float],
        chance: Callable[[], float],
        report: Callable[[News], None],
    ) -> None:
        self._open_shift = open_shift
        self._terms = terms
        self._clock = clock
        self._chance = chance
        self._report = report
        self._stopped = asyncio.Event()
        self._shift: Shift | None = None
        self._ends_at = clock() + terms.max_minutes * 60 if terms.max_minutes else inf
        self._failures = 0  # shifts in a row in which the state did not answer
        self._fruitless = 0  # runs in a row that got nothing done
        self._is_idle = False

    def stop(self) -> None:
        """Finish what is in flight and start nothing more."""
        self._stopped.set()
        if self._shift is not None:
            self._shift.stop()

    async def run(self) -> None:
        """Work until stopped, until the time is up, or, if the terms say so, until nothing is left.

        A state that cannot be opened at the start is an error for the operator: that is raised.
        """
        has_worked = False
        while not self._is_over():
            try:
                async with self._open_shift() as shift:
                    has_worked = True
                    self._shift = shift
                    await self._work(shift)
                    return
            except (StateUnavailable, OSError) as error:
                if not has_worked or (isinstance(error, OSError) and not is_full(error)):
                    raise
                await self._outlast(error)
            finally:
                self._shift = None

    async def _work(self, shift: Shift) -> None:
        while not self._is_over():
            has_host = await shift.find_work()
            if self._is_over():
                return
            if not has_host:
                self._failures = 0
                if self._terms.is_to_exit_when_idle:
                    return
                if not self._is_idle:
                    self._report(Idle())
                self._is_idle = True
                await self._rest(self._terms.poll_s)
                continue
            self._is_idle = False
            # One store may answer while the other does not: only a run that ends shows that both do.
            summary = await shift.crawl(min(self._terms.stint_minutes, self._left_s() / 60))
            self._failures = 0
            self._report(summary)
            if self._terms.is_to_exit_when_idle and _is_fruitless(summary):
                return  # without tracking, hosts that are done stay in the table
            await self._slow_down(summary)

    async def _slow_down(self, summary: RunSummary) -> None:
        """Pause before hosts that brought nothing are leased again."""
        if not _is_fruitless(summary):
            self._fruitless = 0
            return
        self._fruitless += 1
        await self._rest(min(self._terms.poll_s * 2 ** min(self._fruitless - 1, 10), _MOST_PAUSE_S))

    async def _outlast(self, error: StateUnavailable | OSError) -> None:
        self._failures += 1
        pause_s = min(_LEAST_PAUSE_S * 2 ** min(self._failures - 1, 10), _MOST_PAUSE_S)
        self._report(StateLost(str(error), pause_s))
        await self._rest(pause_s)

    async def _rest(self, seconds: float) -> None:
        """Wait, a little more or less so that workers do not fall into step; `stop` ends it."""
        wanted = min(seconds * (0.75 + self._chance() / 2), max(self._left_s(), 0.0))
        try:
            async with asyncio.timeout(wanted):
                await self._stopped.wait()
        except TimeoutError:
            pass

    def _left_s(self) -> float:
        return self._ends_at - self._clock()

    def _is_over(self) -> bool:
        return self._stopped.is_set() or self._left_s() <= 0


def _is_fruitless(summary: RunSummary) -> bool:
    """Whether a run ended without a single request for a page."""
    return not (summary.pages or summary.errors or summary.refused) and summary.code != EndReason.TIME_LIMIT
