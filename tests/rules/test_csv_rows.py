"""Rows of CSV: every text comes back from any reader, and none of them is a formula."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.csv_rows import CsvValue, csv_line, guarded, unguarded

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read_back(line: str) -> list[str]:
    (row,) = csv.reader(io.StringIO(line, newline=""), strict=True)
    return row


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (("a", "b"), "a,b\r\n"),
        ((None, ""), ',""\r\n'),
        ((1, -2, 0.5, 1e300), "1,-2,0.5,1e+300\r\n"),
        ((True, False), "true,false\r\n"),
        (("a,b", 'say "hi"', "two\nlines", "cr\rhere"), '"a,b","say ""hi""","two\nlines","cr\rhere"\r\n'),
        ((" a", "b "), '" a","b "\r\n'),
        (("=1+1", "-x", "'=1", "'plain"), "'=1+1,'-x,''=1,'plain\r\n"),
        (('=HYPERLINK("http://evil.example","x")',), '"\'=HYPERLINK(""http://evil.example"",""x"")"\r\n'),
        (("naïve", "日本", "a=b", "1-2"), "naïve,日本,a=b,1-2\r\n"),
    ],
)
def test_a_row_is_written_as_rfc_4180_says(values: tuple[CsvValue, ...], line: str) -> None:
    assert csv_line(values) == line


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_every_text_comes_back(texts: list[str]) -> None:
    assert [unguarded(cell) for cell in read_back(csv_line(texts))] == texts


@given(TEXTS)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert not guarded(text).startswith(FORMULAS)
    assert unguarded(guarded(text)) == text


@given(st.floats() | st.integers())
def test_numbers_are_not_guarded(number: float) -> None:
    (cell,) = read_back(csv_line([number]))
    assert cell == repr(number)
