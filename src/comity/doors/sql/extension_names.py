"""Names that scripts of DuckDB's crawler extension use, for statements that DuckDB refuses because they are missing.

The tables of the extension have columns that ours do not store, because they are made from others: `status_code`,
`crawled_at`, `jsonld`. A statement that names one reads the table through a temporary view that adds them. The view has
the name of the table, which it hides until the next statement. In a statement that changes the table, they are
replaced by what they are made from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import duckdb

from comity.doors.sql.older_forms import in_present_form
from comity.doors.sql.stored_columns import changed_table, with_column_made
from comity.model.errors import BadInput
from comity.rules.sql.tokens import TokenKind, may_name, name_value, position, tokens

_OF_BODY: Final = ("jsonld", "microdata", "opengraph", "meta", "js", "hydration")
COLUMNS: Final = {
    "status_code": "{0}http_status",
    "crawled_at": "{0}crawl_time",
    "domain": r"regexp_extract({0}url, '^\w+://([^/?#]+)', 1)",
    **{name: f"comity_page_value({{0}}body, '{name}')" for name in _OF_BODY},
}
"""Columns of the extension's tables, and what they are made from; `{0}` is the name of the table, with its dot."""
_MADE_FROM: Final = frozenset({"url", "surt_key", "http_status", "body", "crawl_time", "content_hash"})
SITEMAP_TABLE: Final = "_crawl_sitemap_cache"
_SITEMAP_COLUMNS: Final = (
    "hostname VARCHAR, surt_key VARCHAR, url VARCHAR, lastmod TIMESTAMP WITH TIME ZONE, changefreq VARCHAR, "
    "priority DOUBLE, discovered_at TIMESTAMP WITH TIME ZONE"
)
_MISSING_COLUMN: Final = re.compile(r'(?:Referenced column|Column) "(\w+)" (?:not found|referenced that exists)')
_MISSING_IN_TABLE: Final = re.compile(r'(?:Table|Values list) "([^"]+)" does not have a column named "(\w+)"')
# What DuckDB says of a column in a subquery, which could be one of the outer query.
_MISSING_TABLE: Final = re.compile(r'Referenced table "([^"]+)" not found')
_MISSING_TARGET: Final = re.compile(r'Referenced update column "?(\w+)|have a column with name "(\w+)"')
_MISSING_NAME: Final = re.compile(r"(?:Table|Function) with name \"?(\w+)\"? does not exist")
_INSTEAD: Final = (
    ("_crawl_progress_", "Comity has no such table; comity.runs and comity.hosts have the progress of crawls"),
    ("_crawl_queue_", "Comity has no such table; comity.frontier lists the URLs still to visit"),
    ("_crawl_sitemap_discovery_status", f"Comity has no such table; {SITEMAP_TABLE} has the URLs of sitemaps"),
    ("_sitemap_cache", f"Comity has no such table; {SITEMAP_TABLE} has the URLs of sitemaps"),
    ("__crawler_cache", "Comity has no such table; comity.fetches has every request with its status"),
    ("stream_merge_internal", "Comity has no such function; write CRAWLING MERGE INTO table USING (SELECT …) …"),
    ("stream_into_internal", "Comity has no such function; write STREAM (SELECT …) INTO table"),
    ("crawl_into_internal", "Comity has no such function; write CRAWL (SELECT …) INTO table"),
    ("discover", "Comity has no such function; write sitemap('https://example.com/')"),
    ("robots_check", "Comity has no such function; comity.robots has the robots.txt of hosts"),
)
_TABLES: Final = (
    "SELECT database_name, schema_name, table_name, list(lower(column_name)) FROM duckdb_columns() "
    "WHERE NOT internal AND database_name <> 'temp' GROUP BY database_name, schema_name, table_name "
    "ORDER BY database_name = current_database() AND schema_name = current_schema() DESC"
)

SitemapRow = tuple[Any, ...]


class _MissingColumn(NamedTuple):
    """A column that DuckDB misses, in lower case; `is_target` where the statement writes to it."""

    name: str
    table: str | None = None
    is_target: bool = False


def names_column(text: str) -> bool:
    """Whether a statement may name a column that a table of CRAWL does not store."""
    return may_name(text, *map(str.upper, COLUMNS)) and any(
        name_value(piece).lower() in COLUMNS for piece in tokens(text)
    )


def problem_of(cursor: Any, text: str) -> duckdb.Error | None:
    """Why DuckDB refuses a statement, if a name is missing; the statement is not run."""
    for trial in ("PREPARE comity_trial AS", "EXPLAIN"):  # MERGE cannot be prepared
        try:
            cursor.execute(f"{trial} {text}")
        except (duckdb.CatalogException, duckdb.BinderException) as problem:
            return problem
        except duckdb.ParserException:
            continue
        except duckdb.Error:  # EXPLAIN has no parameters
            return None
        return None
    return None


