"""The state as tables for analysts: each is written to a CSV file, whose columns are those of the database."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Table, select

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


def write_table(database: Database, name: str, path: Path) -> int:
    """Write one table, with its column names first; returns how many rows."""
    table = _TABLES[name]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in table.columns])
        rows = 0
        with database.read() as connection:
            found = connection.execution_options(yield_per=_AT_ONCE).execute(select(table))
            for some in found.partitions():
                rows += len(some)
                writer.writerows([_plain(value) for value in row] for row in some)
    return rows


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
