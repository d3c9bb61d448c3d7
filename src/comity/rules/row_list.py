"""Reading a list to import: takes the bytes of a CSV, TSV, JSON or JSON Lines file, returns rows by column.

A file that cannot be read as a whole raises `BadInput`. A row that cannot be read is returned with its problem, so that
a report can name all of them. The values are checked where the rows are added. `ListReader` defines the columns for one
noun; those for sources and crawl policies are at the end.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from io import StringIO
from typing import Any, Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.source_import import (
    LONGEST_ROW,
    MOST_FILE_BYTES,
    MOST_ROWS,
    ParsedSourceList,
    SourceFormat,
    SourceRow,
)
from comity.rules.suggestions import nearest

_WHOLE: Final = re.compile(r"[+-]?\d{1,9}(\.0{1,9})?")
_FLAGS: Final = dict.fromkeys(("true", "yes", "1", "on"), True) | dict.fromkeys(("false", "no", "0", "off"), False)
_NOT_A_NAME: Final = re.compile(r"[\W_]+")
_MOST_COLUMNS: Final = 100
_SHORTEST_TYPO: Final = 4
_WIDE: Final = ((b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"))
_SAVE_AS: Final = 'save it as UTF-8 (in a spreadsheet: "CSV UTF-8")'


def format_of(name: str) -> SourceFormat:
    """The format that a file's name implies; raises `BadInput` if it implies none."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    ending = {"ndjson": "jsonl"}.get(ending, ending)
    if ending not in set(SourceFormat):
        known = [f".{each}" for each in SourceFormat]
        raise BadInput(f"{name}: the name of the file must end in {', '.join(known[:-1])} or {known[-1]}")
    return SourceFormat(ending)


