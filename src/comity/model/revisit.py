"""The adaptive schedule's nouns: what is believed of a source's changes, its claim on the budget, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.model.schedule import NextRun


@dataclass(frozen=True, slots=True)
class RevisitState:
    """What a row remembers of how often a source changes: a Gamma belief over its rate, and the visits behind it.

    `changes` in `exposure_days` is the belief (its shape and its rate), the prior included; their quotient is the
    estimate. `visits` counts the observations, for people.
    """

    changes: float
    exposure_days: float
    visits: int = 0

    @property
    def rate_per_day(self) -> float:
        """The estimate: changes a day."""
        return self.changes / self.exposure_days


@dataclass(frozen=True, slots=True)
class RevisitLimits:
    """How close together and how far apart visits to one source may be."""

    shortest_days: float = 0.5
    longest_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A source's claim on the budget: its host, how it is valued (importance × rate), and its limits."""

    host: str
    value: float
    limits: RevisitLimits = field(default_factory=RevisitLimits)


@dataclass(frozen=True, slots=True)
class Share:
    """How a host, or everybody, is paced.

    A source is visited `pace` × √value times a day within its limits, times `thinning`: 1, unless the budget does not
    even pay for the longest intervals.
    """

    pace: float
    thinning: float = 1.0


@dataclass(frozen=True, slots=True)
class Allocation:
    """How the budget is spent; `hosts` holds only those that their own cap slows, `spare_per_day` stays unspent."""

    everybody: Share
    hosts: Mapping[str, Share]
    spare_per_day: float


@dataclass(frozen=True, slots=True)
class Revisit:
    """The next run of a source, and what is believed of it now."""

    next_run: NextRun
    state: RevisitState
