"""When a source is read again: the default schedule (SourcePace, SourceRun, NextRun) and the adaptive one.

The adaptive schedule knows a belief about a source's changes, its claim on the visit budget, and its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from comity.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RevisitState:
    """What a row stores about how often a source changes: a Gamma belief over its rate, and the visits behind it.

    `changes` in `exposure_days` is the belief (its shape and its rate), the prior included; their quotient is the
    estimate. `visits` counts the observations, for people.
    """

    changes: float
    exposure_days: float
    visits: int = 0

    @property
    def rate_per_day(self) -> float:
        """The estimate: changes a day."""
        return self.changes / self.exposure_days


@dataclass(frozen=True, slots=True)
class RevisitLimits:
    """The shortest and the longest interval between visits to a source."""

    shortest_days: float = 0.5
    longest_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A source's claim on the budget: its host, how it is valued (importance × rate), and its limits."""

    host: str
    value: float
    limits: RevisitLimits = field(default_factory=RevisitLimits)


@dataclass(frozen=True, slots=True)
class Share:
    """How a host, or all sources, are paced.

    A source is visited `pace` × √value times a day within its limits, times `thinning`: 1, unless the budget does not
    even pay for the longest intervals.
    """

    pace: float
    thinning: float = 1.0


@dataclass(frozen=True, slots=True)
class Allocation:
    """How the budget is spent; `hosts` holds only those that their own cap slows, `spare_per_day` stays unspent."""

    overall: Share
    hosts: Mapping[str, Share]
    spare_per_day: float


@dataclass(frozen=True, slots=True)
class Revisit:
    """The next run of a source, and what is believed of it now."""

    next_run: NextRun
    state: RevisitState


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
    """A text that is not a time window, and why."""

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
    """The result of a run. An answer of 304 is a run that succeeded and changed nothing."""

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
