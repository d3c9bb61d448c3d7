"""The adaptive schedule of sources: estimate how often each source changes, and spend the visit budget accordingly.

**Change rate.** Changes are modelled as a Poisson process. A visit after τ days sees at least one change with
probability 1 − e^(−λτ), never how many; counting such visits alone underestimates fast sources (Cho and Garcia-Molina,
"Estimating frequency of change", 2003). So the belief over λ is a Gamma distribution, updated exactly for "not
changed" and, for "changed", by the Gamma with the mean and variance of the exact posterior. Unequal intervals get
their proper weight, and two numbers on the row replace the history.

**Budget.** If a source of rate λ and importance w is visited f times a day, its changes wait 1/2f days on average, so
Σ wλ/2f is the total wait; under Σ f = budget it is least where f is proportional to √(wλ). Limits on each f only clip
it: f = clip(pace·√(wλ)). The pace is the level at which the clipped rates add up to the budget (water filling), found
exactly by a sweep over the points where some source meets a limit. A host with a cap of its
own is such a sum too: its pace is found first, and the result becomes the upper limit of its sources.

**Next visit.** Failures back off, and jitter and the time window apply, as in the default schedule (`next_run`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from math import expm1, inf, isfinite, log1p, sqrt
from typing import Final, NamedTuple

from comity.model.schedule import (
    Allocation,
    Claim,
    NextRun,
    Revisit,
    RevisitLimits,
    RevisitState,
    ScheduleRule,
    Share,
    SourcePace,
    SourceRun,
)
from comity.model.wording import counted
from comity.rules.next_run import (
    base_days,
    compute_next_run,
    describe_jitter,
    format_days,
    jitter_factor,
    within_window,
)

_NEVER_DAYS: Final = 3650.0  # an empty budget
PRIOR_WEIGHT: Final = 0.5  # worth half a change: one or two visits outweigh it
HALF_LIFE_DAYS: Final = 60.0
CURIOSITY: Final = 0.5
_LEAST_WEIGHT: Final = 0.3  # forgetting stops here; below, a belief would be all tail
_SHORTEST_INTERVAL_DAYS: Final = 1e-6
_LONGEST_INTERVAL_DAYS: Final = 3650.0
_SLOWEST_PER_DAY: Final = 1e-5
_FASTEST_PER_DAY: Final = 1e4


def claim_of(state: RevisitState, host: str, *, importance: float = 1.0, limits: RevisitLimits | None = None) -> Claim:
    """A source's claim on the budget, from what is believed about it."""
    return Claim(host, importance * hopeful_rate(state), limits or RevisitLimits())


def compute_revisit(
    pace: SourcePace,
    run: SourceRun,
    state: RevisitState,
    allocation: Allocation,
    *,
    host: str,
    finished_at: datetime,
    days_since_last: float | None,
    chance: float,
    importance: float = 1.0,
    limits: RevisitLimits | None = None,
    half_life_days: float = HALF_LIFE_DAYS,
    zone: tzinfo | None = None,
) -> Revisit:
    """When a source is visited again; `days_since_last` counts from the last success, None if this is the first."""
    if not run.succeeded:  # nothing was seen, so nothing is learned
        return Revisit(compute_next_run(pace, run, finished_at=finished_at, chance=chance, zone=zone), state)
    changed = run.inserted + run.updated > 0
    if days_since_last is not None:
        state = observe(state, days_since_last, changed=changed, half_life_days=half_life_days)
    days = interval_days(allocation, claim_of(state, host, importance=importance, limits=limits))
    planned = finished_at.astimezone(UTC) + timedelta(days=days * jitter_factor(chance))
    next_run_at, remark = within_window(planned, pace.time_window, zone)
    seen = "first visit" if days_since_last is None else "changed" if changed else "not changed"
    reason = (
        f"{seen}; about one change in {format_days(1 / state.rate_per_day)} by {counted(state.visits, 'visit')}: "
        f"visited every {format_days(days)} within the budget{describe_jitter(chance)}{remark}"
    )
    quiet = 0 if changed else pace.consecutive_nochange + 1
    return Revisit(NextRun(next_run_at, days, 0, quiet, ScheduleRule.ADAPTIVE, reason), state)


def interval_days(allocation: Allocation, claim: Claim) -> float:
    """How long to wait between two visits; never less than the claim's shortest."""
    rate = visits_per_day(allocation, claim)
    return max(claim.limits.shortest_days, 1.0 / rate if rate > 0 else _NEVER_DAYS)


def prior_belief(org_type: str | None) -> RevisitState:
    """What is believed before the first visit: about one change in the base interval of the kind of organisation."""
    return RevisitState(PRIOR_WEIGHT, PRIOR_WEIGHT * base_days(None, org_type)[0])


