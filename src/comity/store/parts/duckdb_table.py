"""Finished parts become rows of the table `pages` in a DuckDB file.

A DuckDB file admits one process that writes, or many that read: it is open here only while parts are loaded. Each part
is one transaction, together with a digest of it, so that a part is never loaded twice.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import duckdb

from comity.model.errors import BadInput, ComityError
from comity.store.formats.columns import COLUMNS, NAMES
from comity.store.parts.manifest import size_and_digest
from comity.store.parts.part import put_once

# No extension is fetched, and none is loaded from elsewhere.
OFFLINE: Final[dict[str, Any]] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
# DuckDB compresses 2,048 pages at a time, all in memory: little will do, unless pages are unusually large.
MEMORY_STEPS: Final = ("256MB", "1GB")
# Bodies are large: with groups of this size they are compressed and written as they come, not all at the end.
_WRITABLE: Final = "(ROW_GROUP_SIZE 2048)"
_TABLE: Final = f"CREATE TABLE IF NOT EXISTS pages ({', '.join(f'{name} {kind.value}' for name, kind in COLUMNS)})"
_LOADED: Final = "CREATE TABLE IF NOT EXISTS comity.parts (digest VARCHAR PRIMARY KEY, name VARCHAR)"
_LOOK_EVERY_S: Final = 0.1
_LOOK_S: Final = 5.0
_BUSY: Final = "lock on file"
_TOO_LARGE: Final = "memory_limit"  # the setting that DuckDB then advises to raise


class Busy(Exception):
    """Another process has the file."""


class OutOfMemory(Exception):
    """DuckDB needs more memory than it may have."""


def load_parts(path: Path, parts: Sequence[Path], ends_at: float, on_loaded: Callable[[Path], None]) -> bool:
    """Load parts and take them away; False if they have to wait, since another process has the file.

    They wait, too, if DuckDB cannot take them in with the most memory that we give it: they can be read nevertheless.
    """
    for memory in MEMORY_STEPS:
        try:
            with open_to_write(path, ends_at, memory) as connection:
                for part in parts:
                    if part.exists():
                        _load_once(connection, part)
                        on_loaded(part)
                        part.unlink()
        except Busy:
            return False
        except OutOfMemory:
            continue
        return True
    return False


@contextmanager
def open_to_write(path: Path, ends_at: float, memory: str = MEMORY_STEPS[-1]) -> Iterator[Any]:
    """A connection whose own tables are those of the file, with all that pages need; `Busy` if it cannot be had."""
    overflow = path.with_name(f"{path.name}.overflow")  # where a load that outgrows its memory goes on
    settings = OFFLINE | {"threads": 1, "memory_limit": memory, "temp_directory": str(overflow)}
    if not path.exists():
        _create_file(path, overflow)
    with closing(duckdb.connect(":memory:", config=settings)) as connection:
        try:
            _attach(connection, path, "kept", _WRITABLE, ends_at)
        except duckdb.Error as problem:  # damaged
            raise BadInput(f"{path}: {one_line(problem)}") from None
        try:
            connection.execute("USE kept")
            connection.execute(_TABLE)
            _check_columns(connection, path)
            connection.execute("CREATE SCHEMA IF NOT EXISTS comity")
            connection.execute(_LOADED)
            yield connection
            connection.execute("USE memory")
            connection.execute("DETACH kept")  # everything is in the file itself then
        except duckdb.Error as problem:
            if _TOO_LARGE in str(problem):
                raise OutOfMemory from None
            raise OSError(f"{path}: {one_line(problem)}") from None
        finally:
            shutil.rmtree(overflow, ignore_errors=True)


def _create_file(path: Path, overflow: Path) -> None:
    """Make an empty DuckDB file under another name, then link it: DuckDB writes a new file in several steps.

    A process that died between two of them would leave a file that DuckDB refuses to open. The other name is new each
    time, since a process id may be that of a process that died.
    """
    new = overflow / f"new-{secrets.token_hex(8)}.duckdb"
    with suppress(OSError, duckdb.Error):  # attaching the file fails for the same reason, and says so
        overflow.mkdir(exist_ok=True)
        with closing(duckdb.connect(":memory:", config=OFFLINE)) as connection:
            connection.execute(f"ATTACH {quoted(new)} AS kept {_WRITABLE}")
        put_once(new, path)


def check_table(path: Path) -> None:
    """`BadInput` if the table `pages` of an existing file is another program's; a busy file is not checked."""
    with closing(duckdb.connect(":memory:", config=OFFLINE)) as connection:
        try:
            attach_to_read(connection, path, "kept", 0.0)
        except Busy:
            return
        except duckdb.Error as problem:
            raise ComityError(f"{path}: {one_line(problem)}") from None
        if has_table(connection, "kept", "pages"):
            connection.execute("USE kept")
            _check_columns(connection, path)


