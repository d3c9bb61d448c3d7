"""How a budget of visits is spent over all sources.

Claims, the visits a day that are to be had, and caps of hosts go in; an Allocation comes out. If a source of rate λ and
importance w is visited f times a day, its changes wait 1/2f days on average, so Σ wλ/2f is the total wait; under
Σ f = budget it is least where f is proportional to √(wλ). Limits on each f only clip it: f = clip(pace·√(wλ)), and the
pace is the level at which the clipped rates add up to the budget (water filling), which is found exactly, by a sweep
over the points where some source meets a limit. A host with a cap of its own is such a sum, too: its pace is found
first, and what it gives becomes the upper limit of its sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import Final, NamedTuple

from comity.model.revisit import Allocation, Claim, RevisitLimits, Share

_NO_CAP: Final = Share(inf)


class Tank(NamedTuple):
    """What one source gets at a level: level × slope, but not below `low` or above `high`."""

    slope: float
    low: float
    high: float


def allocate(
    claims: Sequence[Claim], visits_per_day: float, host_caps_per_day: Mapping[str, float] | None = None
) -> Allocation:
    """Spend so many visits a day for the least total wait, within the limits of sources and the caps of hosts."""
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
    everybody = fill(tanks, visits_per_day)
    used = sum(tank.high for tank in tanks) if everybody.pace == inf else visits_per_day
    return Allocation(everybody, hosts, max(0.0, visits_per_day - used))


def visits_per_day(allocation: Allocation, claim: Claim) -> float:
    """How often a source is visited under an allocation, also one whose claim has changed since."""
    tank = _capped(_tank(claim), allocation.hosts.get(claim.host, _NO_CAP))
    return _level_of(tank, allocation.everybody.pace) * allocation.everybody.thinning


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
    """Least and most visits a day."""
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
