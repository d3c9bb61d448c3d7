"""Columns and their expressions as text, which reads back as the same columns, and as a number to compare them by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from xxhash import xxh3_64_intdigest

from comity.model.expression import (
    Coalesce,
    CssSelection,
    DataPath,
    EveryElement,
    Expression,
    ExtractColumn,
    ValueSource,
    Wanted,
)

_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*")
_PLAIN_STEP: Final = re.compile(r"(?!--)(?:[\w$@:]|-(?!>))+")  # two hyphens after the dot would begin a comment
_TEXT: Final = 1
_MARKDOWN: Final = 2
_EXTRACTOR: Final = 4
_LINKS: Final = 8
_HEADERS: Final = 16
_FLAGS: Final = 5  # bits


def print_columns(columns: Iterable[ExtractColumn]) -> str:
    """Columns, one per line."""
    return ",\n".join(map(print_column, columns))


def print_column(column: ExtractColumn) -> str:
    """A column with its name and type: `price DECIMAL(18,2) FROM css '.price::text' | parse_price`."""
    name = column.name if _PLAIN_NAME.fullmatch(column.name) else _quoted(column.name, '"')
    return f"{name} {column.type} FROM {print_expression(column.expression)}"


def print_expression(expression: Expression) -> str:
    """An expression with its steps."""
    return " | ".join((_source(expression.source), *(transform.value for transform in expression.transforms)))


def _source(source: ValueSource) -> str:
    match source:
        case DataPath():
            return source.root.value + "".join(map(_step, source.steps))
        case CssSelection(css=css, wanted=Wanted.TEXT):
            return f"css {_quoted(css + '::text')}"
        case CssSelection(css=css, wanted=Wanted.ATTRIBUTE, attribute=attribute):
            return f"css {_quoted(f'{css}::attr({attribute})')}"
        case CssSelection(css=css):
            return f"css {_quoted(css)}"
        case Coalesce(options=options):
            return f"COALESCE({', '.join(map(print_expression, options))})"
        case _:
            return f"xpath {_quoted(source.xpath)}"


def _step(step: str | int | EveryElement) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, EveryElement):
        return "[*]"
    return f".{step}" if _PLAIN_STEP.fullmatch(step) else f"[{_quoted(step)}]"


def _quoted(text: str, quote: str = "'") -> str:
    return f"{quote}{text.replace(quote, quote * 2)}{quote}"


def columns_key(
    expressions: str,
    *,
    text: bool,
    markdown: bool,
    has_extractor: bool,
    links: bool = False,
    headers: bool = False,
) -> int:
    """The key of the columns of a run; 0 if it has none besides those of every page. It fits into 63 bits.

    By it two visits are compared without their values.
    """
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
