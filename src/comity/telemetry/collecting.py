"""The readings of several processes as one: each writes lines into a pipe, and one process merges them.

What a process counted stays counted when it ends, so that no counter ever goes back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from comity.telemetry.meter import MeterReading, counters_only, merge_readings, reading_of

_LINE_MOST: Final = 65_536


class Reporter:
    """The writing end of the pipe for readings; never waits for the reader."""

    def __init__(self, file: int) -> None:
        os.set_blocking(file, False)
        self._file = file
        self._rest = b""

    def report(self, reading: MeterReading) -> None:
        """Send a reading; while the former is not yet taken, this one is left out."""
        line = self._rest or json.dumps(reading.document(), separators=(",", ":")).encode() + b"\n"
        with suppress(OSError):  # the reader is gone, or busy
            self._rest = line[os.write(self._file, line) :]
            return
        self._rest = line if self._rest else b""


@dataclass(slots=True)
class _Member:
    reading: MeterReading | None
    at: float
    rest: bytes = b""


class ReadingCollector:
    """The end of the pipes where readings arrive, by the number of the process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._living: dict[int, _Member] = {}
        self._former = MeterReading({}, {})

    def begin(self, number: int) -> None:
        """A process was started."""
        self._living[number] = _Member(None, self._clock())

    def receive(self, number: int, piece: bytes) -> None:
        """A piece of a process's readings arrived; the last whole line counts."""
        member = self._living[number]
        *lines, member.rest = (member.rest + piece).split(b"\n")
        if len(member.rest) > _LINE_MOST:
            member.rest = b""
        for line in lines[-1:]:
            with suppress(ValueError):
                member.reading = reading_of(json.loads(line))
                member.at = self._clock()

    def end(self, number: int) -> None:
        """A process is gone."""
        member = self._living.pop(number)
        if member.reading is not None:
            self._former = merge_readings([self._former, counters_only(member.reading)])

    def reading(self) -> MeterReading:
        """All of them as one."""
        return merge_readings(
            [self._former, *(member.reading for member in self._living.values() if member.reading is not None)]
        )

    @property
    def reporting(self) -> int:
        """How many processes have reported."""
        return sum(member.reading is not None for member in self._living.values())

    def silence_s(self) -> dict[int, float]:
        """For how long each process has said nothing, by its number."""
        now = self._clock()
        return {number: now - member.at for number, member in self._living.items()}
