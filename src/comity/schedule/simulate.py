"""Comparing schedules on synthetic sources at an equal budget: how late changes are seen, and how fresh copies are.

Takes a SimulationPlan; returns a Comparison, the same for the same seed. Time is in days from the start, which is a
Monday at 00:00 UTC.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from math import exp, inf, log, sqrt
from random import Random
from statistics import fmean
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.schedule import RevisitLimits, SourcePace, SourceRun
from comity.rules.next_run import base_days, frequency_after, jitter_factor
from comity.rules.revisit import Tank, fill, hopeful_rate, observe, prior_belief

CLOSE_ENOUGH: Final = 0.005
WITHIN_BUDGET: Final = 0.01
_MOST_RUNS: Final = 12
AIM_DELAY_GAIN: Final = 0.40
# AIMD: what did best over all processes out of factors 1.5, 2, 3 and steps 0.5, 1, 2.
_SOONER_AFTER_CHANGE: Final = 1.5
_LATER_AFTER_NONE_DAYS: Final = 0.5
# Shares of the kinds of organisations, and how much more often each changes than an ngo.
_KINDS: Final = {"un": (0.10, 4.0), "ingo": (0.20, 2.0), "ngo": (0.50, 1.0), "academic": (0.20, 0.5)}
_FASTEST_PER_DAY: Final = 50.0
_CHANGES_IN_A_BURST: Final = 5.0
_BETWEEN_CHANGES_OF_A_BURST_DAYS: Final = 1.0 / 24
_OFFICE_HOURS: Final = (8.0, 18.0)
_SHARE_IN_OFFICE_HOURS: Final = 0.9
_OFFICE_SHARE_OF_THE_WEEK: Final = 5 * (_OFFICE_HOURS[1] - _OFFICE_HOURS[0]) / (7 * 24)
_DRIFT_STEP_DAYS: Final = 7.0
_DRIFT_MEMORY_DAYS: Final = 60.0
_DRIFTING_SHARE: Final = 0.5  # of the variance between sources; the rest stays


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
class SimulatedSchedule:
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
    results: tuple[SimulatedSchedule, ...]

    def of(self, schedule: Schedule) -> SimulatedSchedule:
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
    """Run every schedule on one world at each of the budgets; `on_schedule` is called after each.

    Every schedule is run again with another `stretch` until its visits are within half a percent of the budget (the
    number of visits falls about as 1/stretch, so each run corrects the next). A schedule that limits keep more than one
    percent away from the budget is marked as such.
    """
    world = make_world(plan.world)
    return [_compare(replace(plan, visits_per_day=budget), world, on_schedule) for budget in budgets]


def _compare(plan: SimulationPlan, world: World, on_schedule: Callable[[], None]) -> Comparison:
    contest = Contest(world, plan.visits_per_day, plan.limits, plan.world.seed)
    results = []
    for schedule in Schedule:
        results.append(_at_budget(schedule, contest))
        on_schedule()
    return Comparison(plan, tuple(results))


def _at_budget(schedule: Schedule, contest: Contest) -> SimulatedSchedule:
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
    return SimulatedSchedule(schedule, measure(contest.world, best[2]), best[1], budget)


def _next_stretch(wanted: float, too_fast: float, too_slow: float) -> float:
    """What the last run suggests, or the middle if that was tried already."""
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
    """The schedules that are compared."""

    FIXED = "fixed"
    RULES = "rules"
    AIMD = "aimd"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class Contest:
    """What every schedule is given."""

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
    """Visit every source until the end by one schedule.

    All schedules keep the same limits between two visits, start with the same round of first visits, and use the same
    jitter. `stretch` slows a schedule as a whole, so that all of them can be held to one budget: the others multiply
    every interval by it, the adaptive one divides its budget. The last time of every source lies beyond the end and is
    not counted: it says when the last changes would be seen.
    """
    chance = _seeded(contest.seed, "visits", schedule)
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


class Process(StrEnum):
    """How the changes of a source are distributed over time."""

    POISSON = "poisson"
    BURSTY = "bursty"
    WEEKLY = "weekly"
    DRIFTING = "drifting"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """What a world is made of: the median source changes `median_per_day`; `spread` is the σ of the log of rates."""

    sources: int = 1000
    days: float = 180.0
    process: Process = Process.MIXED
    median_per_day: float = 0.1
    spread: float = 1.75
    seed: int = 1


@dataclass(frozen=True, slots=True)
class SyntheticSource:
    """One source: its kind, its mean changes a day, when it changes, and when in the first round it is visited."""

    org_type: str
    rate_per_day: float
    changes: tuple[float, ...]
    first_visit_share: float


@dataclass(frozen=True, slots=True)
class World:
    """All sources and the time over which they are watched."""

    sources: tuple[SyntheticSource, ...]
    days: float


def _seeded(seed: int, *words: str) -> Random:
    """Reproducible chance; not for secrets."""
    return Random(":".join((str(seed), *words)))  # noqa: S311  # a simulation


def make_world(plan: WorldPlan) -> World:
    """Draw the sources and their changes.

    The same plan and seed give the same world. How often sources change follows a log-normal distribution for every
    process; the processes differ in how the changes of one source are spread over time.
    """
    chance = _seeded(plan.seed, "world", plan.process)
    return World(tuple(_draw_source(plan, chance) for _ in range(plan.sources)), plan.days)


def _draw_source(plan: WorldPlan, chance: Random) -> SyntheticSource:
    org_type = chance.choices(list(_KINDS), [share for share, _ in _KINDS.values()])[0]
    within = sqrt(max(0.0, plan.spread**2 - _variance_between_kinds()))
    # The log of the median over all kinds is where asked for, to a good approximation.
    center = log(plan.median_per_day) + log(_KINDS[org_type][1]) - _mean_between_kinds()
    process = plan.process
    if process is Process.MIXED:
        process = chance.choice([Process.POISSON, Process.BURSTY, Process.WEEKLY, Process.DRIFTING])
    if process is Process.DRIFTING:
        steady = chance.gauss(center, within * sqrt(1.0 - _DRIFTING_SHARE))
        changes = _drifting(steady, within * sqrt(_DRIFTING_SHARE), plan.days, chance)
        rate = len(changes) / plan.days
    else:
        rate = min(_FASTEST_PER_DAY, exp(chance.gauss(center, within)))
        changes = _DRAWERS[process](rate, plan.days, chance)
    return SyntheticSource(org_type, rate, tuple(changes), chance.random())


def _poisson(rate: float, days: float, chance: Random, start: float = 0.0) -> list[float]:
    times: list[float] = []
    at = start + chance.expovariate(rate)
    while at < days:
        times.append(at)
        at += chance.expovariate(rate)
    return times


def _bursty(rate: float, days: float, chance: Random) -> list[float]:
    """Bursts of five changes on average (geometric), about an hour between the changes of one."""
    times: list[float] = []
    for start in _poisson(rate / _CHANGES_IN_A_BURST, days, chance):
        at = start
        while at < days:
            times.append(at)
            if chance.random() < 1.0 / _CHANGES_IN_A_BURST:
                break
            at += chance.expovariate(1.0 / _BETWEEN_CHANGES_OF_A_BURST_DAYS)
    return sorted(times)


def _weekly(rate: float, days: float, chance: Random) -> list[float]:
    """Nine in ten changes from Monday to Friday between 8 and 18 o'clock, in a zone of the source's own."""
    offset_days = chance.randint(-8, 9) / 24
    in_office = _SHARE_IN_OFFICE_HOURS / _OFFICE_SHARE_OF_THE_WEEK
    elsewhere = (1.0 - _SHARE_IN_OFFICE_HOURS) / (1.0 - _OFFICE_SHARE_OF_THE_WEEK)
    candidates = _poisson(rate * in_office, days, chance)
    return [at for at in candidates if _is_office_time(at + offset_days) or chance.random() < elsewhere / in_office]


def _is_office_time(local_days: float) -> bool:
    start, end = _OFFICE_HOURS
    return local_days % 7 < 5 and start <= local_days % 1 * 24 < end


def _drifting(steady: float, sway: float, days: float, chance: Random) -> list[float]:
    """The log of the rate sways around its own mean and forgets where it was over two months."""
    memory = exp(-_DRIFT_STEP_DAYS / _DRIFT_MEMORY_DAYS)
    level = chance.gauss(0.0, sway)
    times: list[float] = []
    start = 0.0
    while start < days:
        end = min(days, start + _DRIFT_STEP_DAYS)
        times += _poisson(min(_FASTEST_PER_DAY, exp(steady + level)), end, chance, start)
        level = memory * level + chance.gauss(0.0, sway * sqrt(1.0 - memory**2))
        start = end
    return times


def _mean_between_kinds() -> float:
    return sum(share * log(factor) for share, factor in _KINDS.values())


def _variance_between_kinds() -> float:
    mean = _mean_between_kinds()
    return sum(share * (log(factor) - mean) ** 2 for share, factor in _KINDS.values())


_DRAWERS: Final[dict[Process, Callable[[float, float, Random], list[float]]]] = {
    Process.POISSON: _poisson,
    Process.BURSTY: _bursty,
    Process.WEEKLY: _weekly,
}
