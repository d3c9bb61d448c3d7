"""Bulk inserts at the speed of the driver.

Settling writes a few rows for every page. The statements are still built from the tables, once for each database; the
values go to the driver as it wants them, without a type's processor for each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import modf
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, null
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

from comity.database.dialects import insert_for

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LENGTH_OF_TIME: Final = len("2026-01-01 00:00:00.000000")


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    unless: tuple[str, ...] = (),
) -> int:
    """Insert rows of encoded values; with `unless`, skip rows whose key exists. Returns how many were inserted."""
    if not rows:
        return 0
    dialect = connection.dialect.name
    nulls, rows = _nulls_apart(dialect, rows)
    return run_for_each(connection, _insert_text(dialect, table, columns, unless, nulls), rows)


def _nulls_apart(dialect: str, rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[int, ...], Sequence[tuple[Any, ...]]]:
    """The places of columns that are NULL in all of some rows, which the statement can say, and the rows without them.

    SQLite's driver looks for an adapter for each None, which takes longer than to bind most values.
    """
    if dialect == "postgresql" or None not in rows[0]:
        return (), rows
    columns = list(zip(*rows, strict=True))
    nulls = tuple(place for place, values in enumerate(columns) if values.count(None) == len(values))
    if len(nulls) == len(columns):
        return (), rows
    return nulls, list(zip(*(values for place, values in enumerate(columns) if place not in nulls), strict=True))


def rows_of(connection: Connection, statement: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
    """The rows of a statement in the driver's own syntax.

    It uses the driver directly: a pull, a submit or a grant runs a dozen small statements, and half of the time for
    each went into describing results that are read by position.
    """
    driver = _driver(connection)
    try:
        return driver.execute(statement, values).fetchall()  # type: ignore[no-any-return]
    except _errors(connection) as error:
        raise _refused(connection, statement, error) from error


def asked(connection: Connection, statement: str, values: tuple[Any, ...] = ()) -> Callable[[], Sequence[Any]]:
    """Send a query; the function that it returns waits for the rows. Inside `together`, others are sent meanwhile."""
    driver = _driver(connection)
    try:
        cursor = driver.execute(statement, values)
    except _errors(connection) as error:
        raise _refused(connection, statement, error) from error

    def rows() -> Sequence[Any]:
        try:
            return cursor.fetchall()  # type: ignore[no-any-return]
        except _errors(connection) as error:
            raise _refused(connection, statement, error) from error

    return rows


def run(connection: Connection, statement: str, values: tuple[Any, ...] = ()) -> int:
    """Run a statement in the driver's own syntax; returns how many rows of the table it changed."""
    driver = _driver(connection)
    try:
        return int(driver.execute(statement, values).rowcount)
    except _errors(connection) as error:
        raise _refused(connection, statement, error) from error