def observe(
    state: RevisitState, interval_days: float, *, changed: bool, half_life_days: float = HALF_LIFE_DAYS
) -> RevisitState:
    """The belief after one more visit, this many days after the last successful one."""
    interval = min(max(interval_days, _SHORTEST_INTERVAL_DAYS), _LONGEST_INTERVAL_DAYS)
    shape, exposure = _faded(state, interval, half_life_days)
    if changed:
        shape, exposure = _after_change(shape, exposure, interval)
    else:
        exposure += interval
    return _bounded(shape, exposure, state.visits + 1)


def hopeful_rate(state: RevisitState, curiosity: float = CURIOSITY) -> float:
    """The estimate plus part of its uncertainty, so that little-known sources are tried more often."""
    return (state.changes + curiosity * sqrt(state.changes)) / state.exposure_days


def _faded(state: RevisitState, interval: float, half_life_days: float) -> tuple[float, float]:
    """Old evidence counts less, since rates drift: the estimate stays, its certainty falls."""
    kept = 1.0 if half_life_days == inf else 2.0 ** (-interval / half_life_days)
    kept = min(1.0, max(kept, _LEAST_WEIGHT / state.changes))
    return state.changes * kept, state.exposure_days * kept


def _after_change(shape: float, exposure: float, interval: float) -> tuple[float, float]:
    """The Gamma that has the first two moments of Gamma(shape, exposure) times 1 − e^(−λ·interval)."""
    fall = log1p(interval / exposure)
    seen = expm1(-shape * fall)
    mean = shape / exposure * (expm1(-(shape + 1.0) * fall) / seen)
    square = shape * (shape + 1.0) / exposure**2 * (expm1(-(shape + 2.0) * fall) / seen)
    variance = square - mean**2
    return mean**2 / variance, mean / variance


def _bounded(shape: float, exposure: float, visits: int) -> RevisitState:
    rate = min(max(shape / exposure, _SLOWEST_PER_DAY), _FASTEST_PER_DAY)
    weight = max(shape, _LEAST_WEIGHT) if isfinite(shape) else _LEAST_WEIGHT
    return RevisitState(weight, weight / rate, visits)


_NO_CAP: Final = Share(inf)


class Tank(NamedTuple):
    """What one source gets at a level: level × slope, but not below `low` or above `high`."""

    slope: float
    low: float
    high: float


def allocate(
    claims: Sequence[Claim], visits_per_day: float, host_caps_per_day: Mapping[str, float] | None = None
) -> Allocation:
    """Spend the daily visits for the least total wait, within the limits of sources and the caps of hosts."""
    caps = host_caps_per_day or {}
    tanks_of: dict[str, list[Tank]] = defaultdict(list)
    for claim in claims:
        tanks_of[claim.host].append(_tank(claim))
    hosts: dict[str, Share] = {}
    tanks: list[Tank] = []
    for host, of_host in tanks_of.items():
        share = fill(of_host, caps[host]) if host in caps else _NO_CAP
        if share != _NO_CAP:
            hosts[host] = share
        tanks += [_capped(tank, share) for tank in of_host]
    overall = fill(tanks, visits_per_day)
    used = sum(tank.high for tank in tanks) if overall.pace == inf else visits_per_day
    return Allocation(overall, hosts, max(0.0, visits_per_day - used))


def visits_per_day(allocation: Allocation, claim: Claim) -> float:
    """How often a source is visited under an allocation, also one whose claim has changed since."""
    tank = _capped(_tank(claim), allocation.hosts.get(claim.host, _NO_CAP))
    return _level_of(tank, allocation.overall.pace) * allocation.overall.thinning


def fill(tanks: Sequence[Tank], total: float) -> Share:
    """The level at which tanks hold a total; an infinite one if they cannot hold as much."""
    lows = sum(tank.low for tank in tanks)
    if lows >= total:
        return Share(0.0, max(0.0, total) / lows if lows > 0 else 1.0)
    if sum(tank.high for tank in tanks) <= total:
        return Share(inf)
    bends = [(tank.low / tank.slope, tank.slope, -tank.low) for tank in tanks if tank.slope > 0]
    bends += [(tank.high / tank.slope, -tank.slope, tank.high) for tank in tanks if tank.slope > 0]
    bends.sort()
    constant, slope = lows, 0.0  # of the sum between two bends
    for at, more_slope, more_constant in bends:
        if slope > 0 and constant + slope * at >= total:
            break
        constant += more_constant
        slope += more_slope
    return Share((total - constant) / slope) if slope > 0 else Share(inf)


def limits_as_rates(limits: RevisitLimits) -> tuple[float, float]:
    """The minimum and maximum visits a day."""
    return 1.0 / limits.longest_days, 1.0 / limits.shortest_days


def _tank(claim: Claim) -> Tank:
    return Tank(sqrt(max(0.0, claim.value)), *limits_as_rates(claim.limits))


def _capped(tank: Tank, share: Share) -> Tank:
    if share == _NO_CAP:
        return tank
    return Tank(tank.slope, tank.low * share.thinning, _level_of(tank, share.pace) * share.thinning)


def _level_of(tank: Tank, level: float) -> float:
    if level == inf:
        return tank.high
    return min(tank.high, max(tank.low, level * tank.slope))
