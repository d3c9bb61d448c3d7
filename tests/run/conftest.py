"""The command line, a state on either database, and a small web."""

from __future__ import annotations

from tests.database.states import (  # noqa: F401  # fixtures are found by name
    database,
    embedded_database,
    migrated_postgresql,
    migrated_sqlite_file,
    shared_database,
)
from tests.doors.conftest import comity  # noqa: F401
from tests.walk.conftest import place, web, without_state  # noqa: F401