@dataclass(frozen=True)
class ListReader:
    """Reads lists of one noun."""

    noun: str
    """In the plural; also the name of the array in a JSON document."""
    key: str
    """The column that every row must have."""
    key_in_words: str
    """The key column, for messages."""
    columns: Mapping[str, tuple[str, ...]]
    """Every column that may be in a list, with the other names that people give it."""
    of_a_state: frozenset[str]
    """Columns of a listing that report what happened; a list cannot set them."""
    whole: Mapping[str, str]
    """Columns that are whole numbers, with their units."""
    numbers: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    as_text: frozenset[str] = frozenset()
    """Columns whose objects become JSON text."""
    as_objects: frozenset[str] = frozenset()
    """Columns whose JSON text becomes an object."""

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return {name: column for column, others in self.columns.items() for name in (column, *others)}

    def read(self, content: bytes, kind: SourceFormat) -> ParsedSourceList:
        """Read a list; raises `BadInput` if it has no rows, no column for the key, or is too large."""
        if len(content) > MOST_FILE_BYTES:
            raise BadInput(f"the list is larger than {MOST_FILE_BYTES // 1_000_000} MB; split it")
        text = _decoded(content)
        if kind is SourceFormat.JSON:
            found = self.rows_of_objects(self._items(text))
        elif kind is SourceFormat.JSON_LINES:
            found = self._with_objects(_json_lines(text))
        else:
            found = self._read_table(text, (",", ";", "\t", "|") if kind is SourceFormat.CSV else ("\t",))
        if not found.rows:
            raise BadInput("the list has no rows")
        return found

    def rows_of_objects(self, items: Iterable[Any]) -> ParsedSourceList:
        """Read rows that are objects already, such as the items of a JSON list."""
        return self._with_objects((None, item) for item in items)

    def _read_table(self, text: str, delimiters: Sequence[str]) -> ParsedSourceList:
        """CSV with a header; quoted values may contain line breaks (RFC 4180 §2)."""
        for delimiter in delimiters:
            records = _records(text, delimiter)
            _, header = next(records, (1, []))
            if self.key in {self._by_name.get(_name(cell)) for cell in header}:
                columns, ignored = self._columns(header)
                return ParsedSourceList(_bounded(self._table_rows(records, columns)), ignored)
        raise BadInput(
            "the first line must name the columns, and one of them must be "
            f"{self.key_in_words}: it is {text.partition(chr(10))[0].strip()[:80]!r}"
        )

    def _table_rows(
        self, records: Iterable[tuple[int, list[str]]], columns: Sequence[tuple[str, str | None]]
    ) -> Iterator[SourceRow]:
        for number, (line, cells) in enumerate(records, start=1):
            if sum(map(len, cells)) > LONGEST_ROW:
                yield SourceRow(number, line, problem=(None, f"is longer than {LONGEST_ROW:,} characters"))
            elif any(cell.strip() for cell in cells[len(columns) :]):
                yield SourceRow(
                    number, line, problem=(None, f"has {len(cells)} values, but the header has {len(columns)} columns")
                )
            else:
                named = zip((column for _, column in columns), cells, strict=False)
                yield self._row(number, line, {column: cell for column, cell in named if column is not None})

    def _items(self, text: str) -> list[Any]:
        """The items of a JSON list, also of a document that a listing prints as JSON."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            raise BadInput(f"the list is not JSON{where}; a file with one object per line must end in .jsonl") from None
        if isinstance(document, dict) and isinstance(document.get(self.noun), list):
            document = document[self.noun]
        if not isinstance(document, list):
            raise BadInput(f"the list must be a JSON array of objects, each with {self.key_in_words}")
        return document

    def _with_objects(self, items: Iterable[tuple[int | None, Any]]) -> ParsedSourceList:
        ignored: dict[str, None] = {}
        return ParsedSourceList(_bounded(self._object_rows(items, ignored)), tuple(ignored))

    def _object_rows(self, items: Iterable[tuple[int | None, Any]], ignored: dict[str, None]) -> Iterator[SourceRow]:
        known: dict[tuple[str, ...], Sequence[tuple[str, str | None]]] = {}
        for number, (line, item) in enumerate(items, start=1):
            if isinstance(item, tuple):
                yield SourceRow(number, line, problem=item)
                continue
            if not isinstance(item, Mapping):
                yield SourceRow(number, line, problem=(None, f"is not an object with {self.key_in_words}"))
                continue
            names = tuple(map(str, item))
            try:
                if names not in known:
                    if len(known) > MOST_ROWS:
                        known.clear()
                    known[names], unknown = self._columns(names)
                    ignored.update(dict.fromkeys(unknown[: max(0, _MOST_COLUMNS - len(ignored))]))
                columns = known[names]
            except BadInput as problem:
                yield SourceRow(number, line, problem=(problem.field, problem.reason))
                continue
            named = zip((column for _, column in columns), item.values(), strict=True)
            yield self._row(number, line, {column: value for column, value in named if column is not None})

    def _columns(self, header: Sequence[str]) -> tuple[list[tuple[str, str | None]], tuple[str, ...]]:
        """The column that each name means, None for one that is ignored; and the names that are ignored.

        A name that is almost one of ours is refused, not ignored: a misspelled column must not be lost.
        """
        if len(header) > _MOST_COLUMNS:
            raise BadInput(f"the list has more than {_MOST_COLUMNS} columns")
        found: list[tuple[str, str | None]] = []
        by_column: dict[str, str] = {}
        ignored: list[str] = []
        for cell in header:
            name = _name(cell)
            column = self._by_name.get(name)
            if column is not None and column in by_column:
                raise BadInput(f"the columns {by_column[column]!r} and {cell.strip()!r} both mean {column}; remove one")
            if column is not None:
                by_column[column] = cell.strip()
            elif name and name not in self.of_a_state:
                meant = nearest(name, list(self.columns)) if len(name) >= _SHORTEST_TYPO else None
                if meant is not None and meant not in {self._by_name.get(_name(each)) for each in header}:
                    raise BadInput(f"the column {cell.strip()[:40]!r} is not known; did you mean {meant}?")
                ignored.append(cell.strip()[:80])
            found.append((cell, column))
        return found, tuple(dict.fromkeys(ignored))

    def _row(self, number: int, line: int | None, given: Mapping[str, Any]) -> SourceRow:
        """Drop empty values, and parse numbers."""
        values: dict[str, Any] = {}
        for column, value in given.items():
            try:
                said = self._value(column, value)
            except BadInput as problem:
                address = given.get(self.key)
                kept = {self.key: address} if isinstance(address, str) else {}
                return SourceRow(number, line, kept, (problem.field, problem.reason))
            if said is not None:
                values[column] = said
        if self.key not in values:
            return SourceRow(number, line, values, (self.key, "is empty"))
        return SourceRow(number, line, values)

    def _value(self, column: str, value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if column in self.as_objects:
            return _object(column, value)
        if column in self.flags:
            return _flag(column, value)
        if column in self.as_text and isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadInput(column, "must be text or a number")
        if column in self.whole:
            text = str(value).strip()
            if not _WHOLE.fullmatch(text):
                raise BadInput(column, f"must be a whole number{self.whole[column]}, not {text[:40]!r}")
            return int(text.partition(".")[0])
        return _number(column, value) if column in self.numbers else str(value)


def _number(column: str, value: str | float) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise BadInput(column, f"must be a number, not {str(value)[:40]!r}") from None


def _flag(column: str, value: Any) -> bool:
    said = str(value).strip().lower()
    if said not in _FLAGS:
        raise BadInput(column, f"must be true or false, not {said[:40]!r}")
    return _FLAGS[said]


def _object(column: str, value: Any) -> Any:
    """An object, possibly written as JSON in a cell."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise BadInput(column, "must be a JSON object") from None
    if not isinstance(value, dict):
        raise BadInput(column, "must be a JSON object")
    return value


