"""Background loops of a service. One that fails is reported and counted, and starts again after a pause.

A task whose error is never awaited ends silently, and its work is not done from then on. So every such
loop runs in `Loops.keep`; health and metrics show which loops have failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
LOG: Final = logging.getLogger("comity.loops")


def log_fault(name: str, error: Exception) -> None:
    """Log the unexpected error of a loop, with where it happened."""
    LOG.error("the %s failed and starts again: unexpected %s", name, type(error).__name__, exc_info=error)


async def pause(stopping: asyncio.Event, seconds: float) -> None:
    """Wait for this long, or until a stop is requested."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()


class Loops:
    """The loops of one process, by their names. `on_fault` is called with the name of a loop that fails, and why."""

    def __init__(
        self, on_fault: Callable[[str, Exception], None] = log_fault, *, first_pause_s: float = FIRST_PAUSE_S
    ) -> None:
        self.on_fault = on_fault
        self._first_pause_s = first_pause_s
        self.failing: dict[str, str] = {}
        """The loops that have failed and wait to start again, with the kind of the error."""

    async def keep(
        self, name: str, serve: Callable[[], Awaitable[None]], stopping: asyncio.Event | None = None
    ) -> None:
        """Run a loop until it returns, is stopped or is cancelled; start it again after an unexpected error.

        The pause doubles with every failure; a loop that has run for a minute starts from the first pause again.
        """
        time, pause_s = asyncio.get_running_loop().time, self._first_pause_s
        over = stopping or asyncio.Event()
        while not over.is_set():
            started_at = time()
            try:
                await serve()
                return
            except Exception as error:
                self.failing[name] = type(error).__name__
                self.on_fault(name, error)
            if time() - started_at >= LONGEST_PAUSE_S:
                pause_s = self._first_pause_s
            try:
                await pause(over, pause_s)
            finally:
                self.failing.pop(name, None)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
