"""Migrations, forward and back, on both databases.

Each step is a pair of SQL files per database under `sql/`, written by `tools/freeze_schema.py`: frozen, so that a
released step never changes its meaning when the code moves on. A line of two dashes separates the statements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

_SCRIPTS: Final = Path(__file__).parent / "sql"
_OLDER: Final = "older_"  # prefix of tables that an older crawl left, which `domains backfill` reads
SHARED_NAMES: Final = ("images", "provenance")  # an older crawl has tables of these names, too


def run_script(connection: Connection, name: str, direction: str) -> None:
    """Run one step's statements for the database of the connection."""
    script = _SCRIPTS / f"{name}.{connection.dialect.name}.{direction}.sql"
    for statement in script.read_text(encoding="utf-8").split("\n--\n"):
        # Without parameters the driver reads no placeholders into the text.
        connection.exec_driver_sql(statement.strip(), execution_options={"no_parameters": True})


def create_everything(connection: Connection) -> None:
    """Run all steps forward on a database without our tables; needs no Alembic, which is slow to import."""
    set_older_tables_aside(connection)
    for script in sorted(_SCRIPTS.glob(f"*.{connection.dialect.name}.up.sql")):
        run_script(connection, script.name.split(".")[0], "up")


def set_older_tables_aside(connection: Connection) -> None:
    """Rename tables of an older crawl that have the names of ours."""
    for name in SHARED_NAMES:
        if inspect(connection).has_table(name):
            connection.execute(text(f"ALTER TABLE {name} RENAME TO {_OLDER}{name}"))


def restore_older_tables(connection: Connection) -> None:
    """Give the tables of an older crawl their names back."""
    for name in SHARED_NAMES:
        if inspect(connection).has_table(_OLDER + name):
            connection.execute(text(f"ALTER TABLE {_OLDER}{name} RENAME TO {name}"))
