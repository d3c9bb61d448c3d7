"""Write the SQL files of the first migration, the list of columns and `infra/supabase.sql` from the declared tables.

    python tools/freeze_schema.py

Until the first release there is one migration, made anew whenever a table changes. After it, a released step stays
as it is, and a change is a new pair of files.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_mock_engine

from comity.database.all_tables import metadata
from comity.database.supabase import supabase_sql
from comity.database.triggers import create_statements, drop_statements
from comity.rules.host_transitions import MOVES

ROOT: Final = Path(__file__).parents[1]
SCRIPTS: Final = ROOT / "src/comity/database/migrations/sql"
NAME: Final = "0001_first"
ADDRESSES: Final = {"postgresql": "postgresql+psycopg://", "sqlite": "sqlite://"}


def statements(dialect: str, act: Callable[[Any], None]) -> list[str]:
    """What SQLAlchemy would send to create or drop the tables."""
    found: list[str] = []

    def collect(statement: Any, *_args: object, **_options: object) -> None:
        text = str(statement.compile(dialect=engine.dialect)).strip().replace("\t", "    ").replace(", \n", ",\n")
        found.append(text)

    engine = create_mock_engine(ADDRESSES[dialect], collect)
    act(engine)
    # SQLAlchemy keeps a table's indexes in a set; in order, two runs of this tool write the same file.
    return [line for is_index, run in groupby(found, _is_index) for line in (sorted(run) if is_index else run)]


def _is_index(statement: str) -> bool:
    return statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX"))


def write(dialect: str, direction: str, lines: list[str]) -> None:
    """Write one file; a line of two dashes separates the statements."""
    text = "\n--\n".join(line.strip() + ";" for line in lines) + "\n"
    (SCRIPTS / f"{NAME}.{dialect}.{direction}.sql").write_text(text, encoding="utf-8")


def columns() -> str:
    """Every column with its table, a line each: what a state is held to when it is opened."""
    lines = (f"{table.name} {column.name}\n" for table in metadata.tables.values() for column in table.columns)
    return "".join(sorted(lines))


def main() -> None:
    """Write every file."""
    SCRIPTS.mkdir(exist_ok=True)
    moves = {str(before): tuple(str(each) for each in after) for before, after in MOVES.items()}
    for dialect in ADDRESSES:
        tables = statements(dialect, lambda engine: metadata.create_all(engine, checkfirst=False))
        write(dialect, "up", tables + create_statements(dialect, moves))
        dropped = statements(dialect, lambda engine: metadata.drop_all(engine, checkfirst=False))
        write(dialect, "down", drop_statements(dialect) + dropped)
    (SCRIPTS / "columns.txt").write_text(columns(), encoding="utf-8")
    (ROOT / "infra/supabase.sql").write_text(supabase_sql(), encoding="utf-8")


if __name__ == "__main__":
    main()
