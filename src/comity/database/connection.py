"""Open the state and start transactions on it.

Embedded: one SQLite file in WAL mode, every commit synced. Shared: PostgreSQL, with bounded waits. A write
transaction takes its lock when it begins, so that two writers queue instead of failing half-way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.pool import ConnectionPoolEntry

from comity.model.errors import BadInput, StateUnavailable

APPLICATION_ID: Final = 0x434F4D59  # "COMY", in the head of every SQLite file that is a state
# Files that were made without it, such as those restored from a dump, are known by these.
TABLES_OF_A_STATE: Final = frozenset({"alembic_version", "domains", "domain_frontier", "politeness_ledger"})
_TABLES_OF_AN_OLDER_CRAWL: Final = frozenset({"images", "provenance"})  # a migration sets them aside
_MAX_NAMES: Final = 3
_DAMAGED_OR_FULL: Final = frozenset({8, 10, 11, 13, 14, 26})  # READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
_FAULTS_OF_STATEMENTS: Final = frozenset({1, 18, 19, 20, 25})  # ERROR, TOOBIG, CONSTRAINT, MISMATCH, RANGE
_SERVER_TROUBLE: Final = ("53", "57", "58", "XX")  # classes of SQLSTATE: resources, intervention, system, corruption
_WAIT_FOR_WRITER_S: Final = 60
_LOOK_EVERY_MS: Final = 3
_PAGES_IN_LOG: Final = 8_000  # of 4 KiB, in the write-ahead log before they are copied to the file
_WAL_TRIES: Final = 200
_WAL_PAUSE_S: Final = 0.05
# The server checks our connection as we check its (below): when a machine vanishes in the middle of a transaction, its
# rows would stay locked for minutes after its leases ran out, and no other worker could take over its hosts.
_POSTGRESQL_OPTIONS: Final = (
    "-c statement_timeout=300s -c lock_timeout=60s -c idle_in_transaction_session_timeout=300s -c timezone=UTC"
    " -c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30s"
)

# What a pooler in transaction mode says to the parameters above, and to statements that are prepared.
_FROM_A_POOLER: Final = ("unsupported startup parameter", "prepared statement ")
_POOLER_ADVICE: Final = "; behind a pooler such as PgBouncer, end the URL with ?pgbouncer=true"
_POOLED: Final = "pgbouncer"
# What to do, where SQLite only says what went wrong, by its primary result code.
_SQLITE_ADVICE: Final = {
    sqlite3.SQLITE_READONLY: "; this user must be able to write to the file and its folder, also to read it",
    sqlite3.SQLITE_FULL: "; make space, then run the same command again",
}
_READ_ONLY: Final = "25006"  # SQLSTATE of a write to a standby, or to a server that is about to become one

# A server that vanished silently is noticed within half a minute, also while we wait for its answer.
_POSTGRESQL_LINE: Final = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class _Clock(Protocol):
    """What `Database.now` asks of a clock."""

    def now(self) -> datetime:
        """The present, aware and in UTC."""
        ...


class Database:
    """The state of a crawl: either one file, or a server that many machines share."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_shared = engine.dialect.name == "postgresql"

    @property
    def location(self) -> str:
        """Where the state is, without any password."""
        if self.is_shared:
            return self.engine.url.render_as_string(hide_password=True)
        return str(self.engine.url.database)

    def now(self, clock: _Clock) -> datetime | None:
        """The time for a statement: None asks the server, whose clock rules where several machines share a state.

        An embedded state has one machine, and goes by the clock of the caller (`instant` in `database.types`).
        """
        return None if self.is_shared else clock.now()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one moment and writes nothing."""
        with _clear_errors(self), self.engine.connect() as connection:
            yield connection.execution_options(comity_reads=True)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """The same, where several statements must see the same moment while others write."""
        native = self.engine.dialect.name == "postgresql"
        level = {"isolation_level": "REPEATABLE READ"} if native else {}
        with _clear_errors(self), self.engine.connect() as connection:
            yield connection.execution_options(comity_reads=True, **level)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed as a whole or not at all."""
        with _clear_errors(self), self.engine.begin() as connection:
            yield connection

    def copy_log(self) -> None:
        """Copy what is in the write-ahead log of an embedded state to its file, while others read and write.

        Otherwise the commit that finds the log full does it, and its request waits until the whole log is copied.
        """
        if not self.is_shared:
            with _clear_errors(self), self.engine.connect() as connection:
                connection.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close every connection; one that another thread still uses is closed when that thread is done with it."""
        pool = self.engine.pool
        self.engine.dispose()  # makes another pool, and leaves open what is returned to this one later
        event.listen(pool, "checkin", _close_returned)
        pool.dispose()  # what came back just now


def _close_returned(_connection: Any, entry: ConnectionPoolEntry) -> None:
    """Close a connection that is returned after its pool was disposed of."""
    entry.invalidate()


def open_database(where: str | Path, *, connections: int = 2) -> Database:
    """Open a SQLite file (by path or `sqlite:///` URL) or a PostgreSQL server (by URL); does not migrate.

    A process keeps at most `connections` to a server; for a moment it may have twice as many. `?pgbouncer=true` says
    that connections are shared between transactions: then nothing is kept on them, neither parameters nor statements.
    """
    url = _database_url(where)
    if url.get_backend_name() == "sqlite":
        return Database(_sqlite_engine(url))
    of_session: dict[str, Any] = {"options": _POSTGRESQL_OPTIONS}
    if _is_pooled(url):
        of_session = {"prepare_threshold": None}
    try:
        engine = create_engine(
            url.difference_update_query([_POOLED]),
            pool_size=connections,
            max_overflow=connections,
            pool_timeout=60,
            pool_pre_ping=True,
            connect_args={**_POSTGRESQL_LINE, **of_session},
            hide_parameters=True,  # an error's text ends up in logs, and values may be secrets
        )
        from comity.database.bounded_postgresql import bound_waits
    except ModuleNotFoundError:
        raise StateUnavailable("PostgreSQL needs one more package: pip install 'comity[shared]'") from None
    bound_waits(engine, is_pooled=_is_pooled(url))
    return Database(engine)


def file_of(where: str) -> Path | None:
    """The file of an embedded state; None for a shared one, and if only opening it can tell."""
    if "://" in where and not where.startswith("sqlite"):
        return None
    try:
        name = _database_url(where).database
    except BadInput:
        return None
    return Path(name) if name and not name.startswith((":", "file:")) else None


def _database_url(where: str | Path) -> URL:
    """Read a path or a URL; the usual forms of PostgreSQL URLs are accepted."""
    text = str(where)
    if "://" not in text:
        if not text:
            raise BadInput("the state needs a file name or a database URL")
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise BadInput(f"not a database URL: {text.split('://', 1)[0]}://…") from None
    if backend == "postgres":
        url, backend = url.set(drivername="postgresql"), "postgresql"
    if backend not in ("postgresql", "sqlite"):
        raise BadInput(f"the state can be a SQLite file or a PostgreSQL URL, not {backend}")
    if backend == "sqlite" and not url.database:
        raise BadInput("the state needs a file: sqlite:///path/to/file")
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


def _is_pooled(url: URL) -> bool:
    said = url.query.get(_POOLED, "false")
    if said not in ("true", "false"):
        raise BadInput("in a PostgreSQL URL, pgbouncer must be true or false")
    return said == "true"


class _SqliteWithIndexHints(SQLiteCompiler):
    """Lets a statement name the index it was made for: without statistics SQLite guesses, and guesses wrong."""

    def get_from_hint_text(self, table: Any, text: str | None) -> str | None:  # noqa: ARG002
        """Render the hint of `with_hint` unchanged."""
        return text


def _use_write_ahead_log(cursor: Any) -> None:
    """Switch on WAL mode, in which readers and the writer do not wait for each other.

    SQLite does not wait for a lock here, whatever its timeout, so this does.
    """
    for turn in range(_WAL_TRIES):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if turn == _WAL_TRIES - 1:
                raise
            Event().wait(_WAL_PAUSE_S)
        else:
            return


def _require_state(cursor: Any, path: Path) -> None:
    """Refuse a SQLite file of another program; an empty one becomes a state."""
    application_id = cursor.execute("PRAGMA application_id").fetchone()[0]
    if application_id == APPLICATION_ID:
        return
    listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    names = [row[0] for row in cursor.execute(listed)]
    known = (TABLES_OF_A_STATE, _TABLES_OF_AN_OLDER_CRAWL)
    if application_id == 0 and (not names or any(tables.issubset(names) for tables in known)):
        return
    shown = ", ".join(names[:_MAX_NAMES]) + (" …" if len(names) > _MAX_NAMES else "")
    raise BadInput(
        f"{path} is a database of another program ({shown or f'application id {application_id}'}); "
        "name another file for Comity's state"
    )


def _sqlite_engine(url: URL) -> Engine:
    """An engine whose transactions we begin ourselves (the driver's own habit begins them too late)."""
    path = Path(str(url.database))
    if path.is_dir():
        raise StateUnavailable(f"{path} is a folder; the state is one file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateUnavailable(f"cannot create the folder {path.parent}: {error.strerror}") from None
    arguments = {"timeout": _WAIT_FOR_WRITER_S, "isolation_level": None}
    engine = create_engine(url, connect_args=arguments, hide_parameters=True)
    engine.dialect.statement_compiler = _SqliteWithIndexHints

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        _require_state(cursor, path)  # before anything is written
        _use_write_ahead_log(cursor)
        cursor.execute("PRAGMA synchronous=FULL")  # measured: no slower than NORMAL, and survives a power cut
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA temp_store=MEMORY")
        # Seldom: a checkpoint syncs the whole file, and copies a page once for all the commits that rewrote it.
        cursor.execute(f"PRAGMA wal_autocheckpoint={_PAGES_IN_LOG}")
        # KiB, taken as it is needed; what falls out of it is in the system's cache.
        cursor.execute("PRAGMA cache_size=-8000")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        if connection.get_execution_options().get("comity_reads", False):
            connection.exec_driver_sql("BEGIN")
        else:
            _begin_to_write(connection)

    return engine


def _begin_to_write(connection: Connection) -> None:
    """Wait for the one writer that SQLite allows, looking every few milliseconds.

    SQLite itself sleeps up to 100 ms between two looks: of several processes that write all the time, one that came
    late is served before one that has slept for long, which then sleeps longer still.
    """
    raw = connection.connection
    raw.execute(f"PRAGMA busy_timeout={_LOOK_EVERY_MS}")
    try:
        until = monotonic() + _WAIT_FOR_WRITER_S
        while monotonic() < until:
            try:
                raw.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    break
            else:
                return
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # reports errors as every statement does
    finally:
        raw.execute(f"PRAGMA busy_timeout={_WAIT_FOR_WRITER_S * 1000}")


@contextmanager
def _clear_errors(database: Database) -> Iterator[None]:
    """Turn "cannot reach or write the state" into one line; other errors of a statement are not changed."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StateUnavailable(_sentence(database, error)) from error
    except NoConnectionFree as error:
        raise StateUnavailable(
            f"every connection to the state at {database.location} is in use; try again later"
        ) from error
    except DBAPIError as error:
        if error.connection_invalidated or _is_damaged_or_full(error) or _is_set_up_wrongly(error):
            raise StateUnavailable(_sentence(database, error)) from error
        raise


def _is_damaged_or_full(error: DBAPIError) -> bool:
    """Whether the file or the server's disk is at fault, whatever the driver calls it."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    state = getattr(error.orig, "sqlstate", None) or ""
    return (code is not None and code & 0xFF in _DAMAGED_OR_FULL) or state.startswith(_SERVER_TROUBLE)


def is_fault_of_statement(error: DBAPIError) -> bool:
    """Whether SQLite refused a statement for its content, so that its transaction can continue without it."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _FAULTS_OF_STATEMENTS


def _is_set_up_wrongly(error: DBAPIError) -> bool:
    """Whether the statement is not at fault: the server accepts no writes (now), or a pooler loses statements."""
    said = str(error.orig)
    return getattr(error.orig, "sqlstate", None) == _READ_ONLY or said.startswith(_FROM_A_POOLER)


def _sentence(database: Database, error: DBAPIError) -> str:
    """One line that names the state and why it failed."""
    lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
    code = getattr(error.orig, "sqlite_errorcode", None)
    advice = _SQLITE_ADVICE.get(code & 0xFF, "") if code is not None else ""
    if any(words in lines[0] for words in _FROM_A_POOLER):
        advice = _POOLER_ADVICE
    return f"the state at {database.location} cannot be used: {lines[0]}{advice}"
