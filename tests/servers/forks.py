"""Processes of tests that are functions, each forked from a server that has imported what they need.

Each test process has one such server, which takes one list of modules: so this is the only place that names them. With
a list for each module, the last list won, and the others' processes imported everything anew.
"""

from __future__ import annotations

import multiprocessing
from typing import Final

_IMPORTED: Final = ("tests.database.workers", "tests.queue.bots", "tests.store.dying")
# What the product imports only where it is needed; and pytest, the main module of the parent, which each imports.
_IMPORTED_LATE: Final = ("alembic.command", "psycopg", "pytest", "sqlalchemy.dialects.postgresql.psycopg")

FORKS: Final = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([*_IMPORTED, *_IMPORTED_LATE])
