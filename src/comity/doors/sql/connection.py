"""A DuckDB connection that understands CRAWL statements; every other statement goes to DuckDB as it was written.

A statement's pages come as Parquet parts beside the database, and are upserted into its table while it crawls: a
statement that is killed loses nothing that came, and goes on when it is issued again.
"""

from __future__ import annotations

import csv
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import duckdb
from xxhash import xxh3_128_hexdigest

from comity.assemble import open_existing_state
from comity.clock import SystemClock
from comity.doors.python.options import Place, settings_for
from comity.doors.sql.calls import calls_of, replaced, tables_named, with_settings
from comity.doors.sql.ctrl_c import CtrlC, ctrl_c_noted
from comity.doors.sql.functions import add_functions
from comity.doors.sql.network import NetworkFunctions, is_in_transaction, is_query, names_any, page_row
from comity.extract.html_tables import read_table
from comity.model.errors import BadAddress, BadInput, ComityError
from comity.model.expression import ExpressionProblem, ExtractColumn
from comity.model.frontier import FrontierEntry, SeenPage
from comity.model.sitemap import PageHints
from comity.model.statement import (
    CrawlerSetting,
    CrawlingMerge,
    CrawlStatement,
    PlainSql,
    QualifiedName,
    Statement,
    StatementProblem,
    StopCrawl,
)
from comity.reports.state_tables import NAMES as STATE_TABLES
from comity.reports.state_tables import write_table
from comity.rules.expressions.parse import RESERVED_NAMES, describe, parse_columns
from comity.rules.sql.options import SETTINGS, SqlCrawlOptions, read_options, read_setting
from comity.rules.sql.seeds import QuerySeed, SeedKind, read_query_seed
from comity.rules.sql.statements import print_name, print_statement, quoted_name, read_script
from comity.rules.stale import RefreshTerms, revisit_rank
from comity.run.remedies import with_remedies
from comity.run.sql.options import TIMEOUT_S, crawl_settings
from comity.run.sql.statement import StatementPlan, StatementRun, StatementSummary
from comity.store.parts.duckdb_table import quoted
from comity.store.sql_table import ExtraColumn, SqlTable
from comity.walk.crawl.progress import Progress

