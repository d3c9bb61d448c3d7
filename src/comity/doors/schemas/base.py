"""The base of every response schema: built from a value, written as JSON, times in ISO 8601 with a Z.

Decimals are exact: a price leaves with the digits that it was submitted with, never as a binary float. The encoder of
the standard library writes only floats as numbers with a point. So a decimal is written as a marked string, and the
mark and its quotes are removed afterwards; the mark is random, so no text can imitate it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from secrets import token_hex
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from comity.doors.schemas import iso_time
from comity.rules.csv_rows import CsvValue

Instant = Annotated[
    datetime,
    PlainSerializer(iso_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-02-05T14:30:00.000Z"]}),
]
_MARK: Final = f"decimal-{token_hex(16)}:"
_marked: Final = re.compile(rf'"{_MARK}([-0-9.]+)"')


class Schema(BaseModel):
    """A noun as JSON, built from any object with the same attributes."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def list_of(cls, values: Iterable[object]) -> list[Self]:
        """Build one document for each value."""
        return [cls.model_validate(value) for value in values]

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        return self.model_dump(mode="json", by_alias=True)


class ExactFloat(float):
    """A float that remembers the digits it was read from."""

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> ExactFloat:
        """Read a number of a JSON text."""
        number = super().__new__(cls, digits)
        number.digits = digits
        return number


def read_exact(text: bytes, *, keeps_digits: bool = True) -> Any:
    """Read a JSON text; raises `ValueError`. NaN and infinities are refused.

    Numbers with a point keep their digits, unless the text has no prices: that takes a call for each.
    """
    try:
        kind = ExactFloat if keeps_digits else None
        return json.loads(text.decode("utf-8"), parse_float=kind, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def exact_json(value: Any, *, indent: int | None = None, ensure_ascii: bool = False, seconds: bool = False) -> str:
    """Write JSON: decimals as numbers, times in ISO 8601 with a Z, to the millisecond or to the second."""

    def other(each: Any) -> Any:
        if isinstance(each, Decimal):
            return f"{_MARK}{each:f}"
        if isinstance(each, datetime):
            return second_time(each) if seconds else iso_time(each)
        if isinstance(each, UUID):
            return str(each)
        if isinstance(each, BaseModel):
            return each.model_dump(mode="python", by_alias=True)
        raise TypeError(f"{type(each).__name__} is not JSON")

    separators = (",", ":") if indent is None else None
    text = json.dumps(value, default=other, indent=indent, ensure_ascii=ensure_ascii, separators=separators)
    return _marked.sub(r"\1", text) if _MARK in text else text


def second_time(value: datetime) -> str:
    """A time to the second: `2025-01-07T07:20:00Z`."""
    return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def csv_cell(value: Any) -> CsvValue:
    """A value as a cell: decimals as they are, objects as JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = exact_json(value)
    return str(value) if isinstance(value, str) else text[1:-1] if text.startswith('"') else text
