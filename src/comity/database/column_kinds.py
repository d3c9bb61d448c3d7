"""Columns that most tables have, spelt once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Uuid, func, text

from comity.database.spelling import generated_uuid
from comity.database.types import UtcDateTime


def row_id(name: str = "id") -> Column[Any]:
    """A random identity, made by the database where nobody gives one."""
    return Column(name, Uuid(), primary_key=True, server_default=generated_uuid())


def written_at(name: str) -> Column[Any]:
    """An instant that is now where nobody says otherwise."""
    return Column(name, UtcDateTime(), nullable=False, server_default=func.current_timestamp())


def count(name: str, kind: type[Integer] = BigInteger, at_first: int = 0) -> Column[Any]:
    """A number that starts at zero, or at what is given."""
    return Column(name, kind(), nullable=False, server_default=text(str(at_first)))


def at_least(column: str, least: int) -> CheckConstraint:
    """The floor under a number."""
    return CheckConstraint(f"{column} >= {least}", name=f"{column}_at_least_{least}")


def partial_index(name: str, *columns: str, where: str) -> Index:
    """An index of the rows that a condition holds for, on both databases."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))