def _decoded(content: bytes) -> str:
    for mark, name in (*_WIDE, (b"\xfe\xff", "UTF-16")):
        if content.startswith(mark):
            raise BadInput(f"the list is {name}, which is not supported; {_SAVE_AS}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"line {line:,} is not UTF-8; {_SAVE_AS}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInput(f"line {line:,} contains a NUL character; {_SAVE_AS}")
    return text


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line on which it starts; empty lines are skipped."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            said = "is a closing quote missing?" if "end of data" in str(error) or "limit" in str(error) else str(error)
            raise BadInput(f"the row that starts on line {line:,} cannot be read: {said}") from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _json_lines(text: str) -> Iterator[tuple[int, Any]]:
    for line, each in enumerate(text.split("\n"), start=1):
        if not each.strip():
            continue
        if len(each) > LONGEST_ROW:
            yield line, (None, f"is longer than {LONGEST_ROW:,} characters")
            continue
        try:
            yield line, json.loads(each)
        except (ValueError, RecursionError):
            yield line, (None, "is not JSON")


def _name(cell: str) -> str:
    """A name in the form in which names are compared: "Careers URL" is careers_url."""
    return _NOT_A_NAME.sub("_", cell.strip().casefold()).strip("_")


def _bounded(rows: Iterator[SourceRow]) -> tuple[SourceRow, ...]:
    found: list[SourceRow] = []
    for row in rows:
        if len(found) >= MOST_ROWS:
            raise BadInput(f"the list has more than {MOST_ROWS:,} rows; split it")
        found.append(row)
    return tuple(found)


# Every column of a source that may be in a list, with the other names that people give it.
SOURCE_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "careers_url": (
        *("url", "link", "address", "website", "page", "source", "source_url", "careers", "careers_page"),
        *("career_url", "career_page", "jobs_url", "job_url", "jobs_page"),
    ),
    "org_name": (
        *("organisation", "organization", "org", "name", "organisation_name", "organization_name"),
        *("employer", "company", "company_name"),
    ),
    "source_type": ("type", "format"),
    "org_type": ("organisation_type", "organization_type", "kind", "category"),
    "parser_hint": ("hint", "parser"),
    "crawl_frequency_days": ("frequency_days", "crawl_frequency", "frequency", "days", "every_days"),
    "time_window": ("window", "hours"),
    "country": ("country_code", "country_iso", "iso", "iso2"),
    "time_zone": ("timezone", "tz", "zone"),
    "schedule": (),
    "importance": ("weight", "priority"),
}
# Columns of `comity sources list --json` that report what happened; a list cannot set them.
_NOT_OF_A_SOURCE: Final = frozenset(
    {
        *("id", "status", "next_run_at", "last_crawled_at", "last_crawl_status", "last_crawl_message", "created_at"),
        *("consecutive_failures", "consecutive_nochange", "last_found", "empty_reads", "change_statistics"),
        "updated_at",
    }
)
_SOURCES: Final = ListReader(
    noun="sources",
    key="careers_url",
    key_in_words="careers_url (or url)",
    columns=SOURCE_COLUMNS,
    of_a_state=_NOT_OF_A_SOURCE,
    whole={"crawl_frequency_days": " of days"},
    numbers=frozenset({"importance"}),
    as_text=frozenset({"parser_hint"}),
)
read_source_list: Final = _SOURCES.read
rows_of_objects: Final = _SOURCES.rows_of_objects


_POLICY_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "url": ("link", "address", "page", "product_url", "page_url"),
    "frequency_hours": ("frequency", "every_hours", "hours", "interval_hours"),
    "priority": (),
    "max_retries": ("retries",),
    "retry_backoff_minutes": ("backoff_minutes", "retry_backoff"),
    "timeout_minutes": ("timeout",),
    "crawl_config": ("config",),
    "enabled": ("active",),
    "schedule": (),
    "importance": ("weight",),
}
_POLICIES: Final = ListReader(
    noun="policies",
    key="url",
    key_in_words="url",
    columns=_POLICY_COLUMNS,
    of_a_state=frozenset(
        {
            *("id", "domain", "next_run_at", "failure_count", "last_success_at", "last_failed_at", "last_price"),
            *("last_currency", "last_in_stock", "change_statistics", "created_at", "updated_at"),
        }
    ),
    whole={
        "frequency_hours": " of hours",
        "priority": "",
        "max_retries": "",
        "retry_backoff_minutes": " of minutes",
        "timeout_minutes": " of minutes",
    },
    numbers=frozenset({"importance"}),
    flags=frozenset({"enabled"}),
    as_objects=frozenset({"crawl_config"}),
)
read_policy_list: Final = _POLICIES.read
