"""STREAM statements: the rows of a query, stored in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import duckdb

from comity.model.statement import QualifiedName, StreamStatement
from comity.rules.sql.statements import quoted_name


def store_stream(statement: StreamStatement, duck: Any, execute: Callable[[str], None]) -> None:
    """Store the rows of a query in a table, which is created if it is missing; the result is their number.

    `execute` runs a statement that may call functions which request pages.
    """
    target = quoted_name(statement.target)
    query = f"SELECT * FROM ({statement.query}\n)"  # noqa: S608  # the user's own query
    query += f" LIMIT {statement.limit}" if statement.limit is not None else ""
    present = columns_of_table(duck, statement.target)
    if present is None:
        execute(f"CREATE TABLE {target} AS {query}")
        ((rows,),) = duck.fetchall()
    else:
        name = f"comity_result_{uuid4().hex}"
        execute(f"CREATE TEMP TABLE {name} AS {query}")
        try:
            _insert(duck, target, name, present)
            ((rows,),) = duck.fetchall()
        finally:
            with suppress(duckdb.Error):  # of a transaction that failed
                duck.execute(f"DROP TABLE temp.{name}")
    duck.execute("SELECT ?::BIGINT AS rows_inserted", [rows])


def _insert(duck: Any, target: str, name: str, present: Sequence[str]) -> None:
    """Insert the rows of a temporary table; those whose key the target has replace its rows, as for CRAWL."""
    arriving = columns_of_table(duck, QualifiedName(("temp", name))) or []
    by_name = " BY NAME" if set(arriving) <= set(present) else ""
    for insert in ("INSERT OR REPLACE", "INSERT"):
        try:
            duck.execute(f"{insert} INTO {target}{by_name} FROM temp.{name}")
        except duckdb.BinderException:
            if insert == "INSERT":
                raise
        else:
            break


def columns_of_table(duck: Any, table: QualifiedName) -> list[str] | None:
    """The columns of a table in lower case; None if there is no such table."""
    try:
        described = duck.execute(f"DESCRIBE {quoted_name(table)}").fetchall()
    except duckdb.CatalogException:
        return None
    return [row[0].lower() for row in described]
