"""A DuckDB connection that understands CRAWL statements; every other statement goes to DuckDB as it was written.

A statement's pages come as Parquet parts beside the database, and are upserted into its table while it crawls: a
statement that is killed loses nothing that came, and goes on when it is issued again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final, Self
from uuid import uuid4

import duckdb
from xxhash import xxh3_128_hexdigest

from comity.assemble import open_existing_state
from comity.clock import SystemClock
from comity.doors.python.options import Place, settings_for
from comity.doors.sql.calls import arguments_of, calls_of, loads_crawler, replaced, tables_named, with_settings
from comity.doors.sql.database_file import (
    MEMORY,
    STATE_DATABASE,
    DatabaseConnection,
    attach_state_database,
)
from comity.doors.sql.functions import add_functions
from comity.doors.sql.network import (
    NetworkFunctions,
    as_calls_of_macros,
    is_in_transaction,
    is_query,
    names_any,
    page_row,
)
from comity.model.errors import BadAddress, BadInput, ComityError
from comity.model.expression import Coalesce, DataPath, Expression, ExpressionProblem, ExtractColumn, PathRoot
from comity.model.frontier import FrontierEntry, SeenPage
from comity.model.statement import (
    CrawlerSetting,
    CrawlingMerge,
    CrawlStatement,
    PlainSql,
    Statement,
    StatementProblem,
    StopCrawl,
)
from comity.reports.state_tables import NAMES as STATE_TABLES
from comity.reports.state_tables import write_table
from comity.rules.expressions.parse import describe, parse_columns
from comity.rules.expressions.printing import print_columns
from comity.rules.sql.options import DUCKDB_SETTINGS, SETTINGS, SqlCrawlOptions, read_options, read_setting
from comity.rules.sql.secrets import (
    KeptSecret,
    SecretStatement,
    check_scope,
    has_parameters,
    read_secret_statement,
    secret_for,
    secret_headers,
)
from comity.rules.sql.seeds import QuerySeed, read_query_seed
from comity.rules.sql.statements import print_name, print_statement, quoted_name, read_script
from comity.rules.stale import RefreshTerms, revisit_rank
from comity.run.remedies import with_remedies
from comity.run.sql.filling import Filling, OnProgress, fill, stop_crawls
from comity.run.sql.function_pages import FunctionPages, PageTerms
from comity.run.sql.options import TIMEOUT_S, check_robots_ignored, crawl_settings
from comity.run.sql.statement import StatementPlan, StatementSummary
from comity.run.sql.table import COLUMNS, StatementTable
from comity.store.parts.duckdb_table import quoted
from comity.store.sitemap_files import SitemapFiles
from comity.store.sql_table import SqlTable

MOST_SEEDS: Final = 10_000_000
_SECRET_VALUES: Final = ("bearer_token", "extra_http_headers")
_RELATIONS: Final = ("table", "view", "values", "table_function", "query_df")
_STALE: Final = RefreshTerms(timedelta(days=1), only_stale=True)
_SETTING_FIELDS: Final = {
    "crawler_user_agent": "user_agent",
    "crawler_default_delay": "delay_s",
    "crawler_timeout_ms": "timeout_s",
    "crawler_max_response_bytes": "max_response_bytes",
    "crawler_respect_robots": "respect_robots",
    "http_timeout": "http_timeout_s",
    "http_keep_alive": "keep_alive",
}
_DUCKDB_SETTINGS: Final = {
    "http_proxy": "proxy",
    "http_proxy_username": "proxy_user",
    "http_proxy_password": "proxy_password",
}

_SUMMARY: Final = (
    "SELECT ?::BIGINT AS pages, ?::BIGINT AS errors, ?::BIGINT AS refused, ?::BIGINT AS left_out, "
    "?::BIGINT AS not_addresses, ?::VARCHAR AS ended_by, ?::BIGINT AS hosts_left"
)


def connect(
    database: Place = MEMORY,
    *,
    state: Place | None = None,
    read_only: bool = False,
    config: dict[str, Any] | None = None,
    allow_networks: Iterable[str] | None = None,
    contact: str | None = None,
    on_progress: OnProgress | None = None,
) -> SqlConnection:
    """Open a database file, or one in memory. The state of its crawls is beside it, unless `state` names another."""
    options = {"allow_networks": tuple(allow_networks) if allow_networks is not None else None, "contact": contact}
    chosen = {name: value for name, value in options.items() if value is not None}
    return SqlConnection(str(database), state, chosen, read_only=read_only, config=config, on_progress=on_progress)


class SqlConnection(DatabaseConnection):
    """Made by `connect`. What it does not have itself, DuckDB's connection has: `fetchall`, `df`, `arrow`, …"""

    def __init__(
        self,
        database: str,
        state: Place | None,
        options: dict[str, Any],
        *,
        read_only: bool = False,
        config: dict[str, Any] | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._temporary: TemporaryDirectory[str] | None = None
        if not database or database.startswith(MEMORY):
            self._temporary = TemporaryDirectory(prefix="comity-sql-")
            self._beside = self._place = Path(self._temporary.name) / "memory"
            self._identity = uuid4().hex  # its rows are gone with it
        else:
            self._beside = Path(database).with_suffix("")
            self._place = Path(database).resolve()  # the same for all who opened the file, by whatever path
            self._identity = Path(database).name if state is None else str(self._place)
        self._state = state if state is not None else self._beside.with_name(f"{self._beside.name}.comity.db")
        self._options = options
        self._settings: dict[str, Any] = {}
        self._secrets: dict[str, KeptSecret] = {}  # of this database, by name; in memory only
        self._on_progress = on_progress
        super().__init__(database, read_only=read_only, config=config)

    def _adopt(self, duck: Any) -> None:
        super()._adopt(duck)
        self._duck_lock = Lock()  # while a statement crawls, its filter runs on another thread
        self._pages = FunctionPages(self._settings_of_functions)
        self._network = NetworkFunctions(self._pages_of, self._pages.sitemap)
        self._has_functions: bool | None = None  # not added yet
        self._summary_row: list[Any] = []
        self._has_unread_summary = False
        self.statements_done = 0
        """How many statements of the last script ran; an error is that of the next one."""
        self.summary: StatementSummary | None = None
        """How the last CRAWL statement ended."""
        self.is_in_vain = False
        """Whether a CRAWL statement of this connection wanted pages and got none."""

    def __getattr__(self, name: str) -> Any:
        if name in _RELATIONS or name.startswith(("read_", "from_")):
            self._open_again()
            self._add_functions()  # a relation may call them later
        return super().__getattr__(name)

    def _open_again(self) -> bool:
        is_new = super()._open_again()
        if is_new:
            self._has_functions, self._has_unread_summary = None, False
        return is_new

    def _add_functions(self) -> bool:
        """Add the functions to the connection, once: most statements call none, and they need numpy."""
        if self._has_functions is None:
            self._duck.execute("SELECT 1").fetchall()  # DuckDB adds none beside a result that is not read
            self._has_functions = add_functions(self._duck, self._network)
        return self._has_functions

    def close(self) -> None:
        """Close the database; a state that was only for this connection is deleted."""
        super().close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def execute(self, query: Any, parameters: object = None) -> Self:
        """Run statements; the result is that of the last one. Parameters belong to the last one, too."""
        self._has_unread_summary = False
        self._open_again()
        if not isinstance(query, str):  # a statement that DuckDB has parsed
            self._add_functions()
            self._duck.execute(query, parameters)
            return self
        statements = self._read(query)
        self.statements_done = 0
        if len(statements) == 1 and isinstance(statements[0], PlainSql):
            self._execute(query, parameters)  # with its semicolon and blanks: DuckDB's errors name lines
            return self
        if not any(map(_is_ours, statements)):
            self._add_functions()
            self._run_plain(query, parameters, len(statements))
            return self
        for number, statement in enumerate(statements, 1):
            self._run(statement, parameters if number == len(statements) else None)
            self.statements_done = number
        self._release_after(statements[-1])
        return self

    def _release_after(self, last: Statement) -> None:
        """Release the file after a crawl; its summary can still be read."""
        if isinstance(last, CrawlStatement):
            self.release()
            self._duck.execute(_SUMMARY, self._summary_row)

    def _run_plain(self, script: str, parameters: object, count: int) -> None:
        """Run a script that is all DuckDB's, as it was written: it parses all of it before it runs any."""
        parsed = self._duck.extract_statements(script)
        if len(parsed) != count:  # PIVOT, for example, becomes several
            self._duck.execute(script, parameters)
            return
        for number, statement in enumerate(parsed, 1):
            self._duck.execute(statement, parameters if number == count else None)
            self.statements_done = number

    def sql(self, query: Any, **options: Any) -> Any:
        """Run statements; gives the relation of the last one, or None if it has none."""
        self._open_again()
        if self._has_unread_summary:  # DuckDB runs no relation beside a result that is not read
            self._has_unread_summary = False
            self._duck.fetchall()
        statements = self._read(query) if isinstance(query, str) else []
        self._add_functions()  # a relation is run later, and elsewhere
        if not any(map(_is_ours, statements)):
            return self._duck.sql(query, **options)
        for statement in statements[:-1]:
            self._run(statement, None)
        last, parameters = statements[-1], options.get("params")
        if isinstance(last, PlainSql) and not names_any(last.text) and read_secret_statement(last.text) is None:
            return self._duck.sql(self._prepared(last.text), **options)
        if isinstance(last, PlainSql) and is_query(self._duck, last.text):
            name = f"comity_result_{uuid4().hex}"  # a relation may be read again, and later
            self._run(PlainSql(f"CREATE TEMP TABLE {name} AS {last.text}"), parameters)
            return self._duck.sql(f"FROM temp.{name}")
        self._run(last, parameters)
        if not isinstance(last, CrawlStatement):
            return None
        self._has_unread_summary = False
        self._duck.fetchall()
        return self._duck.sql(_SUMMARY, params=self._summary_row)

    query = sql

    def executemany(self, query: Any, parameters: Sequence[object]) -> Self:
        """Run one statement with many sets of parameters."""
        self._has_unread_summary = False
        self._open_again()
        statements = self._read(query) if isinstance(query, str) else []
        if not any(map(_is_ours, statements)):
            self._add_functions()
            self._duck.executemany(query, parameters)
        elif len(statements) > 1:
            raise BadInput("executemany runs one statement; the text has several")
        else:
            for each in parameters:
                self._run(statements[0], each)
            if self._summary_row:
                self._release_after(statements[0])
        return self

    def cursor(self) -> SqlConnection:
        """Another connection to the same database, for another thread."""
        self._open_again()
        other = object.__new__(SqlConnection)
        other._temporary = other._file = None
        other._beside, other._identity, other._state = self._beside, self._identity, self._state
        other._place = self._place
        other._options, other._settings, other._on_progress = self._options, dict(self._settings), self._on_progress
        other._secrets = self._secrets
        other._cursors = self._cursors
        other._adopt(self._duck.cursor())
        self._cursors.add(other)
        return other

    duplicate = cursor

    def _read(self, query: str) -> list[Statement]:
        """The statements; one that cannot be read is refused before any of them runs."""
        self._note_seed(query)
        found: list[Statement] = []
        for statement in read_script(query):
            if isinstance(statement, StatementProblem):
                raise BadInput(str(statement))
            found.append(statement)
        return found

    def _run(self, statement: Statement, parameters: object) -> None:
        match statement:
            case PlainSql(text):
                self._execute(text, parameters)
            case CrawlerSetting(name, value, is_reset):
                if name in DUCKDB_SETTINGS and self._duckdb_knows(name):
                    self._duck.execute(print_statement(statement))
                elif is_reset and name in SETTINGS:
                    self._settings.pop(_SETTING_FIELDS[name], None)
                else:
                    self._settings[_SETTING_FIELDS[name]] = read_setting(name, value)
            case CrawlStatement():
                self._crawl(statement, parameters)
            case CrawlingMerge(merge):
                self._execute(merge, parameters)
            case StopCrawl(target):
                if not stop_crawls(str(self._place), target.parts):
                    raise ComityError(f"no crawl into {print_name(target)} is running in this process")

    def _execute(self, text: str, parameters: object) -> None:
        """A statement of DuckDB's, which may call functions that request pages, also by way of a view."""
        secret = read_secret_statement(text)
        if secret is not None:
            is_there = secret.keeps_existing and secret.name in self._described_secrets()
            self._duck.execute(text, parameters)  # DuckDB checks and stores it
            if secret.values is None:
                self._secrets.pop(secret.name, None)
            elif not is_there:
                self._keep_secret(secret, secret.values, parameters)
            return
        if loads_crawler(text):
            self._duck.execute("SELECT NULL WHERE false")  # nothing to do
            return
        text = self._prepared(text)
        if names_any(text) and self._add_functions():
            self._network.run(self._duck, text, parameters)
            return
        self._network.was_called = False
        try:
            self._duck.execute(text, parameters)
        except duckdb.CatalogException:  # of a function that is not added yet, by a view or a macro as well
            if self._has_functions is not None or not self._add_functions():
                raise
            self._execute(text, parameters)
        except duckdb.Error:
            if not self._network.was_called:
                raise
            self._network.run(self._duck, text, parameters)

    def _prepared(self, text: str) -> str:
        """A statement as DuckDB can read it, with the tables of the state that it names."""
        for name in tables_named(text, STATE_DATABASE, STATE_TABLES):
            self._show_state(name)
        if calls_of(text, "CURRENT_SETTING"):  # a transaction that failed accepts ROLLBACK and nothing else
            text = with_settings(text, self._shown_settings())
        return as_calls_of_macros(replaced(text, "READ_HTML", self._table_of))

    def _show_state(self, name: str) -> None:
        """Bring a table of the state up to date in the database `comity`, which is in memory.

        By a cursor: a transaction of the user's may write to one database only.
        """
        with ExitStack() as opened:
            cursor = opened.enter_context(closing(self._duck.cursor()))
            if not attach_state_database(cursor):
                return
            path = Path(opened.enter_context(TemporaryDirectory(prefix="comity-sql-"))) / f"{name}.csv"
            state = opened.enter_context(open_existing_state(settings_for(self._state)))
            rows = write_table(state.database, name, path)
            types = "false" if rows else "true"  # without rows there is nothing to infer them from
            reads = f"read_csv({quoted(path)}, header = true, sample_size = -1, all_varchar = {types})"
            cursor.execute(f"CREATE OR REPLACE TABLE {STATE_DATABASE}.main.{name} AS SELECT * FROM {reads}")  # noqa: S608

    def _shown_settings(self) -> dict[str, Any]:
        """Our own settings with their values, as `current_setting` shows them."""
        chosen = self._settings
        timeout_s = chosen.get("timeout_s", TIMEOUT_S)
        return {
            "crawler_user_agent": chosen.get("user_agent"),
            "crawler_default_delay": chosen.get("delay_s", SqlCrawlOptions().default_crawl_delay),
            "crawler_timeout_ms": round(timeout_s * 1000),
            "crawler_max_response_bytes": chosen.get("max_response_bytes", SqlCrawlOptions().max_response_bytes),
            "crawler_respect_robots": chosen.get("respect_robots", True),
            **(
                {}
                if self._duckdb_knows("http_timeout")
                else {"http_timeout": round(chosen.get("http_timeout_s", TIMEOUT_S))}
            ),
            **({} if self._duckdb_knows("http_keep_alive") else {"http_keep_alive": chosen.get("keep_alive", True)}),
        }

    def _table_of(self, arguments: str) -> str:
        """A table of a page, as a temporary table whose types DuckDB infers; gives its name."""
        by_position, by_name = arguments_of(arguments)
        named = {"timeout": "NULL", "user_agent": "NULL"} | by_name
        wanted = ", ".join((*by_position, f"({named['timeout']})::DOUBLE", f"({named['user_agent']})::VARCHAR"))
        found = self._duck.execute(f"SELECT {wanted}").fetchall()  # the user's own arguments
        *row, timeout_s, user_agent = found[0] if len(found) == 1 else (None, None)
        url, css, number = (*row, 1)[:3] if len(row) in (2, 3) and len(named) == 2 else (None, None, 1)
        if not isinstance(url, str) or not isinstance(css, str) or not isinstance(number, int) or number < 1:
            raise BadInput(
                "read_html",
                "it takes a URL, a selector and optionally the number of the table among those that match, from 1: "
                "read_html('https://example.com/', 'table'); by name, timeout in seconds and user_agent",
            )
        name = f"html_table_{uuid4().hex}"
        terms = self._with_robots(PageTerms(timeout_s, user_agent))
        with self._pages.html_table(url, css, number - 1, terms) as path:
            columns = "all_varchar = false, header = true, delim = ',', quote = '\"', escape = '\"', sample_size = -1"
            self._duck.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM read_csv({quoted(path)}, {columns})")  # noqa: S608
        return name

    def _pages_of(self, urls: Sequence[str], terms: PageTerms) -> list[dict[str, Any]]:
        rows = self._pages.rows(urls, self._with_robots(terms))
        return [page_row(url, row) for url, row in zip(urls, rows, strict=True)]

    def _with_robots(self, terms: PageTerms) -> PageTerms:
        """What `SET crawler_respect_robots` says holds where the call does not say otherwise."""
        if terms.respects_robots is not None:
            return terms
        return terms._replace(respects_robots=self._settings.get("respect_robots", True))

    def _settings_of_functions(self, name: str, terms: PageTerms, seeds: Sequence[QuerySeed]) -> Any:
        options = SqlCrawlOptions(user_agent=terms.user_agent, timeout_seconds=terms.timeout_s)
        named = ["timeout_seconds"] if terms.timeout_s is not None else []
        if terms.delay_ms is not None:
            options = replace(options, default_crawl_delay=terms.delay_ms / 1000)
            named.append("default_crawl_delay")
        return self._settings_of(options, named, name, seeds)

    def _keep_secret(self, secret: SecretStatement, values: Mapping[str, str], parameters: object) -> None:
        """Remember the values of a secret, which DuckDB does not show; they stay in memory."""
        # All that have parameters: those of the statement are passed on as they are.
        asked = {key: said for key, said in values.items() if key in _SECRET_VALUES or has_parameters(said)}
        kept: dict[str, Any] = {}
        if asked:
            with closing(self._duck.cursor()) as cursor:
                (row,) = cursor.execute(f"SELECT {', '.join(asked.values())}", parameters).fetchall()
            kept = {key: value for key, value in zip(asked, row, strict=True) if key in _SECRET_VALUES}
        self._secrets[secret.name] = KeptSecret(kept, self._described_secrets().get(secret.name, ("", ()))[0])

    def _described_secrets(self) -> dict[str, tuple[str, Sequence[str]]]:
        """How DuckDB describes the HTTP secrets that it has, and their scopes, by their names."""
        asked = "SELECT lower(name), secret_string, scope FROM duckdb_secrets() WHERE type = 'http'"
        return {name: (described, scopes) for name, described, scopes in self._duck.execute(asked).fetchall()}

    def _headers_for(self, seeds: Sequence[QuerySeed]) -> tuple[str, ...]:
        """Headers of secrets for the origins of the query: no other host gets any of them, whatever leads there."""
        described = self._described_secrets()
        scopes = {name: listed for name, (_description, listed) in described.items()}
        for name, listed in scopes.items():
            check_scope(name, [scope for scope in listed if any(seed.address.url.startswith(scope) for seed in seeds)])
        found: list[str] = []
        for origin in dict.fromkeys(seed.address.origin for seed in seeds) if scopes else ():
            chosen = secret_for(origin, scopes)
            if chosen is None:
                continue
            kept = self._secrets.get(chosen)
            # A rollback, for example, brings back a secret with another scope.
            if kept is None or kept.description != described[chosen][0]:
                raise BadInput(f"the secret {chosen}", "its values are not known here; create it again in this session")
            found += [f"{origin}: {key}: {value}" for key, value in secret_headers(chosen, kept.values)]
        return tuple(found)

    def _crawl(self, statement: CrawlStatement, parameters: object) -> None:
        """Crawl, and fill the table; the result is one row about it."""
        if is_in_transaction(self._duck):
            raise ComityError(
                "CRAWL cannot run inside a transaction, because its rows are stored while it crawls; "
                "run it before BEGIN or after COMMIT"
            )
        options = read_options(statement.options)
        columns = self._columns(statement.extract, reads_js=options.extract_js)
        table = StatementTable(self._duck, quoted_name(statement.target), columns, print_name(statement.target))
        seeds, unreadable = self._seeds(statement, parameters)
        where = self._filter_of(statement.where)
        name = self._name_of(statement, seeds)
        named = [option for option, _value in statement.options]
        settings = self._settings_of(options, named, name, seeds, print_columns(table.columns_of_parts))
        ignores_robots = not (options.respect_robots_txt and self._settings.get("respect_robots", True))
        if ignores_robots:
            check_robots_ignored("respect_robots_txt", seeds, settings.allow_networks)
        table.prepare()
        plan = StatementPlan(
            settings=settings,
            name=name,
            seeds=seeds if statement.limit != 0 else (),
            admits=self._admission(where, options, table),
            database=str(self._place),
            target=statement.target.parts,
            validators=self._validators(table) if options.update_stale else None,
            batch_size=options.batch_size,
            kept_sitemaps=self._kept_sitemaps(options, named),
            ignores_own_robots=ignores_robots,
            most_pages=min((most for most in (statement.limit, options.max_crawl_pages) if most), default=0),
            lists_refused=options.log_skipped,
        )
        self.summary = summary = fill(plan, Filling(table, self._duck_lock, self._on_progress))
        self._summary_row = [
            summary.pages,
            summary.errors,
            summary.refused,
            summary.left_out,
            unreadable,
            summary.ended_by,
            summary.left,
        ]
        self._duck.execute(_SUMMARY, self._summary_row)
        self._has_unread_summary = True
        self.is_in_vain = self.is_in_vain or summary.brought_nothing
        for warning in summary.warnings():
            warnings.warn(warning, stacklevel=4)

    def _kept_sitemaps(self, options: SqlCrawlOptions, named: Sequence[str]) -> SitemapFiles | None:
        """Sitemaps that earlier statements read. Where they decide what is stale, only if the statement says so."""
        if options.update_stale and "sitemap_cache_hours" not in named:
            return None
        folder = self._beside.with_name(f"{self._beside.name}.comity.sitemaps")
        return SitemapFiles(folder, options.sitemap_cache_hours * 3600)

    def _name_of(self, statement: CrawlStatement, seeds: Sequence[QuerySeed]) -> str:
        """What tells a statement from others of its state: its database, its words and its URLs."""
        place = self._duck.execute("SELECT current_database(), current_schema()").fetchall()
        urls = sorted(seed.address.url for seed in seeds)
        return _digest(f"{self._identity}\n{place}\n{print_statement(statement)}\n{urls}")

    def _columns(self, extract: str | None, *, reads_js: bool) -> tuple[ExtractColumn, ...]:
        if extract is None:
            return ()
        found = parse_columns(extract, COLUMNS)
        if isinstance(found, ExpressionProblem):
            raise BadInput("EXTRACT", describe(extract, found))
        if not reads_js and (column := next(filter(_reads_scripts, found), None)) is not None:
            raise BadInput("EXTRACT", f"the column {column.name} reads js.…, but extract_js is false")
        return found

    def _seeds(self, statement: CrawlStatement, parameters: object) -> tuple[tuple[QuerySeed, ...], int]:
        """What the query names, each once; and how many of its rows are not URLs."""
        self._execute(f"SELECT * FROM ({statement.query}\n)", parameters)  # noqa: S608  # a query, and nothing else
        found: dict[str, QuerySeed] = {}
        unreadable = 0
        shown: list[str] = []
        while rows := self._duck.fetchmany(10_000):
            for row in rows:
                if row[0] is None:
                    continue
                try:
                    seed = read_query_seed(str(row[0]))
                except BadAddress:
                    unreadable += 1
                    shown += [str(row[0])[:60]] if unreadable <= 3 else []
                    continue
                found.setdefault(f"{seed.kind}{seed.address.url}", seed)
            if len(found) > MOST_SEEDS:
                raise BadInput(f"the query names more than {MOST_SEEDS:,} URLs")
        if unreadable and not found:
            raise BadInput("CRAWL", f"the query has only invalid URL/hostname values: {', '.join(map(repr, shown))}")
        if unreadable:
            are_not = "value of the query is not a URL" if unreadable == 1 else "values of the query are not URLs"
            warnings.warn(f"{unreadable:,} {are_not}: {', '.join(shown)}", stacklevel=5)
        return tuple(found.values()), unreadable

    def _filter_of(self, where: str | None) -> str | None:
        """A filter as DuckDB can read it; one that it cannot is refused before anything is requested."""
        if where is None:
            return None
        where = self._prepared(where)
        try:
            self._duck.execute(_filtered(where), [[], []])
        except duckdb.Error as problem:
            raise BadInput("WHERE", f"{str(problem).splitlines()[0]}; a filter may name the column url") from None
        return where

    def _admission(
        self, where: str | None, options: SqlCrawlOptions, table: SqlTable
    ) -> Callable[[Sequence[FrontierEntry]], Sequence[bool]]:
        """Which URLs are visited: those that the filter admits, and that the table lacks or has an old row of.

        The filter runs on the user's own connection, which alone has its temporary tables, macros and search path.
        """

        def admits(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
            if where is None and not table.had_pages:
                return [True] * len(entries)
            urls = [entry.url for entry in entries]
            wanted = set(range(len(urls)))
            with self._duck_lock:
                if where is not None:
                    wanted = set(self._admitted(where, urls))
                known = table.known([urls[place] for place in wanted]) if wanted else {}
            return [
                place in wanted
                and (urls[place] not in known or (options.update_stale and _is_stale(entry, known[urls[place]])))
                for place, entry in enumerate(entries)
            ]

        return admits

    def _validators(self, table: SqlTable) -> Callable[[Sequence[str]], dict[str, tuple[str | None, str | None]]]:
        def validators(urls: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
            with self._duck_lock:
                return table.validators(urls)

        return validators

    def _admitted(self, where: str, urls: Sequence[str]) -> Iterator[int]:
        try:
            found = self._duck.execute(_filtered(where), [urls, urls]).fetchall()
        except duckdb.Error as problem:
            raise BadInput("WHERE", f"the filter failed: {str(problem).splitlines()[0]}") from None
        return (place for (place,) in found)

    @with_remedies()
    def _settings_of(
        self,
        options: SqlCrawlOptions,
        named: Sequence[str],
        name: str,
        seeds: Sequence[QuerySeed],
        extract: str = "",
    ) -> Any:
        chosen = crawl_settings(options, named, {**self._duckdb_settings(), **self._settings})
        spool = self._beside.with_name(f"{self._beside.name}.comity.pages") / name
        headers = self._headers_for(seeds)
        most_bytes = chosen.pop("max_response_bytes")  # may be less than a crawl needs for whole pages
        settings = settings_for(
            self._state, pages=str(spool), extract=extract, headers=headers, **chosen, **self._options
        )
        return settings.model_copy(update={"max_response_bytes": most_bytes})

    def _duckdb_settings(self) -> dict[str, Any]:
        """What DuckDB's own settings say about crawls; `threads` counts once it is not DuckDB's default."""
        found: dict[str, Any] = {}
        for name, field in _DUCKDB_SETTINGS.items():
            with suppress(duckdb.Error):
                ((value,),) = self._duck.execute("SELECT current_setting(?)", [name]).fetchall()
                if value:
                    found[field] = value if field != "proxy" or "://" in value else f"http://{value}"
        for name in DUCKDB_SETTINGS:
            if self._duckdb_knows(name):
                ((value,),) = self._duck.execute("SELECT current_setting(?)", [name]).fetchall()
                found[_SETTING_FIELDS[name]] = value
        ((threads,),) = self._duck.execute("SELECT current_setting('threads')").fetchall()
        if threads != _default_threads():
            found["threads"] = threads
        return found

    def _duckdb_knows(self, name: str) -> bool:
        return bool(self._duck.execute("SELECT 1 FROM duckdb_settings() WHERE name = ?", [name]).fetchall())


@cache
def _default_threads() -> int:
    with closing(duckdb.connect(MEMORY)) as apart:
        ((threads,),) = apart.execute("SELECT current_setting('threads')").fetchall()
    return int(threads)


def _is_ours(statement: Statement) -> bool:
    """Whether a statement needs anything besides DuckDB."""
    if not isinstance(statement, PlainSql):
        return True
    text = statement.text
    return bool(
        names_any(text)
        or loads_crawler(text)
        or tables_named(text, STATE_DATABASE, STATE_TABLES)
        or calls_of(text, "READ_HTML")
        or calls_of(text, "CURRENT_SETTING")
        or read_secret_statement(text) is not None
    )


def _filtered(where: str) -> str:
    """The places of the URLs that a filter admits."""
    numbered = "SELECT unnest(?::VARCHAR[]) AS url, unnest(range(len(?::VARCHAR[]))) AS place"
    return f"SELECT place FROM ({numbered}) WHERE ({where}\n)"  # noqa: S608  # the user's own filter


def _is_stale(entry: FrontierEntry, crawled_at: float) -> bool:
    """Whether a page is visited again: by what its sitemap says, or by its age."""
    seen = SeenPage(crawled_at, is_gone=False)
    return revisit_rank(entry.hints, seen, SystemClock().now(), _STALE) is not None


def _reads_scripts(column: ExtractColumn) -> bool:
    """Whether a column is read from a variable of a script."""

    def reads(expression: Expression) -> bool:
        source = expression.source
        if isinstance(source, Coalesce):
            return any(map(reads, source.options))
        return isinstance(source, DataPath) and source.root is PathRoot.JAVASCRIPT

    return reads(column.expression)


def _digest(text: str) -> str:
    return str(xxh3_128_hexdigest(text.encode()))
