"""Migrated states on both databases."""

from tests.database.states import (  # noqa: F401  # fixtures are found by name
    database,
    embedded_database,
    migrated_postgresql,
    migrated_sqlite_file,
    shared_database,
    state,
)
from tests.walk.conftest import bureau, sources_on_postgres, sources_url, web  # noqa: F401
