"""When to retry a request: which responses are worth retrying, after how long, and what Retry-After asks for.

Retry-After (RFC 9110 §10.2.3) may be a date. It counts from the server's own `Date` if that is known, so that a wrong
clock on either side does not shorten the wait. Retries of jobs and of sources are other rules.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from comity.model.gate import GiveUp, GiveUpReason, RetryAt

RETRY_AFTER_CEILING_S: Final = 366 * 86_400.0  # a longer one cannot be intended, and would overflow
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
# # HTTP allows only GMT. Servers also send the names of their own zones; of ambiguous ones, the zone with the longest
# wait.
_ZONE_HOURS: Final = {
    **dict.fromkeys(("GMT", "UTC", "UT", "Z", "WET", "BST"), 0),
    **dict.fromkeys(("WEST", "CET"), 1),
    **dict.fromkeys(("CEST", "EET"), 2),
    **dict.fromkeys(("EEST", "MSK"), 3),
    **dict.fromkeys(("JST", "KST"), 9),
    **dict.fromkeys(("EDT",), -4),
    **dict.fromkeys(("EST", "CDT"), -5),
    **dict.fromkeys(("CST", "MDT"), -6),
    **dict.fromkeys(("MST", "PDT"), -7),
    **dict.fromkeys(("PST",), -8),
}
_ZONE: Final = rf"(?P<zone>{'|'.join(sorted(_ZONE_HOURS, key=len, reverse=True))}|[+-][0-9]{{2}}:?[0-9]{{2}})"
# RFC 9110 §5.6.7: IMF-fixdate, then the two obsolete forms. The weekday decides nothing, so it may be wrong. Programs
# also write ISO 8601, and leave the zone out.
_DATE_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:[a-z]+, ?)?(?P<day>[0-9]{{1,2}}) (?P<month>[a-z]{{3}}) (?P<year>[0-9]{{4}}) {_TIME}(?: {_ZONE})?",
        rf"[a-z]+, ?(?P<day>[0-9]{{1,2}})-(?P<month>[a-z]{{3}})-(?P<year>[0-9]{{2}}|[0-9]{{4}}) {_TIME} {_ZONE}",
        rf"[a-z]+ (?P<month>[a-z]{{3}}) {{1,2}}(?P<day>[0-9]{{1,2}}) {_TIME} (?P<year>[0-9]{{4}})",
        rf"(?P<year>[0-9]{{4}})-(?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}})[t ]{_TIME}(?:\.[0-9]+)? ?{_ZONE}?",
    )
)
_NUMBER: Final = re.compile(r"\+?([0-9]+)(\.[0-9]*)?")


def parse_retry_after(value: str | None, now: float, server_date: float | None = None) -> float | None:
    """Seconds that the site asks us to wait; 0 for a time in the past; the longest if there are several."""
    if value is None:
        return None
    reference = now if server_date is None else server_date
    waits = [_seconds(part, reference) for part in _parts(value[:_LONGEST_TEXT])]
    return max((wait for wait in waits if wait is not None), default=None)


def parse_http_date(text: str, now: float) -> float | None:
    """An HTTP-date in any of its three forms, or in ISO 8601, as UNIX time; `now` places years of two digits."""
    collapsed = text.strip()
    for form in _DATE_FORMS:
        found = form.fullmatch(collapsed)
        if found is not None:
            return _instant(found, now)
    return None


def _parts(value: str) -> list[str]:
    """Split a list of header values at its commas, except after a weekday."""
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
    named = found["month"].lower()
    year, month = int(found["year"]), int(named) if named.isdecimal() else _MONTHS.get(named, 0)
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
    if zone is None:
        return timedelta()
    if zone[0] not in "+-":
        return timedelta(hours=_ZONE_HOURS[zone.upper()])
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timedelta(minutes=minutes if zone[0] == "+" else -minutes)


RETRIES_PER_URL: Final = 5
MAX_RETRY_BACKOFF_S: Final = 600.0


def retry_delay(attempt: int, cap_s: float = MAX_RETRY_BACKOFF_S) -> float:
    """Seconds before retry number `attempt`: 1, 1, 2, 3, 5, 8, 13 …, up to the cap."""
    before, current = 0, 1
    for _ in range(attempt - 1):
        if current >= cap_s:
            break
        before, current = current, before + current
    return min(float(current), cap_s)


def is_retryable(status: int | None) -> bool:
    """Whether a retry may succeed; None or 0 and below is a failed connection."""
    return status is None or status <= 0 or status == 429 or 500 <= status <= 599


def retry_decision(
    status: int | None,
    retries_done: int,
    retry_limit: int = RETRIES_PER_URL,
    retry_after_s: float | None = None,
    cap_s: float = MAX_RETRY_BACKOFF_S,
) -> RetryAt | GiveUp:
    """Decide on another try; the site's own Retry-After lengthens the wait and is not capped."""
    if not is_retryable(status):
        return GiveUp(GiveUpReason.FINAL_STATUS)
    if retries_done >= retry_limit:
        return GiveUp(GiveUpReason.RETRIES_SPENT)
    delay_s = retry_delay(retries_done + 1, cap_s)
    if retry_after_s is not None and retry_after_s > delay_s:
        delay_s = retry_after_s
    return RetryAt(delay_s)