def attach_to_read(connection: Any, path: Path, name: str, ends_at: float) -> None:
    """Attach a file under a name, read-only; `Busy` if another process writes there until then."""
    _attach(connection, path, name, "(READ_ONLY)", ends_at)


def has_table(connection: Any, database: str, name: str) -> bool:
    """Whether a database has a table."""
    question = "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND table_name = ?"
    return bool(connection.execute(question, [database, name]).fetchall())


def loaded_digests(path: Path) -> set[str]:
    """The digests of all parts that a file has taken in; a `ComityError` while another process has it."""
    with closing(duckdb.connect(":memory:", config=OFFLINE)) as connection:
        try:
            attach_to_read(connection, path, "kept", monotonic() + _LOOK_S)
            if not has_table(connection, "kept", "parts"):
                return set()
            return {digest for (digest,) in connection.execute("SELECT digest FROM kept.comity.parts").fetchall()}
        except Busy:
            raise ComityError(f"{path} is being written by another process; try again later") from None
        except duckdb.Error as problem:
            raise ComityError(f"{path}: {one_line(problem)}") from None


def digest_of(part: Path) -> str:
    """What a part is known by once it is loaded."""
    return size_and_digest(part)[1]


def one_line(problem: BaseException) -> str:
    """What DuckDB says, without its drawing of the place."""
    said = str(problem).partition("\nLINE ")[0].partition("\n\nSee also")[0]
    return " ".join(said.split()) or type(problem).__name__


def quoted(text: str | Path) -> str:
    """A text as SQL spells it, where no parameter may stand."""
    return "'" + str(text).replace("'", "''") + "'"


def _attach(connection: Any, path: Path, name: str, options: str, ends_at: float) -> None:
    while True:
        try:
            connection.execute(f"ATTACH {quoted(path)} AS {name} {options}")
        except duckdb.IOException as problem:
            if _BUSY not in str(problem):
                raise BadInput(f"{path}: {one_line(problem)}") from None
            if monotonic() >= ends_at:
                raise Busy from None
            sleep(_LOOK_EVERY_S)
        else:
            return


def _check_columns(connection: Any, path: Path) -> None:
    found = connection.execute("SELECT column_name FROM (DESCRIBE pages)").fetchall()
    missing = [column.name for column in COLUMNS if (column.name,) not in found]
    if missing:
        raise BadInput(f"{path}: its table pages has no column {missing[0]}; name another file")


def add_columns(connection: Any, part: Path) -> None:
    """Give the table the columns that a part has besides; where the types differ, the wider one counts.

    That is DuckDB's own choice: VARCHAR holds every value.
    """
    described = "SELECT column_name, column_type FROM (DESCRIBE {})"
    selected = f"SELECT * FROM read_parquet({quoted(part)})"  # noqa: S608  # quoted
    of_part = connection.execute(described.format(selected)).fetchall()
    known = {name.casefold(): kind for name, kind in connection.execute(described.format("pages")).fetchall()}
    for name, kind in of_part:
        column = '"' + name.replace('"', '""') + '"'
        there = known.get(name.casefold())
        if there is None:
            connection.execute(f"ALTER TABLE pages ADD COLUMN {column} {kind}")
        elif there != kind and name not in NAMES:
            both = f"SELECT NULL::{there} AS value UNION ALL SELECT NULL::{kind}"
            [(wider,)] = connection.execute(f"SELECT DISTINCT typeof(value) FROM ({both})").fetchall()  # noqa: S608  # types
            if wider != there:
                connection.execute(f"ALTER TABLE pages ALTER COLUMN {column} TYPE {wider}")


def _load_once(connection: Any, part: Path) -> None:
    digest = digest_of(part)
    if not connection.execute("SELECT 1 FROM comity.parts WHERE digest = ?", [digest]).fetchall():
        add_columns(connection, part)
        connection.begin()
        try:
            connection.execute("INSERT INTO pages BY NAME SELECT * FROM read_parquet(?)", [str(part)])
            connection.execute("INSERT INTO comity.parts VALUES (?, ?)", [digest, part.name])
            connection.commit()
        except duckdb.Error:
            with suppress(duckdb.Error):  # a commit that failed has been taken back already
                connection.rollback()
            raise
