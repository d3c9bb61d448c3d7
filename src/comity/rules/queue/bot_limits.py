"""How many jobs a bot may pull now, and the circuit breakers that stop failing bots and sites.

A bot has limits of jobs in hand and jobs per minute. A bot whose jobs keep failing is quarantined; a site whose jobs
keep failing is parked. Both end by themselves after a time that doubles with each repetition, or when an operator ends
them.
"""

from __future__ import annotations

from typing import Final

from comity.model.dataclass import dataclass
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
    """How many jobs a bot may pull now."""
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


BLAMED_ON_SITE: Final = 3
"""A site that has failed this often in a row fails for every bot, so the next bot is not blamed."""


@dataclass(frozen=True, slots=True)
class BreakerTerms:
    """After how many failures in a row a breaker opens, for how long at first, and for how long at most."""

    bot_failures: int = 10
    bot_pause_s: float = 1800.0
    site_failures: int = 10
    site_pause_s: float = 900.0
    longest_s: float = 86_400.0


@dataclass(frozen=True, slots=True)
class BotStanding:
    """What is written to a bot's row after a job has ended."""

    failures: int
    quarantined_until: float | None = None
    """Set if the breaker opens now."""


def bot_after(
    *, succeeded: bool, failures: int, times_quarantined: int, site_failures: int, now: float, terms: BreakerTerms
) -> BotStanding:
    """A bot after one of its jobs ended; `site_failures` are those of the site before."""
    if succeeded:
        return BotStanding(0)
    if site_failures >= BLAMED_ON_SITE:
        return BotStanding(failures)
    failures += 1
    if failures < terms.bot_failures:
        return BotStanding(failures)
    return BotStanding(0, now + _pause_s(terms.bot_pause_s, times_quarantined, terms))


def site_after(*, succeeded: bool, failures: int, now: float, terms: BreakerTerms) -> tuple[int, float | None]:
    """A site's failures in a row after one of its jobs ended, and until when it is parked."""
    if succeeded:
        return 0, None
    failures += 1
    times, rest = divmod(failures, terms.site_failures)
    if rest:
        return failures, None
    return failures, now + _pause_s(terms.site_pause_s, times - 1, terms)


def _pause_s(first_s: float, times_before: int, terms: BreakerTerms) -> float:
    return float(min(first_s * 2 ** min(times_before, 20), terms.longest_s))
