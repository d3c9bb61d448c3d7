"""Dates in the words and calendars of many languages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.jobs.dates import deadline_of
from comity.rules.jobs.months import ETHIOPIAN, PERSIAN, day_of, month_called

NOW = datetime(2026, 11, 16, tzinfo=UTC)
WRITTEN = [
    ("2026. november 30.", "hu"),
    ("30 listopada 2026", "pl"),
    ("30 листопада 2026 р.", "uk"),
    ("30. studenoga 2026.", "hr"),
    ("30 พ.ย. 2569", "th"),
    ("30 พฤศจิกายน พ.ศ. 2569", "th"),
    ("๓๐ พฤศจิกายน ๒๕๖๙", "th"),
    ("30/11/2569", "th"),
    ("۹ آذر ۱۴۰۵", "fa"),
    ("۱۴۰۵/۰۹/۰۹", "fa"),
    ("1405/9/9", ""),
    ("30 नवंबर 2026", "hi"),
    ("৩০ নভেম্বর ২০২৬", "bn"),
    ("၂၀၂၆ ခုနှစ် နိုဝင်ဘာလ ၃၀ ရက်", "my"),
    ("30 ნოემბერი, 2026", "ka"),
    ("2026 წლის 30 ნოემბერი", "ka"),
    ("2026 m. lapkričio 30 d.", "lt"),
    ("2026. gada 30. novembris", "lv"),
    ("30 tháng 11 năm 2026", "vi"),
    ("30 Νοεμβρίου 2026", "el"),
    ("30 בנובמבר 2026", "he"),
    ("30 تشرين الثاني 2026", "ar"),
    ("30 نونبر 2026", "ar"),
    ("30 Kasım 2026", "tr"),
    ("ថ្ងៃទី៣០ ខែវិច្ឆិកា ឆ្នាំ២០២៦", "km"),
    ("2026 жылғы 30 қараша", "kk"),
    ("30. marraskuuta 2026", "fi"),
    ("2026.11.30(월)", "ko"),
    ("30 Novemba 2026", "sw"),
    ("30. novembra 2026.", "sr"),
    ("ኖቬምበር 30 ቀን 2026", "am"),
    ("ኅዳር 21 ቀን 2019", "am"),
]


@pytest.mark.parametrize(("text", "language"), WRITTEN)
def test_a_day_is_read_as_it_is_written(text: str, language: str) -> None:
    found = deadline_of(text, now=NOW, zone=None, country=None, order_country=None, language=language)
    assert found is not None
    assert found.date() == date(2026, 11, 30)


def test_a_name_that_means_two_months_is_told_by_the_language() -> None:
    assert month_called("listopada", "pl") == 11
    assert month_called("listopada", "hr") == 10
    assert month_called("listopada") is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ((2569, 2, 28), date(2026, 2, 28)),
        ((1405, PERSIAN + 1, 1), date(2026, 3, 21)),
        ((1403, PERSIAN + 12, 30), date(2025, 3, 20)),
        ((1399, 12, 30), date(2021, 3, 20)),
        ((2019, ETHIOPIAN + 1, 1), date(2026, 9, 11)),
        ((2016, ETHIOPIAN + 1, 1), date(2023, 9, 12)),
        ((2026, 2, 31), None),
        ((1405, PERSIAN + 7, 31), None),
        ((2026, PERSIAN + 1, 1), None),
        ((2019, ETHIOPIAN + 1, 31), None),
    ],
)
def test_other_calendars_are_counted(said: tuple[int, int, int], meant: date | None) -> None:
    assert day_of(*said) == meant


@given(st.integers(1300, 1498), st.integers(1, 12), st.integers(1, 29))
def test_a_persian_day_is_followed_by_the_next(year: int, month: int, day: int) -> None:
    first, second = day_of(year, PERSIAN + month, day), day_of(year, PERSIAN + month, day + 1)
    assert first is not None
    assert second is not None
    assert second - first == timedelta(days=1)


@given(st.integers(-10, 10_000), st.integers(-10, 300), st.integers(-10, 400))
def test_any_numbers_are_a_day_or_none(year: int, month: int, day: int) -> None:
    assert isinstance(day_of(year, month, day), date | None)
