"""Crawled pages as the table `pages` of a DuckDB connection that can read them and nothing else.

A place enters, and which URLs are not to be shown; rows leave. Nothing is written, no extension is fetched, and the
network is out of reach.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Final

import duckdb

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, ComityError, NotFound, Remedy, RemedyCode
from comity.model.expression import VARCHAR, StoredColumn, TypeName, type_called
from comity.model.page import FILES_READ
from comity.rules.csv_rows import HAS_GUARD
from comity.store.formats.columns import COLUMNS, NAMES, ColumnKind
from comity.store.formats.csv_pages import EXTRACTED, agreed_columns, columns_in
from comity.store.parts.duckdb_table import OFFLINE, Busy, attach_to_read, digest_of, has_table, one_line, quoted
from comity.store.parts.inventory import PartFound, take_inventory
from comity.store.parts.joining import exclusive
from comity.store.parts.manifest import PartNote
from comity.store.target import Format, Target, file_format, refuse_url

_TIMES: Final = "TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'"  # as `lines.as_line` spells them; the session is in UTC
OUTPUTS: Final = {
    "csv": f"FORMAT csv, HEADER, {_TIMES}",
    "json": f"FORMAT json, ARRAY, {_TIMES}",
    "jsonl": f"FORMAT json, {_TIMES}",
    "parquet": "FORMAT parquet, CODEC zstd",
}
MEMORY_LIMIT: Final = "1GB"
_MOST_THREADS: Final = 4
WAIT_S: Final = 5.0
# A page as a line of JSON at most: each thread of DuckDB's reader reserves twice that, so there is one of them.
_LONGEST_LINE: Final = 64 * 1024 * 1024
_CSV_BUFFER: Final = 2 * _LONGEST_LINE
_OF_FILES: Final = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
_ROWS_AT_ONCE: Final = 256
_LOOK_EVERY_S: Final = 0.05

_MOST_COLUMNS: Final = 200
_STORED_FORMS: Final = {
    TypeName.VARCHAR: "{}::VARCHAR",
    TypeName.JSON: "{}::VARCHAR",
    TypeName.DECIMAL: "{}::VARCHAR",
    TypeName.DATE: "{}::VARCHAR",
    TypeName.TIMESTAMP: "strftime({}, '%Y-%m-%dT%H:%M:%S.%f')",
}

IsHidden = Callable[[str], bool]


class Interrupted(ComityError):
    """A query was ended before it had its answer."""


class TooLarge(ComityError):
    """A query needs more memory than it may have."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the pages of a place are now."""

    target: Target
    parquet: tuple[Path, ...] = ()
    lines: tuple[Path, ...] = ()
    database: Path | None = None
    in_segments: int = 0  # pages that cannot be read yet
    left_out: tuple[PartFound, ...] = ()  # parts that are damaged or gone
    columns: tuple[StoredColumn, ...] = ()  # what was extracted from pages, by the notes of parts in JSON lines or CSV

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return not (self.parquet or self.lines or self.database)


def check_exists(place: str | Path) -> None:
    """`BadInput` for a named place where nothing is: a typo, not a place without pages."""
    refuse_url(str(place), "pages are read")
    path = Path(place).expanduser()
    kind = file_format(path.name)
    if kind is not None and kind.is_archive:
        return  # which is not read in any case
    if not path.exists() and not Target.of_folder(path).spool.exists() and not _spool_beside(path).exists():
        raise BadInput(f"{path}: there is no such file or folder")


def _spool_beside(path: Path) -> Path:
    """Where the pages of a file wait that was not written yet."""
    kind = file_format(path.name)
    return Target(path, kind).spool if kind is not None else path


