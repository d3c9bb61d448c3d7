"""Records of the Python API: plain objects to loop over, and the same as a table for Arrow, pandas and DuckDB."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from comity.model.errors import BadInput

if TYPE_CHECKING:
    import duckdb

Record = TypeVar("Record")
_BATCH: Final = 1_000
_KINDS: Final = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", datetime: "TIMESTAMP WITH TIME ZONE"}
_LIST: Final = "VARCHAR[]"


class Records(Generic[Record]):
    """Rows of one kind. Each loop reads them again, in batches; `list(records)` makes a list."""

    def __init__(self, kind: type[Record], read: Callable[[], Iterator[Record]]) -> None:
        self._kind = kind
        self._read = read

    def __iter__(self) -> Iterator[Record]:
        return self._read()

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary of plain values: ids are text, lists are lists, times are in UTC."""
        names = [field.name for field in fields(self._kind)]  # type: ignore[arg-type]  # a dataclass
        for record in self:
            yield {name: _plain(getattr(record, name)) for name in names}

    def batches(self) -> Any:
        """The rows as a `pyarrow.RecordBatchReader`, a thousand at a time; needs pyarrow."""
        pyarrow = _imported("pyarrow")
        times = pyarrow.timestamp("us", tz="UTC")
        kinds = {"BOOLEAN": pyarrow.bool_(), "BIGINT": pyarrow.int64(), "DOUBLE": pyarrow.float64()}
        kinds |= {_LIST: pyarrow.list_(pyarrow.string()), _KINDS[datetime]: times}
        columns = self._columns()
        schema = pyarrow.schema([(name, kinds.get(kind, pyarrow.string())) for name, kind in columns.items()])
        make = partial(pyarrow.RecordBatch.from_pylist, schema=schema)
        return pyarrow.RecordBatchReader.from_batches(schema, map(make, _parts(self.dicts(), _BATCH)))

    def arrow(self) -> Any:
        """The rows as a `pyarrow.Table`; needs pyarrow."""
        return self.batches().read_all()

    def pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`; needs pandas."""
        pandas = _imported("pandas")
        return pandas.DataFrame.from_records(list(self.dicts()), columns=[*self._columns()])

    def duckdb(self, table: str, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
        """The rows as a new table in DuckDB, in memory unless you pass a connection; needs no other package."""
        import duckdb

        opened = connection if connection is not None else duckdb.connect()
        columns = self._columns()
        kinds = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        with tempfile.TemporaryDirectory(prefix="comity-") as folder:
            path = Path(folder) / "rows.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for row in self.dicts():
                    file.write(json.dumps(row, default=_json_value) + "\n")
            quoted = table.replace('"', '""')
            reading = f"read_json(?, format = 'newline_delimited', columns = {{{kinds}}})"
            opened.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM {reading}', [str(path)])  # noqa: S608  # our own
        return opened

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for any library that reads Arrow streams; needs pyarrow."""
        return self.batches().__arrow_c_stream__(requested_schema)

    def _columns(self) -> Mapping[str, str]:
        """The SQL type of each field."""
        hints = get_type_hints(self._kind)
        return {field.name: _sql_type(hints[field.name]) for field in fields(self._kind)}  # type: ignore[arg-type]


def _sql_type(hint: Any) -> str:
    if isinstance(hint, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is tuple:
        return _LIST
    return _KINDS.get(hint, "VARCHAR")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return json.dumps(value, default=str)
    return str(value) if isinstance(value, UUID | Enum) else value


def _json_value(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def _parts(rows: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    rest = iter(rows)
    while part := list(islice(rest, size)):
        yield part


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise BadInput(f"this needs {name}, which is not installed: pip install {name}") from None
