"""The pulse of an event loop: felt every second, so that a loop that is held up is seen, and by how much."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from comity.telemetry.meter import Meter, Reading
from comity.telemetry.metrics import LOOP_LAG

TICK_S: Final = 1.0
_REMEMBERED: Final = 10  # ticks


class Pulse:
    """Beats once a second and notes how late it was. `tell` gets a reading at every beat."""

    def __init__(self, meter: Meter, clock: Callable[[], float], tell: Callable[[Reading], None] | None = None) -> None:
        self._meter = meter
        self._clock = clock
        self._tell = tell
        self._late = deque([0.0], maxlen=_REMEMBERED)
        self.beat_at = clock()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            due = self._clock() + TICK_S
            await asyncio.sleep(TICK_S)
            self.beat_at = self._clock()
            self._late.append(max(0.0, self.beat_at - due))
            self._meter.set(LOOP_LAG, round(max(self._late), 6))
            if self._tell is not None:
                self._tell(self._meter.read())
