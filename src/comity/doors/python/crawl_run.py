"""A crawl that a user iterates: by `for`, with the crawl on a thread, or by `async for`, on the user's event loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Final, Self

from comity.doors.python.crawl_task import CrawlPlan, CrawlTask, PageQueue
from comity.doors.python.page import Page
from comity.model.errors import ComityError
from comity.reports.idle import IdleHost
from comity.run.remedies import put_remedy_into
from comity.run.runtime import event_loop_runner
from comity.walk.crawl.progress import Progress, RunSummary

_END: Final = None


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
            raise RuntimeError(
                "this crawl was already iterated; comity.crawl() makes another that continues from there"
            )

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
    """A crawl on a thread with an event loop of its own; the reader's thread waits for pages."""

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
