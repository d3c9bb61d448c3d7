"""Retry-After (RFC 9110 §10.2.3): text goes in, seconds to wait come out, or None where it says nothing usable.

A date counts from the server's own `Date` when that is known, so that a wrong clock on either side does
not shorten the wait.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

RETRY_AFTER_CEILING_S: Final = 366 * 86_400.0  # longer cannot be meant, and would not fit the clock
_LONGEST_TEXT: Final = 4_096
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
_WEEKDAYS: Final = frozenset(
    [
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ]
)
_TIME: Final = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_ZONE: Final = r"(?P<zone>GMT|UTC|UT|Z|[+-][0-9]{4})"
# RFC 9110 §5.6.7: IMF-fixdate, then the two obsolete forms. The weekday decides nothing, so it may be wrong.
_DATE_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:[a-z]+, ?)?(?P<day>[0-9]{{1,2}}) (?P<month>[a-z]{{3}}) (?P<year>[0-9]{{4}}) {_TIME} {_ZONE}",
        rf"[a-z]+, ?(?P<day>[0-9]{{1,2}})-(?P<month>[a-z]{{3}})-(?P<year>[0-9]{{2}}|[0-9]{{4}}) {_TIME} {_ZONE}",
        rf"[a-z]+ (?P<month>[a-z]{{3}}) {{1,2}}(?P<day>[0-9]{{1,2}}) {_TIME} (?P<year>[0-9]{{4}})",
    )
)
_NUMBER: Final = re.compile(r"\+?([0-9]+)(\.[0-9]*)?")


def parse_retry_after(value: str | None, now: float, server_date: float | None = None) -> float | None:
    """Seconds that the site asks us to wait; 0 for a time gone by; the longest where several are given."""
    if value is None:
        return None
    reference = now if server_date is None else server_date
    waits = [_seconds(part, reference) for part in _parts(value[:_LONGEST_TEXT])]
    return max((wait for wait in waits if wait is not None), default=None)


def parse_http_date(text: str, now: float) -> float | None:
    """An HTTP-date in any of its three forms as UNIX time; `now` places years of two digits."""
    collapsed = text.strip()
    for form in _DATE_FORMS:
        found = form.fullmatch(collapsed)
        if found is not None:
            return _instant(found, now)
    return None


def _parts(value: str) -> list[str]:
    """Split a list of header values at its commas, except for the comma after a weekday."""
    parts: list[str] = []
    weekday = ""
    for piece in value.replace("\n", ",").split(","):
        text = piece.strip()
        if text.lower() in _WEEKDAYS:
            weekday = text
        elif text:
            parts.append(f"{weekday}, {text}" if weekday else text)
            weekday = ""
    return parts


def _seconds(text: str, reference: float) -> float | None:
    number = _NUMBER.fullmatch(text)
    if number is not None:
        # Fractions are not in the grammar but are sent; digits beyond the ceiling's length only make it longer.
        whole = number.group(1).lstrip("0") or "0"
        if len(whole) > 12:
            return RETRY_AFTER_CEILING_S
        return min(float(whole + (number.group(2) or "")), RETRY_AFTER_CEILING_S)
    date = parse_http_date(text, reference)
    if date is None:
        return None
    return min(max(0.0, date - reference), RETRY_AFTER_CEILING_S)


def _instant(found: re.Match[str], now: float) -> float | None:
    year, month = int(found["year"]), _MONTHS.get(found["month"].lower(), 0)
    if len(found["year"]) == 2:
        year = _full_year(year, now)
    # A leap second has no UNIX time of its own: count it as the second before.
    second = min(int(found["second"]), 59) if int(found["second"]) <= 60 else 60
    try:
        moment = datetime(year, month, int(found["day"]), int(found["hour"]), int(found["minute"]), second, tzinfo=UTC)
        return (moment - _offset(found.groupdict().get("zone"))).timestamp()
    except (ValueError, OverflowError):
        return None


def _full_year(two_digits: int, now: float) -> int:
    """RFC 9110 §5.6.7: more than 50 years ahead means the century before."""
    this_year = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=now)).year
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone[0] not in "+-":
        return timedelta()
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    return timedelta(minutes=minutes if zone[0] == "+" else -minutes)
