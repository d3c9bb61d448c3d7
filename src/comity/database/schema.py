"""The schema version of a database: read it, migrate it, and refuse one that this code cannot use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, inspect, text

from comity import __version__
from comity.database.connection import APPLICATION_ID, Database
from comity.database.frontier.older_unqueued import bring_up_to_date, is_older
from comity.database.migrations import SHARED_NAMES, create_everything
from comity.model.errors import BadInput, Remedy, RemedyCode, SchemaMismatch

if TYPE_CHECKING:  # Alembic is slow to import, and a state that is up to date needs none of it
    from alembic.config import Config

HEAD: Final = "0001"  # the age that this code is written for; a test holds it to the newest migration
_TELLTALE: Final = "politeness_ledger"  # a table that no other program has
_SCRIPTS: Final = Path(__file__).parent / "migrations"
# As Alembic makes it, which continues from here at the next upgrade.
_VERSION_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
_COLUMNS: Final = _SCRIPTS / "sql" / "columns.txt"
# Every column: its table, its name, and whether an INSERT must give it a value.
_COLUMNS_NOW: Final = {
    "sqlite": """
        SELECT made.name, found.name, found."notnull" AND found.dflt_value IS NULL AND found.pk = 0
        FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS found WHERE made.type = 'table'""",
    "postgresql": """
        SELECT relname, attname, attnotnull AND NOT atthasdef AND attidentity = ''
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relkind IN ('r', 'p') AND pg_table_is_visible(attrelid) AND attnum > 0 AND NOT attisdropped""",
}
# A process that opens many embedded states compares columns once: the same statements make the same columns.
_STATEMENTS_NOW: Final = "SELECT group_concat(sql, ';') FROM sqlite_master WHERE type = 'table'"
_MOST_FIT: Final = 8
_fit: set[str] = set()
_MOST_NAMED: Final = 3
_MIGRATION_LOCK: Final = 0x636F6D697479  # "comity", as a PostgreSQL advisory lock


def _config(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head_revision() -> str:
    """The schema version that this code needs."""
    return HEAD


def current_revision(connection: Connection) -> str | None:
    """The schema version of the database; None when it has no tables yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _is_known(revision: str) -> bool:
    if revision == HEAD:
        return True
    from alembic.script import ScriptDirectory
    from alembic.util.exc import CommandError

    try:
        return ScriptDirectory.from_config(_config()).get_revision(revision) is not None
    except CommandError:
        return False


def _refuse_newer(database: Database, revision: str | None) -> None:
    if revision is not None and not _is_known(revision):
        raise SchemaMismatch(
            f"the state at {database.location} was written by a newer Comity (schema {revision}; "
            f"this is Comity {__version__} with schema {head_revision()}): upgrade Comity, or use another state"
        )


def _refuse_foreign(database: Database, connection: Connection, revision: str | None) -> None:
    """Refuse a database whose tables are another program's, under our names or with a version table like ours."""
    if revision is not None:
        if not inspect(connection).has_table(_TELLTALE):
            raise BadInput(
                f"the database at {database.location} belongs to another program: its alembic_version is {revision}, "
                "and it has no tables of Comity; name another database"
            )
        return
    if database.is_shared:
        from comity.database.all_tables import metadata

        named = set(inspect(connection).get_table_names()) - set(SHARED_NAMES)  # those are set aside
        found = sorted(named & metadata.tables.keys())
        if found:
            raise BadInput(
                f"the database at {database.location} has tables of another program under Comity's names "
                f"({', '.join(found[:3])}); name another database, or another schema by ?options=-csearch_path%3Dcomity"
            )


class _Columns(NamedTuple):
    """Every column of tables of this version: its table, its name, and whether an INSERT must give it a value."""

    found: Sequence[Any] = ()
    statements: str | None = None
    """What made the tables of an embedded state."""


def _columns_of(connection: Connection, revision: str | None) -> _Columns:
    """The columns that are still to be compared: none of another version, nor of one that this process found fit."""
    if revision != HEAD:
        return _Columns()
    is_embedded = connection.dialect.name == "sqlite"
    statements = connection.exec_driver_sql(_STATEMENTS_NOW).scalar_one() if is_embedded else None
    if statements in _fit:
        return _Columns()
    return _Columns(connection.exec_driver_sql(_COLUMNS_NOW[connection.dialect.name]).all(), statements)


