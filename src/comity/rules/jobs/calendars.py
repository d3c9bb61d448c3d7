"""Days of other calendars: year, month and day as they are written enter, a day of our calendar leaves.

Thai pages count years from 543 BC, Persian and Afghan ones have the solar Hijri calendar, Ethiopian ones their own.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

# Added to the number of a month, so that it tells its calendar.
PERSIAN: Final = 100
ETHIOPIAN: Final = 200
_BUDDHIST_YEARS: Final = range(2400, 2700)
_PERSIAN_YEARS: Final = range(1300, 1500)
_ETHIOPIAN_YEARS: Final = range(1960, 2093)


def day_of(year: int, month: int, day: int) -> date | None:
    """The day that is meant; None where there is none, as on 31 February."""
    if year in _BUDDHIST_YEARS:
        year -= 543
    try:
        if PERSIAN < month <= PERSIAN + 12:
            return _persian(year, month - PERSIAN, day)
        if ETHIOPIAN < month <= ETHIOPIAN + 13:
            return _ethiopian(year, month - ETHIOPIAN, day)
        if year in _PERSIAN_YEARS:
            return _persian(year, month, day)
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _persian(year: int, month: int, day: int) -> date | None:
    """Six months of 31 days, then of 30; eight leap years in 33."""
    if year not in _PERSIAN_YEARS or not 1 <= month <= 12 or not 1 <= day <= (31 if month <= 6 else 30):
        return None
    years = year - 979
    days = 365 * years + years // 33 * 8 + (years % 33 + 3) // 4
    days += 31 * (month - 1) if month <= 7 else 186 + 30 * (month - 7)
    return date(1600, 1, 1) + timedelta(days=days + day - 1 + 79)


def _ethiopian(year: int, month: int, day: int) -> date | None:
    """Twelve months of 30 days and a rest; the year begins on 11 September, on the 12th before our leap years."""
    if year not in _ETHIOPIAN_YEARS or not 1 <= day <= 30:
        return None
    return date(year + 7, 9, 12 if year % 4 == 0 else 11) + timedelta(days=30 * (month - 1) + day - 1)
