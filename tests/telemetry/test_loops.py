"""Loops that run beside a service: reported when they fail, shown while they wait, and started again."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from comity.telemetry.loops import Loops


def test_a_loop_starts_again_after_an_error_and_is_shown_meanwhile() -> None:
    faults: list[tuple[str, str, dict[str, str]]] = []
    times = 0

    def note(name: str, error: Exception) -> None:
        faults.append((name, str(error), dict(loops.failing)))

    async def serve() -> None:
        nonlocal times
        times += 1
        if times < 3:
            raise RuntimeError(f"fault {times}")

    loops = Loops(note, first_pause_s=0.0)
    asyncio.run(loops.keep("sweeper", serve))
    shown = {"sweeper": "RuntimeError"}
    assert faults == [("sweeper", "fault 1", shown), ("sweeper", "fault 2", shown)]
    assert loops.failing == {}


def test_a_loop_that_waits_to_start_again_can_be_stopped() -> None:
    async def run() -> int:
        stopping, times = asyncio.Event(), 0

        async def serve() -> None:
            nonlocal times
            times += 1
            stopping.set()
            raise RuntimeError("a fault")

        loops = Loops(lambda _name, _error: None, first_pause_s=600.0)
        await asyncio.wait_for(loops.keep("sweeper", serve, stopping), 60)
        return times

    assert asyncio.run(run()) == 1


def test_the_pause_grows_with_every_failure() -> None:
    """On a loop whose time the test moves: 1, 2, 4 … and a minute at most."""
    started: list[float] = []

    async def serve() -> None:
        started.append(asyncio.get_running_loop().time())
        if len(started) < 9:
            raise RuntimeError("a fault")

    loop = _SkippingLoop()
    try:
        loop.run_until_complete(Loops(lambda _name, _error: None).keep("sweeper", serve))
    finally:
        loop.close()
    pauses = [round(later - earlier) for earlier, later in pairwise(started)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


class _SkippingLoop(asyncio.SelectorEventLoop):
    """Skips the time until the next timer instead of waiting for it."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.skipped_s += max(0.0, self._scheduled[0].when() - self.time())
        super()._run_once()  # type: ignore[misc]
