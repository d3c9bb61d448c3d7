"""`--csv`: the rows of a listing as CSV (RFC 4180, UTF-8), under the names of its JSON fields.

The first line names the columns, also where no row follows. Lists and objects are written as JSON in their cell.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.schemas import iso_time
from comity.model.errors import BadInput
from comity.rules.csv_rows import CsvValue, csv_line

if TYPE_CHECKING:
    from comity.doors.schemas.base import Schema

CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV, with the column names in the first line.")]


def check_one_format(*, as_csv: bool, as_json: bool) -> None:
    """`BadInput` if both formats are requested."""
    if as_csv and as_json:
        raise BadInput("--csv and --json cannot be combined")


def column_names(schema: type[Schema]) -> tuple[str, ...]:
    """The columns of a listing: the fields of its noun, in their order."""
    return tuple(field.serialization_alias or name for name, field in schema.model_fields.items())


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to stdout, as they come; the bytes are UTF-8, whatever the terminal is set to."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    for line in (csv_line(columns), *(csv_line([_value(row.get(name)) for name in columns]) for row in rows)):
        if stream is None:  # a caller replaced stdout by a stream of text
            sys.stdout.write(line)
        else:
            stream.write(line.encode("utf-8", "replace"))
    (sys.stdout if stream is None else stream).flush()


def _value(value: Any) -> CsvValue:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)  # of an enumeration, its value
    if isinstance(value, datetime):
        return iso_time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)