def run_for_each(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """The same for many rows of values."""
    if len(rows) == 1:
        return run(connection, statement, rows[0])
    driver = _driver(connection)
    try:
        if connection.dialect.name != "postgresql":
            return int(driver.executemany(statement, rows).rowcount)
        with driver.cursor() as cursor:
            cursor.executemany(statement, rows)
            return int(cursor.rowcount)
    except _errors(connection) as error:
        raise _refused(connection, statement, error) from error


@contextmanager
def together(connection: Connection) -> Iterator[None]:
    """Send the statements of a block to a shared server without waiting for the answer to each.

    Only `rows_of` and the functions that `asked` returns wait, also for everything sent before. `run` does not say how
    many rows it changed, and an error is raised by a later statement or at the end of the block. The block may run only
    statements of this module.
    """
    driver = _driver(connection)
    if connection.dialect.name != "postgresql" or not connection.dialect.loaded_dbapi.Pipeline.is_supported():
        yield
        return
    try:
        with driver.pipeline():
            yield
    except _errors(connection) as error:
        raise _refused(connection, "", error) from error


def _driver(connection: Connection) -> Any:
    """The driver's connection, in a transaction as every other statement would be."""
    if not connection.in_transaction():
        connection.begin()
    return connection.connection


def _errors(connection: Connection) -> type[Exception]:
    """What the driver raises."""
    return connection.dialect.loaded_dbapi.Error


def _refused(connection: Connection, statement: str, error: Exception) -> BaseException:
    """The driver's error as every other statement raises it; a connection that is lost is not used again."""
    is_lost = connection.dialect.is_disconnect(error, connection.connection.driver_connection, None)  # type: ignore[arg-type]
    if is_lost:
        connection.invalidate(error)
    return DBAPIError.instance(
        statement,
        None,
        error,
        _errors(connection),
        hide_parameters=True,
        connection_invalidated=is_lost,
        dialect=connection.dialect,
    )


@lru_cache(maxsize=256)
def _insert_text(
    dialect: str, table: Table, columns: tuple[str, ...], unless: tuple[str, ...], nulls: tuple[int, ...]
) -> str:
    given = tuple(name for place, name in enumerate(columns) if place not in nulls)
    values = {name: bindparam(name) if name in given else null() for name in columns}
    statement = insert_for(dialect, table).values(values)
    if unless:
        statement = statement.on_conflict_do_nothing(index_elements=list(unless))
    return driver_text(dialect, statement, given)


def driver_text(dialect: str, statement: Any, parameters: tuple[str, ...]) -> str:
    """A statement as the driver takes it; its parameters must come in the order that is named."""
    compiled = statement.compile(dialect=_spoken(dialect))
    assert tuple(compiled.positiontup) == parameters, f"the parameters are {compiled.positiontup}"
    return str(compiled)


def _spoken(dialect: str) -> Any:
    if dialect != "postgresql":
        return sqlite.dialect(paramstyle="qmark")
    from sqlalchemy.dialects import postgresql  # slow to import, and an embedded state never uses it

    spoken: Any = postgresql.dialect
    return spoken(paramstyle="format")


Moment = Callable[[float], tuple[Any, str]]
"""Encodes an instant: as the driver takes it, and as the digits of its microseconds since 1970."""


class Encoding:
    """Values as one driver wants them."""

    def __init__(self, connection: Connection) -> None:
        native = connection.dialect.name == "postgresql"
        self.uuid: Callable[[UUID], Any] = _same if native else _hex
        self.time: Callable[[float], Any] = _aware if native else _text_time
        self.moment: Moment = _aware_moment if native else _text_moment
        self.json: Callable[[Any], Any] = _json
        # SQLite has no booleans: its driver looks for an adapter for each, and then stores a number.
        self.flag: Callable[[bool], Any] = bool if native else int

        # For statements about many hosts at once: what happens to them in one transaction has few different times.
        self.common_time: Callable[[float | None], Any] = _common_aware if native else _common_text_time

    def time_or_none(self, seconds: float | None) -> Any:
        """An instant that may be missing."""
        return None if seconds is None else self.time(seconds)

    def uuid_or_none(self, value: UUID | None) -> Any:
        """An id that may be missing."""
        return None if value is None else self.uuid(value)


def _same(value: UUID) -> UUID:
    return value


def _hex(value: UUID) -> str:
    return value.hex


def _aware(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _aware_moment(seconds: float) -> tuple[datetime, str]:
    """An instant as it is stored, and the digits of its microseconds since 1970."""
    at = datetime.fromtimestamp(seconds, UTC)
    return at, str((at - _EPOCH) // _MICROSECOND)


def _text_moment(seconds: float) -> tuple[str, str]:
    """The same for SQLite; a second is formatted once."""
    fraction, whole = modf(seconds)
    microseconds = round(fraction * 1e6)
    if whole < 1 or microseconds >= 1_000_000:
        at, digits = _aware_moment(seconds)
        return at.strftime("%Y-%m-%d %H:%M:%S.%f"), digits
    digits = str(1_000_000 + microseconds)[1:]
    text, number = _second(whole)
    return text + digits, number + digits


def _text_time(seconds: float) -> str:
    """An instant as SQLite stores it, to the microsecond as `datetime` rounds it; a second is formatted once."""
    fraction, whole = modf(seconds)
    microseconds = round(fraction * 1e6)
    if not 0 <= microseconds < 1_000_000:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return _second(whole)[0] + str(1_000_000 + microseconds)[1:]


@lru_cache(maxsize=1024)
def _common_text_time(seconds: float | None) -> str | None:
    return None if seconds is None else _text_time(seconds)


@lru_cache(maxsize=1024)
def _common_aware(seconds: float | None) -> datetime | None:
    return None if seconds is None else _aware(seconds)


@lru_cache(maxsize=1024)
def _second(whole: float) -> tuple[str, str]:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%d %H:%M:%S."), str(int(whole))


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _json(value: Any) -> str:
    """A document as text; text is JSON already, and stays as it is."""
    return value if isinstance(value, str) else _encode(value)


# The server must not see how long a list is when it plans a statement: for a short one it would make a plan of its own
# each time, which takes longer than the statement. So each list is the answer to a query.


def in_list(kind: str) -> str:
    """The condition that a column is in a list of values, which is one parameter (PostgreSQL)."""
    return f"= ANY((SELECT %s::{kind}[])::{kind}[])"


def unnested(kinds: Iterable[str]) -> str:
    """The rows of several lists of the same length, each of which is one parameter (PostgreSQL)."""
    return f"unnest({', '.join(f'(SELECT %s::{kind}[])' for kind in kinds)})"


def array_text(values: Iterable[Any]) -> str:
    """Encoded values of one kind as the text of a PostgreSQL array, which the driver passes on as it is.

    The driver's own arrays cost several times as much: it looks up how to write each value.
    """
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    kind = type(value)
    if kind is datetime:
        return str(value.isoformat())
    if kind is UUID:
        return str(value.hex)
    if kind is str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)


class Decoding:
    """Values as one driver gives them, read back."""

    def __init__(self, connection: Connection) -> None:
        native = connection.dialect.name == "postgresql"
        self.uuid: Callable[[Any], UUID] = _same if native else _common_uuid
        self.seconds: Callable[[Any], float | None] = _timestamp if native else _text_timestamp
        self.common_seconds: Callable[[Any], float | None] = _timestamp if native else _common_text_timestamp
        self.json: Callable[[Any], Any] = _same if native else _text_json

    def uuid_or_none(self, value: Any) -> UUID | None:
        """An id that may be missing."""
        return None if value is None else self.uuid(value)


@lru_cache(maxsize=16_384)
def _common_uuid(text: str) -> UUID:
    """Cached, because clients ask for the same hosts repeatedly."""
    return UUID(text)


def _timestamp(value: datetime | None) -> float | None:
    return None if value is None else value.timestamp()


def _text_timestamp(value: str | None) -> float | None:
    """An instant that SQLite stored; a second is read once. Divided as `datetime` does, for the same result."""
    if value is None:
        return None
    if len(value) == _LENGTH_OF_TIME:
        return (_whole_seconds(value[:19]) * 1_000_000 + int(value[20:])) / 1_000_000
    return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()


@lru_cache(maxsize=1024)
def _common_text_timestamp(value: str | None) -> float | None:
    return _text_timestamp(value)


@lru_cache(maxsize=1024)
def _whole_seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def _text_json(value: str | None) -> Any:
    return None if value is None else json.loads(value)


@lru_cache(maxsize=128)
def placed(dialect: str, statement: str) -> str:
    """A statement that is written with `?` for its values, as the driver takes it."""
    return statement.replace("?", "%s") if dialect == "postgresql" else statement
