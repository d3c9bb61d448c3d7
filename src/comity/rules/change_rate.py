"""How often a source changes, learned from visits that only tell "changed since the last time" or "not".

A belief (RevisitState) and an observation go in; the new belief comes out. Changes are taken as a Poisson process. A
visit after τ days sees at least one change with probability 1 − e^(−λτ), never how many: counting such visits alone
underestimates fast sources (Cho and Garcia-Molina, "Estimating frequency of change", 2003). So the belief over λ is a
Gamma distribution that is updated exactly for "not changed" and, for "changed", by the Gamma with the mean and variance
of the exact posterior. Unequal intervals weigh as they should, and two numbers on the row replace the history.
"""

from __future__ import annotations

from math import expm1, inf, isfinite, log1p, sqrt
from typing import Final

from comity.model.revisit import RevisitState
from comity.rules.next_run import base_days

PRIOR_WEIGHT: Final = 0.5  # worth half a change: one or two visits outweigh it
HALF_LIFE_DAYS: Final = 60.0
CURIOSITY: Final = 0.5
_LEAST_WEIGHT: Final = 0.3  # forgetting stops here; below, a belief would be all tail
_SHORTEST_INTERVAL_DAYS: Final = 1e-6
_LONGEST_INTERVAL_DAYS: Final = 3650.0
_SLOWEST_PER_DAY: Final = 1e-5
_FASTEST_PER_DAY: Final = 1e4


def prior_belief(org_type: str | None) -> RevisitState:
    """What is believed before the first visit: about one change in the base interval of the kind of organisation."""
    return RevisitState(PRIOR_WEIGHT, PRIOR_WEIGHT * base_days(None, org_type)[0])


def observe(
    state: RevisitState, interval_days: float, *, changed: bool, half_life_days: float = HALF_LIFE_DAYS
) -> RevisitState:
    """The belief after one more visit, so many days after the last that succeeded."""
    interval = min(max(interval_days, _SHORTEST_INTERVAL_DAYS), _LONGEST_INTERVAL_DAYS)
    shape, exposure = _faded(state, interval, half_life_days)
    if changed:
        shape, exposure = _after_change(shape, exposure, interval)
    else:
        exposure += interval
    return _bounded(shape, exposure, state.visits + 1)


def hopeful_rate(state: RevisitState, curiosity: float = CURIOSITY) -> float:
    """The estimate plus a part of its uncertainty, so that sources of which little is known are tried more often."""
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
