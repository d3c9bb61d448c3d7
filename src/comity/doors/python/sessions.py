"""The two ways in which a crawl runs beside its reader: on a thread of its own, or as a task of the reader's loop."""

from __future__ import annotations

import asyncio
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Final

from comity.doors.event_loop import runner_of_loops
from comity.doors.python.conduct import Conduct
from comity.doors.python.line import PageLine
from comity.doors.python.page import Page

_END: Final = None


class Session:
    """What both have: the failure of the crawl, told once."""

    failure: BaseException | None = None

    def tell(self) -> None:
        """Raise what ended the crawl, unless somebody heard of it before, or the interpreter ends."""
        failure, self.failure = self.failure, None
        if failure is not None and not sys.is_finalizing():
            raise failure


class ThreadSession(Session):
    """A crawl on a thread with an event loop of its own; the reader's thread waits for pages."""

    def __init__(self, conduct: Conduct) -> None:
        self._conduct = conduct
        self._queue: SimpleQueue[Page | None] = SimpleQueue()
        self._line = PageLine(self._queue.put, conduct.go_on)
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
            with runner_of_loops() as runner:
                runner.run(self._conduct.run(self._line))
        except BaseException as failure:
            self.failure = failure
        finally:
            self._queue.put(_END)


class TaskSession(Session):
    """A crawl as a task of the loop that runs its reader."""

    def __init__(self, conduct: Conduct) -> None:
        self._conduct = conduct
        self._queue: asyncio.Queue[Page | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._line = PageLine(self._put, conduct.go_on)
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