def _has_older_notes(columns: _Columns) -> bool:
    """Whether they are the columns of a development version whose notes on URLs are taken over."""
    return is_older((table, column) for table, column, _is_needed in columns.found)


def _refuse_unfit(database: Database, columns: _Columns) -> None:
    """Refuse tables of this version that a development version made: until the first release they may still change.

    A column that is missing, or one that we do not know and every row must have, would make a statement fail later.
    What else an operator added does no harm. On a server a table may be an older one that `infra/supabase.sql` made
    fit, so only missing columns count there.
    """
    found, statements = columns
    declared = {tuple(line.split()) for line in _COLUMNS.read_text(encoding="utf-8").splitlines()}
    tables = {table for table, _ in declared}
    if not any(table == "domains" for table, _column, _is_needed in found):
        return  # every version has it: the state is damaged, or changed at this moment, and its next statement fails
    missing = sorted(declared - {(table, column) for table, column, _ in found})
    in_the_way = sorted(
        (table, column)
        for table, column, is_needed in found
        if is_needed and not database.is_shared and table in tables and (table, column) not in declared
    )
    if missing or in_the_way:
        which = "it lacks" if missing else "it has"
        names = [".".join(each) for each in missing or in_the_way]
        named = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
        raise SchemaMismatch(
            f"the state at {database.location} was made by a development version of Comity, whose schema {HEAD} had "
            f"other columns ({which} {named}): use another state"
        )
    if statements is not None:
        if len(_fit) >= _MOST_FIT:
            _fit.clear()
        _fit.add(statements)


def ensure_current(database: Database) -> None:
    """Make sure the tables fit the code: migrate an embedded state, ask for a shared one to be migrated."""
    with database.read() as connection:
        revision = current_revision(connection)
        _refuse_foreign(database, connection, revision)
        columns = _columns_of(connection, revision)
    if not (has_older_notes := _has_older_notes(columns)):
        _refuse_unfit(database, columns)
    _refuse_newer(database, revision)
    if has_older_notes and database.is_shared:
        raise SchemaMismatch(
            f"the state at {database.location} was made by a development version of Comity, "
            "which kept its notes on URLs in another table",
            remedy=Remedy(RemedyCode.UPGRADE_SCHEMA),
        )
    if revision == head_revision() and not has_older_notes:
        return
    if database.is_shared:
        raise SchemaMismatch(
            f"the state at {database.location} has schema {revision or 'none'}, "
            f"but this version needs {head_revision()}",
            remedy=Remedy(RemedyCode.UPGRADE_SCHEMA),
        )
    if revision is not None or not _make(database):
        upgrade(database)


def _make(database: Database) -> bool:
    """Put the tables into a new state: the statements of an upgrade, without the time that Alembic takes to load."""
    with database.write() as connection:
        if current_revision(connection) is not None:
            return False  # another process was faster
        connection.execute(text(_VERSION_TABLE))
        create_everything(connection)
        connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": HEAD})
        _sign(connection, APPLICATION_ID)
        return True


def _sign(connection: Connection, application_id: int) -> None:
    """Mark the head of a SQLite file as ours."""
    connection.exec_driver_sql(f"PRAGMA application_id = {application_id}")


def upgrade(database: Database, target: str = "head") -> str | None:
    """Migrate forward; processes that try at the same time take turns, and later ones find nothing to do."""
    return _migrate(database, target, forward=True)


def downgrade(database: Database, target: str) -> str | None:
    """Migrate back to a revision, `-1` for one step, or `base` for an empty database."""
    return _migrate(database, target, forward=False)


def _migrate(database: Database, target: str, *, forward: bool) -> str | None:
    from alembic import command
    from alembic.util.exc import CommandError

    with database.write() as connection:
        if database.is_shared:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        before = current_revision(connection)
        _refuse_foreign(database, connection, before)
        _refuse_newer(database, before)
        if _has_older_notes(_columns_of(connection, before)):
            bring_up_to_date(connection)
        if forward:
            _refuse_unfit(database, _columns_of(connection, before))
        try:
            (command.upgrade if forward else command.downgrade)(_config(connection), target)
        except CommandError as error:
            raise BadInput(f"cannot migrate to {target!r}: {error}") from None
        revision = current_revision(connection)
        if not database.is_shared:
            _sign(connection, APPLICATION_ID if revision is not None else 0)
        if revision is None:
            connection.execute(text("DROP TABLE IF EXISTS alembic_version"))  # an empty database has no mark of ours
        return revision
