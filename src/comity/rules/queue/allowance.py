"""How many jobs a bot may pull now: by its limits of jobs in hand and a minute, and by its quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from comity.model.queue import LARGEST_PULL, PullLimit

MINUTE_S: Final = 60.0
_LOOK_AGAIN_S: Final = 5.0  # a bot that has all the jobs it may have


@dataclass(frozen=True, slots=True)
class Allowance:
    """The jobs that a bot may get now; if fewer than it wants, when to ask again. The minute is kept on its row."""

    jobs: int
    retry_after_s: float | None
    minute_started_at: float
    pulled_this_minute: int
    limit: PullLimit | None = None
    """What allows fewer than the bot wants."""


def allowance(
    wanted: int,
    now: float,
    *,
    in_hand: int = 0,
    most_in_hand: int | None = None,
    most_per_minute: int | None = None,
    minute_started_at: float | None = None,
    pulled_this_minute: int = 0,
    quarantined_until: float | None = None,
) -> Allowance:
    """What a bot may pull."""
    started = minute_started_at
    if started is None or not started <= now < started + MINUTE_S:
        started, pulled_this_minute = now, 0
    if quarantined_until is not None and quarantined_until > now:
        return Allowance(0, quarantined_until - now, started, pulled_this_minute, PullLimit.QUARANTINE)
    jobs = max(0, min(wanted, LARGEST_PULL))
    retry_after_s, limit = None, None
    if most_in_hand is not None and most_in_hand - in_hand < jobs:
        jobs, retry_after_s, limit = max(0, most_in_hand - in_hand), _LOOK_AGAIN_S, PullLimit.IN_HAND
    if most_per_minute is not None and most_per_minute - pulled_this_minute < jobs:
        jobs, retry_after_s = max(0, most_per_minute - pulled_this_minute), started + MINUTE_S - now
        limit = PullLimit.PER_MINUTE
    return Allowance(jobs, retry_after_s, started, pulled_this_minute, limit)
