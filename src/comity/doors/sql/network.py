"""Functions of SQL that request pages: `crawl`, `crawl_url`, `sitemap` and others in any statement, also in joins.

DuckDB calls a function row by row and cannot wait for a crawl in between. So a statement that calls one of these runs
several times: a trial collects the URLs and is rolled back, their pages are crawled together as a CRAWL statement would
do it, and so on until a run finds every page known.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import duckdb

from comity.doors.sql.calls import Call, arguments_of, calls_of, replaced
from comity.model.errors import BadInput, ComityError
from comity.model.statement import TextPosition
from comity.rules.sql.tokens import TokenKind, may_name, name_value, position, string_value, tokens
from comity.rules.suggestions import nearest
from comity.run.sql.function_pages import PageTerms

NAMES: Final = ("CRAWL", "CRAWL_URL", "CRAWL_URLS", "CRAWL_STREAM", "SITEMAP")
_FOLLOWING: Final = "CRAWL_FOLLOWING"  # `crawl` with the argument `follow`
MOST_ROUNDS: Final = 10  # lateral joins that feed each other, and links that are followed
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
_PAGE: Final = (
    f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())}, html {_HTML}, "
    "response_time_ms BIGINT, depth INTEGER, status_code INTEGER)"
)
_LISTED: Final = "STRUCT(url VARCHAR, lastmod TIMESTAMP WITH TIME ZONE, changefreq VARCHAR, priority DOUBLE)[]"
# One URL or a list of them.
_LIST: Final = (
    "from_json(CASE WHEN json_type(to_json(wanted)) = 'ARRAY' THEN to_json(wanted) ELSE json_array(wanted) END, "
    "'[\"VARCHAR\"]')"
)
_TERM_TYPES: Final = ["DOUBLE", "VARCHAR", "DOUBLE", "BOOLEAN"]
_TERMS: Final = "timeout, user_agent, coalesce(delay, 1000 * crawl_delay), respect_robots"
_NAMED_TERMS: Final = (
    "delay := NULL, crawl_delay := NULL, timeout := NULL, user_agent := NULL, respect_robots := NULL, extract := NULL"
)
# Arguments that only make the crawler extension faster are accepted, and not needed.
_UNNEEDED: Final = "workers := NULL, batch_size := NULL, cache := NULL, cache_ttl := NULL"
_MOST_RESULTS: Final = f"max_results := {MOST_PAGES}, state_table := NULL, {_UNNEEDED}, {_NAMED_TERMS}"
_STATE_COLUMNS: Final = (
    "url VARCHAR PRIMARY KEY, http_status INTEGER, extracted JSON, crawled_at TIMESTAMP DEFAULT current_timestamp, "
    "etag VARCHAR, last_modified VARCHAR"
)
_URLS: Final = f"(SELECT each_url FROM (SELECT unnest({_LIST}) AS each_url) WHERE each_url IS NOT NULL"  # noqa: S608
_SELECTED: Final = "SELECT page.*, comity_extracted(page.body, extract) AS extract FROM"
_STREAMED: Final = (
    "SELECT page.url, page.status AS status_code, page.content_type, page.body, page.error, page.response_time_ms, "
    'strlen(page.body) AS content_length, to_json(page.html."schema")::VARCHAR AS jsonld, '
    "page.html.opengraph::VARCHAR AS opengraph, page.html.meta::VARCHAR AS meta FROM"
)
_OF_URLS: Final = (
    "wanted, user_agent := NULL, default_crawl_delay := NULL, min_crawl_delay := NULL, max_crawl_delay := NULL, "
    "timeout_seconds := NULL, respect_robots_txt := NULL, log_skipped := NULL"
)
# Only projections stand above the requests: DuckDB moves a LIMIT below them, and then fewer pages are requested.
# The functions of Python belong to one connection by their names, the macros because they are temporary.
_MACROS: Final = (
    f"crawl_url(wanted, max_results := NULL, {_UNNEEDED}, {_NAMED_TERMS}) AS TABLE {_SELECTED} "
    f"(SELECT comity_page(wanted, {_TERMS}) AS page WHERE wanted IS NOT NULL)",
    f"crawl(wanted, {_MOST_RESULTS}, max_depth := NULL) AS TABLE {_SELECTED} "  # noqa: S608
    f"(SELECT comity_page(each_url, {_TERMS}) AS page FROM {_URLS} LIMIT max_results))",
    f"crawl_following(wanted, {_MOST_RESULTS}, max_depth := 1, follow := NULL) AS TABLE {_SELECTED} "
    f"(SELECT unnest(comity_linked({_LIST}, follow, max_depth, max_results, {_TERMS})) AS page)",
    f"crawl_urls({_OF_URLS}) AS TABLE SELECT page.url, regexp_extract(page.url, '^\\w+://([^/?#]+)', 1) AS domain, "  # noqa: S608
    "page.status AS http_status, page.body, page.content_type, page.elapsed_ms, page.crawl_time AS crawled_at, "
    "page.error FROM (SELECT comity_page(each_url, timeout_seconds, user_agent, "
    f"1000 * greatest(default_crawl_delay, min_crawl_delay), respect_robots_txt) AS page FROM {_URLS}))",
    "crawl_stream(wanted, user_agent := NULL, crawl_delay := NULL, timeout := NULL, respect_robots_txt := NULL) "  # noqa: S608
    f"AS TABLE {_STREAMED} (SELECT comity_page(each_url, timeout, user_agent, 1000 * crawl_delay, respect_robots_txt) "
    f"AS page FROM {_URLS}))",
    "sitemap(wanted, recursive := true, timeout := NULL, user_agent := NULL, discover := NULL, filter := NULL, "
    "max_depth := NULL) AS TABLE SELECT listed.* FROM (SELECT unnest(comity_sitemap(wanted, timeout, user_agent, "
    "recursive AND coalesce(max_depth > 0, true))) AS listed) WHERE filter IS NULL OR listed.url LIKE filter",
)
_OF_PAGES: Final = tuple(name for name in NAMES if name != "SITEMAP")
_OF_LISTS: Final = tuple(name for name in _OF_PAGES if name != "CRAWL_URL")
_QUERY_WORDS: Final = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_ARGUMENT: Final = re.compile(r"(\w+) := ")
_ARGUMENTS: Final = {
    name: {
        key
        for macro in _MACROS
        if macro.startswith((f"{name.lower()}(", f"{name.lower()}_following("))
        for key in _ARGUMENT.findall(macro.partition(" AS TABLE ")[0])
    }
    for name in NAMES
}
"""The named arguments of each function."""
_INSTEAD: Final = {
    "follow_links": "to follow links, name them by a selector: follow := 'a', max_depth := 2",
    "url_pattern": "choose rows by WHERE url LIKE '…'",
    "skip_cached": "CRAWL (SELECT …) INTO table requests only what the table lacks",
    "sitemap": "to crawl what a sitemap lists, write crawl(sitemap('…'))",
    "filter_pattern": "did you mean filter?",
    "conditional": "CRAWL (SELECT …) INTO table WITH (update_stale true) requests pages conditionally",
}
_OWN: Final = ("comity_page", "comity_linked", "comity_sitemap")
_NUMBERS: Final = count(1)  # DuckDB shares functions between all connections of a process to one database
_READING: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_NOT_ASKED: Final = "not_requested: it is not a URL, or its host could not be crawled now"

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
    """Whether the user started a transaction: outside of one, every statement has its own number."""
    asked = "SELECT txid_current()"
    return bool(connection.execute(asked).fetchall() == connection.execute(asked).fetchall())


def is_query(connection: Any, text: str) -> bool:
    """Whether a statement only reads."""
    return all(statement.type in _READING for statement in connection.extract_statements(text))


def as_calls_of_macros(text: str) -> str:
    """A statement with its calls as DuckDB reads those of macros: it takes `name = value` only for functions.

    `BadInput` says where a call has an argument that is not known.
    """
    text = with_queries(text)
    for name in NAMES:
        for call in calls_of(text, name):
            _check_arguments(text, name, call)
    for name in NAMES:
        text = replaced(text, name, lambda arguments, name=name: _call_of_macro(name, arguments))  # type: ignore[misc]
    return text


def with_state_tables(text: str, prepare: Callable[[str], str]) -> str:
    """A statement whose calls of `crawl` with a `state_table` leave out the URLs that the table has.

    `prepare` creates the table that an argument names, if it is missing, and gives its name.
    """

    def without_known(arguments: str) -> str | None:
        by_position, by_name = arguments_of(arguments)
        said = by_name.pop("state_table", "NULL")
        if said.upper() in ("NULL", "''") or not by_position:
            return None
        listed = _LIST.replace("wanted", f"({by_position[0]})")
        new = (
            f"(SELECT list(each_url) FROM (SELECT unnest({listed}) AS each_url) "  # noqa: S608
            f"WHERE each_url NOT IN (SELECT url FROM {prepare(said)}))"
        )
        named = (f"{key} := {value}" for key, value in by_name.items())
        return f"crawl({', '.join([new, *by_position[1:], *named])})"

    return replaced(with_queries(text), "CRAWL", without_known)


def with_queries(text: str) -> str:
    """A statement whose calls name their URLs by a query in a string, by a table of its WITH, or by `sitemap(…)`.

    A table is meant only right behind FROM: elsewhere, the name may be that of a column.
    """
    if not names_any(text):
        return text
    named = _named_queries(text)
    for name in _OF_LISTS:
        for call in reversed(calls_of(text, name)):
            by_position, _by_name = arguments_of(call.arguments)
            before = deque(tokens(text[: call.start]), maxlen=1)
            is_first = bool(before) and before[0].is_word("FROM")
            query = _query_of(by_position[0], named if is_first else ()) if by_position else None
            if query is not None:
                start = call.end - 1 - len(call.arguments) + call.arguments.index(by_position[0])
                text = f"{text[:start]}{_listed(query)}{text[start + len(by_position[0]) :]}"
    return text


def _named_queries(text: str) -> frozenset[str]:
    """The names, in lower case, that a statement gives queries by `WITH name AS (…)`."""
    pieces = list(tokens(text))
    found = set()
    for before, name, sign, opening in zip(pieces, pieces[1:], pieces[2:], pieces[3:], strict=False):
        begins = before.is_word("WITH", "RECURSIVE") or before.is_symbol(",")
        if begins and sign.is_word("AS") and (opening.is_symbol("(") or opening.is_word("MATERIALIZED", "NOT")):
            found.add(name_value(name).lower())
    return frozenset(found)


def _query_of(argument: str, named: Collection[str]) -> str | None:
    """The query for which an argument stands; None if it is a value."""
    pieces = list(tokens(argument))
    if len(pieces) == 1 and pieces[0].kind is TokenKind.STRING and pieces[0].is_closed:
        query = string_value(pieces[0])
        return query.strip().rstrip(";") if _is_query(query) and len(query.split()) > 1 else None
    if len(pieces) == 1 and name_value(pieces[0]).lower() in named:
        return f"FROM {argument}"
    calls = calls_of(argument, "SITEMAP")
    is_sitemap = bool(calls) and calls[0].start == pieces[0].start and calls[0].end == pieces[-1].end
    return f"SELECT url FROM {argument}" if is_sitemap else None  # noqa: S608  # the user's own call


def _listed(query: str) -> str:
    return f"(SELECT list(named_url) FROM ({query}\n) AS queried(named_url))"  # noqa: S608  # the user's own query


def create_state_table(connection: Any, argument: str) -> str:
    """Create the table of a `state_table` argument, if it is missing; gives its quoted name."""
    ((name,),) = connection.execute(f"SELECT ({argument})::VARCHAR").fetchall()  # the user's own argument
    if not name:
        raise BadInput("state_table", "it takes the name of a table")
    if "." in str(name):
        raise BadInput("state_table", "it takes the name of a table without a schema or database")
    quoted = '"' + str(name).replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE IF NOT EXISTS {quoted} ({_STATE_COLUMNS})")
    return quoted


def crawl_of_query(text: str) -> TextPosition | None:
    """Where a statement has CRAWL with a query inside; a call of the function has one in its own parentheses."""
    found = (call for name in _OF_PAGES for call in calls_of(text, name) if _is_query(call.arguments))
    return next((position(text, call.start) for call in found), None)


def _is_query(arguments: str) -> bool:
    return next((piece.is_word(*_QUERY_WORDS) for piece in tokens(arguments)), False)


def _check_arguments(text: str, name: str, call: Call) -> None:
    if _is_query(call.arguments):
        return
    for key in arguments_of(call.arguments)[1]:
        if key not in _ARGUMENTS[name]:
            meant = nearest(key, _ARGUMENTS[name])
            remedy = _INSTEAD.get(key) or (f"did you mean {meant}?" if meant else "")
            remedy = remedy or f"it takes {', '.join(sorted(_ARGUMENTS[name]))}"
            at = position(text, call.start)
            raise BadInput(f"line {at.line}, column {at.column}: {name.lower()}() has no argument {key}; {remedy}")


def _call_of_macro(name: str, arguments: str) -> str | None:
    if name in _OF_PAGES and _is_query(arguments):
        return f"{name.lower()}({_listed(arguments)})"
    by_position, by_name = arguments_of(arguments)
    if not by_name:
        return None
    follows = name == "CRAWL" and by_name.get("follow", "NULL").upper() not in ("NULL", "''")
    if not follows:
        by_name.pop("follow", None)
    all_arguments = [*by_position, *(f"{key} := {value}" for key, value in by_name.items())]
    return f"{(_FOLLOWING if follows else name).lower()}({', '.join(all_arguments)})"


def names_any(text: str) -> bool:
    """Whether a statement calls one of these functions; a table or column may have such a name."""
    if not may_name(text, "CRAWL", "SITEMAP"):
        return False
    pieces = list(tokens(text))
    return any(piece.is_word(*NAMES, _FOLLOWING) and following.is_symbol("(") for piece, following in pairwise(pieces))


class NetworkFunctions:
    """The pages and sitemaps that the functions of one connection know, and those that they still need."""

    def __init__(
        self,
        crawl: Callable[[Sequence[str], PageTerms], Iterable[Row]],
        read_sitemap: ReadsSitemap,
    ) -> None:
        self._crawl = crawl
        self._read_sitemap = read_sitemap
        self._pages: dict[_Page, Row] = {}
        self._sitemaps: dict[_Sitemap, list[Row]] = {}
        self._wanted_pages: dict[_Page, None] = {}
        self._wanted_sitemaps: dict[_Sitemap, None] = {}
        self._is_trial = False
        self.was_called = False
        """Whether a statement called one of these although its text does not show it: by a view, a macro, EXECUTE."""

    def add_to(self, connection: Any) -> None:
        """Put the functions on a connection that can call Python."""
        number = next(_NUMBERS)
        linked_takes = ["VARCHAR[]", "VARCHAR", "INTEGER", "BIGINT", *_TERM_TYPES]
        for name, function, takes, gives in (
            ("comity_page", self._page, ["VARCHAR", *_TERM_TYPES], _PAGE),
            ("comity_linked", self._linked, linked_takes, f"{_PAGE}[]"),
            ("comity_sitemap", self._sitemap, ["VARCHAR", "DOUBLE", "VARCHAR", "BOOLEAN"], _LISTED),
        ):
            connection.create_function(
                f"{name}_{number}", function, takes, gives, null_handling="special", side_effects=True
            )
        for macro in _MACROS:
            for name in _OWN:
                macro = macro.replace(f"{name}(", f"{name}_{number}(")
            connection.execute(f"CREATE OR REPLACE TEMP MACRO {macro}")

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

    def note_pages(self, connection: Any, table: str) -> None:
        """Note the pages that the last statement requested in a state table."""
        rows = [row for row in self._pages.values() if row["status"] > 0]
        columns = [[row[name] for row in rows] for name in ("url", "status", "etag", "last_modified")]
        connection.execute(
            f"INSERT OR IGNORE INTO {table} (url, http_status, etag, last_modified) "
            "SELECT unnest(?::VARCHAR[]), unnest(?::INTEGER[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            columns,
        )

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

    def _page(
        self,
        address: str | None,
        timeout_s: float | None,
        user_agent: str | None,
        delay_ms: float | None,
        respects_robots: bool | None,
    ) -> Row | None:
        terms = PageTerms(timeout_s, user_agent, delay_ms, respects_robots)
        return None if address is None else self._known(address, terms)

    def _known(self, address: str, terms: PageTerms) -> Row | None:
        page = _Page(address, terms)
        if page not in self._pages:
            self._note(self._wanted_pages, page)
            return None
        return self._pages[page]

    def _linked(
        self,
        addresses: list[str] | None,
        css: str | None,
        deepest: int | None,
        most: int | None,
        timeout_s: float | None,
        user_agent: str | None,
        delay_ms: float | None,
        respects_robots: bool | None,
    ) -> list[Row]:
        """Pages, and those that their links lead to, each once; a page of the call itself has depth 1."""
        from comity.extract.html_functions import linked  # late: a CRAWL statement needs nothing of it

        terms = PageTerms(timeout_s, user_agent, delay_ms, respects_robots)
        found: list[Row] = []
        queue = [(address, 1) for address in addresses or () if address]
        seen = {address for address, _depth in queue}
        for address, depth in queue:  # it grows meanwhile
            if len(found) >= (MOST_PAGES if most is None else most):
                break
            row = self._known(address, terms)
            if row is None:
                continue
            found.append(row | {"depth": depth})
            if css is not None and depth < (deepest or 1) and row["body"]:
                new = [url for url in linked(row["body"], css, row["final_url"] or address) if url not in seen]
                seen.update(new)
                queue += [(url, depth + 1) for url in dict.fromkeys(new)]
        return found

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


def page_row(url: str, stored: Mapping[str, Any] | None) -> Row:
    """A row of the functions from a row of a crawled table."""
    if stored is None:
        nothing: Row = dict.fromkeys((*_COLUMNS, "html", "response_time_ms"))
        why = {"status": -1, "status_code": -1, "error": _NOT_ASKED, "error_type": "not_requested"}
        return nothing | why | {"url": url, "depth": 1}
    from comity.doors.sql.page_values import html_struct  # late: as above

    row = {name: stored["http_status" if name == "status" else name] for name in _COLUMNS}
    html = html_struct(stored["body"], stored["final_url"] or stored["url"])
    again = {"response_time_ms": stored["elapsed_ms"], "status_code": stored["http_status"]}
    return row | {"html": html, **again, "depth": 1}
