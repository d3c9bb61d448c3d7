"""A DuckDB connection that understands CRAWL statements; every other statement goes to DuckDB as it was written.

A statement's pages come as Parquet parts beside the database, and are upserted into its table while it crawls: a
statement that is killed loses no rows that arrived, and continues when it is issued again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, Final, Self
from uuid import uuid4

import duckdb
from xxhash import xxh3_128_hexdigest

from comity.assemble import open_existing_state
from comity.doors.python.options import Place, settings_for
from comity.doors.sql.admission import Admission
from comity.doors.sql.calls import (
    arguments_of,
    calls_of,
    extension_named,
    loads_crawler,
    replaced,
    tables_named,
    with_first_items,
    with_settings,
)
from comity.doors.sql.crawl_terms import columns_of, options_of, seeds_among
from comity.doors.sql.database_file import (
    MEMORY,
    STATE_DATABASE,
    DatabaseConnection,
    attach_state_database,
    show_state_table,
    without_database,
)
from comity.doors.sql.extension_names import COLUMNS as COLUMNS_OF_EXTENSION
from comity.doors.sql.extension_names import ExtensionNames, names_column, problem_of
from comity.doors.sql.network import (
    NetworkFunctions,
    as_calls_of_macros,
    crawl_of_query,
    create_state_table,
    is_in_transaction,
    is_query,
    names_any,
    page_row,
    with_state_tables,
)
from comity.doors.sql.older_forms import in_present_form
from comity.doors.sql.session_secrets import SessionSecrets
from comity.doors.sql.session_settings import SessionSettings
from comity.doors.sql.streamed import columns_of_table, store_stream
from comity.model.errors import BadInput, ComityError
from comity.model.run import HTML_TYPES
from comity.model.statement import (
    CrawlerSetting,
    CrawlingMerge,
    CrawlStatement,
    PlainSql,
    QualifiedName,
    Statement,
    StatementProblem,
    StopCrawl,
    StreamStatement,
)
from comity.reports.state_tables import NAMES as STATE_TABLES
from comity.reports.state_tables import write_table
from comity.rules.expressions.printing import print_columns
from comity.rules.sql.options import SqlCrawlOptions
from comity.rules.sql.secrets import read_secret_statement
from comity.rules.sql.seeds import QuerySeed
from comity.rules.sql.statements import crawl_within, print_name, print_statement, quoted_name, read_script
from comity.run.remedies import with_remedies
from comity.run.sql.filling import Filling, OnProgress, fill, stop_crawls
from comity.run.sql.function_pages import FunctionPages, PageTerms, listed_urls
from comity.run.sql.options import TEXT_TYPES, check_robots_ignored, crawl_settings
from comity.run.sql.statement import StatementPlan, StatementSummary
from comity.store.parts.duckdb_table import quoted
from comity.store.sitemap_files import SitemapFiles
from comity.store.sql_table import SqlTable

_ROWS_AT_ONCE: Final = 10_000  # of the query that names the URLs
_DONE: Final = 'SELECT true AS "Success" WHERE false'  # as DuckDB's own SET and LOAD
_RELATIONS: Final = ("table", "view", "values", "table_function", "query_df")
_NOT_A_QUERY: Final = (
    "CRAWL cannot be used here; write CRAWL (SELECT …) INTO table as a statement of its own, or SELECT … FROM crawl(…)"
)
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
        self._settings = SessionSettings()
        self._secrets = SessionSecrets()
        self._on_progress = on_progress
        super().__init__(database, read_only=read_only, config=config)

    def _adopt(self, duck: Any) -> None:
        super()._adopt(duck)
        self._duck_lock = Lock()  # while a statement crawls, its filter runs on another thread
        self._pages = FunctionPages(self._settings_of_functions)
        self._network = NetworkFunctions(self._pages_of, self._pages.sitemap)
        self._extension = ExtensionNames(lambda: listed_urls(self._sitemap_files(0)))
        self._has_functions: bool | None = None  # not added yet
        self._summary_row: list[Any] = []
        self._has_unread_summary = False
        self._loses_session = True
        self.statements_done = 0
        """How many statements of the last script ran; an error is that of the next one."""
        self.on_result: Callable[[], None] | None = None
        """Called after each statement of a script but the last, whose result can still be read then.

        Without it, the result of a script that is all DuckDB's is what DuckDB makes it: that of the last query.
        """
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

    def _has_session(self) -> bool:
        self._extension.withdraw(self._duck)
        return super()._has_session()

    def _add_functions(self) -> bool:
        """Add the functions to the connection, once: most statements call none, and they need numpy."""
        if self._has_functions is None:
            from comity.doors.sql.functions import add_functions

            self._duck.execute("SELECT 1").fetchall()  # DuckDB adds none beside a result that is not read
            self._has_functions = add_functions(self._duck, self._network)
        return self._has_functions

    def close(self) -> None:
        """Close the database; a state that was only for this connection is deleted."""
        super().close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def execute(self, query: Any, parameters: object = None) -> Self:
        """Run statements; the result is that of the last one, and of a script that is all DuckDB's, of its last query.

        Parameters belong to the last statement.
        """
        self._has_unread_summary = False
        self._open_again()
        if not isinstance(query, str):  # a statement that DuckDB has parsed
            self._may_have_macros = True
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
            self._note_done(number, len(statements))
        self._release_after(statements[-1])
        return self

    def _note_done(self, number: int, count: int) -> None:
        self.statements_done = number
        if number < count and self.on_result is not None:
            self.on_result()

    def _release_after(self, last: Statement) -> None:
        """Release the file after a crawl; its summary can still be read."""
        if isinstance(last, CrawlStatement):
            self._release(lambda: self._loses_session)
            self._duck.execute(_SUMMARY, self._summary_row)

    def _run_plain(self, script: str, parameters: object, count: int) -> None:
        """Run a script that is all DuckDB's, as it was written: it parses all of it before it runs any."""
        parsed = self._duck.extract_statements(script)
        if len(parsed) != count:  # PIVOT, for example, becomes several
            self._duck.execute(script, parameters)
            return
        answered = count if self.on_result is not None else _place_of_answer(parsed)
        for number, statement in enumerate(parsed, 1):
            own = parameters if number == count else None
            self._extension.withdraw(self._duck)
            if number == answered < count:
                self._run_together(parsed[number - 1 :], parameters)
                return
            supplied = self._supplied_in_transaction(statement.query)
            if supplied is not None:
                self._execute_prepared(supplied, own)
            else:
                try:
                    self._duck.execute(statement, own)
                except (duckdb.CatalogException, duckdb.BinderException) as problem:
                    supplied = self._supply(statement.query, problem)
                    if supplied is None:
                        raise
                    self._execute_supplied(statement.query, supplied, problem, own)
            self._note_done(number, count)

    def _run_together(self, parsed: Sequence[Any], parameters: object) -> None:
        """Run a query and the statements behind it, whose result is that of the query."""
        text, rest = parsed[0].query, [statement.query for statement in parsed[1:]]
        refusal: duckdb.Error | None = None
        while True:
            try:
                self._duck.execute("\n;".join((text, *rest)), parameters)
            except (duckdb.CatalogException, duckdb.BinderException) as problem:
                refusal = refusal or problem
                can_repeat = parsed[0].type == duckdb.StatementType.SELECT and not is_in_transaction(self._duck)
                supplied = self._supply(text, problem) if can_repeat else None
                if supplied is None:
                    was_older = in_present_form(parsed[0].query, str(refusal)) is not None
                    raise (refusal if was_older else problem) from None
                text = supplied
            else:
                return

    def sql(self, query: Any, **options: Any) -> Any:
        """Run statements; gives the relation of the last one, or None if it has none."""
        self._open_again()
        if self._has_unread_summary:  # DuckDB runs no relation beside a result that is not read
            self._has_unread_summary = False
            self._duck.fetchall()
        self._may_have_macros = self._may_have_macros or not isinstance(query, str)
        statements = self._read(query) if isinstance(query, str) else []
        self._add_functions()  # a relation is run later, and elsewhere
        self._extension.withdraw(self._duck)
        if not any(map(_is_ours, statements)):
            return self._relation(query, statements, options)
        for statement in statements[:-1]:
            self._run(statement, None)
        last, parameters = statements[-1], options.get("params")
        if isinstance(last, PlainSql):
            last = PlainSql(self._with_crawls_done(last.text))
        if isinstance(last, PlainSql) and not names_any(last.text) and read_secret_statement(last.text) is None:
            return self._relation(self._prepared(last.text), [last], options)
        if isinstance(last, PlainSql) and is_query(self._duck, self._prepared(last.text)):
            return self._stored_relation(last.text, parameters)
        self._run(last, parameters)
        if not isinstance(last, CrawlStatement):
            return None
        self._has_unread_summary = False
        self._duck.fetchall()
        return self._duck.sql(_SUMMARY, params=self._summary_row)

    query = sql

    def _relation(self, query: Any, statements: Sequence[Statement], options: dict[str, Any]) -> Any:
        """The relation of DuckDB's own statements; of one that reads columns of ours, a relation of its result."""
        supplied = self._supplied_in_transaction(query) if len(statements) == 1 else None
        if supplied is None:
            try:
                return self._duck.sql(query, **options)
            except (duckdb.CatalogException, duckdb.BinderException) as problem:
                supplied = self._supply(query, problem) if len(statements) == 1 else None
                if supplied is None:
                    raise
        if not is_query(self._duck, supplied):
            self._execute_prepared(supplied, options.get("params"))
            return None
        return self._stored_relation(supplied, options.get("params"))

    def _stored_relation(self, query: str, parameters: object) -> Any:
        """The result of a query as a relation, which may be read again, and later."""
        name = f"comity_result_{uuid4().hex}"
        self._run(PlainSql(f"CREATE TEMP TABLE {name} AS {query}"), parameters)
        return self._duck.sql(f"FROM temp.{name}")

    def executemany(self, query: Any, parameters: Sequence[object]) -> Self:
        """Run one statement with many sets of parameters."""
        self._has_unread_summary = False
        self._open_again()
        self._may_have_macros = self._may_have_macros or not isinstance(query, str)
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
        other._options, other._settings, other._on_progress = self._options, self._settings.copy(), self._on_progress
        other._secrets = self._secrets
        other._cursors = self._cursors
        other._adopt(self._duck.cursor())
        self._cursors.add(other)
        return other

    duplicate = cursor

    def _read(self, query: str) -> list[Statement]:
        """The statements; one that cannot be read is refused before any of them runs."""
        self._note_statements(query)
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
            case CrawlerSetting():
                self._settings.run(self._duck, statement)
                self._duck.execute(_DONE)
            case CrawlStatement():
                self._crawl(statement, parameters)
            case CrawlingMerge(merge, target, source):
                self._create_missing(target, source, parameters)
                self._execute(merge, parameters)
            case StreamStatement():
                store_stream(statement, self._duck, lambda text: self._execute(text, parameters))
            case StopCrawl(target):
                if not stop_crawls(str(self._place), target.parts):
                    raise ComityError(f"no crawl into {print_name(target)} is running in this process")
                self._duck.execute(_DONE)

    def _create_missing(self, target: QualifiedName | None, source: str, parameters: object) -> None:
        """Create the table that a MERGE names, with the columns of its source, if there is none."""
        if target is not None and columns_of_table(self._duck, target) is None:
            self._execute(f"CREATE TABLE {quoted_name(target)} AS SELECT * FROM ({source}\n) LIMIT 0", parameters)  # noqa: S608  # the user's own query

    def _execute(self, text: str, parameters: object) -> None:
        """A statement of DuckDB's, which may call functions that request pages, also by way of a view."""
        self._extension.withdraw(self._duck)
        if self._secrets.run(self._duck, text, parameters):
            return
        if loads_crawler(text):
            self._duck.execute(_DONE)
            return
        text = self._with_crawls_done(text)
        states: list[str] = []

        def state_table(argument: str) -> str:
            if is_in_transaction(self._duck):  # rows are noted by another cursor, which does not see it
                raise BadInput("state_table", "it cannot be used inside a transaction; end it with COMMIT or ROLLBACK")
            states.append(create_state_table(self._duck, argument))
            return states[-1]

        calls = with_state_tables(text, state_table)
        try:
            self._execute_prepared(self._prepared(calls), parameters)
            for state in states:
                with closing(self._duck.cursor()) as cursor:  # the result is not read yet
                    self._network.note_pages(cursor, state)
        except duckdb.IOException:
            if not self._has_extension(extension_named(text, is_installed=True)):
                raise
            self._duck.execute(_DONE)  # scripts install what DuckDB has built in; nothing has to be downloaded
        except duckdb.ParserException:
            if (at := crawl_of_query(text)) is None:
                raise
            raise BadInput(f"line {at.line}, column {at.column}: {_NOT_A_QUERY}") from None

    def _has_extension(self, name: str | None) -> bool:
        asked = "SELECT 1 FROM duckdb_extensions() WHERE loaded AND extension_name = ?"
        return name is not None and bool(self._duck.execute(asked, [name]).fetchall())

    def _with_crawls_done(self, text: str) -> str:
        """A statement that reads `(CRAWL (…) INTO table …)`: the crawl is done first, and then its table is read."""
        while (found := crawl_within(text)) is not None:
            if isinstance(found, StatementProblem):
                raise BadInput(str(found))
            self._crawl(found.statement, None)
            self._duck.fetchall()
            self._has_unread_summary = False
            text = f"{text[: found.start]}(FROM {quoted_name(found.statement.target)}){text[found.end :]}"
        return text

    def _execute_prepared(self, text: str, parameters: object) -> None:
        """Run a statement; if DuckDB refuses it for want of a function, a column or a table of ours, add it first."""
        self._network.was_called = False
        text = self._supplied_in_transaction(text) or text
        try:
            if names_any(text) and self._add_functions():
                self._network.run(self._duck, text, parameters)
            else:
                self._duck.execute(text, parameters)
        except (duckdb.CatalogException, duckdb.BinderException) as problem:
            supplied = self._supply(text, problem)
            if supplied is None:
                raise
            self._execute_supplied(text, supplied, problem, parameters)
        except duckdb.Error:
            if not self._network.was_called or names_any(text):
                raise
            self._network.run(self._duck, text, parameters)

    def _execute_supplied(self, text: str, supplied: str, problem: duckdb.Error, parameters: object) -> None:
        """Run what `_supply` gave; of a form that was no older one after all, the problem is what DuckDB said first."""
        try:
            self._execute_prepared(supplied, parameters)
        except (duckdb.CatalogException, duckdb.BinderException):
            if in_present_form(text, str(problem)) == supplied:
                raise problem from None
            raise

    def _supply(self, text: str, problem: duckdb.Error) -> str | None:
        """Add what a statement lacks that this connection can have; each thing once. Gives what can be run now."""
        try:
            if self._has_functions is None and isinstance(problem, duckdb.CatalogException) and self._add_functions():
                return text  # a view or a macro may call them
            return self._extension.supply(self._duck, text, problem) if self._add_functions() else None
        except duckdb.TransactionException:  # a transaction of the user's, which the problem has ended
            return None

    def _supplied_in_transaction(self, text: str) -> str | None:
        """A statement inside a transaction with what it lacks; None if that is nothing, or outside of one.

        An error would end the transaction, so that another connection tries first whether DuckDB reads the statement.
        """
        if not names_column(text) or names_any(text) or not is_in_transaction(self._duck):
            return None
        supplied: str | None = None
        with closing(self._duck.cursor()) as cursor:
            for _column in COLUMNS_OF_EXTENSION:
                problem = problem_of(cursor, supplied or text)
                found = self._supply(supplied or text, problem) if problem is not None else None
                if found is None:
                    break
                is_shown = found == (supplied or text)  # by a view of this connection, which has all columns
                supplied = found
                if is_shown:
                    break
        return supplied

    def _prepared(self, text: str) -> str:
        """A statement as DuckDB can read it, with the tables of the state that it names."""
        for name in tables_named(text, STATE_DATABASE, STATE_TABLES):
            self._show_state(name)
        if calls_of(text, "CURRENT_SETTING"):  # a transaction that failed accepts ROLLBACK and nothing else
            text = with_settings(text, self._settings.shown(self._duck))
        return as_calls_of_macros(replaced(with_first_items(text), "READ_HTML", self._table_of))

    def _show_state(self, name: str) -> None:
        """Bring a table of the state up to date in the database `comity`, which is in memory; a view shows it.

        By a cursor: a transaction of the user's may write to one database only.
        """
        with ExitStack() as opened:
            cursor = opened.enter_context(closing(self._duck.cursor()))
            if not attach_state_database(cursor):
                return
            path = Path(opened.enter_context(TemporaryDirectory(prefix="comity-sql-"))) / f"{name}.csv"
            state = opened.enter_context(open_existing_state(settings_for(self._state)))
            write_table(state.database, name, path)
            show_state_table(cursor, name, path)

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
        return terms._replace(respects_robots=self._settings.respects_robots)

    def _settings_of_functions(self, name: str, terms: PageTerms, seeds: Sequence[QuerySeed]) -> Any:
        options = SqlCrawlOptions(user_agent=terms.user_agent, timeout_seconds=terms.timeout_s)
        named = ["timeout_seconds"] if terms.timeout_s is not None else []
        if terms.delay_ms is not None:
            options = replace(options, default_crawl_delay=terms.delay_ms / 1000)
            named.append("default_crawl_delay")
        return self._settings_of(options, named, name, seeds)

    def _crawl(self, statement: CrawlStatement, parameters: object) -> None:
        """Crawl, and fill the table; the result is one row about it."""
        if is_in_transaction(self._duck):
            raise ComityError(
                "CRAWL cannot run inside a transaction, because its rows are stored while it crawls; "
                "run it before BEGIN or after COMMIT"
            )
        Thread(target=without_database, name="comity-sql-start").start()  # it is needed soon
        self._extension.withdraw(self._duck)
        options = options_of(statement)
        columns = columns_of(statement, reads_js=options.extract_js)
        table = SqlTable(self._duck, quoted_name(statement.target), columns.of_table, print_name(statement.target))
        # Nothing but a query; on its line of the script, which DuckDB's errors name.
        before = "\n" * (statement.query_place.line - 1 if statement.query_place is not None else 0)
        self._execute(f"SELECT * FROM ({before}{statement.query}\n)", parameters)  # noqa: S608
        seeds, unreadable = seeds_among(iter(lambda: self._duck.fetchmany(_ROWS_AT_ONCE), []))
        where = self._prepared(statement.where) if statement.where is not None else None
        at = statement.where_place
        admission = Admission(self._duck, self._duck_lock, table, where, at, update_stale=options.update_stale)
        name = self._name_of(statement, seeds)
        named = [option for option, _value in statement.options]
        settings = self._settings_of(options, named, name, seeds, print_columns(columns.of_parts))
        ignores_robots = not (options.respect_robots_txt and self._settings.respects_robots)
        if ignores_robots:
            check_robots_ignored("respect_robots_txt", seeds, settings.allow_networks)
        table.prepare()
        plan = StatementPlan(
            settings=settings,
            name=name,
            seeds=seeds if statement.limit != 0 else (),
            admits=admission.admits,
            database=str(self._place),
            target=statement.target.parts,
            validators=admission.validators if options.update_stale else None,
            batch_size=options.batch_size,
            kept_sitemaps=self._kept_sitemaps(options, named),
            ignores_own_robots=ignores_robots,
            most_pages=min((most for most in (statement.limit, options.max_crawl_pages) if most), default=0),
            lists_refused=options.log_skipped,
        )
        try:
            filling = Filling(table, self._duck_lock, self._on_progress, self._prepare_release)
            self.summary = summary = fill(plan, filling)
        finally:  # otherwise the file cannot be closed before the garbage is collected, which takes long after a crawl
            table.detach()
            admission.detach()
        counted = [summary.pages, summary.errors, summary.refused, summary.left_out, unreadable]
        self._summary_row = [*counted, summary.ended_by, summary.left]
        self._duck.execute(_SUMMARY, self._summary_row)
        self._has_unread_summary = True
        self.is_in_vain = self.is_in_vain or summary.brought_nothing
        for warning in summary.warnings():
            warnings.warn(warning, stacklevel=4)

    def _prepare_release(self) -> None:
        """Find out whether the file can be closed after the crawl, which changes nothing of the session."""
        if self._file is not None:
            self._loses_session = self._would_lose_session()
            without_database()

    def _kept_sitemaps(self, options: SqlCrawlOptions, named: Sequence[str]) -> SitemapFiles | None:
        """Sitemaps that earlier statements read. Where they decide what is stale, only if the statement says so."""
        if options.update_stale and "sitemap_cache_hours" not in named:
            return None
        return self._sitemap_files(options.sitemap_cache_hours * 3600)

    def _sitemap_files(self, fresh_s: float) -> SitemapFiles:
        return SitemapFiles(self._beside.with_name(f"{self._beside.name}.comity.sitemaps"), fresh_s)

    def _name_of(self, statement: CrawlStatement, seeds: Sequence[QuerySeed]) -> str:
        """What tells a statement from others of its state: its database, its words and its URLs."""
        place = self._duck.execute("SELECT current_database(), current_schema()").fetchall()
        urls = sorted(seed.address.url for seed in seeds)
        return _digest(f"{self._identity}\n{place}\n{print_statement(statement)}\n{urls}")

    @with_remedies()
    def _settings_of(
        self,
        options: SqlCrawlOptions,
        named: Sequence[str],
        name: str,
        seeds: Sequence[QuerySeed],
        extract: str = "",
    ) -> Any:
        chosen = crawl_settings(options, named, self._settings.of_crawls(self._duck))
        spool = self._beside.with_name(f"{self._beside.name}.comity.pages") / name
        headers = self._secrets.headers_for(self._duck, seeds)
        most_bytes = chosen.pop("max_response_bytes")  # may be less than a crawl needs for whole pages
        settings = settings_for(
            self._state, pages=str(spool), extract=extract, headers=headers, **chosen, **self._options
        )
        # The table reads each part at once, and DuckDB inflates gzip slowly (decision 6).
        own: dict[str, Any] = {"max_response_bytes": most_bytes, "pages_compression": "zstd"}
        if not options.accept_content_types and settings.accept_types == HTML_TYPES.accept:
            own["accept_types"] = TEXT_TYPES
        return settings.model_copy(update=own)


def _place_of_answer(parsed: Sequence[Any]) -> int:
    """The number of the statement whose result a script has: its last query, whatever follows; or its last one."""
    queries = (
        number
        for number, statement in enumerate(parsed, 1)
        if statement.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]
    )
    return max(queries, default=len(parsed))


def _is_ours(statement: Statement) -> bool:
    """Whether a statement needs anything besides DuckDB."""
    if not isinstance(statement, PlainSql):
        return True
    text = statement.text
    return bool(
        names_any(text)
        or extension_named(text) is not None
        or tables_named(text, STATE_DATABASE, STATE_TABLES)
        or calls_of(text, "READ_HTML")
        or calls_of(text, "CURRENT_SETTING")
        or read_secret_statement(text) is not None
        or with_first_items(text) != text
    )


def _digest(text: str) -> str:
    return str(xxh3_128_hexdigest(text.encode()))
