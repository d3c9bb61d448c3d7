"""Cursors and days of a search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.errors import BadInput
from comity.model.search import SearchPosition, SearchSort
from comity.rules.search.query import LONGEST_SEARCH_CURSOR, read_cursor, read_since, write_cursor

NOW = datetime(2026, 2, 7, 12, tzinfo=UTC)
TIMES = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(SearchSort), TIMES, st.uuids(), st.none() | TIMES, FLOATS)
def test_a_position_comes_back_as_it_was(
    sort: SearchSort, newest_at: datetime, posting_id: object, deadline: datetime | None, rank: float
) -> None:
    is_ranked = sort is SearchSort.RELEVANCE
    position = SearchPosition(sort, newest_at, posting_id, deadline, rank if is_ranked else None)  # type: ignore[arg-type]
    cursor = write_cursor(position)
    assert len(cursor) <= LONGEST_SEARCH_CURSOR
    assert cursor.isascii()
    assert read_cursor(cursor, sort) == position


@given(st.text(max_size=200), st.sampled_from(SearchSort))
def test_any_text_is_a_position_or_refused(text: str, sort: SearchSort) -> None:
    with pytest.raises(BadInput):
        read_cursor(text, sort)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("24H", NOW - timedelta(hours=24)),
        ("2 w", NOW - timedelta(weeks=2)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
    ],
)
def test_since(text: str, expected: datetime) -> None:
    assert read_since("since", text, NOW) == expected


@pytest.mark.parametrize(
    "text", ["", "week", "7", "7m", "-7d", "2026-13-01", "31.01.2026", "999999d", "20260131", "2026-02-30"]
)
def test_another_since_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="since: must be a date such as 2026-03-31, or an age such as 24h"):
        read_since("since", text, NOW)
