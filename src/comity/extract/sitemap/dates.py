"""Modification dates of sitemaps and feeds: takes text, returns a time in UTC, or None.

Reads W3C dates of every length, RFC 822 as feeds write it, and the most common mistakes in both.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

_LONGEST: Final = 100
# Nothing on the web is older, and zero dates ("0001-01-01", "1970-01-01") say that the date is unknown.
_FIRST_YEAR: Final = 1990
_LAST_YEAR: Final = 2199
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_ZONES: Final = dict.fromkeys(("z", "gmt", "utc", "ut"), 0) | {
    name: 60 * hours
    for hours, names in (
        *((-8, ("pst",)), (-7, ("pdt", "mst")), (-6, ("mdt", "cst")), (-5, ("cdt", "est")), (-4, ("edt",))),
        *((1, ("cet", "bst")), (2, ("cest", "eet")), (3, ("eest", "msk")), (9, ("jst", "kst"))),
    )
    for name in names
}
_CLOCK: Final = (
    r"(?:\s*[T,\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,]\d*)?)?)?"
    r"\s*(?P<zone>[A-Za-z]{1,4}|(?:GMT|UTC)?[+-]\d{1,2}:?\d{2}|[+-]\d{1,2})?"
)
_FORMS: Final = tuple(
    re.compile(pattern + _CLOCK, re.ASCII | re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?)?",
        r"(?:[a-z]{2,9}\.?,?\s+)?(?P<day>\d{1,2})[\s-](?P<name>[a-z]{3})[a-z]{0,6}\.?,?[\s-](?P<year>\d{4})",
        r"(?:[a-z]{2,9}\.?,?\s+)?(?P<name>[a-z]{3})[a-z]{0,6}\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})",
        # With dots the day comes first wherever dots are used; with slashes it is ambiguous.
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    )
)


def read_date(text: str) -> datetime | None:
    """Read a date; one without a zone counts as UTC, one without a day as the first."""
    return _read(text.strip()) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _read(text: str) -> datetime | None:
    if text[4:5] == "-" and len(text) >= 10:
        try:
            return _plausible(datetime.fromisoformat(text))
        except ValueError:
            pass
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None:
            return _built(found.groupdict())
    return None


def _plausible(moment: datetime) -> datetime | None:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _built(parts: dict[str, str | None]) -> datetime | None:
    """Put the parts of a date together, if there is such a day."""
    offset = _offset(parts["zone"])
    name = parts.get("name")
    month = _MONTHS.get(name.lower()) if name else int(parts.get("month") or 1)
    if offset is None or month is None:
        return None
    year, day, hour, minute, second = (int(parts[part] or 0) for part in ("year", "day", "hour", "minute", "second"))
    try:
        moment = datetime(year, month, day or 1, hour, minute, second, tzinfo=timezone(offset))
    except ValueError:
        return None
    return _plausible(moment)


def _offset(zone: str | None) -> timedelta | None:
    """How far a zone is from UTC; None if it is unknown."""
    if not zone:
        return timedelta()
    sign_at = max(zone.find("+"), zone.find("-"))
    if sign_at < 0:
        minutes = _ZONES.get(zone.lower())
        return None if minutes is None else timedelta(minutes=minutes)
    digits = zone[sign_at + 1 :].replace(":", "")
    hours, rest = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    minutes = int(hours) * 60 + int(rest)
    if minutes >= 24 * 60:
        return None
    return timedelta(minutes=-minutes if zone[sign_at] == "-" else minutes)
