"""Names that scripts of DuckDB's crawler extension use, for statements that DuckDB refuses because they are missing.

The tables of the extension have columns that ours do not store, because they are made from others: `status_code`,
`crawled_at`, `jsonld`. A statement that names one reads the table through a temporary view that adds them. The view has
the name of the table, which it hides until the next statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import duckdb

from comity.model.errors import BadInput
from comity.rules.sql.tokens import TokenKind, name_value, position, tokens

COLUMNS: Final = {
    "status_code": "http_status",
    "crawled_at": "crawl_time",
    "domain": r"regexp_extract(url, '^\w+://([^/?#]+)', 1)",
    **{name: f"comity_page_value(body, '{name}')" for name in ("jsonld", "opengraph", "meta", "js", "hydration")},
}
"""Columns of the extension's tables, and what they are made from."""
_MADE_FROM: Final = frozenset({"url", "surt_key", "http_status", "body", "crawl_time", "content_hash"})
SITEMAP_TABLE: Final = "_crawl_sitemap_cache"
_SITEMAP_COLUMNS: Final = (
    "hostname VARCHAR, surt_key VARCHAR, url VARCHAR, lastmod TIMESTAMP WITH TIME ZONE, changefreq VARCHAR, "
    "priority DOUBLE, discovered_at TIMESTAMP WITH TIME ZONE"
)
_MISSING_COLUMN: Final = re.compile(r'(?:Referenced column|have a column named) "(\w+)"')
_MISSING_NAME: Final = re.compile(r"(?:Table|Function) with name \"?(\w+)\"? does not exist")
_INSTEAD: Final = (
    ("_crawl_progress_", "Comity has no such table; comity.runs and comity.hosts have the progress of crawls"),
    ("_crawl_queue_", "Comity has no such table; comity.frontier has what is to be visited"),
    ("_crawl_sitemap_discovery_status", f"Comity has no such table; {SITEMAP_TABLE} has the URLs of sitemaps"),
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


class ExtensionNames:
    """What one connection shows of them. `sitemap_rows` has the pages of the sitemaps that statements have read."""

    def __init__(self, sitemap_rows: Callable[[], Iterable[SitemapRow]]) -> None:
        self._sitemap_rows = sitemap_rows
        self._shown: dict[str, str] = {}  # by name: how it is taken away

    def supply(self, duck: Any, text: str, problem: duckdb.Error) -> bool:
        """Add what a statement lacks, so that it can be run again; `BadInput` says what to write instead."""
        if (column := _MISSING_COLUMN.search(str(problem))) is not None:
            return column[1].lower() in COLUMNS and self._show_columns(duck, text)
        missing = _MISSING_NAME.search(str(problem))
        if missing is None:
            return False
        name = missing[1].lower()
        if name == SITEMAP_TABLE:
            return self._show_sitemaps(duck)
        for beginning, instead in _INSTEAD:
            if name.startswith(beginning):
                raise BadInput(f"{_place_of(text, name)}{name}: {instead}")
        return False

    def withdraw(self, duck: Any) -> None:
        """Take away what the statement before needed."""
        for name, statement in list(self._shown.items()):
            with suppress(duckdb.Error):  # of a transaction that failed
                duck.execute(statement)
                del self._shown[name]

    def _show_columns(self, duck: Any, text: str) -> bool:
        """Hide the tables of CRAWL that a statement reads behind views with more columns; False if there is none."""
        pieces = list(tokens(text))
        if not pieces or pieces[0].is_word("UPDATE", "DELETE"):  # a view takes no changes
            return False
        words = {name_value(piece).lower() for piece in pieces if piece.kind is not TokenKind.STRING}
        tables = [row for row in duck.execute(_TABLES).fetchall() if _MADE_FROM.issubset(row[3])]
        named = [row for row in tables if row[2].lower() in words]
        # One that is not named is read by a view.
        return sum(self._show_table(duck, *row) for row in named or tables) > 0

    def _show_table(self, duck: Any, database: str, schema: str, table: str, present: Sequence[str]) -> bool:
        if table in self._shown:
            return False
        more = (f"{made} AS {name}" for name, made in COLUMNS.items() if name not in present)
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


def _place_of(text: str, name: str) -> str:
    found = next((piece for piece in tokens(text) if name_value(piece).lower() == name), None)
    if found is None:
        return ""
    at = position(text, found.start)
    return f"line {at.line}, column {at.column}: "


def _quoted(parts: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
