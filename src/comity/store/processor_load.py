"""Whether a process has processor time to spare: what it saves in storing pages, it can spend on fetching them."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

_STATISTICS: Final = Path("/proc/stat")  # proc(5); only Linux has it
_FIRST_IDLE: Final = 4  # of a processor's columns: its name, user, nice, system, idle, iowait
_BUSY_SHARE: Final = 0.85


class ProcessorTicks(NamedTuple):
    """Ticks of some processors since the machine started."""

    all: int
    idle: int


class ProcessorLoad:
    """Looks at the processors that this process may use, from one look to the next."""

    def __init__(self, statistics: Path = _STATISTICS) -> None:
        self._statistics = statistics
        self._before = self._look()

    def is_busy(self) -> bool:
        """Whether these processors had next to nothing idle since the last look; False where this is not known."""
        now, before = self._look(), self._before
        if now is None or before is None or now.all <= before.all:
            return False
        self._before = now
        return now.idle - before.idle < (1 - _BUSY_SHARE) * (now.all - before.all)

    def _look(self) -> ProcessorTicks | None:
        try:
            return ticks_of(self._statistics.read_text(), os.sched_getaffinity(0))
        except (OSError, ValueError, AttributeError):  # another system than Linux
            return None


def ticks_of(statistics: str, processors: Collection[int]) -> ProcessorTicks | None:
    """Sum up what /proc/stat says of some processors; None if it names none of them."""
    total = idle = 0
    wanted = {f"cpu{number}" for number in processors}
    for line in statistics.splitlines():
        name, *columns = line.split()[:9]  # guests are part of user and nice
        if name in wanted:
            numbers = list(map(int, columns))
            total += sum(numbers)
            idle += sum(numbers[_FIRST_IDLE - 1 : _FIRST_IDLE + 1])
    return ProcessorTicks(total, idle) if total else None
