"""The further columns of a page: those of expressions, and what a user's own extractor returned."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from comity.model.errors import BadInput
from comity.model.expression import ColumnType, StoredColumn, TypeName
from comity.model.page import NO_DETAILS, Extraction, HtmlPage, KeptDetails
from comity.walk.visit.context import VisitContext
from comity.walk.visit.details import detail_columns

_DATA_COLUMN: Final = StoredColumn("data", ColumnType(TypeName.JSON))
_MOST_CHARACTERS: Final = 16_000_000
_DEEPEST: Final = 100
_encode_value: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def stored_columns(columns: str, *, has_extractor: bool, details: KeptDetails = NO_DETAILS) -> tuple[StoredColumn, ...]:
    """The columns that pages of a run have besides those of every page; those of details are the last."""
    found: tuple[StoredColumn, ...] = ()
    if columns:
        from comity.extract.expressions import columns_of  # here and below: most crawls extract nothing

        found = tuple(StoredColumn(column.name, column.type) for column in columns_of(columns))
    more = detail_columns(details)
    taken = {column.name for column in more}
    for column in found:
        if column.name.casefold() in taken:
            raise BadInput(f"the column “{column.name}” stores details of pages; choose another name with AS")
    return (*found, *((_DATA_COLUMN,) if has_extractor else ()), *more)


def extracted_values(page: HtmlPage | None, extraction: Extraction, context: VisitContext) -> tuple[list[Any], int]:
    """The values of these columns for one page, and how many could not be converted."""
    values: list[Any] = []
    unconverted = 0
    if context.columns:
        if page is not None and page.extracted is not None:
            values, unconverted = page.extracted
        else:
            from comity.extract.expressions import columns_of

            values = [None] * len(columns_of(context.columns))
            unconverted = len(values) if page is not None else 0
    if context.extract is not None:
        text = _json_text(extraction.data) if extraction.data is not None else None
        unconverted += text is None and extraction.data is not None
        values = [*values, text]
    return values, unconverted


def _json_text(value: object) -> str | None:
    """The value as JSON; what JSON does not know becomes text. None if it is too long, or cannot be written."""
    try:
        text = _encode_value(value)
    except (TypeError, ValueError, RecursionError):
        try:
            text = _encode_value(_plain(value, 0))
        except Exception:  # a value may be of any class, and its text is that class's own code
            return None
    return text if len(text) <= _MOST_CHARACTERS else None


def _plain(value: Any, depth: int) -> Any:
    """A value in the types of JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _DEEPEST:
        raise ValueError("the value is nested too deep, or contains itself")
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | Set):
        return [_plain(inner, depth + 1) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value), depth + 1)
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)
