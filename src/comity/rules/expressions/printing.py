"""Printing expressions: reading what is printed gives the same columns again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

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