def find_sources(place: str | Path) -> Sources:
    """Look what there is; `BadInput` for a place that cannot hold pages to be read."""
    refuse_url(str(place), "pages are read")
    path = Path(place).expanduser()
    is_folder = path.is_dir() or not path.suffix
    target = Target.of_folder(path) if is_folder else None
    kind = target.format if target is not None else file_format(path.name)
    if kind is None:
        raise BadInput(f"{path}: pages are read from a folder, or from a file ending in {FILES_READ}")
    if kind.is_archive:
        raise BadInput(f"{path}: a WARC file cannot be queried; use Parquet, DuckDB, JSON lines or CSV")
    if kind is Format.PARQUET and path.is_file():
        return Sources(Target(path, kind), parquet=(path,))
    target = target or Target(path, kind)
    found = take_inventory(target)
    itself = (path,) if not target.is_folder and path.is_file() else ()
    waiting, left_out = found.in_segments, tuple(part for part in found.left_out if not part.is_joined)
    if target.format.is_lines:
        lines = (*itself, *found.readable)
        columns = _noted_columns(part.note for part in found.parts)
        if not columns and not target.format.is_csv:
            columns = _columns_of_first_line(lines)
        return Sources(target, lines=lines, in_segments=waiting, left_out=left_out, columns=columns)
    database = itself[0] if itself else None
    return Sources(target, parquet=found.readable, database=database, in_segments=waiting, left_out=left_out)


def _noted_columns(notes: Iterable[PartNote | None]) -> tuple[StoredColumn, ...]:
    """The columns that parts have besides those of every page; where two disagree on a type, it is text."""
    found: dict[str, StoredColumn] = {}
    for note in notes:
        for name, called in (note.columns or {}).items() if note is not None else ():
            column = StoredColumn(name, type_called(called) or VARCHAR)
            known = found.setdefault(name.casefold(), column)
            if known.type != column.type:
                found[name.casefold()] = StoredColumn(known.name, VARCHAR)
    return tuple(found.values())


def _columns_of_first_line(lines: Sequence[Path]) -> tuple[StoredColumn, ...]:
    """The further keys of a file that has no notes, as text."""
    if not lines:
        return ()
    is_compressed = lines[0].name.lower().endswith(".gz")
    try:
        with gzip.open(lines[0]) if is_compressed else lines[0].open("rb") as file:
            keys = json.loads(file.readline(_LONGEST_LINE))
    except (OSError, EOFError, ValueError, zlib.error, RecursionError):
        return ()
    names = [key for key in keys if key not in NAMES] if isinstance(keys, dict) else []
    return tuple(StoredColumn(name, VARCHAR) for name in names[:_MOST_COLUMNS])


