"""The state as tables for analysts: each is written to a CSV file, whose columns are those of the database.

Their types are said besides: what a column has so far would not show its type.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import JSON, Boolean, Float, Integer, Table, select
from sqlalchemy.types import TypeEngine

from comity.database.connection import Database
from comity.database.tables import (
    crawl_runs,
    domain_frontier,
    domains,
    evidence,
    fetches,
    politeness_ledger,
    robots_cache,
)
from comity.database.types import UtcDateTime

_TABLES: Final[Mapping[str, Table]] = {
    "hosts": domains,
    "frontier": domain_frontier,
    "fetches": fetches,
    "evidence": evidence,
    "ledger": politeness_ledger,
    "robots": robots_cache,
    "runs": crawl_runs,
}
NAMES: Final = tuple(_TABLES)
_AT_ONCE: Final = 10_000
_TYPES: Final[tuple[tuple[type[TypeEngine[Any]], str], ...]] = (
    (Boolean, "BOOLEAN"),
    (Integer, "BIGINT"),
    (Float, "DOUBLE"),
    (JSON, "JSON"),
    (UtcDateTime, "TIMESTAMP WITH TIME ZONE"),
)


def types_of(name: str) -> dict[str, str]:
    """The columns of a table, with their types as DuckDB calls them."""
    return {column.name: _type_of(column.type) for column in _TABLES[name].columns}


def _type_of(stored: TypeEngine[Any]) -> str:
    return next((said for kind, said in _TYPES if isinstance(stored, kind)), "VARCHAR")


def write_table(database: Database, name: str, path: Path) -> None:
    """Write one table, with its column names first."""
    table = _TABLES[name]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in table.columns])
        with database.read() as connection:
            found = connection.execution_options(yield_per=_AT_ONCE).execute(select(table))
            for some in found.partitions():
                writer.writerows([_plain(value) for value in row] for row in some)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return value.hex()
        case bool():
            return "true" if value else "false"
        case _:
            return value
