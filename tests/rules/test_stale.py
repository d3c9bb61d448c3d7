"""Which known pages a refresh asks for again: what the site says of them, and otherwise their age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.frontier import SeenPage
from comity.model.sitemap import ChangeFrequency, PageHints
from comity.rules.refresh import HIGHEST_RANK, INTERVALS, RefreshTerms, revisit_rank

NOW = datetime(2026, 2, 7, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)
ALL = RefreshTerms(14 * DAY)
STALE = RefreshTerms(14 * DAY, only_stale=True)


def seen(ago: timedelta, *, is_gone: bool = False) -> SeenPage:
    return SeenPage((NOW - ago).timestamp(), is_gone)


def said(
    changefreq: str | None = None, lastmod: timedelta | datetime | None = None, priority: float | None = None
) -> PageHints:
    when = NOW - lastmod if isinstance(lastmod, timedelta) else lastmod
    return PageHints(when, ChangeFrequency(changefreq) if changefreq else None, priority)


@pytest.mark.parametrize(
    ("hints", "page", "rank"),
    [
        # The site says that it changed since, or that it did not.
        (said(lastmod=DAY), seen(2 * DAY), 500),
        (said(lastmod=3 * DAY), seen(2 * DAY), None),
        (said(lastmod=DAY, priority=0.9), seen(2 * DAY), 900),
        (said(lastmod=DAY, priority=0.0), seen(2 * DAY), 0),
        (said(lastmod=DAY, priority=7.0), seen(2 * DAY), HIGHEST_RANK),
        # A date alone stands for its whole day.
        (said(lastmod=datetime(2026, 2, 7, tzinfo=UTC)), seen(timedelta(hours=2)), 500),
        (said(lastmod=datetime(2026, 2, 6, tzinfo=UTC)), seen(timedelta(hours=2)), None),
        (said(lastmod=datetime(2026, 2, 7, 1, tzinfo=UTC)), seen(timedelta(hours=2)), None),
        # A date that lies ahead says nothing.
        (said(lastmod=NOW + 30 * DAY), seen(2 * DAY), None),
        # How often it changes, from our last visit on.
        (said("always"), seen(timedelta(0)), 500),
        (said("hourly"), seen(timedelta(minutes=59)), None),
        (said("hourly"), seen(timedelta(minutes=60)), 500),
        (said("daily"), seen(timedelta(hours=23)), None),
        (said("daily", priority=0.25), seen(DAY), 250),
        (said("weekly"), seen(6 * DAY), None),
        (said("weekly"), seen(7 * DAY), 500),
        (said("monthly"), seen(29 * DAY), None),
        (said("monthly"), seen(30 * DAY), 500),
        (said("yearly"), seen(364 * DAY), None),
        (said("yearly"), seen(365 * DAY), 500),
        (said("never"), seen(4000 * DAY), None),
        # Either of the two is enough.
        (said("never", DAY), seen(2 * DAY), 500),
        (said("daily", 9 * DAY), seen(2 * DAY), 500),
        (said("yearly", 9 * DAY), seen(2 * DAY), None),
        # Nothing is said: by age. A priority alone is no word about time.
        (None, seen(13 * DAY), None),
        (None, seen(14 * DAY), 500),
        (None, seen(21 * DAY), 750),
        (None, seen(400 * DAY), HIGHEST_RANK),
        (said(priority=1.0), seen(13 * DAY), None),
        (said(priority=1.0), seen(14 * DAY), 500),
        # A clock that was ahead makes no page older than it is.
        (said("hourly"), seen(-DAY), None),
        # What is gone is gone, unless the site says that it is back.
        (None, seen(400 * DAY, is_gone=True), None),
        (said("daily"), seen(2 * DAY, is_gone=True), None),
        (said("daily", DAY), seen(2 * DAY, is_gone=True), 500),
        # Never visited to an end.
        (None, None, 500),
        (said("never"), None, 500),
    ],
)
def test_only_what_is_stale_is_revisited(hints: PageHints | None, page: SeenPage | None, rank: int | None) -> None:
    assert revisit_rank(hints, page, NOW, STALE) == rank


@pytest.mark.parametrize(
    ("hints", "page", "rank"),
    [
        (None, seen(timedelta(0)), 0),
        (said("never"), seen(DAY), 0),
        (said(lastmod=9 * DAY, priority=1.0), seen(DAY), 0),
        (None, None, 0),
        (None, seen(400 * DAY, is_gone=True), None),
        (said(lastmod=DAY), seen(2 * DAY, is_gone=True), 0),
    ],
)
def test_a_whole_refresh_revisits_everything_but_what_is_gone(
    hints: PageHints | None, page: SeenPage | None, rank: int | None
) -> None:
    assert revisit_rank(hints, page, NOW, ALL) == rank


def test_every_frequency_has_its_interval() -> None:
    assert set(INTERVALS) == set(ChangeFrequency)


moments = st.integers(-(10**9), 10**9).map(lambda seconds: NOW + timedelta(seconds=seconds))


@given(
    lastmod=st.none() | moments,
    frequency=st.none() | st.sampled_from(ChangeFrequency),
    priority=st.none() | st.floats(allow_nan=False),
    at=moments,
    is_gone=st.booleans(),
)
def test_a_rank_is_bounded_and_what_is_stale_is_part_of_the_whole(
    lastmod: datetime | None, frequency: ChangeFrequency | None, priority: float | None, at: datetime, is_gone: bool
) -> None:
    hints, page = PageHints(lastmod, frequency, priority), SeenPage(at.timestamp(), is_gone)
    rank = revisit_rank(hints, page, NOW, STALE)
    if rank is not None:
        assert 0 <= rank <= HIGHEST_RANK
        assert revisit_rank(hints, page, NOW, ALL) == 0
