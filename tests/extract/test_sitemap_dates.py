"""Dates as sitemaps and feeds write them, rightly and wrongly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract.sitemap.read import read_date

PI = "2024-03-14T15:09:26Z"

DATES = [
    # W3C date and time, all its lengths.
    ("2024", "2024-01-01T00:00:00Z"),
    ("2024-03", "2024-03-01T00:00:00Z"),
    ("2024-03-14", "2024-03-14T00:00:00Z"),
    ("2024-03-14T15:09Z", "2024-03-14T15:09:00Z"),
    ("2024-03-14T15:09:26Z", PI),
    ("2024-03-14T15:09:26.535Z", "2024-03-14T15:09:26.535Z"),
    ("2024-03-14T15:09:26.5358979Z", "2024-03-14T15:09:26.535897Z"),
    ("2024-03-14T16:09:26+01:00", PI),
    ("2024-03-14T09:39:26-05:30", PI),
    ("2024-03-14T23:30:00-05:00", "2024-03-15T04:30:00Z"),
    # Common mistakes.
    ("2024-03-14T15:09:26", PI),
    ("2024-03-14 15:09:26", PI),
    ("2024-03-14 15:09", "2024-03-14T15:09:00Z"),
    ("2024-03-14T15:09:26+0000", PI),
    ("2024-03-14T15:09:26 +00:00", PI),
    ("2024-03-14 16:09:26 +0100", PI),
    ("2024-03-14T16:09:26+1:00", PI),
    ("2024-03-14T16:09:26+01", PI),
    ("2024-03-14t15:09:26z", PI),
    ("2024-03-14 15:09:26 UTC", PI),
    ("2024-03-14 15:09:26 GMT", PI),
    ("2024-03-14T15:09:26GMT+00:00", PI),
    ("2024-3-4", "2024-03-04T00:00:00Z"),
    ("2024-03-14T5:09:26Z", "2024-03-14T05:09:26Z"),
    ("2024/03/14", "2024-03-14T00:00:00Z"),
    ("2024/03/14 15:09:26", PI),
    ("2024.03.14", "2024-03-14T00:00:00Z"),
    ("14.03.2024", "2024-03-14T00:00:00Z"),
    ("14.3.2024 15:09", "2024-03-14T15:09:00Z"),
    ("  2024-03-14\n", "2024-03-14T00:00:00Z"),
    ("14 March 2024", "2024-03-14T00:00:00Z"),
    ("March 14, 2024", "2024-03-14T00:00:00Z"),
    ("Mar 14 2024", "2024-03-14T00:00:00Z"),
    ("14-Mar-2024", "2024-03-14T00:00:00Z"),
    # RFC 822, as feeds write it.
    ("Thu, 14 Mar 2024 15:09:26 GMT", PI),
    ("Thu, 14 Mar 2024 16:09:26 +0100", PI),
    ("Thu, 14 Mar 2024 10:09:26 EST", PI),
    ("Thu, 14 Mar 2024 08:09:26 PDT", PI),
    ("14 Mar 2024 15:09:26 Z", PI),
    ("Thursday, 14 March 2024 15:09:26 +0000", PI),
    ("Wed, 14 Mar 2024 15:09:26 GMT", PI),
    # What says nothing.
    ("", None),
    ("now", None),
    ("yesterday", None),
    ("0000-00-00", None),
    ("0000-00-00 00:00:00", None),
    ("0001-01-01T00:00:00Z", None),
    ("1970-01-01T00:00:00Z", None),
    ("1899-12-31", None),
    ("9999-12-31T23:59:59-12:00", None),
    ("2024-13-01", None),
    ("2024-02-30", None),
    ("2024-03-14T25:00:00Z", None),
    ("2024-03-14T15:09:26+99:00", None),
    ("2024-03-14 15:09:26 XYZ", None),
    ("03/14/2024", None),
    ("14/03/2024", None),
    ("1710428966", None),
    ("20240314150926", None),
    ("2" * 5000, None),
    ("١٤.٠٣.٢٠٢٤", None),
]


@pytest.mark.parametrize(("text", "moment"), DATES)
def test_a_date_means_this_moment(text: str, moment: str | None) -> None:
    assert read_date(text) == (datetime.fromisoformat(moment) if moment else None)


_BEGINNING = datetime(1991, 1, 1, tzinfo=UTC)
_MOMENTS = st.timedeltas(timedelta(), timedelta(days=190 * 365)).map(lambda passed: _BEGINNING + passed)
_OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(_MOMENTS, _OFFSETS)
def test_any_moment_in_any_zone_is_read_exactly(moment: datetime, zone: timezone) -> None:
    aware = moment.astimezone(zone)
    assert read_date(aware.isoformat()) == aware
    assert read_date(aware.strftime("%a, %d %b %Y %H:%M:%S %z")) == aware.replace(microsecond=0)


@given(st.text(max_size=120))
def test_any_text_is_a_moment_in_utc_or_none(text: str) -> None:
    moment = read_date(text)
    assert moment is None or (moment.tzinfo is UTC and 1989 < moment.year < 2201)