class PageReader:
    """Asks about pages. Made by `open_reader`."""

    def __init__(self, connection: Any, thread: ThreadPoolExecutor, sources: Sources, folder: Path) -> None:
        self.sources = sources
        self._connection = connection
        self._thread = thread
        self._folder = folder

    def interrupt(self) -> None:
        """End what DuckDB is working on, which then fails; may be called from any thread."""
        self._connection.interrupt()

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """What a statement of ours selects, a few rows at a time."""
        self._run(self._connection.execute, sql, list(values))
        return self._fetched()

    def parsed(self, sql: str) -> dict[str, Any]:
        """A statement as DuckDB understands it; only SELECT statements have such a form."""
        ((document,),) = self.rows("SELECT json_serialize_sql(?::VARCHAR)", [sql])
        found: dict[str, Any] = json.loads(document)
        return found

    def ask(self, sql: str) -> tuple[list[str], Iterator[tuple[str | None, ...]]]:
        """The columns of a query, and its rows as text."""
        query = self._checked(sql)
        rows = self.rows(f"SELECT COLUMNS(*)::VARCHAR FROM ({query}\n)")  # noqa: S608  # it was taken apart
        return [column[0] for column in self._connection.description], rows

    def copy(self, sql: str, output: str, file: BinaryIO) -> None:
        """Write what a query selects to a stream, as csv, json, jsonl or parquet."""
        query = self._checked(sql)
        path = self._folder / "answer"
        self._run(self._connection.execute, f"COPY ({query}\n) TO {quoted(path)} ({OUTPUTS[output]})")
        with path.open("rb") as answer:
            shutil.copyfileobj(answer, file)
        path.unlink()

    def further_columns(self) -> list[tuple[StoredColumn, str]]:
        """What was extracted from the pages: the columns, and the SQL that selects them in their stored form."""
        found = []
        for name, called, *_rest in self.rows("DESCRIBE pages"):
            if name not in NAMES:
                kind = type_called(called) or VARCHAR
                column = _label(name)
                found.append((StoredColumn(name, kind), _STORED_FORMS.get(kind.name, "{}").format(column)))
        return found

    def _fetched(self) -> Iterator[tuple[Any, ...]]:
        while rows := self._run(self._connection.fetchmany, _ROWS_AT_ONCE):
            yield from rows

    def _run(self, work: Callable[..., Any], *arguments: object) -> Any:
        """Work beside the main thread, which thus hears of Ctrl-C at once, and can tell DuckDB."""
        under_way = self._thread.submit(work, *arguments)
        try:
            with _in_one_line(self.sources.target.path):
                return under_way.result()
        except KeyboardInterrupt:
            while not under_way.done():
                self._connection.interrupt()
                wait([under_way], _LOOK_EVERY_S)
            raise

    def _checked(self, sql: str) -> str:
        """One statement that only reads; DuckDB itself takes it apart."""
        with _in_one_line(self.sources.target.path):
            statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise BadInput("write one SQL statement, such as: SELECT url, title FROM pages")
        if statements[0].type is not duckdb.StatementType.SELECT:
            raise BadInput("pages are read-only: the statement must be a SELECT")
        return str(statements[0].query).strip().rstrip(";")


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much of the machine a reader may use."""

    memory: str = MEMORY_LIMIT
    threads: int = _MOST_THREADS
    overflow: str | None = None
    """How much it may write to disk where memory is short; None leaves that to DuckDB."""


@contextmanager
def open_reader(
    sources: Sources,
    is_hidden: IsHidden | None = None,
    *,
    near: Sequence[str] = (),
    limits: ReadingLimits = ReadingLimits(),  # noqa: B008  # frozen
) -> Iterator[PageReader]:
    """Open what there is; `NotFound` if that is nothing.

    If `near` is not empty, only URLs that contain one of these texts can be hidden.
    """
    if sources.target.is_folder:
        with _opened(sources, is_hidden, near, limits) as reader:
            yield reader
        return
    with (
        exclusive(sources.target, WAIT_S),
        _opened(find_sources(sources.target.path), is_hidden, near, limits) as reader,
    ):
        yield reader


@contextmanager
def _opened(
    sources: Sources, is_hidden: IsHidden | None, near: Sequence[str], limits: ReadingLimits
) -> Iterator[PageReader]:
    if sources.is_empty:
        count = len(sources.left_out)
        lost = f"; {count:,} {'part is' if count == 1 else 'parts are'} damaged or gone" if count else ""
        wait = f"; {sources.in_segments:,} can be read when their crawl continues" if sources.in_segments else ""
        raise NotFound(f"no pages can be read at {sources.target.path} yet{wait}{lost}")
    folder = Path(tempfile.mkdtemp(prefix="comity-"))
    settings = OFFLINE | {
        "threads": 1 if sources.lines else min(limits.threads, os.cpu_count() or 1),
        "memory_limit": limits.memory,
        "temp_directory": str(folder / "overflow"),
    }
    if limits.overflow is not None:
        settings["max_temp_directory_size"] = limits.overflow
    try:
        with closing(duckdb.connect(":memory:", config=settings)) as connection:
            with _in_one_line(sources.target.path):
                _make_view(connection, sources, is_hidden, near)
                _confine(connection, sources, folder)
            with ThreadPoolExecutor(1, thread_name_prefix="comity-reads") as thread:
                yield PageReader(connection, thread, sources, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_view(connection: Any, sources: Sources, is_hidden: IsHidden | None, near: Sequence[str]) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    selects = []
    parquet = list(sources.parquet)
    if sources.database is not None:
        try:
            attach_to_read(connection, sources.database, "kept", monotonic() + WAIT_S)
        except Busy:
            raise ComityError(f"{sources.database} is being written by another process; try again later") from None
        if has_table(connection, "kept", "pages"):
            selects.append("SELECT * FROM kept.pages")
        if has_table(connection, "kept", "parts"):
            loaded = {digest for (digest,) in connection.execute("SELECT digest FROM kept.comity.parts").fetchall()}
            parquet = [part for part in parquet if digest_of(part) not in loaded]
    if parquet:
        selects.append(f"SELECT * FROM read_parquet({_list(parquet)}, union_by_name = true)")  # noqa: S608  # quoted
    if sources.lines:
        is_csv = sources.target.format.is_csv
        selects += _csv(connection, sources) if is_csv else [_lines(sources.lines, sources.columns)]
    if not selects:
        raise NotFound(f"{sources.target.path} has no table pages")
    everything = " UNION ALL BY NAME ".join(selects)
    if is_hidden is None:
        connection.execute(f"CREATE VIEW pages AS {everything}")
        return
    connection.execute("CREATE SCHEMA behind")
    connection.execute(f"CREATE VIEW behind.pages AS {everything}")
    connection.execute("CREATE TABLE behind.hidden (url VARCHAR)")
    _hide(connection, is_hidden, near)
    shown = "SELECT * FROM behind.pages WHERE url NOT IN (SELECT url FROM behind.hidden)"
    connection.execute(f"CREATE VIEW pages AS {shown}")


def _hide(connection: Any, is_hidden: IsHidden, near: Sequence[str]) -> None:
    """Note the URLs that are not to be shown, also where only the end of a redirect is meant."""
    reading = connection.cursor()
    wanted = " OR ".join("contains(lower(url), ?) OR contains(lower(final_url), ?)" for _text in near)
    values = [text for text in near for _column in ("url", "final_url")]
    condition = f" WHERE {wanted}" if wanted else ""
    reading.execute(f"SELECT DISTINCT url, final_url FROM behind.pages{condition}", values)  # noqa: S608
    while rows := reading.fetchmany(_ROWS_AT_ONCE):
        found = [[url] for url, final_url in rows if is_hidden(url) or (final_url and is_hidden(final_url))]
        if found:
            connection.executemany("INSERT INTO behind.hidden VALUES (?)", found)


def _confine(connection: Any, sources: Sources, folder: Path) -> None:
    """From here on nothing but these pages can be read, and nothing but an answer be written."""
    readable = [*sources.parquet, *sources.lines]
    connection.execute(f"SET allowed_paths = {_list(readable)}")
    connection.execute(f"SET allowed_directories = {_list([folder])}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _lines(paths: Sequence[Path], further: Sequence[StoredColumn]) -> str:
    kinds = {column.name: "VARCHAR" if column.kind is ColumnKind.BINARY else column.kind.value for column in COLUMNS}
    kinds |= {column.name: str(column.type) for column in further}
    columns = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in kinds.items())
    # A line that is being written at this moment is not there yet.
    compression = "gzip" if paths[0].name.lower().endswith(".gz") else "none"
    options = f"format = 'newline_delimited', maximum_object_size = {_LONGEST_LINE}, ignore_errors = true"
    source = f"read_json({_list(paths)}, columns = {{{columns}}}, compression = '{compression}', {options})"
    bodies = "from_base64(body_bytes) AS body_bytes"
    return f"SELECT * REPLACE ({bodies}) FROM {source} WHERE url IS NOT NULL"  # noqa: S608  # quoted


def _csv(connection: Any, sources: Sources) -> list[str]:
    """CSV files: those that begin with the names of the columns, and parts that wait to be joined to a file."""
    target = sources.target
    alike: dict[tuple[tuple[str, ...], bool], list[Path]] = {}
    for path in sources.lines:
        has_head = target.is_folder or path == target.path
        own = (columns_in(path, target.format) if has_head else agreed_columns(target)) or ()
        alike.setdefault((own[:_MOST_COLUMNS], has_head), []).append(path)
    tables = [(own, _csv_with(paths, own, has_head=has_head)) for (own, has_head), paths in alike.items()]
    further = sources.columns
    if not further:
        in_json = (name for _own, table in tables for name in _names_in_json(connection, table))
        named: dict[str, str] = {}
        for name in chain((name for own, _has_head in alike for name in own), in_json):
            named.setdefault(name.casefold(), name)
        further = tuple(StoredColumn(name, VARCHAR) for name in named.values())[:_MOST_COLUMNS]
    # That of the notes is by name of a part.
    order = {name.casefold(): place for place, name in enumerate(tables[0][0])}
    further = tuple(sorted(further, key=lambda column: order.get(column.name.casefold(), len(order))))
    selects = []
    for own, table in tables:
        values = "".join(f", {_from_csv(column, own)}" for column in further)
        left_out = ", ".join([EXTRACTED, *map(_label, own)])
        selects.append(f"SELECT * EXCLUDE ({left_out}){values} FROM ({table})")  # noqa: S608  # quoted
    return selects


def _names_in_json(connection: Any, table: str) -> list[str]:
    """What was extracted from the pages of a file that has no notes, and has no column of its own there."""
    keys = f"SELECT unnest(json_keys({EXTRACTED})) AS name FROM ({table}) WHERE json_valid({EXTRACTED})"  # noqa: S608  # quoted
    found = connection.execute(f"SELECT DISTINCT name FROM ({keys}) ORDER BY name LIMIT {_MOST_COLUMNS}").fetchall()  # noqa: S608
    return [name for (name,) in found if name not in NAMES]


def _label(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _from_csv(column: StoredColumn, own: Sequence[str]) -> str:
    """One extracted value, as a column of its type: from the column of that name, or else from the JSON object."""
    name = column.name
    key = quoted("/" + name.replace("~", "~0").replace("/", "~1"))  # RFC 6901 §3
    label = _label(name)
    if name.casefold() in map(str.casefold, own):  # DuckDB knows names regardless of case
        return f"TRY_CAST({_unguarded(label)} AS {column.type}) AS {label}"
    if column.type.name is TypeName.JSON:
        return f"nullif(json_extract({EXTRACTED}, {key}), 'null') AS {label}"
    return f"TRY_CAST(json_extract_string({EXTRACTED}, {key}) AS {column.type}) AS {label}"


def _csv_with(paths: Sequence[Path], own: Sequence[str], *, has_head: bool) -> str:
    kinds = {column.name: "VARCHAR" if column.kind is ColumnKind.BINARY else column.kind.value for column in COLUMNS}
    kinds |= dict.fromkeys((*own, EXTRACTED), "VARCHAR")
    columns = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in kinds.items())
    compression = "gzip" if paths[0].name.lower().endswith(".gz") else "none"
    options = (
        f"header = {str(has_head).lower()}, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
        f"new_line = '\\r\\n', nullstr = '', allow_quoted_nulls = false, parallel = false, ignore_errors = true, "
        f"max_line_size = {_LONGEST_LINE}, buffer_size = {_CSV_BUFFER}"
    )
    source = f"read_csv({_list(paths)}, columns = {{{columns}}}, compression = '{compression}', {options})"
    texts = [column.name for column in COLUMNS if column.kind is ColumnKind.TEXT]
    values = ", ".join(f"{_unguarded(name)} AS {name}" for name in texts)
    bodies = "from_base64(body_bytes) AS body_bytes"
    return f"SELECT * REPLACE ({values}, {bodies}) FROM {source} WHERE url IS NOT NULL"  # noqa: S608  # quoted


def _unguarded(name: str) -> str:
    """As `rules.csv_rows.unguarded`."""
    return f"CASE WHEN regexp_matches({name}, {quoted(HAS_GUARD)}) THEN substr({name}, 2) ELSE {name} END"


def _list(paths: Sequence[Path]) -> str:
    return f"[{', '.join(quoted(path.absolute()) for path in paths)}]"


@contextmanager
def _in_one_line(place: Path) -> Iterator[None]:
    """What DuckDB complains about, as an error of ours; what is wrong with a file has its place."""
    try:
        yield
    except duckdb.InterruptException:
        raise Interrupted("the query was interrupted") from None
    except duckdb.OutOfMemoryException:
        raise TooLarge(f"the query needs more than {MEMORY_LIMIT} of memory; select fewer columns or rows") from None
    except duckdb.PermissionException:
        raise BadInput("only the table pages can be read here") from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as problem:
        raise BadInput(one_line(problem)) from None
    except duckdb.Error as problem:
        said = one_line(problem)
        if isinstance(problem, _OF_FILES) or type(problem) is duckdb.Error:
            raise ComityError(f"{place}: {said}", remedy=Remedy(RemedyCode.VERIFY_PAGES, str(place))) from None
        raise ComityError(said) from None
