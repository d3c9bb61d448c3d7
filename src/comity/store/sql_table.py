"""The table that a CRAWL statement fills: created if it is missing, checked if it exists, upserted by URL.

It uses the caller's connection, because only one process can open a DuckDB file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb

from comity.model.errors import BadInput
from comity.model.expression import ExtractColumn
from comity.rules.expressions.parse import RESERVED_NAMES
from comity.rules.sql.error_types import error_type
from comity.store.formats.columns import NAMES
from comity.store.parts.duckdb_table import quoted

_COLUMNS: Final[Mapping[str, str]] = {
    "url": "VARCHAR",
    "surt_key": "VARCHAR",
    "http_status": "INTEGER",
    "body": "VARCHAR",
    "content_type": "VARCHAR",
    "elapsed_ms": "BIGINT",
    "crawl_time": "TIMESTAMP WITH TIME ZONE",
    "error": "VARCHAR",
    "error_type": "VARCHAR",
    "etag": "VARCHAR",
    "last_modified": "VARCHAR",
    "content_hash": "VARCHAR",
    "final_url": "VARCHAR",
    "redirect_count": "INTEGER",
}
"""The columns of a table that CRAWL creates, with two that users of the crawler extension expect."""
COLUMNS: Final = tuple(_COLUMNS)
_ONLY_IN_PARTS: Final = frozenset(RESERVED_NAMES).difference(COLUMNS)
# Text of pages in DuckDB's own choice of compression takes eight times the processor time of zstd, and three times the
# space, and every checkpoint compresses the newest 122,880 rows again.
_COMPRESSED: Final = " USING COMPRESSION zstd"
# While a statement fills a table of a file. What is in the log is in memory, too, until a checkpoint writes it, and a
# checkpoint takes about as much as the limit lets it; so these two bound the memory of a statement, however many pages
# it has. DuckDB's defaults are 16 MiB and four fifths of the machine.
_CHECKPOINT_BYTES: Final = 128 * 1024 * 1024
_MEMORY_BYTES: Final = 192 * 1024 * 1024
_COUNTS: Final = "SELECT num_row_groups, num_rows FROM parquet_file_metadata(?)"  # a third of the time of the next
_GROUPS: Final = (
    "SELECT row_group_id, any_value(row_group_num_rows) FROM parquet_metadata(?) GROUP BY ALL ORDER BY row_group_id"
)
_IS_IN_FILE: Final = "SELECT 1 FROM duckdb_databases() WHERE database_name = current_database() AND path IS NOT NULL"
_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_FITTING: Final[Mapping[str, tuple[str, ...]]] = {
    "VARCHAR": ("VARCHAR",),
    "INTEGER": ("INTEGER", "BIGINT", "SMALLINT", "HUGEINT"),
    "BIGINT": ("BIGINT", "INTEGER", "HUGEINT"),
    "TIMESTAMP WITH TIME ZONE": ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
}


# What tables of another tool, the crawler extension of DuckDB, call columns of ours, and their types.
_OTHER_NAMES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "status_code": ("http_status", _FITTING["INTEGER"]),
    "crawled_at": ("crawl_time", _FITTING["TIMESTAMP WITH TIME ZONE"]),
    "domain": (r"regexp_extract(url, '^\w+://([^/?#]+)', 1)", ("VARCHAR",)),
}

_FILLING: Final[list[str]] = []  # the tables that statements of this process fill now


def is_filling() -> bool:
    """Whether a statement of this process fills a table, so that DuckDB has one thread for its length."""
    return bool(_FILLING)


class ExtraColumn(NamedTuple):
    """A column of the EXTRACT clause; it may have another name in the parts."""

    name: str
    type: str
    name_in_parts: str


class ExtractedColumns(NamedTuple):
    """The columns of an EXTRACT clause: as the table has them, and as the parts have them."""

    of_table: list[ExtraColumn]
    of_parts: list[ExtractColumn]


def extracted_columns(columns: Sequence[ExtractColumn]) -> ExtractedColumns:
    """Give the columns names that parts can have: parts have columns that the table lacks, such as `title`."""
    taken = {column.name.casefold() for column in columns}
    found = ExtractedColumns([], [])
    for column in columns:
        name = column.name
        if name.casefold() in _ONLY_IN_PARTS:
            while name.casefold() in taken:
                name = f"extracted_{name}"
            taken.add(name.casefold())
        found.of_table.append(ExtraColumn(column.name, str(column.type), name))
        found.of_parts.append(replace(column, name=name))
    return found


class RefusedRow(NamedTuple):
    """A URL that was not requested, and why."""

    url: str
    surt_key: str
    error: str


class SqlTable:
    """One target. `name` is quoted SQL; messages have `shown` instead."""

    def __init__(self, connection: Any, name: str, extra: Sequence[ExtraColumn] = (), shown: str = "") -> None:
        self._connection = connection
        self.name = name
        self._shown = shown or name
        self._extra = tuple(extra)
        self._has_key = False
        self._memory_bytes = self._memory_most_bytes = 0  # while a statement fills it
        self._also: dict[str, str] = {}  # columns of other names, and what they are made from
        self._meets_rows = True  # whether pages may have rows; one that comes with a row makes it so
        self.had_pages = True

    def prepare(self) -> None:
        """Create the table, or check the existing one: `BadInput` names the column that does not fit."""
        wanted = {**_COLUMNS, **{column.name: column.type for column in self._extra}}
        found = self._columns()
        if found is None:
            self._create(wanted)
            self._has_key, self.had_pages = True, False
            self._meets_rows = False
            return
        folded = {name.casefold(): kind for name, kind in found.items()}
        has_pages = {"url", "body"} <= folded.keys() and bool(folded.keys() & {"http_status", "status_code"})
        for name, kind in wanted.items():
            present = folded.get(name.casefold())
            if present is None and name in _COLUMNS and not has_pages:
                raise BadInput(f"the table {self._shown} has no column {name}; name another table, or add the column")
            if present is not None and present not in _FITTING.get(kind, (kind,)):
                raise BadInput(f"the column {name} of {self._shown} is {present}, but CRAWL writes {kind} to it")
        self._check_writable()
        self._check_fillable({name.casefold() for name in wanted})
        self._also = self._other_names(folded)
        for name, kind in wanted.items():
            if name.casefold() not in folded:
                self._connection.execute(f"ALTER TABLE {self.name} ADD COLUMN {_identifier(name)} {kind}")
                other = next((own for own, (made, _kinds) in _OTHER_NAMES.items() if made == name), None)
                if other in self._also:
                    self._connection.execute(f"UPDATE {self.name} SET {name} = {other}")  # noqa: S608
        self._has_key = self._is_url_unique()
        self.had_pages = bool(self._connection.execute(f"SELECT 1 FROM {self.name} LIMIT 1").fetchall())  # noqa: S608
        self._meets_rows = self.had_pages

    def _other_names(self, present: Mapping[str, str]) -> dict[str, str]:
        """Columns of a table that another tool made, before ours; what a user added behind them is left alone."""
        order = list(present)
        own = order.index("crawl_time") if "crawl_time" in order else len(order)
        extra = {column.name.casefold() for column in self._extra}
        return {
            name: made
            for name, (made, kinds) in _OTHER_NAMES.items()
            if present.get(name) in kinds and name not in extra and order.index(name) < own
        }

    def _create(self, columns: Mapping[str, str]) -> None:
        kind = "TEMP TABLE" if self.name.lower().startswith('"temp".') else "TABLE"
        for compressed in (_COMPRESSED, ""):  # a file in an older format may not know zstd
            declared = [f"{_identifier(name)} {kind}" for name, kind in columns.items()]
            declared[0] += " PRIMARY KEY"
            declared[list(columns).index("body")] += compressed
            try:
                self._connection.execute(f"CREATE {kind} {self.name} ({', '.join(declared)})")
            except duckdb.Error as problem:
                if not compressed or "ompression" not in str(problem):
                    raise
            else:
                return

    @contextmanager
    def filling(self) -> Iterator[None]:
        """While a statement fills the table: fewer checkpoints, and bounded memory where the table is in a file.

        Every checkpoint writes the table's newest rows again. One thread loads pages faster than they come, with a
        quarter less processor time than several.
        """
        is_in_file = bool(self._connection.execute(_IS_IN_FILE).fetchall())
        wanted = {"checkpoint_threshold": (_CHECKPOINT_BYTES, max), "threads": (1, min)}
        if is_in_file:
            wanted["memory_limit"] = (_MEMORY_BYTES, min)
        changed: dict[str, str] = {}
        with suppress(duckdb.Error):  # settings may be locked; and memory that is in use cannot be taken back
            for name, (number, choose) in wanted.items():
                said = self._setting(name)
                before = _number_of(said)
                if before is not None and choose(before, number) != before:
                    self._set(name, number)
                    changed[name] = said
                    if name == "memory_limit":
                        self._memory_bytes, self._memory_most_bytes = number, before
        _FILLING.append(self.name)
        try:
            yield
        finally:
            _FILLING.remove(self.name)
            if "memory_limit" in changed:  # otherwise closing the file does it, with as much memory as there is
                with suppress(duckdb.Error):  # of other transactions that are under way
                    self._connection.execute("CHECKPOINT")
            self._memory_bytes = self._memory_most_bytes = 0
            for name, said in changed.items():
                with suppress(duckdb.Error):
                    self._connection.execute(f"RESET {name}")
                    before = _number_of(said)
                    if self._setting(name) != said and before is not None:
                        self._set(name, before)

    def _set(self, name: str, number: int) -> None:
        self._connection.execute(f"SET {name} = {number}" if name == "threads" else f"SET {name} = '{number}B'")

    def detach(self) -> None:
        """Give up the connection: what still knows the table does not keep it open."""
        self._connection = None

    def _setting(self, name: str) -> str:
        ((value,),) = self._connection.execute("SELECT current_setting(?)", [name]).fetchall()
        return str(value)

    def known(self, urls: Sequence[str]) -> dict[str, float]:
        """Which URLs had a row without an error before this statement, and when it was crawled, in UNIX seconds."""
        if not self.had_pages:  # what a statement stores itself is on its list of visits
            return {}
        statement = (
            f"SELECT url, coalesce(epoch(crawl_time), 0) FROM {self.name} "  # noqa: S608  # a name that the parser quoted
            "WHERE error IS NULL AND url IN (SELECT unnest(?::VARCHAR[]))"
        )
        return dict(self._connection.execute(statement, [list(urls)]).fetchall())

    def load(self, part: Path, elapsed_ms: Callable[[Sequence[str]], Mapping[str, int]]) -> int:
        """Upsert the pages of a part, a row group at a time; gives how many rows. Repeating it changes nothing."""
        connection, source = self._connection, f"read_parquet({quoted(part)}, file_row_number = true) AS part"
        named = [(name, name) for name in _COLUMNS if name in NAMES]
        named += [(column.name_in_parts, column.name) for column in self._extra]
        read = ", ".join(f"part.{_identifier(own)} AS {_identifier(name)}" for own, name in named)
        columns = [*(_identifier(name) for _own, name in named), "elapsed_ms", "error_type"]
        # By number: the order of a query's rows is not certain (preserve_insertion_order may be off).
        found = connection.execute(f"SELECT part.file_row_number, part.url, part.error FROM {source}").fetchall()  # noqa: S608
        found.sort(key=itemgetter(0))
        first = 0
        for rows in self._rows_of_groups(part):
            own = found[first : first + rows]
            took = elapsed_ms([url for _row, url, _error in own])
            values = {
                "times": [took.get(url) for _row, url, _error in own],
                "kinds": [error_type(error) if error is not None else None for _row, _url, error in own],
            }
            place = f"part.file_row_number - {first} + 1"
            among = f"WHERE part.file_row_number >= {first} AND part.file_row_number < {first + rows}"
            self._load_group(
                f"SELECT {read}, ($times::BIGINT[])[{place}] AS elapsed_ms, "  # noqa: S608
                f"($kinds::VARCHAR[])[{place}] AS error_type FROM {source} {among if rows < len(found) else ''}",
                values,
                columns,
            )
            first += rows
        return first

    def _rows_of_groups(self, part: Path) -> list[int]:
        """How many rows each row group of a part has; most parts have one."""
        ((groups, rows),) = self._connection.execute(_COUNTS, [str(part)]).fetchall()
        if groups == 1:
            return [rows]
        return [rows for _number, rows in self._connection.execute(_GROUPS, [str(part)]).fetchall()]

    def _load_group(self, rows: str, values: dict[str, Any], columns: Sequence[str]) -> None:
        """Upsert rows in one transaction; very large pages get more memory, up to what the user's setting allows."""
        while True:
            try:
                with self._transaction():
                    self._put(rows, values, columns, are_new=self._has_key and not self._meets_rows)
            except duckdb.ConstraintException:
                if self._meets_rows:
                    raise
                self._meets_rows = True
            except duckdb.OutOfMemoryException:
                more = min(2 * self._memory_bytes, self._memory_most_bytes)
                if more <= self._memory_bytes:
                    raise
                self._set("memory_limit", more)
                self._memory_bytes = more
            else:
                return

    def confirm(self, times: Mapping[str, float]) -> None:
        """Pages that have not changed since their rows were written, and when they were requested again."""
        names = ["crawl_time", *(name for name, made in self._also.items() if made == "crawl_time")]
        changes = ", ".join(f"{name} = to_timestamp(arriving.at)" for name in names)
        self._connection.execute(
            f"UPDATE {self.name} AS present SET {changes} "  # noqa: S608
            "FROM (SELECT unnest($urls::VARCHAR[]) AS url, unnest($times::DOUBLE[]) AS at) AS arriving "
            "WHERE present.url = arriving.url",
            {"urls": list(times), "times": list(times.values())},
        )

    def validators(self, urls: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
        """The ETag and Last-Modified of the rows that some URLs have."""
        if not self.had_pages or not urls:
            return {}
        statement = (
            f"SELECT url, etag, last_modified FROM {self.name} "  # noqa: S608
            "WHERE error IS NULL AND url IN (SELECT unnest(?::VARCHAR[]))"
        )
        rows = self._connection.execute(statement, [list(urls)]).fetchall()
        return {url: (etag, last_modified) for url, etag, last_modified in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing. CRAWL is refused inside the user's own transaction, so that none is open here."""
        try:
            self._connection.execute("BEGIN")
            yield
        except BaseException:
            with suppress(duckdb.Error):  # BEGIN itself failed
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def put_refused(self, rows: Iterable[RefusedRow], at: float) -> int:
        """Give URLs that were not requested a row that says why, unless they have a page."""
        found = list(rows)
        if not found:
            return 0
        # Also one that this statement stored: two of its lists may name the same URL.
        statement = f"SELECT url FROM {self.name} WHERE error IS NULL AND url IN (SELECT unnest(?::VARCHAR[]))"  # noqa: S608
        pages = {url for (url,) in self._connection.execute(statement, [[row.url for row in found]]).fetchall()}
        new = [row for row in found if row.url not in pages]
        if not new:
            return 0
        values = [[row.url, row.surt_key, row.error, error_type(row.error)] for row in new]
        names = ("url", "surt_key", "error", "error_type")
        lists = {name: [row[number] for row in values] for number, name in enumerate(names)}
        columns = ", ".join(f"unnest(${name}::VARCHAR[]) AS {name}" for name in names)
        self._put(
            f"SELECT {columns}, -1 AS http_status, to_timestamp($at) AS crawl_time",
            {**lists, "at": at},
            [*names, "http_status", "crawl_time"],
        )
        return len(new)

    def _put(self, rows: str, parameters: dict[str, Any], columns: Sequence[str], *, are_new: bool = False) -> None:
        """Upsert rows with these columns (quoted, the first one is `url`); other columns of the table are kept.

        Rows that are new take half the time: DuckDB copies those that it may have to update.
        """
        if self._also:
            made = ", ".join(f"{made} AS {name}" for name, made in self._also.items())
            rows, columns = f"SELECT *, {made} FROM ({rows})", [*columns, *self._also]  # noqa: S608
        if are_new:
            self._connection.execute(f"INSERT INTO {self.name} BY NAME {rows}", parameters)
            return
        if self._has_key:
            changes = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
            self._connection.execute(
                f"INSERT INTO {self.name} BY NAME {rows} ON CONFLICT (url) DO UPDATE SET {changes}", parameters
            )
            return
        changes = ", ".join(f"{name} = arriving.{name}" for name in columns[1:])
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE comity_arriving AS {rows}", parameters)
        self._connection.execute(
            f"UPDATE {self.name} AS present SET {changes} FROM temp.comity_arriving AS arriving "  # noqa: S608
            "WHERE present.url = arriving.url"
        )
        self._connection.execute(
            f"INSERT INTO {self.name} BY NAME SELECT * FROM temp.comity_arriving "  # noqa: S608
            f"WHERE url NOT IN (SELECT url FROM {self.name} WHERE url IS NOT NULL)"
        )
        self._connection.execute("DROP TABLE temp.comity_arriving")

    def _columns(self) -> dict[str, str] | None:
        """The columns of the table with their types; None if there is no such table."""
        try:
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {self.name}").fetchall()  # noqa: S608
        except duckdb.CatalogException:
            return None
        return {row[0]: row[1] for row in described}

    def _check_writable(self) -> None:
        """Refuse a view and a read-only database now rather than after the crawl."""
        try:
            self._connection.execute(f"EXPLAIN INSERT INTO {self.name} (url) VALUES ('')")  # noqa: S608
        except duckdb.Error as problem:
            raise BadInput(f"rows cannot be written to {self._shown}: {str(problem).splitlines()[0]}") from None

    def _check_fillable(self, written: set[str]) -> None:
        """Refuse a table with a column that every row needs and that no page has."""
        described = self._connection.execute(f"DESCRIBE {self.name}").fetchall()
        for name, _kind, may_be_null, _key, default, *_more in described:
            if may_be_null == "NO" and default is None and name.casefold() not in written:
                raise BadInput(f"the column {name} of {self._shown} is NOT NULL, and CRAWL has no value for it")

    def _is_url_unique(self) -> bool:
        """Whether the table has a key on `url`."""
        try:
            self._connection.execute(
                f"EXPLAIN INSERT INTO {self.name} (url) VALUES ('') ON CONFLICT (url) DO NOTHING"  # noqa: S608
            )
        except duckdb.Error:
            return False
        return True


def _number_of(said: str) -> int | None:
    """A number, or a size as DuckDB prints it: `16.0 MiB`. Further digits are cut off; the middle of what it can be."""
    if said.isdecimal():
        return int(said)
    number, _, unit = said.partition(" ")
    try:
        return int((float(number) + 0.05) * 1024 ** _UNITS.index(unit))
    except ValueError:
        return None


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
