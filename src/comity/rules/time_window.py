"""Time windows such as "22:00-05:00": parsing them, and the next time at which one is open.

A window follows local wall-clock time. In the night when clocks are set back, an hour that comes twice is open twice;
when they are set forward, a window that would have opened in the missing hour opens when the hour is skipped, unless it
also ends there. Results are instants in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from comity.model.schedule import TimeWindow, WindowRefused

_SHAPE: Final = re.compile(r"([^\s-]+) ?- ?([^\s-]+)", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{2}):(\d{2})", re.ASCII)
_LONGEST_TEXT: Final = 32
_DAY_MINUTES: Final = 24 * 60
_DAY: Final = timedelta(days=1)
_STEP: Final = timedelta(hours=1)
_RESOLUTION: Final = timedelta(seconds=1)
# Zones change their offset a few times a year; more changes than this on the way to an opening are no real zone's.
_MOST_OFFSET_CHANGES: Final = 16


def parse_time_window(text: str) -> TimeWindow | WindowRefused:
    """Parse a window as a user typed it; an error is one line."""
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT:
        return WindowRefused(f"a time window is written HH:MM-HH:MM; this text has {len(stripped)} characters")
    shape = _SHAPE.fullmatch(stripped)
    if shape is None:
        return WindowRefused(f"{stripped!r} is not a time window: write HH:MM-HH:MM, as in 22:00-05:00")
    start, end = (_minute_of(word, is_end=is_end) for word, is_end in ((shape[1], False), (shape[2], True)))
    for minute in (start, end):
        if isinstance(minute, WindowRefused):
            return minute
    assert isinstance(start, int)
    assert isinstance(end, int)
    if start == end % _DAY_MINUTES:
        return WindowRefused(
            f"{stripped!r} ends when it starts: omit the window to allow the whole day, or write a later end"
        )
    return TimeWindow(start, end % _DAY_MINUTES)


def is_open(window: TimeWindow, at: datetime, zone: tzinfo) -> bool:
    """Whether the clock on the wall shows a time inside the window."""
    return _wait(window, at.astimezone(zone)) == timedelta(0)


def opening_at_or_after(window: TimeWindow, at: datetime, zone: tzinfo) -> datetime | None:
    """The given time if the window is open then, else the next time at which it opens; None if it never does."""
    instant = at.astimezone(UTC)
    for _ in range(_MOST_OFFSET_CHANGES):
        wait = _wait(window, instant.astimezone(zone))
        if not wait:
            return instant
        # While the offset stays, the wall clock runs evenly; where it jumps, we look at the clock anew.
        jump = _first_offset_change(zone, instant, instant + wait)
        if jump is None:
            return instant + wait
        instant = jump
    return None


def _minute_of(word: str, *, is_end: bool) -> int | WindowRefused:
    clock = _CLOCK.fullmatch(word)
    if clock is None:
        return WindowRefused(f"{word!r} is not a time of day: write two digits, a colon and two digits, as in 09:30")
    hours, minutes = int(clock[1]), int(clock[2])
    if minutes > 59:
        return WindowRefused(f"{word!r} is not a time of day: minutes are 00 to 59")
    if hours > 23 and not (is_end and (hours, minutes) == (24, 0)):
        return WindowRefused(f"{word!r} is not a time of day: hours are 00 to 23 (a window may end at 24:00)")
    return hours * 60 + minutes


def _wait(window: TimeWindow, local: datetime) -> timedelta:
    """How long until the window opens by an even wall clock; nothing while it is open."""
    now = timedelta(hours=local.hour, minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    start, end = timedelta(minutes=window.start_minute), timedelta(minutes=window.end_minute)
    since_start = (now - start) % _DAY
    return timedelta(0) if since_start < (end - start) % _DAY else _DAY - since_start


def _first_offset_change(zone: tzinfo, after: datetime, until: datetime) -> datetime | None:
    """The first second after one instant and up to another at which the zone's offset is a new one."""
    before = _offset(zone, after)
    low = after
    while low < until:
        high = min(low + _STEP, until)
        if _offset(zone, high) != before:
            return _boundary(zone, low, high)
        low = high
    return None


def _boundary(zone: tzinfo, low: datetime, high: datetime) -> datetime:
    """Between an instant before a change and one after it, the whole second of the change."""
    before = _offset(zone, low)
    while high - low > _RESOLUTION:
        middle = low + (high - low) / 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    whole = high.replace(microsecond=0)
    return whole if whole > low else high


def _offset(zone: tzinfo, at: datetime) -> timedelta | None:
    return at.astimezone(zone).utcoffset()
