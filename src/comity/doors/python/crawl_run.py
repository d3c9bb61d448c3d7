"""A crawl that a user iterates: by `for`, on a thread of its own, or by `async for`, on the loop of the user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

from comity.doors.python.crawl_run import CrawlRunner, TaskRunner, ThreadRunner
from comity.doors.python.crawl_task import CrawlPlan, CrawlTask
from comity.doors.python.page import Page
from comity.model.errors import ComityError
from comity.reports.idle import IdleHost
from comity.walk.crawl.progress import Progress, RunSummary


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
