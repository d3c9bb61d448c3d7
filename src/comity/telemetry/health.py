"""Whether a worker is healthy, for the supervisor that restarts it and the balancer that sends it work."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from comity.telemetry.meter import Meter, MeterReading
from comity.telemetry.metrics import LEASE_OVERDUE, LOOP_LAG
from comity.telemetry.serving import HttpAnswer

STUCK_AFTER_S: Final = 30.0  # a loop that did not move for so long does not come back by itself


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    is_well: bool
    detail: str


def loop_checks(silence_s: Mapping[int, float]) -> list[Check]:
    """Whether every process moves, by how long each has said nothing."""
    return [
        Check(f"process {number}", seconds < STUCK_AFTER_S, f"last active {seconds:.1f} s ago")
        for number, seconds in sorted(silence_s.items())
    ]


def lease_check(reading: MeterReading) -> Check:
    """Whether leases are renewed in time: if not, hosts are about to be lost."""
    overdue_s = reading.numbers.get(LEASE_OVERDUE.name, {}).get("", 0.0)
    is_well = overdue_s <= 0
    return Check("leases", is_well, "renewed in time" if is_well else f"renewal is {overdue_s:.0f} s overdue")


def page_of(checks: Sequence[Check]) -> HttpAnswer:
    """200 if all is well, 503 if not, with every check and what it found."""
    is_well = all(check.is_well for check in checks)
    document = {
        "status": "ok" if is_well else "failing",
        "checks": {check.name: {"ok": check.is_well, "detail": check.detail} for check in checks},
    }
    return HttpAnswer(200 if is_well else 503, (json.dumps(document) + "\n").encode(), "application/json")


TICK_S: Final = 1.0
_REMEMBERED: Final = 10  # ticks


class LoopPulse:
    """Beats once a second and notes how late it was. `report` gets a reading at every beat."""

    def __init__(
        self, meter: Meter, clock: Callable[[], float], report: Callable[[MeterReading], None] | None = None
    ) -> None:
        self._meter = meter
        self._clock = clock
        self._report = report
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
            if self._report is not None:
                self._report(self._meter.read())
