"""Questions to the frontier on the database thread; a frontier that does not answer is waited for.

When its store is unavailable nothing was written, so that the same call is made again, after pauses that grow and
for a bounded time. So it is when the disk of the pages is full, where `waits_for_room` says that room will be
made. Leases are renewed in between, because no pause holds the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from math import inf
from typing import Final, ParamSpec, TypeVar
from uuid import UUID

from comity.frontier.store import FrontierStore, FrontierUnavailable, FrontierUnfit
from comity.store.sink import is_full
from comity.walk.session.database_thread import DatabaseThread

LEAST_PAUSE_S: Final = 0.1
MOST_PAUSE_S: Final = 5.0
GIVE_UP_AFTER_S: Final = 900.0
_LOOK_EVERY_S: Final = 0.1

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DiskFull(str):
    """What is told when it is the disk of the pages that is waited for."""

    __slots__ = ()


class RetryingThread:
    """The database thread as those see it who need the frontier.

    `clock` gives seconds; `tell` is told why a wait began, and by None that it is over.
    """

    def __init__(
        self,
        thread: DatabaseThread,
        frontier: FrontierStore,
        clock: Callable[[], float],
        tell: Callable[[str | None], None],
        on_rebuilt: Callable[[Collection[UUID]], None],
    ) -> None:
        self.waits_for_room = False  # on the disk of the pages
        self._thread = thread
        self._frontier = frontier
        self._clock = clock
        self._tell = tell
        self._on_rebuilt = on_rebuilt
        self.ends_at = inf  # when the run is over, whether the frontier is back or not
        self._has_stopped_asking = False

    async def run(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        """Run a function there, and again until the frontier answers; raises `FrontierUnavailable` in the end."""
        pause_s, gives_up_at = LEAST_PAUSE_S, inf
        while True:
            try:
                result = await self._thread.run(function, *arguments, **options)
                break
            except FrontierUnfit:
                raise  # it will not become better by waiting
            except (FrontierUnavailable, OSError) as error:
                if isinstance(error, OSError) and not (self.waits_for_room and is_full(error)):
                    raise
                now = self._clock()
                if gives_up_at == inf:
                    gives_up_at = now + GIVE_UP_AFTER_S
                    self._tell(_sentence(error))
                is_silent = isinstance(error, FrontierUnavailable) and self._frontier.has_own_server
                if is_silent and now >= self.ends_at and not self._has_stopped_asking:
                    # What is fetched is worth keeping: once more, into the database alone.
                    self._has_stopped_asking = True
                    self._frontier.stop_asking()
                    continue
                if now >= min(gives_up_at, self.ends_at):
                    raise
            await self._pause(pause_s)
            pause_s = min(pause_s * 2, MOST_PAUSE_S)
        if gives_up_at != inf:
            self._tell(None)
        if rebuilt := self._frontier.take_rebuilt():
            self._on_rebuilt(rebuilt)
        return result

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not beyond the end of the run, which may be set meanwhile."""
        until = self._clock() + seconds
        while (left_s := min(until, self.ends_at) - self._clock()) > 0:  # noqa: ASYNC110  # rare, and the end may move
            await asyncio.sleep(min(left_s, _LOOK_EVERY_S))


def _sentence(error: FrontierUnavailable | OSError) -> str:
    if isinstance(error, OSError):
        return DiskFull(f"{error.filename}: {error.strerror}; waiting for disk space")
    return str(error)
