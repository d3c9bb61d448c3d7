"""`comity serve`: a crawl worker beside the web server, in one process; and the demonstration, loaded with one click.

The worker runs on a thread with its own event loop, so that a page of the console does not wait for the crawl.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final

from comity.assemble import open_state
from comity.model.errors import ComityError
from comity.operate.console import DEMO_SOURCE, is_empty, unfinished_ports
from comity.rules.seed_list import read_seed
from comity.run.crawl.sites import finish_sites, prepare_sites
from comity.run.demo_web import SITES, demo_web
from comity.run.remedies import CRAWL_ADVICE
from comity.run.runtime import event_loop_runner
from comity.run.work.worker import WorkerProcess, WorkLimits, WorkObserver
from comity.telemetry import events
from comity.walk.crawl.terms import CrawlHooks

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.telemetry.logs import Log
    from comity.walk.crawl.progress import RunSummary

_PAUSE_AFTER_FAULT_S: Final = 60.0
_PAUSES_WITHIN_S: Final = 60.0  # requests in flight are finished first
_LOOK_S: Final = 0.2
_DEMO_DELAY_S: Final = 0.1
_DEMO_MINUTES: Final = 5.0


class DemonstrationRefused(ComityError):
    """The demonstration cannot be loaded now."""

    code = "demonstration_refused"


class ServedWorker:
    """Crawls what the table of hosts offers, on a thread, until stopped.

    The demonstration, and crawls that an operator starts in the console, take precedence: if a worker took one of their
    hosts, it would crawl it with other settings.
    """

    def __init__(self, settings: Settings, limits: WorkLimits, log: Log, *, shows_demonstration: bool = False) -> None:
        self._settings = settings
        self._limits = limits
        self._log = log
        self._shows_demonstration = shows_demonstration
        self._thread = threading.Thread(target=self._run, name="comity-worker", daemon=True)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._is_demo_wanted = False
        self._is_demo_running = False
        self._pauses = 0
        self._is_working = False
        self._resumed = threading.Event()
        self._finish: Callable[[], Any] = lambda: None

    def start(self) -> None:
        """Start crawling."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests in flight, and end."""
        self._stopping.set()
        self._interrupt()

    async def ended(self) -> None:
        """Wait for the end."""
        await asyncio.to_thread(self._thread.join)

    async def pause(self) -> None:
        """Release every host and take none until `resume`; returns when that is done, or after a time limit."""
        with self._lock:
            self._pauses += 1
            self._resumed.clear()
        self._interrupt()
        for _ in range(round(_PAUSES_WITHIN_S / _LOOK_S)):
            if not self._is_working:
                return
            await asyncio.sleep(_LOOK_S)

    def resume(self) -> None:
        """Continue, unless another pause is in force."""
        with self._lock:
            self._pauses -= 1
            if not self._pauses:
                self._resumed.set()

    @property
    def is_running(self) -> bool:
        """Whether the worker runs."""
        return self._thread.is_alive()

    @property
    def is_showing_demonstration(self) -> bool:
        """Whether the demonstration is being crawled, or is about to be."""
        return self._is_demo_wanted or self._is_demo_running

    def may_show_demonstration(self, state: State) -> bool:
        """Whether the demonstration can be loaded: only into an empty state."""
        if not self._shows_demonstration or self.is_showing_demonstration or not self.is_running:
            return False
        return is_empty(state.database)

    def show_demonstration(self, state: State) -> None:
        """Crawl the demonstration web; `DemonstrationRefused` unless the state is empty."""
        with self._lock:
            if self.is_showing_demonstration:
                raise DemonstrationRefused("the demonstration is being loaded")
            if not self.may_show_demonstration(state):
                raise DemonstrationRefused("the demonstration can be loaded only into an empty state")
            self._is_demo_wanted = True
        self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            self._finish()

    def _run(self) -> None:
        ports: list[int] = []
        is_first = self._shows_demonstration
        while not self._stopping.is_set():
            try:
                if is_first:
                    ports = self._interrupted_demonstration()
                    is_first = False
                    self._is_demo_wanted = self._is_demo_wanted or len(ports) == len(SITES)
                if self._is_demo_wanted:
                    self._is_demo_running, self._is_demo_wanted = True, False
                    self._crawl_demonstration(ports)
                elif self._may_work():
                    self._work()
                else:
                    self._resumed.wait(_LOOK_S)
            except Exception as error:
                message = f"the worker failed: {error or type(error).__name__}; it starts again in a minute"
                self._log.emit(events.WORKER_FAILED, message, error=type(error).__name__)
                self._stopping.wait(_PAUSE_AFTER_FAULT_S)
            finally:
                self._is_demo_running, self._is_working = False, False
                ports = []

    def _interrupted_demonstration(self) -> list[int]:
        """The ports of a demonstration that was not crawled to the end; empty if there is none."""
        with open_state(self._settings) as state:
            return unfinished_ports(state.database)

    def _may_work(self) -> bool:
        with self._lock:
            self._is_working = not self._pauses
            return self._is_working

    def _work(self) -> None:
        worker = WorkerProcess(self._settings, self._limits, self._log, WorkObserver())
        self._run_until_ended(worker.run, worker.finish)

    def _crawl_demonstration(self, ports: list[int]) -> None:
        """Crawl the sites of the demonstration; on the ports of one that was interrupted, if they are free."""
        networks = (*self._settings.allow_networks, ip_network("127.0.0.0/8"))
        changes = {"allow_networks": networks, "delay_s": _DEMO_DELAY_S, "max_minutes": _DEMO_MINUTES}
        with ExitStack() as stack:
            try:
                sites = stack.enter_context(demo_web(ports))
            except OSError:  # another program has a port: what is left of the demonstration stays as it is
                return
            state = stack.enter_context(open_state(self._settings.model_copy(update=changes)))
            seeds = [read_seed(site.url) for site in sites]
            named = prepare_sites(state, seeds, source=DEMO_SOURCE, refresh=False)
            summaries: list[RunSummary] = []

            async def crawl() -> None:
                async with state.fetcher() as fetcher:
                    hooks = CrawlHooks(advice=CRAWL_ADVICE, seeds=named.seeds)
                    running = state.crawl(fetcher, named.hosts, hooks)
                    self._set_finish(running.stop)
                    summaries.append(await running.run())

            self._run_until_ended(crawl, lambda: None)
            finish_sites(state, summaries[0])

    def _run_until_ended(self, run: Callable[[], Any], finish: Callable[[], None]) -> None:
        async def guarded() -> None:
            self._set_finish(finish)
            try:
                await run()
            finally:
                with self._lock:
                    self._finish = lambda: None

        with event_loop_runner() as runner:
            runner.run(guarded())

    def _set_finish(self, finish: Callable[[], None]) -> None:
        """Let an interruption end this crawl; called on the event loop of the thread."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._finish = lambda: loop.call_soon_threadsafe(finish)
            if self._stopping.is_set() or self._is_demo_wanted or self._pauses:  # the interruption was earlier
                loop.call_soon(finish)
