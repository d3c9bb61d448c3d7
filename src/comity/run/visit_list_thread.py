"""Crawls a list of visits on its own thread, beside a foreground that shows the progress and may stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Any, Final
from uuid import UUID

from comity.assemble import State, open_state
from comity.model.run import EndReason
from comity.run.runtime import event_loop_runner
from comity.settings import Settings
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.progress import Progress, RunSummary
from comity.walk.crawl.terms import CrawlHooks

WAIT_FOR_HOSTS_S: Final = 1800.0  # for hosts that other processes crawl
_LOOK_EVERY_S: Final = 1.0
_STOP_S: Final = 40.0
_ASKED_AT_ONCE: Final = 10_000  # hosts in one SQL statement


class VisitListThread:
    """`start`, then `wait` until it is over; `stop` ends it early. What it does is `_work`, of a subclass."""

    def __init__(self, settings: Settings, name: str) -> None:
        self.progress = Progress(0.0)
        """Counters of the crawl that runs now."""
        self.waits_for: tuple[str, ...] = ()
        """Hosts that another process is crawling; this one continues when it has ended."""
        self._settings = settings
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crawl: Crawl | None = None
        self._is_stopping = Event()
        self._is_done = Event()
        self._is_news = Event()
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Start, or continue what an earlier process left."""
        self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end, but not longer than the timeout."""
        return self._is_done.wait(timeout_s)

    def wait_for_news(self, timeout_s: float) -> bool:
        """Wait for the end or for what need not wait for it, but not longer than the timeout; whether it is over."""
        self._is_news.wait(timeout_s)
        self._is_news.clear()
        return self._is_done.is_set()

    def stop(self) -> None:
        """Start no more requests; what is in flight is finished and kept."""
        self._is_stopping.set()
        loop, crawl = self._loop, self._crawl
        if loop is not None and crawl is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(crawl.stop)

    async def _work(self, state: State) -> None:
        """Do everything; the state is open."""
        raise NotImplementedError

    def _hold(self) -> None:
        """Keep the state open after the end of the work, for as long as the foreground needs it."""

    def _join(self) -> None:
        """Wait until the state is closed; raises what made the work fail."""
        self._thread.join(_STOP_S)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with open_state(self._settings) as state:
                try:
                    with event_loop_runner() as runner:
                        runner.run(self._begin(state))
                finally:
                    self._end_wait()
                    self._hold()
        except BaseException as problem:
            self._failure = problem
        finally:
            self._end_wait()

    def _end_wait(self) -> None:
        self._is_done.set()
        self._is_news.set()

    async def _begin(self, state: State) -> None:
        self._loop = asyncio.get_running_loop()
        await self._work(state)

    async def _crawl_hosts(
        self,
        state: State,
        hosts: Collection[str],
        hooks: CrawlHooks,
        on_begun: Callable[[UUID], None] | None = None,
        **terms: Any,
    ) -> RunSummary:
        """Crawl hosts by the settings of `state`; `on_begun` learns the run's id before its first request."""
        async with state.fetcher() as fetcher:
            self._crawl = crawl = state.crawl(fetcher, sorted(hosts), hooks, **terms)
            self.progress = crawl.progress
            if on_begun is not None:
                on_begun(crawl.run_id)
            if self._is_stopping.is_set():
                crawl.stop()
            try:
                return await crawl.run()
            finally:
                self._crawl = None

    async def _wait_for_any(self, state: State, hosts: Collection[str], gives_up_at: float) -> bool:
        """Wait until one of these hosts can be leased, or `stop` is called; False if that takes too long.

        A crawl that is started for nothing would be stored as a run.
        """
        leases = state.leases()
        self.waits_for = tuple(sorted(hosts))

        def is_any_free() -> bool:
            waited = self.waits_for
            parts = (waited[first : first + _ASKED_AT_ONCE] for first in range(0, len(waited), _ASKED_AT_ONCE))
            return any(map(leases.any_free, parts))

        try:
            while monotonic() < gives_up_at:
                await asyncio.sleep(_LOOK_EVERY_S)
                if self._is_stopping.is_set() or await asyncio.to_thread(is_any_free):
                    return True
        finally:
            self.waits_for = ()
        return False


def hosts_held_elsewhere(summary: RunSummary, left: Collection[str] = ()) -> set[str]:
    """Hosts that other processes hold or took over, and those of the rest that were not started.

    A host that was postponed, for example at its own request, is not among them: waiting for its lease is no use.
    """
    why = {each.host: each.code for each in summary.idle} | {line.host: line.code for line in summary.hosts}
    held = {host for host, code in why.items() if code in (EndReason.HELD_ELSEWHERE, EndReason.LEASE_LOST)}
    return held | {host for host in left if why.get(host, EndReason.NOT_TAKEN) == EndReason.NOT_TAKEN}
