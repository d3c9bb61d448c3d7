"""A crawl of the Python API, from opening its state to closing it, as one coroutine on any event loop.

The pages between a crawl and its reader. There are few of them: a slow reader slows the crawl down.

The crawl's database thread adds pages, and the reader's thread takes them; each changes its own counters only.
"""

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
from comity.doors.python.page import Page, pages_of
from comity.doors.python.user_code import Sink, UserExtractor, sink_maker, wrap_extractor
from comity.model.host import Seed
from comity.reports.idle import IdleHost
from comity.run.crawl.sites import Sites, finish_sites, prepare_sites, reopen_hosts
from comity.run.remedies import CRAWL_ADVICE
from comity.settings import Settings
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.hooks import CrawlHooks
from comity.walk.crawl.progress import Progress, RunSummary
from comity.walk.session.database_thread import DatabaseThread

_log: Final = logging.getLogger("comity")
_MOST_PAGES: Final = 400  # for a batch that is read, one that is committed, and one that is collected
_MOST_BYTES: Final = 64 * 1024 * 1024  # of bodies


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What to crawl, and how; checked."""

    settings: Settings
    seeds: tuple[Seed, ...]
    extract: UserExtractor | None = None
    sink: Sink | None = None
    stores: bool = True
    """Whether pages are stored where the settings say, besides going to the sink and the loop."""
    errors: bool = False
    is_temporary: bool = False
    """Whether the state is in a folder that is deleted afterwards."""
    refresh: bool = False
    """Whether finished hosts are visited again now."""


class CrawlTask:
    """One crawl, run once. Its attributes can be read from any thread."""

    def __init__(self, plan: CrawlPlan) -> None:
        self._plan = plan
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crawl: Crawl | None = None
        self._reopening: asyncio.Task[None] | None = None
        self._seeds: frozenset[str] | None = None
        self._is_stopping = False
        self.progress = Progress(0.0)
        self.summary: RunSummary | None = None
        self.idle: tuple[IdleHost, ...] = ()
        self.taken_down: tuple[str, ...] = ()

    def stop(self) -> None:
        """Start no more requests; may be called from any thread."""
        self._is_stopping = True
        self._call(self._stop_here)

    def resume(self) -> None:
        """Resume: the reader has caught up; may be called from any thread."""
        self._call(self._resume_here)

    async def run(self, queue: PageQueue) -> None:
        """Do everything that `comity crawl` does, and put the pages into a queue."""
        self._loop = asyncio.get_running_loop()
        thread, opened = DatabaseThread(), ExitStack()
        try:
            state = await thread.run(self._open, opened)
            sites = await thread.run(self._prepare, state)
            self.taken_down = sites.taken_down
            await self._reopen_hosts(state, sites.hosts)
            self.summary = await self._run_crawl(state, sites.hosts, queue)
            self.summary = await thread.run(finish_sites, state, self.summary)
            if self.summary.status != "stopped":  # a caller that stops a crawl knows why hosts were not visited
                self.idle = self.summary.idle
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

    def _prepare(self, state: State) -> Sites:
        sites = prepare_sites(state, self._plan.seeds, source="python", refresh=self._plan.refresh)
        self._seeds = sites.seeds
        return sites

    async def _reopen_hosts(self, state: State, hosts: Collection[str]) -> None:
        """Read robots.txt of closed hosts again; `stop` cancels it."""
        self._reopening = asyncio.get_running_loop().create_task(reopen_hosts(state, hosts))
        if self._is_stopping:
            self._reopening.cancel()
        try:
            await self._reopening
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
        finally:
            self._reopening = None

    async def _run_crawl(self, state: State, hosts: Collection[str], queue: PageQueue) -> RunSummary:
        plan = self._plan
        sink = sink_maker(
            plan.sink,
            lambda records: queue.add(pages_of(records, errors=plan.errors)),
            stores=plan.stores,
            errors=plan.errors,
        )
        async with state.fetcher() as fetcher:
            hooks = CrawlHooks(
                is_held_up=lambda: queue.is_held_up(crawl.unsettled, crawl.unsettled_bytes),
                extract=wrap_extractor(plan.extract),
                advice=CRAWL_ADVICE,
                seeds=self._seeds,
            )
            self._crawl = crawl = state.crawl(fetcher, hosts, hooks, sink)
            self.progress = crawl.progress
            if self._is_stopping:
                crawl.stop()
            try:
                return await crawl.run()
            finally:
                self._crawl = None

    def _stop_here(self) -> None:
        if self._crawl is not None:
            self._crawl.stop()
        elif self._reopening is not None:
            self._reopening.cancel()

    def _resume_here(self) -> None:
        if self._crawl is not None:
            self._crawl.resume()

    def _call(self, work: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the crawl is over
                self._loop.call_soon_threadsafe(work)


class PageQueue:
    """`put` hands a page to the reader; `resume` resumes the crawl when its reader has caught up."""

    def __init__(self, put: Callable[[Page], None], resume: Callable[[], None]) -> None:
        self._put = put
        self._resume = resume
        self._added_pages = self._added_bytes = 0
        self._taken_pages = self._taken_bytes = 0
        self._is_held_up = False
        self._is_closed = False

    def add(self, pages: list[Page]) -> None:
        """Pages were committed."""
        if self._is_closed:
            return
        for page in pages:
            self._added_pages += 1
            self._added_bytes += len(page.body)
            self._put(page)

    def took(self, page: Page) -> None:
        """The reader has taken a page."""
        self._taken_pages += 1
        self._taken_bytes += len(page.body)
        if self._is_held_up and not self._is_longer_than(_MOST_PAGES // 2, _MOST_BYTES // 2):
            self._is_held_up = False
            self._resume()

    def close(self) -> None:
        """Drop further pages: the reader is gone."""
        self._is_closed = True

    def is_held_up(self, coming: int, coming_bytes: int = 0) -> bool:
        """Whether the crawl should wait for the reader, with so many pages still to be committed."""
        # Set before it is known, so that the reader, on another thread, cannot pass the mark unnoticed.
        self._is_held_up = True
        self._is_held_up = not self._is_closed and self._is_longer_than(
            _MOST_PAGES - coming, _MOST_BYTES - coming_bytes
        )
        return self._is_held_up

    def _is_longer_than(self, pages: int, size: int) -> bool:
        return self._added_pages - self._taken_pages >= pages or self._added_bytes - self._taken_bytes >= size
