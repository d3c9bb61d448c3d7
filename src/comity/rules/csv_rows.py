"""Rows of CSV: takes values, returns one line as RFC 4180 defines it.

Lines end with CRLF, a cell with a comma, a quote or a line break is quoted, and a quote in it is doubled (RFC 4180 §2).
An unknown value is an empty cell; an empty text is `""`, so the two differ.

Spreadsheets run a cell that begins like a formula, and page titles are written by strangers. Such a text gets an
apostrophe in front, which spreadsheets do not show. `unguarded` removes exactly that apostrophe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

LINE_END: Final = "\r\n"
# What spreadsheets read as the beginning of a formula; the wide forms count in East Asian locales.
_FORMULA: Final = "=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20"
HAS_GUARD: Final = f"^'+[{_FORMULA}]"
"""The beginning of a guarded text, as a regular expression."""
# Also a text that would look as if it had been guarded.
_needs_guard: Final = re.compile(f"'*[{_FORMULA}]").match
_has_guard: Final = re.compile(HAS_GUARD).match
_needs_quotes: Final = re.compile('[",\r\n]').search

CsvValue = str | int | float | Decimal | bool | None


def csv_line(values: Iterable[CsvValue]) -> str:
    """One row, with its line end."""
    return ",".join([_cell(value) for value in values]) + LINE_END


def guarded(text: str) -> str:
    """A text that no spreadsheet runs as a formula."""
    return f"'{text}" if _needs_guard(text) else text


def unguarded(text: str) -> str:
    """The original text of a guarded one."""
    return text[1:] if _has_guard(text) else text


def _cell(value: CsvValue) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = guarded(value)
        if not text or _needs_quotes(text) or text[0] == " " or text[-1] == " ":
            return '"' + text.replace('"', '""') + '"'
        return text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return repr(value)
