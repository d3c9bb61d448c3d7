"""Synthetic sources whose changes are known, for comparing schedules.

Takes a WorldPlan; returns a World of sources with the times of all their changes, the same for the same seed. Time is
in days from the start, which is a Monday at 00:00 UTC. How often sources change follows a log-normal distribution for
every process; the processes differ in how the changes of one source are spread over time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log, sqrt
from random import Random
from typing import Final

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


class Process(StrEnum):
    """How the changes of a source lie in time."""

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


def seeded(seed: int, *words: str) -> Random:
    """Chance that is the same every time; for play, not for secrets."""
    return Random(":".join((str(seed), *words)))  # noqa: S311  # a simulation


def make_world(plan: WorldPlan) -> World:
    """Draw the sources and their changes."""
    chance = seeded(plan.seed, "world", plan.process)
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
