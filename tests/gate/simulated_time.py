"""A clock that moves only when told, and fires timers on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

START_OF_TIME = 1_000_000.0


class SimulatedTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class SimulatedTime:
    """Stands in for the clock and for the loop's `call_later`."""

    def __init__(self) -> None:
        self.now = START_OF_TIME
        self.timers_set = 0
        self._timers: list[tuple[float, int, SimulatedTimer]] = []

    def __call__(self) -> float:
        return self.now

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> SimulatedTimer:
        timer = SimulatedTimer(callback)
        self.timers_set += 1
        heappush(self._timers, (self.now + delay_s, self.timers_set, timer))
        return timer

    def pending_timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Let time pass, with every timer at its moment and every woken task run to its next wait."""
        until = self.now + seconds
        await settle()
        while self._timers and self._timers[0][0] <= until:
            at, _, timer = heappop(self._timers)
            self.now = max(self.now, at)
            if timer.callback is not None:
                callback, timer.callback = timer.callback, None
                callback()
                await settle()
        self.now = until
        await settle()


async def settle() -> None:
    """Give every task that can run its turns; a chain of wake-ups is longer than one pass."""
    for _ in range(20):
        await asyncio.sleep(0)
