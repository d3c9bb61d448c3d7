"""Column types that mean the same on SQLite and PostgreSQL, the columns that most tables share, and instants.

On a shared server the database's own clock rules, so that machines whose clocks differ agree on who holds
a lease. An embedded state has one machine and takes the time from the caller, as tests do everywhere.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Index,
    Integer,
    Numeric,
    String,
    Uuid,
    func,
    literal,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from comity.database.dialects import generated_uuid


def row_id(name: str = "id") -> Column[Any]:
    """A random identity, made by the database unless the statement sets one."""
    return Column(name, Uuid(), primary_key=True, server_default=generated_uuid())


def written_at(name: str) -> Column[Any]:
    """An instant; now, unless the statement sets one."""
    return Column(name, UtcDateTime(), nullable=False, server_default=func.current_timestamp())


def count(name: str, kind: type[Integer] = BigInteger, at_first: int = 0) -> Column[Any]:
    """A number that starts at zero, or at `at_first`."""
    return Column(name, kind(), nullable=False, server_default=text(str(at_first)))


def at_least(column: str, least: int) -> CheckConstraint:
    """A lower bound on a number."""
    return CheckConstraint(f"{column} >= {least}", name=f"{column}_at_least_{least}")


def partial_index(name: str, *columns: Any, where: str, unique: bool = False) -> Index:
    """An index of the rows that a condition holds for, on both databases (see `dialects` for PostgreSQL)."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where))


class UtcDateTime(TypeDecorator[datetime]):
    """An aware instant: `timestamptz` on PostgreSQL, UTC text that sorts on SQLite.

    The SQLite text is a prefix-extension of what its own CURRENT_TIMESTAMP gives, so hand-written
    comparisons with that order correctly.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the native type."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(DateTime())
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a naive time: it does not say which instant it means."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone cannot be stored: {value!r}")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        """Every time that leaves the database is aware and in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal that is never a float: `numeric` on PostgreSQL, text on SQLite, which has no exact decimals."""

    impl = Numeric
    cache_ok = True

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(precision, scale)
        self._step = Decimal(1).scaleb(-scale)
        self._native = Numeric(precision, scale)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the native type."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String())
        return dialect.type_descriptor(self._native)

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Round to the column's scale, as PostgreSQL does."""
        if value is None:
            return None
        rounded = value.quantize(self._step)
        return format(rounded, "f") if dialect.name == "sqlite" else rounded

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:  # noqa: ARG002  # SQLAlchemy's signature
        """Both databases give the same digits."""
        return None if value is None else Decimal(value)


class _JsonDocument(TypeDecorator[Any]):
    """A document: `jsonb` on PostgreSQL, text on SQLite."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the native type."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(JSON())
        from sqlalchemy.dialects.postgresql import JSONB  # slow to import, and an embedded state never uses it

        return dialect.type_descriptor(JSONB())


JsonDocument = _JsonDocument()
RowNumber = BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts rows by INTEGER only


def instant(connection: Connection, now: datetime | None, plus_s: float = 0.0) -> ColumnElement[Any]:
    """The time of a statement, `plus_s` seconds later; `now=None` asks the server."""
    if now is not None:
        return literal(now + timedelta(seconds=plus_s), UtcDateTime())
    if connection.dialect.name != "postgresql":
        raise ValueError("an embedded state has no clock: pass the time")
    return func.now() + timedelta(seconds=plus_s) if plus_s else func.now()


def from_seconds(seconds: float | None) -> datetime | None:
    """UNIX seconds as the columns store them."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def to_seconds(value: datetime | None) -> float | None:
    """A stored instant as UNIX seconds."""
    return None if value is None else value.timestamp()


def seconds_of(connection: Connection, now: datetime | None) -> float:
    """The present in UNIX seconds; `now=None` asks the server, for the moment and not for the transaction's start."""
    if now is not None:
        return now.timestamp()
    return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
