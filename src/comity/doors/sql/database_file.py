"""A connection of DuckDB's to a file, closed between statements so that other processes can open the file.

DuckDB locks a file as long as it is open, and what a session has besides the file is gone once it is closed: settings,
temporary tables, relations, a transaction. So a connection is closed only if its session has nothing of that kind.
"""

from __future__ import annotations

import atexit
import gc
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Final, Self
from weakref import WeakSet

import duckdb

from comity.doors.sql.network import is_in_transaction
from comity.model.errors import ComityError
from comity.reports.state_tables import NAMES as STATE_TABLES
from comity.reports.state_tables import types_of
from comity.store.parts.duckdb_table import quoted

MEMORY: Final = ":memory:"
STATE_DATABASE: Final = "comity"
MOST_WAIT_S: Final = 10.0
_WAITS_S: Final = (0.02, 0.5)
_HOLDER: Final = re.compile(r"PID (\d+)")
# What reads a result that is there, or stops a statement; everything else needs the database.
_OF_RESULTS: Final = frozenset(
    ("description", "rowcount", "df", "pl", "arrow", "tf", "torch", "interrupt", "to_arrow_table", "to_arrow_reader")
)
# They put something on a connection that no query shows.
_BINDING: Final = frozenset(("create_function", "register_filesystem", "appender", "query_appender"))
_SETS_SEED: Final = re.compile("setseed", re.IGNORECASE)
_NAMES_MACROS: Final = re.compile("macro|function", re.IGNORECASE)
_OWN_TABLE: Final = re.compile(r"(html_table|comity_result)_[0-9a-f]{32}")

# Of the instance, which other connections of this process may have changed before.
_OF_INSTANCE: Final = (
    "SELECT 'setting', name, value FROM duckdb_settings() "  # noqa: S608
    "UNION ALL SELECT 'extension', extension_name, NULL FROM duckdb_extensions() WHERE loaded "
    "UNION ALL SELECT 'database', database_name, path FROM duckdb_databases() "
    f"WHERE database_name <> '{STATE_DATABASE}' OR path IS NOT NULL"
)
_IN_MEMORY: Final = "database_oid IN (SELECT database_oid FROM duckdb_databases() WHERE path IS NULL)"
_NAMES_TEMPORARY: Final = (
    "EXISTS (FROM duckdb_tables() AS made WHERE made.temporary AND contains(coalesce({text}, ''), made.table_name))"
)
# Of the connection. A view or macro in the file may read a temporary table.
_OF_CONNECTION: Final = (
    "SELECT name FROM duckdb_variables() "  # noqa: S608
    "UNION ALL SELECT name FROM duckdb_prepared_statements() "
    "UNION ALL SELECT sequence_name FROM duckdb_sequences() WHERE temporary "
    "UNION ALL SELECT type_name FROM duckdb_types() WHERE database_name = 'temp' AND NOT internal "
    "UNION ALL SELECT view_name FROM duckdb_views() AS viewed "
    f"WHERE NOT internal AND ({_IN_MEMORY} OR {_NAMES_TEMPORARY.format(text='viewed.sql')}) "
    f"AND NOT (database_name = '{STATE_DATABASE}' AND {_IN_MEMORY} AND view_name IN {STATE_TABLES})"
)
# DuckDB lists its functions in some hundredths of a second. The macros of our own functions call Python by names that
# begin with `comity_`.
_MACROS: Final = (
    "SELECT function_name FROM duckdb_functions() AS called WHERE macro_definition IS NOT NULL "  # noqa: S608
    "AND NOT contains(macro_definition, 'comity_') "
    f"AND (database_name = 'temp' OR {_NAMES_TEMPORARY.format(text='called.macro_definition')})"
)
_TABLES: Final = f"SELECT database_name, table_name FROM duckdb_tables() WHERE {_IN_MEMORY}"  # noqa: S608
# DuckDB refuses `SET secret_directory` and the like once it has looked for secrets: last, and only before a release.
_SECRETS: Final = "SELECT name FROM duckdb_secrets() WHERE NOT persistent"

_OPEN: Final[WeakSet[DatabaseConnection]] = WeakSet()
_one_at_a_time: Final = Lock()  # while the database in memory is made


@atexit.register
def _close_all() -> None:
    """Close what a program left open: DuckDB's binding complains at its end about functions that nothing took away."""
    for connection in list(_OPEN):
        with suppress(duckdb.Error, OSError):
            connection.close()