MEMORY: Final = ":memory:"
MOST_SEEDS: Final = 10_000_000
_LOOK_EVERY_S: Final = 0.2
_STATE: Final = "comity"
_STALE: Final = RefreshTerms(timedelta(days=1), only_stale=True)
_SETTING_FIELDS: Final = {
    "crawler_user_agent": "user_agent",
    "crawler_default_delay": "delay_s",
    "crawler_timeout_ms": "timeout_s",
    "crawler_max_response_bytes": "max_response_bytes",
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
_running: Final[set[str]] = set()  # the folders of the statements that this process runs
_running_lock: Final = Lock()

OnProgress = Callable[[Progress, StatementSummary], None]


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


class SqlConnection:
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
            self._beside = Path(self._temporary.name) / "memory"
            self._identity = uuid4().hex  # its rows are gone with it
        else:
            self._beside = Path(database).with_suffix("")
            self._identity = Path(database).name if state is None else str(Path(database).resolve())
        self._state = state if state is not None else self._beside.with_name(f"{self._beside.name}.comity.db")
        self._options = options
        self._settings: dict[str, Any] = {}
        self._on_progress = on_progress
        self._use(duckdb.connect(database, read_only=read_only, config=config or {}))

    def _use(self, duck: Any) -> None:
        self._duck = duck
        self._duck_lock = Lock()  # while a statement crawls, its filter runs on another thread
        self._network = NetworkFunctions(self._pages_of, self._sitemap_of)
        self._has_functions = add_functions(self._duck, self._network)
        self._summary_row: list[Any] = []
        self._has_unread_summary = False
        self.summary: StatementSummary | None = None
        """How the last CRAWL statement ended."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # before `_duck` is there
            raise AttributeError(name)
        return getattr(self._duck, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; a state that was only for this connection is deleted."""
        self._duck.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def execute(self, query: Any, parameters: object = None) -> Self:
        """Run statements; the result is that of the last one. Parameters belong to the last one, too."""
        self._has_unread_summary = False
        if not isinstance(query, str):  # a statement that DuckDB has parsed
            self._duck.execute(query, parameters)
            return self
        statements = self._read(query)
        if len(statements) != 1 and not any(map(_is_ours, statements)):
            self._duck.execute(query, parameters)  # as it was written: DuckDB parses all of it before it runs any
            return self
        for number, statement in enumerate(statements, 1):
            self._run(statement, parameters if number == len(statements) else None)
        return self

    def sql(self, query: Any, **options: Any) -> Any:
        """Run statements; gives the relation of the last one, or None if it has none."""
        if self._has_unread_summary:  # DuckDB runs no relation beside a result that is not read
            self._has_unread_summary = False
            self._duck.fetchall()
        statements = self._read(query) if isinstance(query, str) else []
        if not any(map(_is_ours, statements)):
            return self._duck.sql(query, **options)
        for statement in statements[:-1]:
            self._run(statement, None)
        last, parameters = statements[-1], options.get("params")
        if isinstance(last, PlainSql) and not names_any(last.text):
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
        statements = self._read(query) if isinstance(query, str) else []
        if not any(map(_is_ours, statements)):
            self._duck.executemany(query, parameters)
        elif len(statements) > 1:
            raise BadInput("executemany runs one statement; the text has several")
        else:
            for each in parameters:
                self._run(statements[0], each)
        return self

    def cursor(self) -> SqlConnection:
        """Another connection to the same database, for another thread."""
        other = object.__new__(SqlConnection)
        other._temporary = None
        other._beside, other._identity, other._state = self._beside, self._identity, self._state
        other._options, other._settings, other._on_progress = self._options, dict(self._settings), self._on_progress
        other._use(self._duck.cursor())
        return other

    duplicate = cursor

    def _read(self, query: str) -> list[Statement]:
        """The statements; one that cannot be read is refused before any of them runs."""
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
                if is_reset and name in SETTINGS:
                    self._settings.pop(_SETTING_FIELDS[name], None)
                else:
                    self._settings[_SETTING_FIELDS[name]] = read_setting(name, value)
            case CrawlStatement():
                self._crawl(statement, parameters)
            case CrawlingMerge(merge):
                self._execute(merge, parameters)
            case StopCrawl(target):
                raise ComityError(
                    f"no crawl into {print_name(target)} is running on this connection; Ctrl-C stops one that is"
                )

    def _execute(self, text: str, parameters: object) -> None:
        """A statement of DuckDB's, which may call functions that request pages, also by way of a view."""
        text = self._prepared(text)
        if self._has_functions and names_any(text):
            self._network.run(self._duck, text, parameters)
            return
        self._network.was_called = False
        try:
            self._duck.execute(text, parameters)
        except duckdb.Error:
            if not self._network.was_called:
                raise
            self._network.run(self._duck, text, parameters)

    def _prepared(self, text: str) -> str:
        """A statement as DuckDB can read it, with the tables of the state that it names."""
        for name in tables_named(text, _STATE, STATE_TABLES):
            self._show_state(name)
        return replaced(with_settings(text, self._shown_settings()), "READ_HTML", self._table_of)

    def _show_state(self, name: str) -> None:
        """Bring a table of the state up to date in the database `comity`, which is in memory.

        By a cursor: a transaction of the user's may write to one database only.
        """
        with ExitStack() as opened:
            cursor = opened.enter_context(closing(self._duck.cursor()))
            if not _has_state_database(cursor):
                return
            path = Path(opened.enter_context(TemporaryDirectory(prefix="comity-sql-"))) / f"{name}.csv"
            state = opened.enter_context(open_existing_state(settings_for(self._state)))
            rows = write_table(state.database, name, path)
            types = "false" if rows else "true"  # without rows there is nothing to infer them from
            reads = f"read_csv({quoted(path)}, header = true, sample_size = -1, all_varchar = {types})"
            cursor.execute(f"CREATE OR REPLACE TABLE {_STATE}.main.{name} AS SELECT * FROM {reads}")  # noqa: S608

    def _shown_settings(self) -> dict[str, Any]:
        """Our own settings with their values, as `current_setting` shows them."""
        chosen = self._settings
        timeout_s = chosen.get("timeout_s", TIMEOUT_S)
        return {
            "crawler_user_agent": chosen.get("user_agent"),
            "crawler_default_delay": chosen.get("delay_s", SqlCrawlOptions().default_crawl_delay),
            "crawler_timeout_ms": round(timeout_s * 1000),
            "crawler_max_response_bytes": chosen.get("max_response_bytes", SqlCrawlOptions().max_response_bytes),
        }

    def _table_of(self, arguments: str) -> str:
        """A table of a page, as a temporary table whose types DuckDB infers; gives its name."""
        found = self._duck.execute(f"SELECT {arguments}").fetchall()  # the user's own arguments
        row: Sequence[Any] = found[0] if len(found) == 1 else ()
        if len(row) != 2 or not all(isinstance(value, str) for value in row):
            raise BadInput("read_html", "it takes a URL and a selector: read_html('https://example.com/', 'table')")
        url, css = row
        (page,) = self._pages_of([url])
        if page is None or page["error"] is not None or not page["body"]:
            why = page["error"] if page is not None else "it is not a URL, or it was not requested"
            raise ComityError(f"{url} could not be read: {why}")
        try:
            table = read_table(page["body"], css)
        except ValueError as problem:  # of the selector
            raise BadInput("read_html", str(problem)) from None
        if table is None or not table.names:
            raise ComityError(f"{url} has no table that {css!r} matches")
        name = f"html_table_{uuid4().hex}"
        with TemporaryDirectory(prefix="comity-sql-") as folder:
            path = Path(folder) / "table.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table.names)
                writer.writerows(table.rows)
            columns = "all_varchar = false, header = true, delim = ',', quote = '\"', escape = '\"', sample_size = -1"
            self._duck.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM read_csv({quoted(path)}, {columns})")  # noqa: S608
        return name

    def _pages_of(self, urls: Sequence[str]) -> list[dict[str, Any] | None]:
        """The pages of URLs, each with a row, crawled together."""
        if not urls:
            return []
        name = f"functions_{uuid4().hex}"
        seeds = {url: _seed_of(url) for url in urls}
        wanted = tuple(QuerySeed(SeedKind.PAGE, *seed[1:]) for seed in seeds.values() if seed is not None)
        plan = StatementPlan(
            self._settings_of_functions(name),
            name,
            wanted,
            lambda entries: [True] * len(entries),
            is_forgotten=True,
        )
        with closing(duckdb.connect(MEMORY)) as apart:
            table = SqlTable(apart, "pages")
            table.prepare()
            self._fill(plan, table)
            result = apart.execute("SELECT * FROM pages")
            names = [column[0] for column in result.description]
            found = {row[0]: page_row(dict(zip(names, row, strict=True))) for row in result.fetchall()}
        return [found.get(seed.address.url) if (seed := seeds[url]) is not None else None for url in urls]

    def _sitemap_of(self, address: str) -> list[dict[str, Any]]:
        """What a sitemap, or the sitemaps of a site, name; no page is requested."""
        found: dict[str, dict[str, Any]] = {}

        def note(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
            for entry in entries:
                if entry.depth:
                    hints = entry.hints or PageHints(None, None, None)
                    changefreq = str(hints.changefreq) if hints.changefreq is not None else None
                    row = {
                        "url": entry.url,
                        "lastmod": hints.lastmod,
                        "changefreq": changefreq,
                        "priority": hints.priority,
                    }
                    found.setdefault(entry.url, row)
            return [False] * len(entries)

        seed = _seed_of(address)
        if seed is None:
            return []
        kind = SeedKind.SITEMAP if seed.kind is SeedKind.PAGE else seed.kind
        name = f"functions_{uuid4().hex}"
        seeds = (QuerySeed(kind, *seed[1:]),)
        self._fill(StatementPlan(self._settings_of_functions(name), name, seeds, note, is_forgotten=True), None)
        return list(found.values())

    def _settings_of_functions(self, name: str) -> Any:
        return self._settings_of(CrawlStatement(name, QualifiedName((name,))), SqlCrawlOptions(), name)

    def _crawl(self, statement: CrawlStatement, parameters: object) -> None:
        """Crawl, and fill the table; the result is one row about it."""
        if is_in_transaction(self._duck):
            raise ComityError(
                "CRAWL cannot run inside a transaction, because its rows are stored while it crawls; "
                "run it before BEGIN or after COMMIT"
            )
        options = read_options(statement.options)
        columns = self._columns(statement.extract)
        extra = [ExtraColumn(column.name, str(column.type)) for column in columns]
        table = SqlTable(self._duck, quoted_name(statement.target), extra, print_name(statement.target))
        seeds, unreadable = self._seeds(statement, parameters)
        where = self._filter_of(statement.where)
        name = self._name_of(statement, seeds)
        settings = self._settings_of(statement, options, name)
        table.prepare()
        plan = StatementPlan(
            settings=settings,
            name=name,
            seeds=seeds if statement.limit != 0 else (),
            admits=self._admission(where, options, table),
            most_pages=min((most for most in (statement.limit, options.max_crawl_pages) if most), default=0),
            lists_refused=options.log_skipped,
        )
        self.summary = summary = self._fill(plan, table)
        self._summary_row = [
            summary.pages,
            summary.errors,
            len(summary.refused),
            summary.left_out,
            unreadable,
            summary.ended_by,
            summary.left,
        ]
        self._duck.execute(_SUMMARY, self._summary_row)
        self._has_unread_summary = True

    def _name_of(self, statement: CrawlStatement, seeds: Sequence[QuerySeed]) -> str:
        """What tells a statement from others of its state: its database, its words and its URLs."""
        place = self._duck.execute("SELECT current_database(), current_schema()").fetchall()
        urls = sorted(seed.address.url for seed in seeds)
        return _digest(f"{self._identity}\n{place}\n{print_statement(statement)}\n{urls}")

    def _fill(self, plan: StatementPlan, table: SqlTable | None) -> StatementSummary:
        """Run the crawl on a thread of its own, and fill the table with what comes meanwhile."""
        run = StatementRun(plan)
        with _alone(plan.settings.pages), ctrl_c_noted() as ctrl_c:
            run.start()
            try:
                self._follow(run, table, ctrl_c)
                if run.summary.refused and table is not None:
                    table.put_refused(run.summary.refused, SystemClock().seconds())
                run.end()
            finally:
                run.stop()
                summary = run.close()
            if run.is_complete or plan.is_forgotten:
                shutil.rmtree(plan.settings.pages, ignore_errors=True)
                with suppress(OSError):  # other statements have pages there
                    Path(plan.settings.pages).parent.rmdir()
        if ctrl_c.is_pressed:
            raise KeyboardInterrupt
        return summary

    def _follow(self, run: StatementRun, table: SqlTable | None, ctrl_c: CtrlC) -> None:
        """Store what comes until the run ends; Ctrl-C ends it early, a second one at once."""
        is_done = is_stopped = False
        while not is_done:
            try:
                is_done = run.wait(_LOOK_EVERY_S)
            except KeyboardInterrupt:  # by a handler of the user's
                if ctrl_c.is_pressed:
                    raise
                ctrl_c.is_pressed = True
            if ctrl_c.is_pressed and not is_stopped:
                run.stop()
                is_stopped = True
            if table is not None:
                self._load(run, table)
            if self._on_progress is not None:
                self._on_progress(run.progress, run.summary)

    def _load(self, run: StatementRun, table: SqlTable) -> None:
        for part in run.finished_parts():
            with self._duck_lock:
                found = self._duck.execute("SELECT url FROM read_parquet(?)", [str(part)]).fetchall()
            elapsed_ms = run.elapsed_ms([url for (url,) in found])
            with self._duck_lock:
                table.load(part, elapsed_ms)
            run.forget_part(part)

    def _columns(self, extract: str | None) -> tuple[ExtractColumn, ...]:
        if extract is None:
            return ()
        taken = [name for name in RESERVED_NAMES if name not in ("title", "text", "markdown", "data")]
        found = parse_columns(extract, [*taken, "elapsed_ms", "error_type"])
        if isinstance(found, ExpressionProblem):
            raise BadInput("EXTRACT", describe(extract, found))
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

    def _admitted(self, where: str, urls: Sequence[str]) -> Iterator[int]:
        try:
            found = self._duck.execute(_filtered(where), [urls, urls]).fetchall()
        except duckdb.Error as problem:
            raise BadInput("WHERE", f"the filter failed: {str(problem).splitlines()[0]}") from None
        return (place for (place,) in found)

    @with_remedies()
    def _settings_of(self, statement: CrawlStatement, options: SqlCrawlOptions, name: str) -> Any:
        connection = {**self._duckdb_settings(), **self._settings}
        named = [name for name, _value in statement.options]
        chosen = crawl_settings(options, named, connection)
        spool = self._beside.with_name(f"{self._beside.name}.comity.pages") / name
        return settings_for(self._state, pages=str(spool), extract=statement.extract or "", **chosen, **self._options)

    def _duckdb_settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in _DUCKDB_SETTINGS.items():
            with suppress(duckdb.Error):
                ((value,),) = self._duck.execute("SELECT current_setting(?)", [name]).fetchall()
                if value:
                    found[field] = value
        return found


def _is_ours(statement: Statement) -> bool:
    """Whether a statement needs anything besides DuckDB."""
    if not isinstance(statement, PlainSql):
        return True
    text = statement.text
    return bool(
        names_any(text)
        or tables_named(text, _STATE, STATE_TABLES)
        or calls_of(text, "READ_HTML")
        or calls_of(text, "CURRENT_SETTING")
    )


def _has_state_database(cursor: Any) -> bool:
    """Attach the database `comity`; False if the user has a database or a schema of that name."""
    database = cursor.execute(
        "SELECT path IS NULL FROM duckdb_databases() WHERE lower(database_name) = ?", [_STATE]
    ).fetchone()
    schema = "SELECT 1 FROM duckdb_schemas() WHERE lower(schema_name) = ? AND lower(database_name) <> ?"
    if database is not None and not database[0]:
        return False
    if cursor.execute(schema, [_STATE, _STATE]).fetchone() is not None:
        return False
    cursor.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {_STATE}")
    return True


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Refuse a statement that this process is running on another connection."""
    with _running_lock:
        if folder in _running:
            raise ComityError("the same statement is running on another connection; wait for its end")
        _running.add(folder)
    try:
        yield
    finally:
        with _running_lock:
            _running.discard(folder)


def _seed_of(text: str) -> QuerySeed | None:
    try:
        return read_query_seed(text)
    except BadAddress:
        return None


def _filtered(where: str) -> str:
    """The places of the URLs that a filter admits."""
    numbered = "SELECT unnest(?::VARCHAR[]) AS url, unnest(range(len(?::VARCHAR[]))) AS place"
    return f"SELECT place FROM ({numbered}) WHERE ({where}\n)"  # noqa: S608  # the user's own filter


def _is_stale(entry: FrontierEntry, crawled_at: float) -> bool:
    """Whether a page is visited again: by what its sitemap says, or by its age."""
    seen = SeenPage(crawled_at, is_gone=False)
    return revisit_rank(entry.hints, seen, SystemClock().now(), _STALE) is not None


def _digest(text: str) -> str:
    return str(xxh3_128_hexdigest(text.encode()))
