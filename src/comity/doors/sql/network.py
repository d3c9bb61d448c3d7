"""Functions of SQL that request pages: `crawl`, `crawl_url` and `sitemap` in any statement, lateral joins included.

DuckDB calls a function row by row and cannot wait for a crawl in between. So a statement that calls one of these runs
several times: a trial collects the URLs and is rolled back, their pages are crawled together as a CRAWL statement would
do it, and so on until a run finds every page known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import duckdb

from comity.extract.html_functions import as_json, embedded_state, page_info, variables
from comity.model.errors import ComityError
from comity.rules.sql.tokens import TokenKind, tokens
from comity.run.sql.function_pages import PageTerms

NAMES: Final = ("CRAWL", "CRAWL_URL", "SITEMAP")
MOST_ROUNDS: Final = 10  # lateral joins that feed each other
MOST_PAGES: Final = 100_000

_READABLE: Final = "STRUCT(title VARCHAR, excerpt VARCHAR, text_content VARCHAR, content VARCHAR)"
_DATA: Final = '"schema" MAP(VARCHAR, JSON), opengraph JSON, meta JSON, js JSON, hydration MAP(VARCHAR, JSON)'
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
_TERMS: Final = "timeout, user_agent"
# Arguments that the crawler extension has. Those that only make it faster are accepted and not needed; the others are
# refused with what to use instead.
_UNNEEDED: Final = "workers := NULL, batch_size := NULL, cache := NULL, cache_ttl := NULL"
_REFUSED: Final = {
    "follow": "follows no links; use CRAWL (SELECT …) INTO table WITH (follow_links true)",
    "extract": "has no extract; use EXTRACT (…) of CRAWL, or jq() and htmlpath() on the body",
    "state_table": "has no state_table; CRAWL (SELECT …) INTO table resumes by itself",
    "delay": "has no delay; SET crawler_default_delay, in seconds",
}
_ROBOTS: Final = "always obeys robots.txt; leave out respect_robots"


def _unless_refused(function: str, value: str, *names: str) -> str:
    """A value, or an error that says what an argument cannot do: before anything is requested."""
    cases = [f"WHEN {name} IS NOT NULL THEN error('{function}() {_REFUSED[name]}')" for name in names]
    robots = f"WHEN NOT respect_robots THEN error('{function}() {_ROBOTS}')"
    return f"CASE {' '.join([*cases, robots])} ELSE {value} END"


_EACH_URL: Final = _unless_refused("crawl", "each_url", *_REFUSED)
_ONE_URL: Final = _unless_refused("crawl_url", "wanted", "extract")
_PAGES: Final = f"SELECT comity_page({_EACH_URL}, {_TERMS}) AS page FROM (SELECT {_EACH} AS each_url LIMIT max_results)"  # noqa: S608
# `comity_page` and `comity_sitemap` become functions of one connection. Macros are its own already (TEMP).
_MACROS: Final = (
    "CREATE OR REPLACE TEMP MACRO crawl_url(wanted, max_results := NULL, timeout := NULL, user_agent := NULL, "  # noqa: S608
    f"respect_robots := true, extract := NULL, {_UNNEEDED}) AS TABLE "
    f"SELECT page.* FROM (SELECT comity_page({_ONE_URL}, {_TERMS}) AS page) WHERE page IS NOT NULL",
    f"CREATE OR REPLACE TEMP MACRO crawl(wanted, max_results := {MOST_PAGES}, timeout := NULL, user_agent := NULL, "  # noqa: S608
    "respect_robots := true, follow := NULL, extract := NULL, state_table := NULL, delay := NULL, max_depth := NULL, "
    f"{_UNNEEDED}) AS TABLE SELECT page.* FROM ({_PAGES}) WHERE page IS NOT NULL",
    "CREATE OR REPLACE TEMP MACRO sitemap(wanted, recursive := true, timeout := NULL, user_agent := NULL, "  # noqa: S608
    "discover := NULL, filter := NULL, max_depth := NULL) AS TABLE SELECT listed.* FROM "
    f"(SELECT unnest(comity_sitemap(wanted, {_TERMS}, recursive AND coalesce(max_depth > 0, true))) AS listed) "
    "WHERE filter IS NULL OR listed.url LIKE filter",
)
_NUMBERS: Final = count(1)  # DuckDB shares functions between all connections of a process to one database
_READING: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

Row = dict[str, Any]


class ReadsSitemap(Protocol):
    """Lists what a sitemap names."""

    def __call__(self, address: str, terms: PageTerms, *, is_recursive: bool = True) -> list[Row]:
        """The rows of a sitemap."""


class _Page(NamedTuple):
    url: str
    terms: PageTerms


class _Sitemap(NamedTuple):
    url: str
    terms: PageTerms
    is_recursive: bool


_Wanted = TypeVar("_Wanted", _Page, _Sitemap)


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
        self,
        crawl: Callable[[Sequence[str], PageTerms], Iterable[Row | None]],
        read_sitemap: ReadsSitemap,
    ) -> None:
        self._crawl = crawl
        self._read_sitemap = read_sitemap
        self._pages: dict[_Page, Row | None] = {}
        self._sitemaps: dict[_Sitemap, list[Row]] = {}
        self._wanted_pages: dict[_Page, None] = {}
        self._wanted_sitemaps: dict[_Sitemap, None] = {}
        self._is_trial = False
        self.was_called = False
        """Whether a statement called one of these although its text does not show it: by a view, a macro, EXECUTE."""

    def add_to(self, connection: Any) -> None:
        """Put the functions on a connection that can call Python."""
        number = next(_NUMBERS)
        terms = ["VARCHAR", "DOUBLE", "VARCHAR"]
        for name, function, takes, gives in (
            ("comity_page", self._page, terms, _PAGE),
            ("comity_sitemap", self._sitemap, [*terms, "BOOLEAN"], _LISTED),
        ):
            connection.create_function(
                f"{name}_{number}", function, takes, gives, null_handling="special", side_effects=True
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
        for wanted in list(self._wanted_sitemaps):
            self._sitemaps[wanted] = self._read_sitemap(wanted.url, wanted.terms, is_recursive=wanted.is_recursive)
        for terms in dict.fromkeys(page.terms for page in self._wanted_pages):
            pages = [page for page in self._wanted_pages if page.terms == terms]
            for page, row in zip(pages, self._crawl([page.url for page in pages], terms), strict=True):
                self._pages[page] = row

    def _page(self, address: str | None, timeout_s: float | None, user_agent: str | None) -> Row | None:
        if address is None:
            return None
        page = _Page(address, PageTerms(timeout_s, user_agent))
        if page not in self._pages:
            self._note(self._wanted_pages, page)
            return None
        return self._pages[page]

    def _sitemap(
        self, address: str | None, timeout_s: float | None, user_agent: str | None, is_recursive: bool | None
    ) -> list[Row]:
        if address is None:
            return []
        sitemap = _Sitemap(address, PageTerms(timeout_s, user_agent), is_recursive is not False)
        if sitemap not in self._sitemaps:
            self._note(self._wanted_sitemaps, sitemap)
            return []
        return self._sitemaps[sitemap]

    def _note(self, wanted: dict[_Wanted, None], asked: _Wanted) -> None:
        """Remember what a trial asks for; no other run may ask for more."""
        self.was_called = True
        if not self._is_trial:
            raise ComityError(f"{asked.url[:200]} was not requested; run the statement with execute()")
        wanted[asked] = None


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
            "content": page.markdown,
        },
        "schema": schema,
        "opengraph": as_json(page.opengraph),
        "meta": as_json(page.meta),
        "js": as_json(variables(body)),
        "hydration": {name: as_json(value) for name, value in embedded_state(body).items()},
    }
