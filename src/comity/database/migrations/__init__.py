"""The way from one age of the tables to the next, forward and back, on both databases.

Each step is a pair of SQL files per database under `sql/`: frozen, so that an old step never changes
its meaning when the code moves on. A line of two dashes parts the statements.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op


def run_script(name: str, direction: str) -> None:
    """Run one step's statements, in the spelling of the database at hand."""
    connection = op.get_bind()
    script = Path(__file__).parent / "sql" / f"{name}.{connection.dialect.name}.{direction}.sql"
    for statement in script.read_text(encoding="utf-8").split("\n--\n"):
        # Without parameters the driver reads no placeholders into the text.
        connection.exec_driver_sql(statement.strip(), execution_options={"no_parameters": True})