class DatabaseConnection:
    """What a connection does about its database: it opens it, gives it up, opens it again and closes it."""

    def __init__(self, database: str, *, read_only: bool, config: dict[str, Any] | None) -> None:
        self._file: Path | None = None
        self._chosen: dict[str, Any] = {"read_only": read_only, "config": config or {}}
        self._cursors: WeakSet[DatabaseConnection] = WeakSet()
        path = Path(database).absolute()
        names_nothing = path.is_symlink() and not path.exists()  # DuckDB names the database otherwise next time
        self._adopt(duckdb.connect(database, **self._chosen))
        if database and not database.startswith(MEMORY) and path.is_file() and not names_nothing:
            self._file = path
            self._note_fresh()

    def _adopt(self, duck: Any) -> None:
        self._duck = duck
        self._file_lock = RLock()  # a prompt releases on another thread
        self._is_released = self._is_bound = False
        self._may_have_macros = False  # whether a statement may have made one on this connection
        self._references = 0
        self._fresh: frozenset[tuple[Any, ...]] = frozenset()
        _OPEN.add(self)

    def _note_fresh(self) -> None:
        self._references = sys.getrefcount(self._duck)
        self._fresh = frozenset(self._duck.execute(_OF_INSTANCE).fetchall())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # before `_duck` is there
            raise AttributeError(name)
        if name not in _OF_RESULTS and not name.startswith("fetch"):
            self._open_again()
            self._may_have_macros = True  # it may run statements that are not seen here
        self._is_bound = self._is_bound or name in _BINDING
        return getattr(self._duck, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        with self._file_lock:
            self._file = None  # a statement after this is refused by DuckDB
            self._is_released = False
            self._duck.close()
            self._cursors.discard(self)

    def release(self) -> bool:
        """Close the file until the next statement, so that another process can open it. Discards an unread result.

        False, and the file stays open, if the session would lose something: a transaction, changed settings, temporary
        tables, secrets, attached databases, prepared statements, functions, a relation or cursor that is still used.
        """
        return self._release(self._would_lose_session)

    def _release(self, would_lose: Callable[[], bool]) -> bool:
        with self._file_lock:
            if self._is_released:
                return True
            if self._file is None or self._is_bound or self._cursors or self._is_used_elsewhere():
                return False
            if would_lose():
                return False
            self._duck = without_database().cursor()  # closes the file, if no other connection has it open
            self._is_released = True
            return True

    def _is_used_elsewhere(self) -> bool:
        """Whether anything else has the connection of DuckDB, as relations do."""
        if sys.getrefcount(self._duck) <= self._references:
            return False
        gc.collect()  # what the last statement left behind
        return sys.getrefcount(self._duck) > self._references

    def _would_lose_session(self) -> bool:
        try:
            return self._has_session()
        except duckdb.Error:  # a transaction that failed, for example
            return True

    def _has_session(self) -> bool:
        """Whether the session has anything that a new one would not have."""
        if is_in_transaction(self._duck):
            return True
        if self._fresh != frozenset(self._duck.execute(_OF_INSTANCE).fetchall()):
            return True
        in_memory = self._duck.execute(_TABLES).fetchall()
        if not all(_is_own_table(*names) for names in in_memory):
            return True
        macros = (_MACROS,) if self._may_have_macros or in_memory else ()
        return any(self._duck.execute(asked).fetchall() for asked in (_OF_CONNECTION, *macros, _SECRETS))

    def _note_statements(self, text: str) -> None:
        """Note what may be on a session; one whose random numbers were chosen is kept: nothing shows the seed."""
        self._is_bound = self._is_bound or _SETS_SEED.search(text) is not None
        self._may_have_macros = self._may_have_macros or _NAMES_MACROS.search(text) is not None

    def _open_again(self) -> bool:
        """Open the file if it was released; waits some seconds for a process that has it open."""
        with self._file_lock:
            if not self._is_released or self._file is None:
                return False
            self._duck = open_waiting(self._file, MOST_WAIT_S, **self._chosen)
            self._is_released = False
            self._note_fresh()
            return True


def _is_own_table(database: str, name: str) -> bool:
    """Whether a table in memory is a copy of the state's, or one that a statement of ours made for its result."""
    return (database == STATE_DATABASE and name in STATE_TABLES) or _OWN_TABLE.fullmatch(name) is not None


def open_waiting(file: Path, most_wait_s: float, **chosen: Any) -> Any:
    """Open a file; `ComityError` names the process that has it open all the time."""
    ends_at = time.monotonic() + most_wait_s
    wait_s, longest_wait_s = _WAITS_S
    while True:
        try:
            return duckdb.connect(str(file), **chosen)
        except duckdb.IOException as problem:
            refusal = locked_by_another(file, problem)
            if refusal is None:
                raise
            if time.monotonic() + wait_s > ends_at:
                raise refusal from None
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, longest_wait_s)


def locked_by_another(file: Path, problem: duckdb.Error) -> ComityError | None:
    """What to say if a file could not be opened because another process has it open."""
    if "lock" not in str(problem):
        return None
    holder = _HOLDER.search(str(problem))
    where = f"process {holder[1]}" if holder is not None else "another process"
    return ComityError(f"{file} is open in {where}; close it there, or wait until it is closed")


def attach_state_database(cursor: Any) -> bool:
    """Attach the database `comity`; False if the user has a database or a schema of that name."""
    database = cursor.execute(
        "SELECT path IS NULL FROM duckdb_databases() WHERE lower(database_name) = ?", [STATE_DATABASE]
    ).fetchone()
    schema = "SELECT 1 FROM duckdb_schemas() WHERE lower(schema_name) = ? AND lower(database_name) <> ?"
    if database is not None and not database[0]:
        return False
    if cursor.execute(schema, [STATE_DATABASE, STATE_DATABASE]).fetchone() is not None:
        return False
    cursor.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {STATE_DATABASE} (READ_WRITE)")  # also where the file is not
    return True


def show_state_table(cursor: Any, name: str, path: Path) -> None:
    """Show a table of the state, written as CSV, by a view of the database `comity`: DuckDB changes nothing by one."""
    columns = ", ".join(f"'{column}': '{kind}'" for column, kind in types_of(name).items())
    form = "header = true, delim = ',', quote = '\"', escape = '\"', max_line_size = 67108864"
    copies = f"{STATE_DATABASE}.copies"
    cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {copies}")
    cursor.execute(
        f"CREATE OR REPLACE TABLE {copies}.{name} AS "  # noqa: S608
        f"SELECT * FROM read_csv({quoted(path)}, {form}, columns = {{{columns}}})"
    )
    cursor.execute(f"CREATE OR REPLACE VIEW {STATE_DATABASE}.main.{name} AS SELECT * FROM {copies}.{name}")  # noqa: S608


def without_database() -> Any:
    """A database in memory, one for the process; it serves the results of connections that released their files."""
    with _one_at_a_time:
        return _in_memory()


@cache
def _in_memory() -> Any:
    return duckdb.connect(MEMORY)
