"""A DuckDB connection that understands CRAWL statements; every other statement goes to DuckDB as it was written.

A statement's pages come as Parquet parts beside the database, and are upserted into its table while it crawls: a
statement that is killed loses nothing that came, and goes on when it is issued again.
"""

from __future__ import annotations

import csv
import re
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import duckdb
from xxhash import xxh3_128_hexdigest

from comity.assemble import open_existing_state
from comity.clock import SystemClock
from comity.doors.python.options import Place, settings_for
from comity.doors.sql.calls import replaced, tables_named, with_settings
from comity.doors.sql.functions import add_functions
from comity.doors.sql.network import NetworkFunctions, names_any, page_row
from comity.extract.html_tables import read_table
from comity.model.errors import BadAddress, BadInput, ComityError
from comity.model.expression import ExpressionProblem, ExtractColumn
from comity.model.frontier import FrontierEntry, SeenPage
from comity.model.sitemap import PageHints
from comity.model.statement import (
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
from comity.rules.sql.options import SqlCrawlOptions, read_options
from comity.rules.sql.seeds import QuerySeed, SeedKind, read_query_seed
from comity.rules.sql.statements import print_name, print_statement, read_script
from comity.rules.stale import RefreshTerms, revisit_rank
from comity.rules.suggestions import nearest
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
_SETTING: Final = re.compile(
    r"\s*(?:SET\s+(?:SESSION\s+|GLOBAL\s+)?|RESET\s+)(crawler_[a-z_]+)\s*(?:=|TO)?\s*(.*?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_SETTINGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "crawler_user_agent": ("user_agent", str),
    "crawler_default_delay": ("delay_s", float),
    "crawler_timeout_ms": ("timeout_s", lambda text: float(text) / 1000),
    "crawler_max_response_bytes": ("max_response_bytes", int),
}
_DUCKDB_SETTINGS: Final = {
    "http_proxy": "proxy",
    "http_proxy_username": "proxy_user",
    "http_proxy_password": "proxy_password",
}

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
        if database == MEMORY:
            self._temporary = TemporaryDirectory(prefix="comity-sql-")
            self._beside = Path(self._temporary.name) / "memory"
        else:
            self._beside = Path(database).with_suffix("")
        self._state = state if state is not None else self._beside.with_name(f"{self._beside.name}.comity.db")
        self._options = options
        self._settings: dict[str, Any] = {}
        self._on_progress = on_progress
        self._duck = duckdb.connect(database, read_only=read_only, config=config or {})
        self._network = NetworkFunctions(self._pages_of, self._sitemap_of)
        self._has_functions = add_functions(self._duck, self._network)
        self.summary: StatementSummary | None = None
        """How the last CRAWL statement ended."""

    def __getattr__(self, name: str) -> Any:
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

    def execute(self, query: str, parameters: object = None) -> Self:
        """Run statements; the result is that of the last one. Parameters belong to the last one, too."""
        statements = self._read(query)
        for number, statement in enumerate(statements, 1):
            self._run(statement, parameters if number == len(statements) else None)
        return self

    def sql(self, query: str, **options: Any) -> Any:
        """Run statements; gives the relation of the last one, or None if it has none."""
        statements = self._read(query)
        for statement in statements[:-1]:
            self._run(statement, None)
        if not statements:
            return None
        last = statements[-1]
        if isinstance(last, PlainSql) and not _SETTING.fullmatch(last.text) and not names_any(last.text):
            return self._duck.sql(self._prepared(last.text), **options)
        self._run(statements[-1], options.get("params"))
        return None

    query = sql

    def executemany(self, query: str, parameters: Sequence[object]) -> Self:
        """Run one statement with many sets of parameters."""
        statements = self._read(query)
        if len(statements) == 1 and isinstance(statements[0], CrawlStatement):
            for each in parameters:
                self._run(statements[0], each)
        else:
            self._duck.executemany(query, parameters)
        return self

    def cursor(self) -> Any:
        """Another DuckDB connection to the same database; it knows no CRAWL statements."""
        return self._duck.cursor()

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
                if (setting := _SETTING.fullmatch(text)) is not None:
                    self._set(setting[1].lower(), setting[2])
                else:
                    self._execute(text, parameters)
            case CrawlStatement():
                self._crawl(statement, parameters)
            case CrawlingMerge(merge):
                self._execute(merge, parameters)
            case StopCrawl(target):
                raise ComityError(
                    f"no crawl into {print_name(target)} is running on this connection; Ctrl-C stops one that is"
                )

    def _execute(self, text: str, parameters: object) -> None:
        """A statement of DuckDB's, which may call functions that request pages."""
        text = self._prepared(text)
        if self._has_functions and names_any(text):
            self._network.run(self._duck, text, parameters)
        else:
            self._duck.execute(text, parameters)

    def _prepared(self, text: str) -> str:
        """A statement as DuckDB can read it, with the tables of the state that it names."""
        for name in tables_named(text, _STATE, STATE_TABLES):
            self._show_state(name)
        return replaced(with_settings(text, self._shown_settings()), "READ_HTML", self._table_of)

    def _show_state(self, name: str) -> None:
        """Bring a table of the state up to date in the database `comity`, which is in memory."""
        with suppress(duckdb.Error):  # it is attached, or the user's own database has that name
            self._duck.execute(f"ATTACH ':memory:' AS {_STATE}")
        with ExitStack() as opened:
            path = Path(opened.enter_context(TemporaryDirectory(prefix="comity-sql-"))) / f"{name}.csv"
            state = opened.enter_context(open_existing_state(settings_for(self._state)))
            rows = write_table(state.database, name, path)
            types = "false" if rows else "true"  # without rows there is nothing to infer them from
            reads = f"read_csv({quoted(path)}, header = true, sample_size = -1, all_varchar = {types})"
            self._duck.execute(f"CREATE OR REPLACE TABLE {_STATE}.{name} AS SELECT * FROM {reads}")  # noqa: S608

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
        row = self._duck.execute(f"SELECT {arguments}").fetchone()  # the user's own arguments
        if row is None or len(row) != 2 or not all(isinstance(value, str) for value in row):
            raise BadInput("read_html", "it takes a URL and a selector: read_html('https://example.com/', 'table')")
        url, css = row
        (page,) = self._pages_of([url])
        if page is None or page["error"] is not None or not page["body"]:
            why = page["error"] if page is not None else "it is no address, or it was not asked for"
            raise ComityError(f"{url} could not be read: {why}")
        table = read_table(page["body"], css)
        if table is None:
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
        plan = StatementPlan(self._settings_of_functions(name), name, wanted, lambda entries: [True] * len(entries))
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
        run = StatementRun(StatementPlan(self._settings_of_functions(name), name, (QuerySeed(kind, *seed[1:]),), note))
        run.start()
        while not run.wait(_LOOK_EVERY_S):
            pass
        run.end()
        run.close()
        return list(found.values())

    def _settings_of_functions(self, name: str) -> Any:
        statement = CrawlStatement(name, QualifiedName((name,)))
        return self._settings_of(statement, SqlCrawlOptions())

    def _set(self, name: str, text: str) -> None:
        """A setting of ours, which DuckDB does not know."""
        if name not in _SETTINGS:
            meant = nearest(name, _SETTINGS)
            raise BadInput(
                name, f"the setting is not known; {f'did you mean {meant}?' if meant else 'see docs/sql.md'}"
            )
        field, read = _SETTINGS[name]
        value = text.strip()
        if not value:  # RESET
            self._settings.pop(field, None)
            return
        if value[:1] == value[-1:] == "'":
            value = value[1:-1].replace("''", "'")
        try:
            self._settings[field] = read(value)
        except ValueError:
            raise BadInput(name, f"{text!r} is not a number") from None

    def _crawl(self, statement: CrawlStatement, parameters: object) -> None:
        """Crawl, and fill the table; the result is one row about it."""
        options = read_options(statement.options)
        columns = self._columns(statement.extract)
        table = SqlTable(
            self._duck, print_name(statement.target), [ExtraColumn(column.name, str(column.type)) for column in columns]
        )
        seeds, unreadable = self._seeds(statement, parameters)
        self._check_filter(statement.where)
        settings = self._settings_of(statement, options)
        table.prepare()
        plan = StatementPlan(
            settings=settings,
            name=_digest(f"{print_statement(statement)}\n{sorted(seed.address.url for seed in seeds)}"),
            seeds=seeds,
            admits=self._admission(statement, options, table),
            most_pages=min((most for most in (statement.limit, options.max_crawl_pages) if most), default=0),
            lists_refused=options.log_skipped,
        )
        if statement.limit == 0:
            plan = StatementPlan(settings, plan.name, (), plan.admits)
        summary = self._fill(plan, table)
        self.summary = summary
        self._duck.execute(
            "SELECT ?::BIGINT AS pages, ?::BIGINT AS errors, ?::BIGINT AS refused, ?::BIGINT AS left_out, "
            "?::BIGINT AS not_addresses, ?::VARCHAR AS ended_by, ?::BIGINT AS hosts_left",
            [
                summary.pages,
                summary.errors,
                len(summary.refused),
                summary.left_out,
                unreadable,
                summary.ended_by,
                summary.left,
            ],
        )

    def _fill(self, plan: StatementPlan, table: SqlTable) -> StatementSummary:
        """Run the crawl beside this thread, which fills the table with what comes."""
        run = StatementRun(plan)
        run.start()
        interrupted = False
        try:
            while True:
                try:
                    is_done = run.wait(_LOOK_EVERY_S)
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted, is_done = True, False
                    run.stop()
                self._load(run, table)
                if self._on_progress is not None:
                    self._on_progress(run.progress, run.summary)
                if is_done:
                    break
            if run.summary.refused:
                table.put_refused(run.summary.refused, SystemClock().seconds())
            run.end()
        finally:
            run.stop()
            summary = run.close()
        if not summary.left:
            shutil.rmtree(plan.settings.pages, ignore_errors=True)
            with suppress(OSError):  # another statement's pages wait there
                Path(plan.settings.pages).parent.rmdir()
        if interrupted:
            raise KeyboardInterrupt
        return summary

    def _load(self, run: StatementRun, table: SqlTable) -> None:
        for part in run.finished_parts():
            urls = [url for (url,) in self._duck.execute("SELECT url FROM read_parquet(?)", [str(part)]).fetchall()]
            table.load(part, run.elapsed_ms(urls))
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
        """What the query names, each once; and how many of its rows are no addresses."""
        result = self._duck.execute(statement.query, parameters)
        found: dict[str, QuerySeed] = {}
        unreadable: list[str] = []
        while rows := result.fetchmany(10_000):
            for row in rows:
                if row[0] is None:
                    continue
                try:
                    seed = read_query_seed(str(row[0]))
                except BadAddress:
                    unreadable.append(str(row[0]))
                    continue
                found.setdefault(f"{seed.kind}{seed.address.url}", seed)
            if len(found) > MOST_SEEDS:
                raise BadInput(f"the query names more than {MOST_SEEDS:,} URLs")
        if unreadable:
            shown = ", ".join(text[:60] for text in unreadable[:3])
            warnings.warn(f"{len(unreadable):,} values of the query are no addresses: {shown}", stacklevel=5)
        return tuple(found.values()), len(unreadable)

    def _check_filter(self, where: str | None) -> None:
        """Refuse a filter that DuckDB cannot read, before anything is asked for."""
        if where is not None:
            try:
                self._duck.execute(_filtered(where), [[], []])
            except duckdb.Error as problem:
                raise BadInput("WHERE", f"{str(problem).splitlines()[0]}; a filter may name the column url") from None

    def _admission(
        self, statement: CrawlStatement, options: SqlCrawlOptions, table: SqlTable
    ) -> Callable[[Sequence[FrontierEntry]], Sequence[bool]]:
        """Which URLs are visited: those that the filter admits, and that the table lacks or has an old row of."""
        cursor = self._duck.cursor()
        reader = SqlTable(cursor, table.name)

        def admits(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
            urls = [entry.url for entry in entries]
            wanted = set(range(len(urls)))
            if statement.where is not None:
                wanted = {place for (place,) in cursor.execute(_filtered(statement.where), [urls, urls]).fetchall()}
            known = reader.known([urls[place] for place in wanted]) if wanted else {}
            return [
                place in wanted
                and (urls[place] not in known or (options.update_stale and _is_stale(entry, known[urls[place]])))
                for place, entry in enumerate(entries)
            ]

        return admits

    @with_remedies()
    def _settings_of(self, statement: CrawlStatement, options: SqlCrawlOptions) -> Any:
        connection = {**self._duckdb_settings(), **self._settings}
        named = [name for name, _value in statement.options]
        chosen = crawl_settings(options, named, connection)
        spool = self._beside.with_name(f"{self._beside.name}.comity.pages") / _digest(print_statement(statement))
        return settings_for(self._state, pages=str(spool), extract=statement.extract or "", **chosen, **self._options)

    def _duckdb_settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in _DUCKDB_SETTINGS.items():
            with suppress(duckdb.Error):
                (value,) = self._duck.execute("SELECT current_setting(?)", [name]).fetchone() or (None,)
                if value:
                    found[field] = value
        return found


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
