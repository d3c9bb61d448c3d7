"""The table of a CRAWL statement, whose EXTRACT clause may use every name that the table itself does not have.

Parts have columns that the table lacks, such as `title`. A column of EXTRACT with such a name has another one in the
parts, and its own in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity.model.expression import ExtractColumn
from comity.rules.expressions.parse import RESERVED_NAMES
from comity.store.sql_table import ExtraColumn, SqlTable

_OF_PARTS: Final = frozenset({"title", "body_bytes", "run_id", "data", "text", "markdown"})
COLUMNS: Final = (*(name for name in RESERVED_NAMES if name not in _OF_PARTS), "elapsed_ms", "error_type")
"""The columns that every table has."""


class StatementTable(SqlTable):
    """A target with the columns of an EXTRACT clause."""

    def __init__(self, connection: Any, name: str, columns: Sequence[ExtractColumn], shown: str) -> None:
        super().__init__(connection, name, _extra(columns), shown)
        taken = {column.name.casefold() for column in columns}
        self._own_names: dict[str, str] = {}  # by those in the parts
        self.columns_of_parts: list[ExtractColumn] = []
        """The columns with the names that they have in the parts."""
        for column in columns:
            name_of_part = column.name
            if column.name.casefold() in _OF_PARTS:
                while name_of_part.casefold() in taken:
                    name_of_part = f"extracted_{name_of_part}"
                taken.add(name_of_part.casefold())
                self._own_names[f'"{name_of_part}"'] = f'"{column.name}"'
            self.columns_of_parts.append(replace(column, name=name_of_part))

    def load(self, part: Path, elapsed_ms: Callable[[Sequence[str]], Mapping[str, int]]) -> int:
        """Upsert the pages of a part; gives how many rows."""
        own, self._extra = self._extra, tuple(_extra(self.columns_of_parts))
        try:
            return super().load(part, elapsed_ms)
        finally:
            self._extra = own

    def _put(self, rows: str, parameters: dict[str, Any], columns: Sequence[str]) -> None:
        renamed = [f"{name} AS {self._own_names[name]}" for name in columns if name in self._own_names]
        if renamed:
            rows = f"SELECT * RENAME ({', '.join(renamed)}) FROM ({rows})"  # noqa: S608  # names of a fixed list
            columns = [self._own_names.get(name, name) for name in columns]
        super()._put(rows, parameters, columns)


def _extra(columns: Sequence[ExtractColumn]) -> list[ExtraColumn]:
    return [ExtraColumn(column.name, str(column.type)) for column in columns]
