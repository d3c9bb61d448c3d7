"""The one place that reads the clock.

Wall time is taken once and carried forward by the monotonic clock, so that an operator or NTP setting
the machine's clock back cannot make a wait shorter or a lease longer inside a running process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """What the rooms ask of time; the simulated clock of the tests answers the same questions."""

    def seconds(self) -> float:
        """UNIX time."""
        ...

    def now(self) -> datetime:
        """The same, as an aware datetime in UTC."""
        ...


# Seconds since the machine started, those that it slept through included: leases run out meanwhile. Asked ten times for
# each page, so without a function of ours around it.
_running: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


class SystemClock:
    """The machine's time, never running backwards within this process."""

    def __init__(self) -> None:
        self._offset = time.time() - _running()

    def seconds(self) -> float:
        """UNIX time."""
        return self._offset + _running()

    def now(self) -> datetime:
        """The same, as an aware datetime in UTC."""
        return datetime.fromtimestamp(self.seconds(), UTC)