class ExtensionNames:
    """What one connection shows of them. `sitemap_rows` has the pages of the sitemaps that statements have read."""

    def __init__(self, sitemap_rows: Callable[[], Iterable[SitemapRow]]) -> None:
        self._sitemap_rows = sitemap_rows
        self._shown: dict[str, str] = {}  # by name: how it is taken away

    def supply(self, duck: Any, text: str, problem: duckdb.Error) -> str | None:
        """Add what a statement lacks; gives what can be run now. `BadInput` says what to write instead."""
        if (present := in_present_form(text, str(problem))) is not None:
            return present
        if (column := _missing_column(str(problem), text)) is not None:
            return self._show_column(duck, text, column) if column.name in COLUMNS else None
        missing = _MISSING_NAME.search(str(problem))
        if missing is None:
            return None
        name = missing[1].lower()
        if name == SITEMAP_TABLE:
            return text if self._show_sitemaps(duck) else None
        for beginning, instead in _INSTEAD:
            if name.startswith(beginning):
                raise BadInput(f"{_place_of(text, name)}{name}: {instead}")
        return None

    def withdraw(self, duck: Any) -> None:
        """Take away what the statement before needed."""
        for name, statement in list(self._shown.items()):
            with suppress(duckdb.Error):  # of a transaction that failed
                duck.execute(statement)
                del self._shown[name]

    def _show_column(self, duck: Any, text: str, column: _MissingColumn) -> str | None:
        """Hide the tables of CRAWL that a statement reads behind views with more columns; None if there is none.

        One that it changes cannot be a view: there, the statement names what the table stores.
        """
        words = {name_value(piece).lower() for piece in tokens(text) if piece.kind is not TokenKind.STRING}
        found = reversed(duck.execute(_TABLES).fetchall())  # the nearest one of a name is the last
        tables = {row[2].lower(): row for row in found if _MADE_FROM.issubset(row[3])}
        named = {name: row for name, row in tables.items() if name in words}
        changed, made = changed_table(text), COLUMNS[column.name]
        if changed in named and not (column.is_target and "(" in made):
            stored = with_column_made(text, column.name, made, column.table, is_target=column.is_target)
            if stored != text:
                return stored
        # One that is not named is read by a view.
        read = (row for name, row in (named or tables).items() if name != changed)
        return text if sum(self._show_table(duck, *row) for row in read) > 0 else None

    def _show_table(self, duck: Any, database: str, schema: str, table: str, present: Sequence[str]) -> bool:
        if table in self._shown:
            return False
        more = (f"{made.format('')} AS {name}" for name, made in COLUMNS.items() if name not in present)
        source = _quoted([database, schema, table])
        try:
            duck.execute(f"CREATE TEMP VIEW {_quoted([table])} AS SELECT *, {', '.join(more)} FROM {source}")  # noqa: S608
        except duckdb.CatalogException:  # a temporary table of the user's has the name
            return False
        self._shown[table] = f"DROP VIEW IF EXISTS temp.{_quoted([table])}"
        return True

    def _show_sitemaps(self, duck: Any) -> bool:
        if SITEMAP_TABLE in self._shown:
            return False
        duck.execute(f"CREATE TEMP TABLE {SITEMAP_TABLE} ({_SITEMAP_COLUMNS})")
        self._shown[SITEMAP_TABLE] = f"DROP TABLE IF EXISTS temp.{SITEMAP_TABLE}"
        columns = [list(column) for column in zip(*self._sitemap_rows(), strict=True)]
        if columns:
            values = ", ".join(["unnest(?)"] * len(columns))
            duck.execute(f"INSERT INTO {SITEMAP_TABLE} SELECT {values}", columns)
        return True


def _missing_column(said: str, text: str) -> _MissingColumn | None:
    if (found := _MISSING_IN_TABLE.search(said)) is not None:
        return _MissingColumn(found[2].lower(), found[1].lower())
    if (found := _MISSING_TARGET.search(said)) is not None:
        return _MissingColumn((found[1] or found[2]).lower(), is_target=True)
    if (found := _MISSING_TABLE.search(said)) is not None:
        table = found[1].lower()
        names = [name_value(piece).lower() for piece in tokens(text)]
        of_table = (
            last for first, dot, last in zip(names, names[1:], names[2:], strict=False) if (first, dot) == (table, ".")
        )
        column = next(filter(COLUMNS.__contains__, of_table), None)
        return _MissingColumn(column, table) if column is not None else None
    found = _MISSING_COLUMN.search(said)
    return _MissingColumn(found[1].lower()) if found is not None else None


def _place_of(text: str, name: str) -> str:
    found = next((piece for piece in tokens(text) if name_value(piece).lower() == name), None)
    if found is None:
        return ""
    at = position(text, found.start)
    return f"line {at.line}, column {at.column}: "


def _quoted(parts: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
