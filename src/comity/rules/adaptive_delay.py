"""Adaptive delay: a host that answers more slowly than it used to is asked less often.

A response time goes in with the pace so far; the new pace comes out. With x the response time:

    x'       = min(x, 3 · max(recent, 50 ms))               one outlier cannot do much
    recent   = recent + 0.2 · (x' − recent)                 moving average over some 5 requests
    excess   = max(0, recent − 1.5 · max(baseline, 50 ms))  beyond what is usual for this host
    target   = min(floor + 4 · excess, max(60 s, floor))
    delay    = delay + 0.5 · (target − delay) upwards, 0.05 downwards; starts from the floor
    baseline = baseline + w · (x' − baseline)               w = 0.1 downwards, 0.01 upwards

From a steady state one outlier of any size lifts `recent` to 1.4 · baseline, inside the tolerance of 1.5,
so it takes at least two slow answers in a row. A host that stays slow becomes its own new baseline after
some hundred requests. The delay drops to 0, "none of its own", when it has come back to the floor.
"""

from __future__ import annotations

from math import inf
from typing import Final

from comity.model.gate import Pace

ADAPTIVE_DELAY_CAP_S: Final = 60.0
OUTLIER_FACTOR: Final = 3.0
LEAST_LATENCY_S: Final = 0.05  # below this, a change in response time means nothing
TOLERANCE: Final = 1.5
GAIN: Final = 4.0
RECENT_WEIGHT: Final = 0.2
RISE_WEIGHT: Final = 0.5
FALL_WEIGHT: Final = 0.05
BASELINE_FALL_WEIGHT: Final = 0.1
BASELINE_RISE_WEIGHT: Final = 0.01


def adapted(pace: Pace, latency_s: float, floor_s: float) -> Pace:
    """The pace after one more response time; `floor_s` is the fixed delay under which it never acts."""
    delay_s, baseline_s, recent_s = pace
    if not 0.0 <= latency_s < inf:
        return pace
    if baseline_s is None or recent_s is None:
        return Pace(delay_s, latency_s, latency_s)
    usual_s = baseline_s if baseline_s > LEAST_LATENCY_S else LEAST_LATENCY_S
    clip_s = OUTLIER_FACTOR * (recent_s if recent_s > LEAST_LATENCY_S else LEAST_LATENCY_S)
    seen_s = latency_s if latency_s < clip_s else clip_s
    recent_s += RECENT_WEIGHT * (seen_s - recent_s)
    excess_s = recent_s - TOLERANCE * usual_s
    if excess_s > 0.0 or delay_s > 0.0:
        delay_s = _moved(delay_s, excess_s, floor_s)
    baseline_weight = BASELINE_FALL_WEIGHT if seen_s < baseline_s else BASELINE_RISE_WEIGHT
    return Pace(delay_s, baseline_s + baseline_weight * (seen_s - baseline_s), recent_s)


def _moved(delay_s: float, excess_s: float, floor_s: float) -> float:
    """One step of the delay towards its target: quickly up, slowly down."""
    most_s = max(ADAPTIVE_DELAY_CAP_S, floor_s)
    target_s = min(floor_s + GAIN * max(0.0, excess_s), most_s)
    current_s = min(max(delay_s, floor_s), most_s)
    weight = RISE_WEIGHT if target_s > current_s else FALL_WEIGHT
    moved_s = current_s + weight * (target_s - current_s)
    if excess_s <= 0.0 and moved_s <= floor_s * 1.01 + 0.01:
        return 0.0
    return moved_s
