"""Which known pages a refresh requests again, and in which order.

Takes what a sitemap says about a page and what its last visit found; returns a rank, or None if the page is skipped.
All pages are revisited except those that are gone; with `only_stale`, only pages that the site lists as changed, or
that are due.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.frontier import SeenPage
from comity.model.sitemap import ChangeFrequency, PageHints
from comity.rules.endings import REFRESH_AFTER

# sitemaps.org protocol 0.9, <changefreq>: "never" describes archived URLs.
INTERVALS: Final[Mapping[ChangeFrequency, timedelta | None]] = {
    ChangeFrequency.ALWAYS: timedelta(0),
    ChangeFrequency.HOURLY: timedelta(hours=1),
    ChangeFrequency.DAILY: timedelta(days=1),
    ChangeFrequency.WEEKLY: timedelta(weeks=1),
    ChangeFrequency.MONTHLY: timedelta(days=30),
    ChangeFrequency.YEARLY: timedelta(days=365),
    ChangeFrequency.NEVER: None,
}
HIGHEST_RANK: Final = 1000
_DEFAULT_PRIORITY: Final = 0.5  # the protocol's own
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RefreshTerms:
    """What a refresh revisits. `refresh_after` is the age at which a page without hints from a sitemap is stale."""

    refresh_after: timedelta
    only_stale: bool = False


WHOLE_REFRESH: Final = RefreshTerms(REFRESH_AFTER)


def revisit_rank(hints: PageHints | None, seen: SeenPage | None, now: datetime, terms: RefreshTerms) -> int | None:
    """How urgently a known page is requested again, higher is sooner; None if it is not.

    A page whose visits never came to an end (refused, or failed each time) gets another chance. A page that is gone is
    requested again if a sitemap says that it changed since. Without `only_stale`, all ranks are equal and depth
    decides.
    """
    if seen is None:
        return HIGHEST_RANK // 2 if terms.only_stale else 0
    has_changed = hints is not None and _changed_since(hints.lastmod, seen.at, now)
    if seen.is_gone and not has_changed:
        return None
    if not terms.only_stale:
        return 0
    age = max(now - datetime.fromtimestamp(seen.at, UTC), timedelta(0))
    if hints is None or (hints.lastmod is None and hints.changefreq is None):
        return _rank_by_age(age, terms.refresh_after) if age >= terms.refresh_after else None
    interval = INTERVALS[hints.changefreq] if hints.changefreq is not None else None
    if not has_changed and (interval is None or age < interval):
        return None
    priority = _DEFAULT_PRIORITY if hints.priority is None else min(max(hints.priority, 0.0), 1.0)
    return round(HIGHEST_RANK * priority)


def _changed_since(lastmod: datetime | None, seen_at: float, now: datetime) -> bool:
    """Whether a sitemap says that a page changed after a visit; a date in the future says nothing."""
    if lastmod is None or lastmod > now + _DAY:
        return False
    # A date without a time of day stands for the whole day: the page may have changed after our visit.
    is_date = lastmod.hour == lastmod.minute == lastmod.second == lastmod.microsecond == 0
    return (lastmod + _DAY if is_date else lastmod).timestamp() > seen_at


def _rank_by_age(age: timedelta, refresh_after: timedelta) -> int:
    """One interval old is as urgent as a sitemap's default priority, two intervals old as its highest."""
    return min(HIGHEST_RANK, round(HIGHEST_RANK * _DEFAULT_PRIORITY * (age / refresh_after)))
