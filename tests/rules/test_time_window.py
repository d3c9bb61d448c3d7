"""Time windows: how they are written, and when they open, through every change of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.schedule import TimeWindow, WindowRefused
from comity.rules.next_run import is_open, opening_at_or_after, parse_time_window
from tests.sizes import sized

NEW_YORK = ZoneInfo("America/New_York")  # 2026: forward on 8 March at 02:00, back on 1 November at 02:00
APIA = ZoneInfo("Pacific/Apia")  # had no 30 December 2011


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("22:00-05:00", 1320, 300),
        ("00:00-23:59", 0, 1439),
        (" 09:30 - 17:00 ", 570, 1020),
        ("22:00-24:00", 1320, 0),
        ("22:00-00:00", 1320, 0),
    ],
)
def test_a_window_is_read(text: str, start: int, end: int) -> None:
    assert parse_time_window(text) == TimeWindow(start, end)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write HH:MM-HH:MM"),
        ("night", "'night' is not a time window"),
        ("22:00", "not a time window"),
        ("22:00-", "not a time window"),
        ("22:00-05:00-06:00", "not a time window"),
        ("22:00 05:00", "not a time window"),
        ("9:00-17:00", "'9:00' is not a time of day: write two digits"),
        ("09:00-5pm", "'5pm' is not a time of day"),
        ("24:00-05:00", "hours are 00 to 23"),
        ("22:00-24:01", "hours are 00 to 23"),
        ("22:60-05:00", "minutes are 00 to 59"),
        ("٢٢:٠٠-05:00", "not a time"),
        ("05:00-05:00", "ends when it starts"),
        ("00:00-24:00", "ends when it starts"),
        ("1" * 5000, "5000 characters"),
    ],
)
def test_what_is_no_window_is_refused_with_its_reason(text: str, words: str) -> None:
    refused = parse_time_window(text)
    assert isinstance(refused, WindowRefused)
    assert words in refused.reason
    assert len(refused.reason) < 160


@given(st.integers(0, 1439), st.integers(0, 1439))
def test_a_window_is_read_back_as_it_is_written(start: int, end: int) -> None:
    window = TimeWindow(start, end)
    assert parse_time_window(str(window)) == window or start == end


def new_york(text: str) -> datetime:
    """An instant by its UTC time, written as 11-01 05:30."""
    return datetime.strptime(f"2026-{text} +0000", "%Y-%m-%d %H:%M %z")


@pytest.mark.parametrize(
    ("window", "asked", "opens"),
    [
        # Forward: 06:59 UTC is 01:59, 07:00 UTC is 03:00.
        ("02:30-05:00", "03-08 06:00", "03-08 07:00"),  # opens in the missing hour: as it is skipped
        ("02:15-02:45", "03-08 06:00", "03-09 06:15"),  # lies in the missing hour: not on this day
        ("02:00-03:00", "03-08 06:00", "03-09 06:00"),
        ("01:30-02:30", "03-08 06:00", "03-08 06:30"),
        ("03:00-04:00", "03-08 06:00", "03-08 07:00"),
        ("04:00-05:00", "03-08 06:00", "03-08 08:00"),
        ("22:00-05:00", "03-07 22:00", "03-08 03:00"),
        # Back: 05:59 UTC is 01:59, 06:00 UTC is 01:00 again, 07:00 UTC is 02:00.
        ("01:30-02:00", "11-01 05:00", "11-01 05:30"),  # the first 01:30
        ("01:30-02:00", "11-01 06:00", "11-01 06:30"),  # and the second
        ("00:30-01:15", "11-01 05:20", "11-01 06:00"),  # 01:00 comes again, inside
        ("02:00-03:00", "11-01 05:00", "11-01 07:00"),
        ("03:00-04:00", "11-01 05:00", "11-01 08:00"),
        ("22:00-05:00", "11-01 05:30", "11-01 05:30"),
    ],
)
def test_windows_open_rightly_when_clocks_change(window: str, asked: str, opens: str) -> None:
    parsed = parse_time_window(window)
    assert isinstance(parsed, TimeWindow)
    assert opening_at_or_after(parsed, new_york(asked), NEW_YORK) == new_york(opens)


def test_a_day_that_never_was_has_no_window() -> None:
    before = datetime(2011, 12, 30, 9, 30, tzinfo=UTC)  # 23:30 on the 29th; half an hour later it is the 31st
    opening = opening_at_or_after(TimeWindow(12 * 60, 13 * 60), before, APIA)
    assert opening is not None
    assert opening.astimezone(APIA).isoformat() == "2011-12-31T12:00:00+14:00"


def test_the_start_is_inside_and_the_end_is_not() -> None:
    window = TimeWindow(60, 120)
    times = ["00:59:59.999999", "01:00:00", "01:59:59.999999", "02:00:00"]
    instants = [datetime.fromisoformat(f"2026-05-05T{time}+00:00") for time in times]
    assert [is_open(window, at, UTC) for at in instants] == [False, True, True, False]


@settings(max_examples=sized(30, 1000), deadline=None)
@given(
    st.integers(0, 1439),
    st.integers(1, 1439),
    # Nights of change, more or less: New York, Lord Howe (half an hour) and Troll (two hours).
    st.sampled_from(["2026-03-07", "2026-10-31", "2026-04-04", "2026-10-03", "2026-03-28", "2026-10-24", "2026-07-01"]),
    st.integers(0, 1440),
    st.sampled_from(["America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Asia/Kathmandu", "UTC"]),
)
def test_the_opening_is_the_first_minute_at_which_the_wall_clock_is_inside(
    start: int, length: int, day: str, minute: int, zone_name: str
) -> None:
    zone = ZoneInfo(zone_name)
    window = TimeWindow(start, (start + length) % 1440)
    asked = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(minutes=minute)
    expected = asked
    while not is_open(window, expected, zone):
        expected += timedelta(minutes=1)
    assert opening_at_or_after(window, asked, zone) == expected
