"""What a schedule was worth: from the times of changes and of visits to delays and freshness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from comity.schedule.synthetic import World


@dataclass(frozen=True, slots=True)
class Measured:
    """How well changes were seen.

    `mean_delay_days`: from a change to the first visit that sees it, over all changes. `slowest_tenth_days`: the same
    over the slowest tenth of them. `freshness`: the share of time in which what was last seen is what is there, over
    all sources alike. `stalest_tenth`: the same over the tenth of the sources with the least.
    """

    visits: int
    changes: int
    mean_delay_days: float
    slowest_tenth_days: float
    freshness: float
    stalest_tenth: float
    # One pair for each source that was visited twice: changes a day, and the mean interval between visits.
    intervals: tuple[tuple[float, float], ...]


def measure(world: World, visits: Sequence[Sequence[float]]) -> Measured:
    """Follow every source through its changes and visits; the last visit of each lies beyond the end."""
    delays: list[float] = []
    freshness: list[float] = []
    intervals: list[tuple[float, float]] = []
    for source, times in zip(world.sources, visits, strict=True):
        stale = _follow(source.changes, times, world.days, delays)
        freshness.append(1.0 - stale / world.days)
        if len(times) > 2:
            intervals.append((source.rate_per_day, (times[-2] - times[0]) / (len(times) - 2)))
    return Measured(
        sum(len(times) - 1 for times in visits),
        len(delays),
        fmean(delays) if delays else 0.0,
        _mean_of_tenth(sorted(delays, reverse=True)),
        fmean(freshness) if freshness else 1.0,
        _mean_of_tenth(sorted(freshness)) if freshness else 1.0,
        tuple(intervals),
    )


def _follow(changes: Sequence[float], times: Sequence[float], end: float, delays: list[float]) -> float:
    """Note the delay of every change, and give the time out of step."""
    stale, next_change = 0.0, 0
    for at in times:
        first = next_change
        while next_change < len(changes) and changes[next_change] <= at:
            delays.append(at - changes[next_change])
            next_change += 1
        if next_change > first:
            stale += min(at, end) - changes[first]
    return stale


def _mean_of_tenth(values: Sequence[float]) -> float:
    """The mean of the first tenth, at least of one."""
    return fmean(values[: max(1, len(values) // 10)]) if values else 0.0
