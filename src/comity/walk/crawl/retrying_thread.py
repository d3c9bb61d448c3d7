"""Calls to the frontier on the database thread, made again while the frontier does not answer.

A store that is unavailable wrote nothing, so the same call is made again, after growing pauses and for a bounded time.
The same holds for a full disk of pages, if `waits_for_space` says that space will be made. Leases are renewed in
between, because no pause blocks the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final, ParamSpec, TypeVar

from comity.frontier.store import FrontierStore, FrontierUnavailable, FrontierUnfit
from comity.store.sink import is_full
from comity.walk.crawl.events import Emit, FrontierRebuilt, FrontierSilent
from comity.walk.session.database_thread import DatabaseThread

LEAST_PAUSE_S: Final = 0.1
MOST_PAUSE_S: Final = 5.0
GIVE_UP_AFTER_S: Final = 900.0
_LOOK_EVERY_S: Final = 0.1

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DiskFull(str):
    """The reason of a wait for space on the disk of the pages."""

    __slots__ = ()


class RetryingThread:
    """The database thread for calls that need the frontier; `clock` gives seconds."""

    def __init__(
        self,
        thread: DatabaseThread,
        frontier: FrontierStore,
        clock: Callable[[], float],
        emit: Emit,
        *,
        waits_for_space: bool = False,
    ) -> None:
        self._waits_for_space = waits_for_space
        self._thread = thread
        self._frontier = frontier
        self._clock = clock
        self._emit = emit
        self.ends_at = inf  # when the run ends, whether the frontier is back or not
        self._has_stopped_asking = False

    async def run(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        """Run a function until the frontier answers; raises `FrontierUnavailable` in the end."""
        pause_s, gives_up_at = LEAST_PAUSE_S, inf
        while True:
            try:
                result = await self._thread.run(function, *arguments, **options)
                break
            except FrontierUnfit:
                raise  # waiting does not help
            except (FrontierUnavailable, OSError) as error:
                if isinstance(error, OSError) and not (self._waits_for_space and is_full(error)):
                    raise
                now = self._clock()
                if gives_up_at == inf:
                    gives_up_at = now + GIVE_UP_AFTER_S
                    self._emit(FrontierSilent(_sentence(error)))
                is_silent = isinstance(error, FrontierUnavailable) and self._frontier.has_own_server
                if is_silent and now >= self.ends_at and not self._has_stopped_asking:
                    # What was fetched is worth keeping: try once more, with the database alone.
                    self._has_stopped_asking = True
                    self._frontier.stop_asking()
                    continue
                if now >= min(gives_up_at, self.ends_at):
                    raise
            await self._pause(pause_s)
            pause_s = min(pause_s * 2, MOST_PAUSE_S)
        if gives_up_at != inf:
            self._emit(FrontierSilent(None))
        if rebuilt := self._frontier.take_rebuilt():
            self._emit(FrontierRebuilt(rebuilt))
        return result

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the run, which may be set meanwhile."""
        until = self._clock() + seconds
        while (left_s := min(until, self.ends_at) - self._clock()) > 0:  # noqa: ASYNC110  # rare, and the end may move
            await asyncio.sleep(min(left_s, _LOOK_EVERY_S))


def _sentence(error: FrontierUnavailable | OSError) -> str:
    if isinstance(error, OSError):
        return DiskFull(f"{error.filename}: {error.strerror}; waiting for disk space")
    return str(error)
