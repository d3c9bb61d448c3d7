"""SQL that differs between the two databases, under one name each."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import JSON, Connection, Table, Text, any_, bindparam, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import Uuid


class generated_uuid(ColumnElement[Any]):  # noqa: N801  # written like the SQL function that it becomes
    """A random UUID, made by the database."""

    inherit_cache = True
    type = Uuid()


@compiles(generated_uuid, "postgresql")
def _postgresql_uuid(_element: generated_uuid, _compiler: Any, **_options: Any) -> str:
    return "gen_random_uuid()"


@compiles(generated_uuid, "sqlite")
def _sqlite_uuid(_element: generated_uuid, _compiler: Any, **_options: Any) -> str:
    return "(lower(hex(randomblob(16))))"


class indexed_order(ColumnElement[Any]):  # noqa: N801
    """A sort order in an index. SQLite always sorts NULL first and accepts no other order there."""

    inherit_cache = False

    def __init__(self, order: str, nulls: str) -> None:
        self.order = order
        self.nulls = nulls


@compiles(indexed_order, "postgresql")
def _postgresql_order(element: indexed_order, _compiler: Any, **_options: Any) -> str:
    return f"{element.order} {element.nulls}"


@compiles(indexed_order, "sqlite")
def _sqlite_order(element: indexed_order, _compiler: Any, **_options: Any) -> str:
    return element.order


# What only PostgreSQL takes is not declared with the tables: SQLAlchemy would load its dialect to check it, which takes
# 5 % of the start of a crawl.
WITH: Final = "postgresql_with"
"""The entry of a table's `info` with its storage parameters."""


@compiles(CreateIndex, "postgresql")
def _postgresql_index(create: CreateIndex, compiler: Any, **options: Any) -> Any:
    """The condition of an index is the same on both databases."""
    where = create.element.dialect_options["sqlite"]["where"]
    if where is not None:
        create.element.dialect_options["postgresql"]["where"] = where
    return compiler.visit_create_index(create, **options)


@compiles(CreateTable, "postgresql")
def _postgresql_table(create: CreateTable, compiler: Any, **options: Any) -> Any:
    if WITH in create.element.info:
        create.element.dialect_options["postgresql"]["with"] = create.element.info[WITH]
    return compiler.visit_create_table(create, **options)


def insert_into(connection: Connection, table: Table) -> Any:
    """An INSERT with ON CONFLICT, in the dialect of a connection."""
    return insert_for(connection.dialect.name, table)


def insert_for(dialect: str, table: Table) -> Any:
    """The same for a dialect by its name."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # slow to import, and an embedded state never uses it

        return postgresql.insert(table)
    return sqlite.insert(table)


def named_in(dialect: str, column: ColumnElement[str], parameter: str) -> ColumnElement[bool]:
    """Whether a text column is one of those in a list, which is one value however long it is."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return column == any_(bindparam(parameter, type_=postgresql.ARRAY(Text())))
    listed = func.json_each(bindparam(parameter, type_=JSON())).table_valued("value")
    return column.in_(select(listed.c.value))


def is_taken(error: IntegrityError) -> bool:
    """Whether a row could not be written because another has its key, and for no other reason."""
    return (
        getattr(error.orig, "sqlstate", None) == "23505"
        or getattr(error.orig, "sqlite_errorname", None) == "SQLITE_CONSTRAINT_UNIQUE"
    )
