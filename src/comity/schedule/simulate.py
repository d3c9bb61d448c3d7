"""Comparing schedules at an equal budget: delays and freshness, from the times of changes and of visits.

Takes a SimulationPlan; returns a Comparison, the same for the same seed. Every schedule is run again with another
`stretch` until its visits are within half a percent of the budget (the number of visits falls about as 1/stretch, so
each run corrects the next). A schedule that limits keep more than one percent away from the budget is marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import fmean
from typing import Final

from comity.model.schedule import RevisitLimits
from comity.schedule.contenders import Contest, Schedule, Visits, run_schedule
from comity.schedule.synthetic import World, WorldPlan, make_world

CLOSE_ENOUGH: Final = 0.005
WITHIN_BUDGET: Final = 0.01
_MOST_RUNS: Final = 12
AIM_DELAY_GAIN: Final = 0.40


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """A world, and the visits a day that every schedule may make."""

    world: WorldPlan
    visits_per_day: float

    @property
    def limits(self) -> RevisitLimits:
        """How close together and how far apart any schedule may visit."""
        return fitting_limits(self.world.sources, self.visits_per_day)


@dataclass(frozen=True, slots=True)
class Result:
    """One schedule at the budget."""

    schedule: Schedule
    measured: Measured
    stretch: float
    budget: float

    @property
    def budget_used(self) -> float:
        """Visits made in relation to visits allowed."""
        return self.measured.visits / self.budget

    @property
    def is_within_budget(self) -> bool:
        """Whether the comparison with the others is fair."""
        return abs(self.budget_used - 1.0) <= WITHIN_BUDGET


@dataclass(frozen=True, slots=True)
class Comparison:
    """All schedules on one world at one budget."""

    plan: SimulationPlan
    results: tuple[Result, ...]

    def of(self, schedule: Schedule) -> Result:
        """The result of one schedule."""
        return next(result for result in self.results if result.schedule is schedule)

    def delay_gain(self, schedule: Schedule) -> float:
        """By how much the mean delay is under that of the fixed schedule; 0.4 is 40 % under."""
        fixed = self.of(Schedule.FIXED).measured.mean_delay_days
        return 1.0 - self.of(schedule).measured.mean_delay_days / fixed if fixed > 0 else 0.0

    def freshness_gain(self, schedule: Schedule) -> float:
        """How much more of the time sources are in step than with the fixed schedule."""
        return self.of(schedule).measured.freshness - self.of(Schedule.FIXED).measured.freshness

    @property
    def meets_aim(self) -> bool:
        """Whether adaptive has 40 % less delay than fixed, and no less freshness."""
        return self.delay_gain(Schedule.ADAPTIVE) >= AIM_DELAY_GAIN and self.freshness_gain(Schedule.ADAPTIVE) >= 0.0


def fitting_limits(sources: int, visits_per_day: float) -> RevisitLimits:
    """The usual limits, or wider ones where a budget is so small or so large that they would decide everything."""
    usual, round_days = RevisitLimits(), sources / visits_per_day
    return RevisitLimits(min(usual.shortest_days, round_days / 4), max(usual.longest_days, round_days * 3))


def sweep(
    plan: SimulationPlan, budgets: Sequence[float], *, on_schedule: Callable[[], None] = lambda: None
) -> list[Comparison]:
    """Run every schedule on one world at each of the budgets; `on_schedule` is called after each."""
    world = make_world(plan.world)
    return [_compare(replace(plan, visits_per_day=budget), world, on_schedule) for budget in budgets]


def _compare(plan: SimulationPlan, world: World, on_schedule: Callable[[], None]) -> Comparison:
    contest = Contest(world, plan.visits_per_day, plan.limits, plan.world.seed)
    results = []
    for schedule in Schedule:
        results.append(_at_budget(schedule, contest))
        on_schedule()
    return Comparison(plan, tuple(results))


def _at_budget(schedule: Schedule, contest: Contest) -> Result:
    budget = contest.visits_per_day * contest.world.days
    stretch, too_fast, too_slow = 1.0, 0.0, inf  # the last two: stretches with too many visits and with too few
    best: tuple[float, float, Visits] | None = None
    for _ in range(_MOST_RUNS):
        visits = run_schedule(schedule, contest, stretch)
        used = sum(len(times) - 1 for times in visits) / budget
        if best is None or abs(used - 1.0) < best[0]:
            best = abs(used - 1.0), stretch, visits
        if best[0] <= CLOSE_ENOUGH:
            break
        if used > 1.0:
            too_fast = max(too_fast, stretch)
        else:
            too_slow = min(too_slow, stretch)
        stretch = _next_stretch(stretch * used, too_fast, too_slow)
    assert best is not None
    return Result(schedule, measure(contest.world, best[2]), best[1], budget)


def _next_stretch(wanted: float, too_fast: float, too_slow: float) -> float:
    """What the last run suggests, or the middle where that was tried already."""
    if too_fast < wanted < too_slow:
        return wanted
    if too_fast > 0.0 and too_slow < inf:
        return sqrt(too_fast * too_slow)
    return too_fast * 1.5 if too_fast > 0.0 else too_slow / 1.5


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
