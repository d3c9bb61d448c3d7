"""Circuit breakers: a bot whose jobs keep failing is quarantined, a site whose jobs keep failing is parked.

Both end by themselves after a while, which doubles each time; an operator may end them earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BLAMED_ON_SITE: Final = 3
"""A site that has failed so often in a row fails for every bot: that is not held against the next one."""


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
    """What a bot's row says after a job has ended."""

    failures: int
    quarantined_until: float | None = None
    """Set where the breaker opens now."""


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
