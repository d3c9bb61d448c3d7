"""Functions of SQL that request pages: `crawl`, `crawl_url` and `sitemap` in any statement, lateral joins included.

DuckDB calls a function row by row and cannot wait for a crawl in between. So a statement that calls one of these runs
several times: a trial collects the URLs and is rolled back, their pages are crawled together as a CRAWL statement would
do it, and so on until a run finds every page known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, Final

import duckdb

from comity.extract.html_functions import as_json, page_info
from comity.model.errors import ComityError
from comity.rules.sql.tokens import TokenKind, tokens

NAMES: Final = ("CRAWL", "CRAWL_URL", "SITEMAP")
MOST_ROUNDS: Final = 10  # lateral joins that feed each other
MOST_PAGES: Final = 100_000

_READABLE: Final = "STRUCT(title VARCHAR, excerpt VARCHAR, text_content VARCHAR)"
_DATA: Final = '"schema" MAP(VARCHAR, JSON), opengraph JSON, meta JSON'
_HTML: Final = f"STRUCT(document VARCHAR, readability {_READABLE}, {_DATA})"
_COLUMNS: Final[Mapping[str, str]] = {
    "url": "VARCHAR",
    "status": "INTEGER",
    "content_type": "VARCHAR",
    "body": "VARCHAR",
    "error": "VARCHAR",
    "error_type": "VARCHAR",
    "elapsed_ms": "BIGINT",
    "crawl_time": "TIMESTAMP WITH TIME ZONE",
    "etag": "VARCHAR",
    "last_modified": "VARCHAR",
    "content_hash": "VARCHAR",
    "final_url": "VARCHAR",
    "redirect_count": "INTEGER",
}
_PAGE: Final = f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())}, html {_HTML})"
_LISTED: Final = "STRUCT(url VARCHAR, lastmod TIMESTAMP WITH TIME ZONE, changefreq VARCHAR, priority DOUBLE)[]"
# One URL or a list of them.
_EACH: Final = (
    "unnest(from_json(CASE WHEN json_type(to_json(wanted)) = 'ARRAY' THEN to_json(wanted) "
    "ELSE json_array(wanted) END, '[\"VARCHAR\"]'))"
)
_PAGES: Final = f"SELECT comity_page(each_url) AS page FROM (SELECT {_EACH} AS each_url LIMIT max_results)"  # noqa: S608
# `comity_page` and `comity_sitemap` become functions of one connection. Macros are its own already (TEMP).
_MACROS: Final = (
    "CREATE OR REPLACE TEMP MACRO crawl_url(wanted, timeout := 30) AS TABLE "
    "SELECT page.* FROM (SELECT comity_page(wanted) AS page) WHERE page IS NOT NULL",
    f"CREATE OR REPLACE TEMP MACRO crawl(wanted, max_results := {MOST_PAGES}, timeout := 30) AS TABLE "  # noqa: S608
    f"SELECT page.* FROM ({_PAGES}) WHERE page IS NOT NULL",
    "CREATE OR REPLACE TEMP MACRO sitemap(wanted, recursive := true) AS TABLE "
    "SELECT listed.* FROM (SELECT unnest(comity_sitemap(wanted)) AS listed)",
)
_NUMBERS: Final = count(1)  # DuckDB shares functions between all connections of a process to one database
_READING: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

Row = dict[str, Any]


def is_in_transaction(connection: Any) -> bool:
    """Whether the user began a transaction: outside of one, every statement has its own number."""
    asked = "SELECT txid_current()"
    return bool(connection.execute(asked).fetchall() == connection.execute(asked).fetchall())


def is_query(connection: Any, text: str) -> bool:
    """Whether a statement only reads."""
    return all(statement.type in _READING for statement in connection.extract_statements(text))


def names_any(text: str) -> bool:
    """Whether a statement calls one of these functions; a table or column may have such a name."""
    pieces = list(tokens(text))
    return any(
        piece.kind is TokenKind.WORD and piece.text.upper() in NAMES and following.is_symbol("(")
        for piece, following in pairwise(pieces)
    )


class NetworkFunctions:
    """The pages and sitemaps that the functions of one connection know, and those that they still need."""

    def __init__(
        self, crawl: Callable[[Sequence[str]], Iterable[Row | None]], read_sitemap: Callable[[str], list[Row]]
    ) -> None:
        self._crawl = crawl
        self._read_sitemap = read_sitemap
        self._pages: dict[str, Row | None] = {}
        self._sitemaps: dict[str, list[Row]] = {}
        self._wanted_pages: dict[str, None] = {}
        self._wanted_sitemaps: dict[str, None] = {}
        self._is_trial = False
        self.was_called = False
        """Whether a statement called one of these although its text does not show it: by a view, a macro, EXECUTE."""

    def add_to(self, connection: Any) -> None:
        """Put the functions on a connection that can call Python."""
        number = next(_NUMBERS)
        for name, function, gives in (("comity_page", self._page, _PAGE), ("comity_sitemap", self._sitemap, _LISTED)):
            connection.create_function(
                f"{name}_{number}", function, ["VARCHAR"], gives, null_handling="special", side_effects=True
            )
        for macro in _MACROS:
            mine = macro.replace("comity_page(", f"comity_page_{number}(")
            connection.execute(mine.replace("comity_sitemap(", f"comity_sitemap_{number}("))

    def run(self, connection: Any, text: str, parameters: object) -> None:
        """Run a statement once every page that it asks for is known."""
        self._pages, self._sitemaps = {}, {}
        rolls_back = not is_in_transaction(connection)
        if not rolls_back and not is_query(connection, text):
            raise ComityError(
                "a statement that changes tables and requests pages cannot run inside a transaction, because it is "
                "tried first and rolled back; run it before BEGIN or after COMMIT"
            )
        for _round in range(MOST_ROUNDS):
            self._try(connection, text, parameters, rolls_back=rolls_back)
            if not self._wanted_pages and not self._wanted_sitemaps:
                break
            self._obtain()
        else:
            raise ComityError(f"the statement asks for more pages after {MOST_ROUNDS} rounds of requests")
        connection.execute(text, parameters)

    def _try(self, connection: Any, text: str, parameters: object, *, rolls_back: bool) -> None:
        """Run a statement to learn what it asks for; one that fails because it lacks pages is tried again."""
        self._wanted_pages, self._wanted_sitemaps = {}, {}
        if rolls_back:
            connection.execute("BEGIN")
        self._is_trial = True
        try:
            connection.execute(text, parameters)
            while connection.fetchmany(10_000):
                pass
        except duckdb.Error:
            if not rolls_back or not (self._wanted_pages or self._wanted_sitemaps):
                raise
        finally:
            self._is_trial = False
            if rolls_back:
                connection.execute("ROLLBACK")

    def _obtain(self) -> None:
        if len(self._pages) + len(self._wanted_pages) > MOST_PAGES:
            raise ComityError(f"the statement asks for more than {MOST_PAGES:,} pages; use CRAWL (SELECT …) INTO table")
        for address in list(self._wanted_sitemaps):
            self._sitemaps[address] = self._read_sitemap(address)
        wanted = list(self._wanted_pages)
        for address, row in zip(wanted, self._crawl(wanted), strict=True):
            self._pages[address] = row

    def _page(self, address: str | None) -> Row | None:
        if address is None:
            return None
        if address not in self._pages:
            self._note(self._wanted_pages, address)
            return None
        return self._pages[address]

    def _sitemap(self, address: str | None) -> list[Row]:
        if address is None:
            return []
        if address not in self._sitemaps:
            self._note(self._wanted_sitemaps, address)
            return []
        return self._sitemaps[address]

    def _note(self, wanted: dict[str, None], address: str) -> None:
        """Remember what a trial asks for; no other run may ask for more."""
        self.was_called = True
        if not self._is_trial:
            raise ComityError(f"{address[:200]} was not requested; run the statement with execute()")
        wanted[address] = None


def page_row(stored: Mapping[str, Any]) -> Row:
    """A row of the functions from a row of a crawled table."""
    row = {name: stored["http_status" if name == "status" else name] for name in _COLUMNS}
    return row | {"html": _html(stored["body"], stored["final_url"] or stored["url"])}


def _html(body: str | None, url: str) -> Row | None:
    if not body:
        return None
    from comity.extract.fetched_page import FetchedPage
    from comity.extract.structured_items import types_of

    page = FetchedPage(url, url, 200, "text/html; charset=utf-8", body.encode("utf-8", "replace"), "utf-8", None)
    info = json.loads(page_info(body, url) or "{}")
    schema: dict[str, str] = {}
    for node in (*page.jsonld, *page.microdata):
        for kind in types_of(node):
            schema.setdefault(kind, as_json(node))
    readable = info.get("readability", {})
    return {
        "document": body,
        "readability": {
            "title": readable.get("title"),
            "excerpt": readable.get("excerpt"),
            "text_content": page.text,
        },
        "schema": schema,
        "opengraph": as_json(page.opengraph),
        "meta": as_json(page.meta),
    }
