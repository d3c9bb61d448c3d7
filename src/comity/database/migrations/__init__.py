"""The way from one age of the tables to the next, forward and back, on both databases.

Each step is a pair of SQL files per database under `sql/`: frozen, so that an old step never changes
its meaning when the code moves on. A line of two dashes parts the statements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection

_SCRIPTS: Final = Path(__file__).parent / "sql"


def run_script(name: str, direction: str) -> None:
    """Run one step's statements, in the spelling of the database at hand."""
    from alembic import op  # slow to import, and a new state does without

    connection = op.get_bind()
    _run(connection, _SCRIPTS / f"{name}.{connection.dialect.name}.{direction}.sql")


def run_every_script(connection: Connection) -> None:
    """Run the statements of all steps forward, on a database that has none of our tables."""
    for script in sorted(_SCRIPTS.glob(f"*.{connection.dialect.name}.up.sql")):
        _run(connection, script)


def _run(connection: Connection, script: Path) -> None:
    for statement in script.read_text(encoding="utf-8").split("\n--\n"):
        # Without parameters the driver reads no placeholders into the text.
        connection.exec_driver_sql(statement.strip(), execution_options={"no_parameters": True})
