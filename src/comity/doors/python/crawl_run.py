"""A crawl that a user iterates: by `for`, with the crawl on a thread, or by `async for`, on the user's event loop.

`CrawlTask` is the crawl itself; `PageQueue` has its pages until the user takes them.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from types import TracebackType
from typing import Final, Self

from comity.assemble import State, open_state
from comity.doors.python.page import Page, pages_of
from comity.doors.python.user_code import Sink, UserExtractor, sink_maker, wrap_extractor
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError
from comity.model.host import Seed
from comity.reports.runs import IdleHost
from comity.run.crawl.sites import Sites, finish_sites, prepare_sites, reopen_hosts
from comity.run.remedies import CRAWL_ADVICE, put_remedy_into
from comity.run.runtime import event_loop_runner
from comity.settings import Settings
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.progress import Progress, RunSummary
from comity.walk.crawl.terms import CrawlHooks
from comity.walk.session.database_thread import DatabaseThread

_END: Final = None
_log: Final = logging.getLogger("comity")
_MOST_PAGES: Final = 400  # for a batch that is read, one that is committed, and one that is collected
_MOST_BYTES: Final = 64 * 1024 * 1024  # of bodies


class CrawlRun:
    """One crawl, made by `comity.crawl`. It starts with the first page that is requested, and can be iterated once.

    Leaving the loop ends the crawl: requests in flight are finished, and the next crawl continues from there.
    """

    def __init__(self, plan: CrawlPlan) -> None:
        self._crawl = CrawlTask(plan)
        self._runner: CrawlRunner | None = None
        self._is_started = False
        self._is_entered = False

    def __iter__(self) -> Iterator[Page]:
        """The pages, as they are committed; this thread may sleep in between."""
        self._check_not_started()
        return self._pages()

    def __aiter__(self) -> AsyncIterator[Page]:
        """The pages, as they are committed; the crawl runs on the running event loop."""
        self._check_not_started()
        return self._pages_async()

    def __enter__(self) -> Self:
        self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runner = self._runner
        if isinstance(runner, ThreadRunner):
            runner.end()
            if kind is None:
                runner.raise_failure()
        elif runner is not None:
            self.stop()
            raise TypeError("a crawl that is read by `async for` must be closed by `async with`")

    async def __aenter__(self) -> Self:
        self._is_entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runner = self._runner
        if isinstance(runner, TaskRunner):
            await runner.end()
            await asyncio.sleep(0)  # the task that closes an abandoned generator has waited, too
        elif isinstance(runner, ThreadRunner):
            runner.end()
        if runner is not None and kind is None:
            runner.raise_failure()

    def stop(self) -> None:
        """Start no more requests, from any thread or task; committed pages still come, then the loop ends."""
        self._crawl.stop()

    @property
    def progress(self) -> Progress:
        """Counters that change while the crawl runs."""
        return self._crawl.progress

    @property
    def summary(self) -> RunSummary:
        """How the run ended; `ComityError` if it has not ended, or failed."""
        if self._crawl.summary is None:
            raise ComityError("there is no summary: the crawl has not ended")
        return self._crawl.summary

    @property
    def idle(self) -> tuple[IdleHost, ...]:
        """Hosts that were not crawled: why, until when, and what would change it."""
        return self._crawl.idle

    @property
    def taken_down(self) -> tuple[str, ...]:
        """Seeds that were skipped because of a takedown."""
        return self._crawl.taken_down

    def _check_not_started(self) -> None:
        if self._is_started:
            raise RuntimeError("this crawl was already iterated; call comity.crawl() again to continue from there")

    def _pages(self) -> Iterator[Page]:
        self._check_not_started()
        self._is_started = True
        self._runner = runner = ThreadRunner(self._crawl)
        try:
            while (page := runner.next()) is not None:
                yield page
        except GeneratorExit:  # the loop was left
            runner.end()
            if not self._is_entered:
                runner.raise_failure()
            raise
        except BaseException:
            runner.end()
            raise
        runner.end()
        runner.raise_failure()

    async def _pages_async(self) -> AsyncIterator[Page]:
        self._check_not_started()
        self._is_started = True
        self._runner = runner = TaskRunner(self._crawl)
        try:
            while (page := await runner.next()) is not None:
                yield page
        except GeneratorExit:
            await runner.end()
            if not self._is_entered:
                runner.raise_failure()
            raise
        except BaseException:
            await runner.end()
            raise
        await runner.end()
        runner.raise_failure()


class CrawlRunner:
    """What runs a crawl beside its reader; it raises the failure of the crawl once."""

    failure: BaseException | None = None

    def raise_failure(self) -> None:
        """Raise what ended the crawl, unless that was raised before, or the interpreter ends."""
        failure, self.failure = self.failure, None
        if failure is not None and not sys.is_finalizing():
            put_remedy_into(failure)
            raise failure


class ThreadRunner(CrawlRunner):
    """A crawl on a thread with its own event loop; the reader's thread waits for pages."""

    def __init__(self, crawl: CrawlTask) -> None:
        self._crawl = crawl
        self._queue: SimpleQueue[Page | None] = SimpleQueue()
        self._pages = PageQueue(self._queue.put, crawl.resume)
        # A daemon, so that a script that ends in the middle of its loop does not hang; to the state it is a crash.
        self._thread = Thread(target=self._work, name="comity-crawl", daemon=True)
        self._thread.start()

    def next(self) -> Page | None:
        """Wait for the next page; None at the end. Ctrl-C interrupts it."""
        page = self._queue.get()
        if page is _END:
            self._queue.put(_END)  # for the next call
            return None
        self._pages.took(page)
        return page

    def end(self) -> None:
        """Stop the crawl if it still runs, and wait until everything is settled and released."""
        self._pages.close()
        self._crawl.stop()
        if not sys.is_finalizing():  # then its thread will never run again
            self._thread.join()

    def _work(self) -> None:
        try:
            with event_loop_runner() as loop_runner:
                loop_runner.run(self._crawl.run(self._pages))
        except BaseException as failure:
            self.failure = failure
        finally:
            self._queue.put(_END)


class TaskRunner(CrawlRunner):
    """A crawl as a task of the loop that runs its reader."""

    def __init__(self, crawl: CrawlTask) -> None:
        self._crawl = crawl
        self._queue: asyncio.Queue[Page | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._pages = PageQueue(self._put, crawl.resume)
        self._task = self._loop.create_task(crawl.run(self._pages), name="comity-crawl")
        self._task.add_done_callback(self._on_done)

    async def next(self) -> Page | None:
        """Wait for the next page; None at the end."""
        page = await self._queue.get()
        if page is _END:
            self._queue.put_nowait(_END)
            return None
        self._pages.took(page)
        return page

    async def end(self) -> None:
        """Stop the crawl if it still runs, and wait until everything is settled and released.

        If the caller is cancelled meanwhile, requests in flight are abandoned; leases are still released.
        """
        self._pages.close()
        if self._task.done():
            return
        self._crawl.stop()
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait([self._task])
            raise

    def _put(self, page: Page) -> None:
        """Called from the database thread; the loop outlives it, because it waits for that thread at the end."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, page)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.failure = task.exception()
        self._queue.put_nowait(_END)


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
    """One crawl, run once. Its attributes can be read from any thread.

    From opening its state to closing it, it is one coroutine on any event loop.
    """

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
    """`put` hands a page to the reader; `resume` resumes the crawl when its reader has caught up.

    It is short: a slow reader slows the crawl down. The crawl's database thread adds pages, and the reader's thread
    takes them; each changes its own counters only.
    """

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
