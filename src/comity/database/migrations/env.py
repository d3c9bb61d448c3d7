"""Alembic's entry: runs the migrations on the connection that `comity.database.schema` opened."""

from __future__ import annotations

from alembic import context

from comity.database.all_tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    transaction_per_migration=False,
    transactional_ddl=True,  # SQLite's is too, once we begin the transaction ourselves
)
context.run_migrations()
