"""What was read from a page besides the page itself, as one number: two visits can be compared without their values."""

from __future__ import annotations

from typing import Final

from xxhash import xxh3_64_intdigest

_TEXT: Final = 1
_MARKDOWN: Final = 2
_EXTRACTOR: Final = 4
_LINKS: Final = 8
_HEADERS: Final = 16
_FLAGS: Final = 5  # bits


def columns_key(
    expressions: str,
    *,
    text: bool,
    markdown: bool,
    has_extractor: bool,
    links: bool = False,
    headers: bool = False,
) -> int:
    """The key of the columns of a run; 0 if it has none besides those of every page. It fits into 63 bits."""
    written = (xxh3_64_intdigest(expressions.encode()) >> (_FLAGS + 1) or 1) << _FLAGS if expressions else 0
    flags = _TEXT * text | _MARKDOWN * markdown | _EXTRACTOR * has_extractor | _LINKS * links | _HEADERS * headers
    return written | flags


def has_columns(known: int | None, wanted: int) -> bool:
    """Whether a page whose columns are known has all that are wanted now; changed expressions are other columns."""
    if not wanted:
        return True
    flags = (1 << _FLAGS) - 1
    if known is None or wanted & flags & ~known:
        return False
    return wanted >> _FLAGS in (0, known >> _FLAGS)
