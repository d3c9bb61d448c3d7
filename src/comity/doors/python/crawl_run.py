"""A crawl that a user iterates: by `for`, on a thread of its own, or by `async for`, on the loop of the user."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Final, Self

from comity.doors.python.crawl_task import CrawlPlan, CrawlTask
from comity.doors.python.page import Page
from comity.doors.python.page_queue import PageQueue
from comity.model.errors import ComityError
from comity.reports.idle import IdleHost
from comity.run.event_loop import event_loop_runner
from comity.walk.progress import Progress, RunSummary

# The two ways in which a crawl runs beside its reader: on a thread of its own, or as a task of the reader's loop.

_END: Final = None


class CrawlRunner:
    """What both have: the failure of the crawl, told once."""

    failure: BaseException | None = None

    def tell(self) -> None:
        """Raise what ended the crawl, unless somebody heard of it before, or the interpreter ends."""
        failure, self.failure = self.failure, None
        if failure is not None and not sys.is_finalizing():
            raise failure


class ThreadRunner(CrawlRunner):
    """A crawl on a thread with an event loop of its own; the reader's thread waits for pages."""

    def __init__(self, conduct: CrawlTask) -> None:
        self._conduct = conduct
        self._queue: SimpleQueue[Page | None] = SimpleQueue()
        self._line = PageQueue(self._queue.put, conduct.go_on)
        # A daemon: a script that ends with half a loop behind it must not hang. The state bears that as any crash.
        self._thread = Thread(target=self._work, name="comity-crawl", daemon=True)
        self._thread.start()

    def next(self) -> Page | None:
        """Wait for the next page; None at the end. Ctrl-C interrupts it."""
        page = self._queue.get()
        if page is _END:
            self._queue.put(_END)  # whoever asks once more hears it once more
            return None
        self._line.took(page)
        return page

    def end(self) -> None:
        """Stop the crawl if it still runs, and wait until everything is settled and given back."""
        self._line.leave()
        self._conduct.stop()
        if not sys.is_finalizing():  # then its thread will never run again
            self._thread.join()

    def _work(self) -> None:
        try:
            with event_loop_runner() as runner:
                runner.run(self._conduct.run(self._line))
        except BaseException as failure:
            self.failure = failure
        finally:
            self._queue.put(_END)


class TaskRunner(CrawlRunner):
    """A crawl as a task of the loop that runs its reader."""

    def __init__(self, conduct: CrawlTask) -> None:
        self._conduct = conduct
        self._queue: asyncio.Queue[Page | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._line = PageQueue(self._put, conduct.go_on)
        self._task = self._loop.create_task(conduct.run(self._line), name="comity-crawl")
        self._task.add_done_callback(self._on_done)

    async def next(self) -> Page | None:
        """Wait for the next page; None at the end."""
        page = await self._queue.get()
        if page is _END:
            self._queue.put_nowait(_END)
            return None
        self._line.took(page)
        return page

    async def end(self) -> None:
        """Stop the crawl if it still runs, and wait until everything is settled and given back.

        Whoever is cancelled while waiting does not wait for what is in flight; leases are given back all the same.
        """
        self._line.leave()
        if self._task.done():
            return
        self._conduct.stop()
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait([self._task])
            raise

    def _put(self, page: Page) -> None:
        """From the database thread; the loop waits for that one at its end, and so is still there."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, page)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.failure = task.exception()
        self._queue.put_nowait(_END)


class CrawlRun:
    """One crawl, made by `comity.crawl`. It begins with the first page that is asked for, and can be iterated once.

    Leaving the loop ends the crawl: what is in flight is finished and kept, and the next crawl goes on from there.
    """

    def __init__(self, plan: CrawlPlan) -> None:
        self._conduct = CrawlTask(plan)
        self._session: CrawlRunner | None = None
        self._is_begun = False
        self._is_entered = False

    def __iter__(self) -> Iterator[Page]:
        """The pages, as they are committed; this thread may sleep in between."""
        self._check_not_begun()
        return self._pages()

    def __aiter__(self) -> AsyncIterator[Page]:
        """The pages, as they are committed; the crawl runs on the running event loop."""
        self._check_not_begun()
        return self._pages_async()

    def __enter__(self) -> Self:
        self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = self._session
        if isinstance(session, ThreadRunner):
            session.end()
            if kind is None:
                session.tell()
        elif session is not None:
            self.stop()
            raise TypeError("a crawl that is read by `async for` is left by `async with`")

    async def __aenter__(self) -> Self:
        self._is_entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = self._session
        if isinstance(session, TaskRunner):
            await session.end()
            await asyncio.sleep(0)  # a generator that was left is closed by a task of its own, which has waited too
        elif isinstance(session, ThreadRunner):
            session.end()
        if session is not None and kind is None:
            session.tell()

    def stop(self) -> None:
        """Start nothing more, from any thread or task; pages that are committed still come, then the loop ends."""
        self._conduct.stop()

    @property
    def progress(self) -> Progress:
        """Counters that move while the crawl goes on."""
        return self._conduct.progress

    @property
    def summary(self) -> RunSummary:
        """How the run ended; `ComityError` if it did not, or not well."""
        if self._conduct.summary is None:
            raise ComityError("there is no summary: the crawl has not come to its end")
        return self._conduct.summary

    @property
    def idle(self) -> tuple[IdleHost, ...]:
        """Hosts that were left alone: why, until when, and what would change it."""
        return self._conduct.idle

    @property
    def taken_down(self) -> tuple[str, ...]:
        """Seeds that were left out, since they are taken down."""
        return self._conduct.taken_down

    def _check_not_begun(self) -> None:
        if self._is_begun:
            raise RuntimeError("this crawl was iterated before; comity.crawl() makes another, which goes on from there")

    def _pages(self) -> Iterator[Page]:
        self._check_not_begun()
        self._is_begun = True
        self._session = session = ThreadRunner(self._conduct)
        try:
            while (page := session.next()) is not None:
                yield page
        except GeneratorExit:  # the loop was left
            session.end()
            if not self._is_entered:
                session.tell()
            raise
        except BaseException:
            session.end()
            raise
        session.end()
        session.tell()

    async def _pages_async(self) -> AsyncIterator[Page]:
        self._check_not_begun()
        self._is_begun = True
        self._session = session = TaskRunner(self._conduct)
        try:
            while (page := await session.next()) is not None:
                yield page
        except GeneratorExit:
            await session.end()
            if not self._is_entered:
                session.tell()
            raise
        except BaseException:
            await session.end()
            raise
        await session.end()
        session.tell()
