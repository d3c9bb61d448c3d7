"""The schedules that are compared, each a function from a World to the times of all visits.

All keep the same limits between two visits, start with the same round of first visits, and use the same jitter.
`stretch` slows a schedule as a whole, so that all of them can be held to one budget: the others multiply every interval
by it, the adaptive one divides its budget. The last time of every source lies beyond the end and is not counted: it
says when the last changes would be seen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt
from random import Random
from typing import Final

from comity.model.schedule import RevisitLimits, SourcePace, SourceRun
from comity.rules.next_run import base_days, frequency_after, jitter_factor
from comity.rules.revisit import Tank, fill, hopeful_rate, observe, prior_belief
from comity.schedule.synthetic import SyntheticSource, World, seeded

# AIMD: what did best over all processes out of factors 1.5, 2, 3 and steps 0.5, 1, 2.
_SOONER_AFTER_CHANGE: Final = 1.5
_LATER_AFTER_NONE_DAYS: Final = 0.5


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


Visits = list[list[float]]
# From the number of changes that a visit saw to the days until the next.
_Decide = Callable[[int], float]


def run_schedule(schedule: Schedule, contest: Contest, stretch: float) -> Visits:
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


def _run_adaptive(contest: Contest, stretch: float, chance: Random) -> Visits:
    """Day by day: the budget is shared out by what is believed, then the sources that are due are visited."""
    sources, limits = contest.world.sources, contest.limits
    low, high = 1.0 / limits.longest_days, 1.0 / limits.shortest_days
    beliefs = [prior_belief(source.org_type) for source in sources]
    roots = [sqrt(hopeful_rate(belief)) for belief in beliefs]
    visits: Visits = [[source.first_visit_share * contest.round_days] for source in sources]
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
