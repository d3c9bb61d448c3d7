"""When a source is read again: what is known before the decision (SourcePace, SourceRun) and the decision (NextRun)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ScheduleRule(StrEnum):
    """Which rule set the time until the next run."""

    STEADY = "steady"
    BUSY = "busy"
    QUIET = "quiet"
    FAILURE = "failure"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A part of the day by the clock on the wall, in minutes from midnight; the end is outside. May pass midnight."""

    start_minute: int
    end_minute: int

    def __str__(self) -> str:
        start, end = (f"{minute // 60:02d}:{minute % 60:02d}" for minute in (self.start_minute, self.end_minute))
        return f"{start}-{end}"


@dataclass(frozen=True, slots=True)
class WindowRefused:
    """A text that is no time window, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class SourcePace:
    """What a source's row says of its schedule before a run; the counters are those before the run, too."""

    crawl_frequency_days: float | None = None
    org_type: str | None = None
    consecutive_failures: int = 0
    consecutive_nochange: int = 0
    time_window: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRun:
    """What a run came to. An answer of 304 is a run that succeeded and changed nothing."""

    succeeded: bool
    inserted: int = 0
    updated: int = 0


@dataclass(frozen=True, slots=True)
class NextRun:
    """The decision, with the counters to store and a sentence that explains it.

    `frequency_days` is the time before jitter and window.
    """

    next_run_at: datetime
    frequency_days: float
    consecutive_failures: int
    consecutive_nochange: int
    rule: ScheduleRule
    reason: str
