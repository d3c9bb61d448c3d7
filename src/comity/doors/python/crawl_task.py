"""A crawl from the opening of its state to its closing, as one coroutine on whatever event loop runs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from comity.assemble import State, open_state
from comity.doors.python.page import pages_of
from comity.doors.python.page_queue import PageQueue
from comity.doors.python.user_code import Sink, UserExtractor, sink_maker, wrap_extractor
from comity.model.host import Seed
from comity.operate.refresh import ask_refresh
from comity.operate.seeds import add_seeds
from comity.reports.idle import IdleHost
from comity.rules.canonical import WebAddress
from comity.settings import Settings
from comity.upkeep.end_cooldowns import end_cooldowns, lift_refusals
from comity.upkeep.go_deeper import go_deeper
from comity.upkeep.reread_robots import reread_robots
from comity.upkeep.rescore import rescore_run
from comity.walk.crawl import Crawl
from comity.walk.crawl_hooks import CrawlHooks
from comity.walk.database_thread import DatabaseThread
from comity.walk.progress import Progress, RunSummary
from comity.walk.robots_in_force import RobotsInForce

_log: Final = logging.getLogger("comity")


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What was asked for, read and checked."""

    settings: Settings
    seeds: tuple[Seed, ...]
    extract: UserExtractor | None = None
    sink: Sink | None = None
    stores: bool = True
    """Whether pages are kept where the settings say, besides going to the sink and the loop."""
    errors: bool = False
    is_temporary: bool = False
    """Whether the state lives in a folder that is gone afterwards."""
    refresh: bool = False
    """Whether hosts that are done are visited again, now."""


class CrawlTask:
    """One crawl; begun once. What it says of itself can be read from any thread."""

    def __init__(self, plan: CrawlPlan) -> None:
        self._plan = plan
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crawl: Crawl | None = None
        self._looking: asyncio.Task[list[str]] | None = None
        self._is_stopping = False
        self.progress = Progress(0.0)
        self.summary: RunSummary | None = None
        self.idle: tuple[IdleHost, ...] = ()
        self.taken_down: tuple[str, ...] = ()

    def stop(self) -> None:
        """Start nothing more; from any thread."""
        self._is_stopping = True
        self._call(self._stop_here)

    def go_on(self) -> None:
        """The reader has caught up; from any thread."""
        self._call(self._go_on_here)

    async def run(self, line: PageQueue) -> None:
        """Do everything that `comity crawl` does, and hand the pages to a line."""
        self._loop = asyncio.get_running_loop()
        thread, opened = DatabaseThread(), ExitStack()
        try:
            state = await thread.run(self._open, opened)
            hosts = await thread.run(self._bring_seeds, state)
            await self._reopen_closed(state, hosts)
            self.summary = await self._run_crawl(state, hosts, line)
            await thread.run(self._look_back, state, self.summary)
        finally:
            await thread.run(opened.close)
            thread.close()
        for host in self.idle:
            _log.warning("%s was not crawled: %s. %s", host.host, host.why, host.remedy)

    def _open(self, opened: ExitStack) -> State:
        settings = self._plan.settings
        if self._plan.is_temporary:
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="comity-")))
            settings = settings.model_copy(
                update={"state": str(folder / "state.db"), "database_url": None, "redis_url": None}
            )
        return opened.enter_context(open_state(settings))

    def _bring_seeds(self, state: State) -> set[str]:
        """Put the seeds into the state; gives the hosts that the run may take."""
        database, clock, settings = state.database, state.clock, state.settings
        seeds, frontier = self._plan.seeds, state.frontier
        report = add_seeds(database, clock, seeds, source="python", weights=settings.weights, frontier=frontier)
        self.taken_down = report.taken_down
        end_cooldowns(database, clock, refresh=settings.enable_refresh_mode)
        hosts = {seed.host.authority for seed in self._plan.seeds} - set(report.taken_down)
        lift_refusals(database, settings.allow_networks, hosts)
        go_deeper(database, clock, frontier, settings.max_depth, hosts)
        if self._plan.refresh:
            ask_refresh(database, clock, hosts)
        return hosts

    async def _reopen_closed(self, state: State, hosts: Collection[str]) -> None:
        """Look again at robots.txt of hosts that it closed, where the copy is too old; a change opens them."""
        async with state.fetcher() as fetcher:

            async def read(address: WebAddress) -> RobotsInForce:
                return await state.read_robots(fetcher, address)

            looking = reread_robots(state.database, state.clock, read, hosts, state.frontier)
            look = asyncio.get_running_loop().create_task(looking)
            self._looking = look
            if self._is_stopping:
                look.cancel()
            try:
                await look
            except asyncio.CancelledError:
                if not self._is_stopping:
                    raise
            finally:
                self._looking = None

    async def _run_crawl(self, state: State, hosts: Collection[str], line: PageQueue) -> RunSummary:
        plan = self._plan
        sink = sink_maker(
            plan.sink,
            lambda records: line.add(pages_of(records, errors=plan.errors)),
            stores=plan.stores,
            errors=plan.errors,
        )
        async with state.fetcher() as fetcher:
            hooks = CrawlHooks(
                is_held_up=lambda: line.is_held_up(crawl.unsettled, crawl.unsettled_bytes),
                extract=wrap_extractor(plan.extract),
            )
            self._crawl = crawl = state.crawl(fetcher, hosts, hooks, sink)
            self.progress = crawl.progress
            if self._is_stopping:
                crawl.stop()
            try:
                return await crawl.run()
            finally:
                self._crawl = None

    def _look_back(self, state: State, summary: RunSummary) -> None:
        rescore_run(state.database, state.clock, summary.run_id, state.settings.weights)
        if summary.status != "stopped":  # whoever stops a crawl knows why hosts were left
            self.idle = summary.idle

    def _stop_here(self) -> None:
        if self._crawl is not None:
            self._crawl.stop()
        elif self._looking is not None:
            self._looking.cancel()

    def _go_on_here(self) -> None:
        if self._crawl is not None:
            self._crawl.go_on()

    def _call(self, work: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the crawl is over
                self._loop.call_soon_threadsafe(work)
