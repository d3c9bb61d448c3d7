"""Comparing schedules at an equal budget: delays and freshness, from the times of changes and of visits.

Takes a SimulationPlan; returns a Comparison, the same for the same seed. Every schedule is run again with another
`stretch` until its visits are within half a percent of the budget (the number of visits falls about as 1/stretch, so
each run corrects the next). A schedule that limits keep more than one percent away from the budget is marked as such.

The schedules that are compared, each a function from a World to the times of all visits.

All keep the same limits between two visits, start with the same round of first visits, and use the same jitter.
`stretch` slows a schedule as a whole, so that all of them can be held to one budget: the others multiply every interval
by it, the adaptive one divides its budget. The last time of every source lies beyond the end and is not counted: it
says when the last changes would be seen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, sqrt
from random import Random
from statistics import fmean
from typing import Final

from comity.model.schedule import RevisitLimits, SourcePace, SourceRun
from comity.rules.next_run import base_days, frequency_after, jitter_factor
from comity.rules.revisit import Tank, fill, hopeful_rate, observe, prior_belief
from comity.schedule.synthetic import SyntheticSource, World, WorldPlan, make_world, seeded

CLOSE_ENOUGH: Final = 0.005
WITHIN_BUDGET: Final = 0.01
_MOST_RUNS: Final = 12
AIM_DELAY_GAIN: Final = 0.40
# AIMD: what did best over all processes out of factors 1.5, 2, 3 and steps 0.5, 1, 2.
_SOONER_AFTER_CHANGE: Final = 1.5
_LATER_AFTER_NONE_DAYS: Final = 0.5


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
    best: tuple[float, float, _Visits] | None = None
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


class Schedule(StrEnum):
    """The contenders."""

    FIXED = "fixed"
    RULES = "rules"
    AIMD = "aimd"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class Contest:
    """What every contender is given."""

    world: World
    visits_per_day: float
    limits: RevisitLimits
    seed: int

    @property
    def round_days(self) -> float:
        """The interval if all sources are visited alike."""
        return len(self.world.sources) / self.visits_per_day


_Visits = list[list[float]]
# From the number of changes that a visit saw to the days until the next.
_Decide = Callable[[int], float]


def run_schedule(schedule: Schedule, contest: Contest, stretch: float) -> _Visits:
    """Visit every source until the end by one schedule."""
    chance = seeded(contest.seed, "visits", schedule)
    if schedule is Schedule.ADAPTIVE:
        return _run_adaptive(contest, stretch, chance)
    starter = _STARTERS[schedule]
    return [_run_alone(source, starter(source, contest), contest, stretch, chance) for source in contest.world.sources]


def _run_alone(
    source: SyntheticSource, decide: _Decide, contest: Contest, stretch: float, chance: Random
) -> list[float]:
    """A schedule that looks at nothing but its source."""
    end, changes = contest.world.days, source.changes
    shortest, longest = contest.limits.shortest_days, contest.limits.longest_days
    visits: list[float] = []
    seen, at = 0, source.first_visit_share * contest.round_days
    while at < end:
        visits.append(at)
        now_seen = bisect_right(changes, at, seen)
        interval = min(longest, max(shortest, stretch * decide(now_seen - seen)))
        seen = now_seen
        at += interval * jitter_factor(chance.random())
    visits.append(at)
    return visits


def _fixed(_source: SyntheticSource, contest: Contest) -> _Decide:
    """All sources alike."""
    return lambda _changes: contest.round_days


def _rules(source: SyntheticSource, _contest: Contest) -> _Decide:
    """The default schedule of sources, with every change a posting."""
    pace = SourcePace(org_type=source.org_type)

    def decide(changes: int) -> float:
        nonlocal pace
        frequency = frequency_after(pace, SourceRun(True, changes))
        if frequency.consecutive_nochange != pace.consecutive_nochange:
            pace = replace(pace, consecutive_nochange=frequency.consecutive_nochange)
        return frequency.days

    return decide


def _aimd(source: SyntheticSource, contest: Contest) -> _Decide:
    """Half a day later when nothing changed, by a third sooner when something did."""
    interval = base_days(None, source.org_type)[0]

    def decide(changes: int) -> float:
        nonlocal interval
        interval = interval / _SOONER_AFTER_CHANGE if changes else interval + _LATER_AFTER_NONE_DAYS
        interval = min(contest.limits.longest_days, max(contest.limits.shortest_days, interval))
        return interval

    return decide


_STARTERS: Final = {Schedule.FIXED: _fixed, Schedule.RULES: _rules, Schedule.AIMD: _aimd}


def _run_adaptive(contest: Contest, stretch: float, chance: Random) -> _Visits:
    """Day by day: the budget is shared out by what is believed, then the sources that are due are visited."""
    sources, limits = contest.world.sources, contest.limits
    low, high = 1.0 / limits.longest_days, 1.0 / limits.shortest_days
    beliefs = [prior_belief(source.org_type) for source in sources]
    roots = [sqrt(hopeful_rate(belief)) for belief in beliefs]
    visits: _Visits = [[source.first_visit_share * contest.round_days] for source in sources]
    seen = [0] * len(sources)
    for day in range(int(contest.world.days) + 1):
        until = min(contest.world.days, day + 1.0)
        share = fill([Tank(root, low, high) for root in roots], contest.visits_per_day / stretch)
        for index, times in enumerate(visits):
            while times[-1] < until:
                at = times[-1]
                changed = bisect_right(sources[index].changes, at, seen[index])
                if len(times) > 1:
                    belief = observe(beliefs[index], at - times[-2], changed=changed > seen[index])
                    beliefs[index] = belief
                    roots[index] = sqrt(hopeful_rate(belief))
                seen[index] = changed
                rate = min(high, max(low, share.pace * roots[index])) * share.thinning
                times.append(at + jitter_factor(chance.random()) / rate)
    return visits
