"""Extracted values in Parquet's plain encoding: stored forms of one column enter, bytes leave (Encodings.md, PLAIN)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from enum import Enum, auto
from itertools import chain
from typing import Any, Final

from comity.model.expression import ColumnType, ExtractedValues, StoredColumn, TypeName
from comity.rules.expressions.values import converted
from comity.store.formats.columns import all_utf8

FIXED_BYTES: Final = 16
_INT64_DIGITS: Final = 18
_FIRST_DAY: Final = date(1970, 1, 1)
_FIRST_MOMENT: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # a timestamp without a zone
_MICROSECOND: Final = timedelta(microseconds=1)
_EXACT: Final = Context(prec=60)
_length: Final = struct.Struct("<I").pack


class Physical(Enum):
    """How values lie in the file."""

    BOOLEAN = auto()
    INT32 = auto()
    INT64 = auto()
    DOUBLE = auto()
    BYTES = auto()
    FIXED = auto()


PHYSICAL_TYPES: Final = {
    Physical.BOOLEAN: 0,
    Physical.INT32: 1,
    Physical.INT64: 2,
    Physical.DOUBLE: 5,
    Physical.BYTES: 6,
    Physical.FIXED: 7,
}
"""The numbers of parquet.thrift."""
_SIMPLE: Final = {
    TypeName.VARCHAR: Physical.BYTES,
    TypeName.JSON: Physical.BYTES,
    TypeName.DOUBLE: Physical.DOUBLE,
    TypeName.INTEGER: Physical.INT32,
    TypeName.BIGINT: Physical.INT64,
    TypeName.BOOLEAN: Physical.BOOLEAN,
    TypeName.DATE: Physical.INT32,
    TypeName.TIMESTAMP: Physical.INT64,
}
_LETTERS: Final = {Physical.INT32: "i", Physical.INT64: "q", Physical.DOUBLE: "d"}


def physical(kind: ColumnType) -> Physical:
    """How the values of a type lie in the file."""
    if kind.name is TypeName.DECIMAL:
        return Physical.INT64 if kind.precision <= _INT64_DIGITS else Physical.FIXED
    return _SIMPLE[kind.name]


def values_of(column: StoredColumn, extracted: Sequence[ExtractedValues | None]) -> list[Any]:
    """One column of many pages. Where a page has it with another type, its value is converted, or null."""
    places: dict[tuple[StoredColumn, ...], int | None] = {}
    found: list[Any] = []
    for each in extracted:
        if each is None:
            found.append(None)
            continue
        if each.columns not in places:
            names = [other.name.casefold() for other in each.columns]
            folded = column.name.casefold()
            places[each.columns] = names.index(folded) if folded in names else None
        place = places[each.columns]
        value = each.values[place] if place is not None else None
        if value is not None and place is not None and each.columns[place].type != column.type:
            value = converted(value, column.type)
        found.append(value)
    return found


def plain_values(values: Sequence[Any], kind: ColumnType) -> list[bytes]:
    """The values that are there, encoded."""
    there = [value for value in values if value is not None]
    how = physical(kind)
    if how is Physical.BYTES:
        texts = all_utf8(there)
        return list(chain.from_iterable(zip(map(_length, map(len, texts)), texts, strict=True)))
    if how is Physical.BOOLEAN:
        bits = sum(1 << place for place, value in enumerate(there) if value)
        return [bits.to_bytes((len(there) + 7) // 8, "little")]
    if how is Physical.FIXED:
        return [_unscaled(value, kind).to_bytes(FIXED_BYTES, "big", signed=True) for value in there]
    return [struct.pack(f"<{len(there)}{_LETTERS[how]}", *(_number(value, kind) for value in there))]


def _number(value: Any, kind: ColumnType) -> float:
    match kind.name:
        case TypeName.DECIMAL:
            return _unscaled(value, kind)
        case TypeName.DATE:
            return (date.fromisoformat(value) - _FIRST_DAY).days
        case TypeName.TIMESTAMP:
            return (datetime.fromisoformat(value) - _FIRST_MOMENT) // _MICROSECOND
    return float(value) if kind.name is TypeName.DOUBLE else int(value)


def _unscaled(value: str, kind: ColumnType) -> int:
    return int(Decimal(value).scaleb(kind.scale, _EXACT))
