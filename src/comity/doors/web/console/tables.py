"""Tables: what a table can show, the part of a URL that says what it shows now, and its rows as HTML or CSV.

The whole state of a table is in the URL, so it can be shared, and the back button works. What a URL asks for and the
table does not have is ignored, with a notice: it is never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import StreamingResponse
from markupsafe import Markup, escape

from comity.doors.schemas import iso_time
from comity.doors.web.console import components
from comity.model.dataclass import dataclass
from comity.rules.csv_rows import CsvValue, csv_line

DEFAULT_LIMIT: Final = 50
LIMITS: Final = (25, 50, 100, 200)
MOST_CSV_ROWS: Final = 100_000
MOST_SKIPPED: Final = 10_000  # rows that a database counts through to reach a page
_LONGEST_VALUE: Final = 500
_LONGEST_KEY: Final = 1000
_CSV_CHUNK: Final = 200  # rows


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Without `cell`, the attribute of the row with this name is shown; CSV has the bare value."""

    name: str
    label: str
    cell: Callable[[Any], object] | None = None
    csv: Callable[[Any], object] | None = None
    sorts: bool = False
    """Whether rows can be sorted by it; only if an index can do that, or the rows are in memory."""
    is_number: bool = False
    is_minor: bool = False
    """Left out on a phone."""
    is_wide: bool = False
    """Takes the room that others leave."""
    in_page: bool = True
    """False: only in CSV."""
    in_csv: bool = True

    def html(self, row: Any) -> object:
        """The content of the cell."""
        value = self.cell(row) if self.cell is not None else getattr(row, self.name)
        return _shown(value)

    def value(self, row: Any) -> Any:
        """The value for CSV and for sorting."""
        found = self.csv(row) if self.csv is not None else getattr(row, self.name, None)
        return found.lower() if isinstance(found, str) else found

    def text(self, row: Any) -> CsvValue:
        """The value as CSV has it."""
        return _bare(self.csv(row) if self.csv is not None else getattr(row, self.name, None))


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: a search box, a text, or a choice among values."""

    name: str
    label: str
    choices: Sequence[tuple[str, str]] = ()
    placeholder: str = ""
    is_search: bool = False
    """The box that `/` focuses."""
    is_of_links: bool = False
    """An id that links of other pages carry and that is not typed: shown only while it is set."""
    default: str = ""
    """The choice in force while the URL names none. To lift it, there is the choice `all`, if `has_all`."""
    has_all: bool = True

    @property
    def options(self) -> list[tuple[str, str]]:
        """What a choice offers: values and words. The one in force without a value in the URL has the value ""."""
        first = [("all" if self.default else "", "all")] if self.has_all else []
        return first + [("" if value == self.default else value, shown) for value, shown in self.choices]

    def accepts(self, value: str) -> bool:
        """Whether a value can be used."""
        if self.choices:
            return any(value == each for each, _ in (*self.choices, *self.options))
        return len(value) <= _LONGEST_VALUE and "\0" not in value


def search(label: str = "Search", placeholder: str = "", name: str = "q") -> Filter:
    """The search box of a table."""
    return Filter(name, label, placeholder=placeholder or label, is_search=True)


def choice(name: str, label: str, values: Iterable[object], *, default: str = "", has_all: bool = True) -> Filter:
    """A choice among values, which are shown in words; pairs (value, label) may be passed too."""
    pairs = [each if isinstance(each, tuple) else (_code(each), components.words(each)) for each in values]
    return Filter(name, label, [(str(value), str(shown)) for value, shown in pairs], default=default, has_all=has_all)


@dataclass(frozen=True, slots=True)
class Bulk:
    """An action on the rows that are ticked. `confirm` is asked before (by a dialog where scripts run)."""

    name: str
    label: str
    confirm: str = ""
    is_dangerous: bool = False


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What a URL asks of a table: known filters, an order, a page."""

    values: Mapping[str, str]
    sort: str = ""
    descending: bool = False
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    after: str = ""
    before: str = ""
    wants_csv: bool = False
    ignored: tuple[str, ...] = ()
    """Names of parameters that could not be used."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """What is in force for filters that the URL does not set."""

    def get(self, name: str) -> str | None:
        """The value in force of a filter; None if there is none."""
        default = self.defaults.get(name)
        value = self.values.get(name) or default
        return None if default and value == "all" else value or None

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.values)

    @property
    def sort_text(self) -> str:
        """The order as the URL has it: `-next_run_at` is descending."""
        return f"-{self.sort}" if self.descending else self.sort


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, filters and order. `key` names a row, for paging by key and for bulk actions."""

    name: str
    columns: Sequence[Column]
    filters: Sequence[Filter] = ()
    default_sort: str = ""
    key: Callable[[Any], object] | None = None
    pages_by_key: bool = False
    """Pages follow the key of the last row (`after`), so that the thousandth costs as much as the first."""
    goes_back: bool = False
    """With `pages_by_key`: the query of the page understands `before`, too."""
    bulk: Sequence[Bulk] = ()
    bulk_path: str = ""
    has_csv: bool = True
    older: str = "Next"
    newer: str = "Previous"
    row_href: Callable[[Any], str] | None = None
    """Where Enter and a click on the row lead; the first column should hold the same link."""
    empty: str = "Nothing here yet."
    empty_lead: tuple[str, str] | None = None
    """A button for operators where there are no rows: its label, and the path of the console that it leads to."""
    limits: Sequence[int] = field(default=LIMITS)

    def read(self, request: Request) -> TableQuery:
        """Read the query of a request."""
        return self.query_of(request.query_params.multi_items())

    def query_of(self, parameters: Iterable[tuple[str, str]]) -> TableQuery:
        """Read a query; the last value of a name counts."""
        sent = dict(parameters)
        values: dict[str, str] = {}
        ignored: list[str] = []
        for each in self.filters:
            value = sent.pop(each.name, "").strip()
            if value and each.accepts(value):
                if value != each.default:
                    values[each.name] = value
            elif value:
                ignored.append(each.name)
        sort, descending = self._sort(sent.pop("sort", ""), ignored)
        limit = _whole(sent, "limit", DEFAULT_LIMIT, ignored)
        if not 1 <= limit <= max(self.limits):
            limit = DEFAULT_LIMIT
            ignored.append("limit")
        offset = _whole(sent, "offset", 0, ignored)
        if not 0 <= offset <= MOST_SKIPPED:
            offset = min(max(offset, 0), MOST_SKIPPED)
            ignored.append("offset")
        after, before = (sent.pop(name, "")[:_LONGEST_KEY].replace("\0", "") for name in ("after", "before"))
        wants_csv = sent.pop("format", "") == "csv" and self.has_csv
        unknown = (*ignored, *sent)
        defaults = {each.name: each.default for each in self.filters if each.default}
        return TableQuery(values, sort, descending, limit, offset, after, before, wants_csv, unknown, defaults)

    def _sort(self, text: str, ignored: list[str]) -> tuple[str, bool]:
        known = {column.name for column in self.columns if column.sorts}
        if text and text.removeprefix("-") not in known:
            ignored.append("sort")
            text = ""
        text = text or self.default_sort
        return text.removeprefix("-"), text.startswith("-")

    def listing(
        self,
        query: TableQuery,
        rows: Sequence[Any],
        *,
        total: int | None = None,
        total_is_exact: bool = True,
        path: str = "",
        more: str = "",
        cursor: str | None = None,
    ) -> TablePage:
        """The rows of one page. Pass one row more than `query.limit` if there is one: it tells that a page follows.

        A report that pages by its own cursors passes `cursor` instead: the place of the next page, "" at the end.
        `path` is where the table stands if not on this page's own path; `more` is added to its URLs (`tab=jobs`).
        """
        has_more = len(rows) > query.limit
        shown = rows[-query.limit :] if has_more and query.before else rows[: query.limit]
        return TablePage(self, query, shown, has_more, total, total_is_exact, path, more, cursor)

    def arranged(self, query: TableQuery, rows: Iterable[Any]) -> list[Any]:
        """Rows that are in memory, a few thousand at most: those with the text of the search, in the order asked for.

        The search looks through all that CSV has of a row. Rows without a value come last.
        """
        box = next((each.name for each in self.filters if each.is_search), "")
        wanted = (query.get(box) or "").lower()
        in_csv = [column for column in self.columns if column.in_csv]
        found = [row for row in rows if any(wanted in str(column.text(row) or "").lower() for column in in_csv)]
        column = next((each for each in self.columns if each.name == query.sort), None)
        if column is None:
            return found
        filled = [(value, row) for row in found if (value := column.value(row)) not in (None, "")]
        filled.sort(key=lambda pair: pair[0], reverse=query.descending)
        return [row for _value, row in filled] + [row for row in found if column.value(row) in (None, "")]

    def csv(self, rows: Iterable[Any], *, is_begun: bool = False) -> StreamingResponse:
        """Send rows as CSV, at most 100,000 of them, as they are read.

        The first rows are read here: what is wrong with the list is an error then, not a file that breaks off. A list
        that has done so itself `is_begun`: where few rows match a filter, the first may be far away. It may give None
        between rows, while it looks for the next: the server then notices if the client has left.
        """
        left = iter(rows)
        first = [] if is_begun else list(islice(left, _CSV_CHUNK))
        headers = {"Content-Disposition": f'attachment; filename="{self.name}.csv"'}
        return StreamingResponse(self._lines(chain(first, left)), media_type="text/csv; charset=utf-8", headers=headers)

    def _lines(self, rows: Iterable[Any]) -> Iterator[bytes]:
        columns = [column for column in self.columns if column.in_csv]
        yield csv_line([column.name for column in columns]).encode()
        lines: list[str] = []
        left = MOST_CSV_ROWS
        for row in rows:
            if row is not None:
                lines.append(csv_line([column.text(row) for column in columns]))
                left -= 1
            if row is None or len(lines) == _CSV_CHUNK or not left:
                yield "".join(lines).encode("utf-8", "replace")
                lines.clear()
            if not left:
                return
        if lines:
            yield "".join(lines).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class TablePage:
    """One page of a table, as `table.html` renders it."""

    table: Table
    query: TableQuery
    rows: Sequence[Any]
    has_more: bool
    total: int | None
    total_is_exact: bool
    path: str
    more: str
    cursor: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing at all, so that there is nothing to filter either."""
        query = self.query
        return not (self.rows or query.is_filtered or query.offset or query.after or query.before or self.cursor)

    @property
    def columns(self) -> list[Column]:
        """The columns of the page."""
        return [column for column in self.table.columns if column.in_page]

    def href(self, **changes: object) -> str:
        """The URL of this table with some parameters changed; an empty value removes one."""
        query = self.query
        sent: dict[str, object] = dict(query.values)
        if query.sort_text != self.table.default_sort:
            sent["sort"] = query.sort_text
        if query.limit != DEFAULT_LIMIT:
            sent["limit"] = query.limit
        sent |= changes
        text = urlencode({name: value for name, value in sent.items() if value not in ("", None)})
        return f"{self.path}?{'&'.join(part for part in (self.more, text) if part)}"

    def without(self, name: str) -> str:
        """The URL of this table without one of its filters."""
        return self.href(**{name: ""})

    def sort_href(self, column: Column) -> str:
        """The URL that sorts by a column; by the other direction, if it is sorted by it."""
        is_up = self.query.sort == column.name and not self.query.descending
        return self.href(sort=f"-{column.name}" if is_up else column.name)

    def sorted_as(self, column: Column) -> str:
        """`ascending`, `descending` or nothing, as ARIA names it."""
        if self.query.sort != column.name:
            return ""
        return "descending" if self.query.descending else "ascending"

    @property
    def next_href(self) -> str:
        """The URL of the next page; empty if this is the last."""
        if self.cursor is not None:
            return self.href(after=self.cursor) if self.cursor else ""
        if self.table.pages_by_key:
            has_next = self.has_more or bool(self.query.before)
            return self.href(after=self.key_of(self.rows[-1])) if has_next and self.rows else ""
        offset = self.query.offset + self.query.limit
        return self.href(offset=offset) if self.has_more and offset <= MOST_SKIPPED else ""

    @property
    def is_cut(self) -> bool:
        """Whether more rows follow, but too far for the database to count through."""
        return self.cursor is None and not self.table.pages_by_key and self.has_more and not self.next_href

    @property
    def previous_href(self) -> str:
        """The URL of the page before; empty if this is the first."""
        query = self.query
        if self.table.pages_by_key:
            is_first = not query.after and not (query.before and self.has_more)
            if is_first:
                return ""
            if self.table.goes_back and self.rows:
                return self.href(before=self.key_of(self.rows[0]))
            return self.href()  # back to the first page
        return self.href(offset=max(query.offset - query.limit, 0) or "") if query.offset else ""

    @property
    def next_label(self) -> str:
        """What the link to the next page says: "Older" is true in the table's own order only."""
        return self.table.older if self.query.sort_text == self.table.default_sort else "Next"

    @property
    def previous_label(self) -> str:
        """What the link back says."""
        if self.query.sort_text == self.table.default_sort:
            return self.table.newer
        return "First page" if self.table.pages_by_key and not self.table.goes_back else "Previous"

    @property
    def csv_href(self) -> str:
        """The URL of the same rows as CSV."""
        return self.href(format="csv", limit="")

    @property
    def count(self) -> str:
        """How many rows there are, as far as that is known."""
        if self.total is None:
            return ""
        return f"{self.total:,}" + ("" if self.total_is_exact else "+")

    @property
    def span(self) -> str:
        """Which rows are shown: "51–100 of 10,000+"."""
        if not self.rows:
            return ""
        of_all = f" of {self.count}" if self.count else ""
        if self.table.pages_by_key:
            if not of_all and not (self.next_href or self.previous_href):
                return components.plural(len(self.rows), "row")
            return f"{components.plural(len(self.rows), 'row')}{of_all}"
        first = self.query.offset + 1
        return f"{first:,}–{self.query.offset + len(self.rows):,}{of_all}"

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Parameters that the filter form carries along."""
        sort = self.query.sort_text
        kept = [("sort", sort)] if sort != self.table.default_sort else []
        if self.query.limit != DEFAULT_LIMIT:
            kept.append(("limit", str(self.query.limit)))
        for each in self.more.split("&") if self.more else ():
            name, _, value = each.partition("=")
            kept.append((name, value))
        return kept

    def key_of(self, row: Any) -> str:
        """The key of a row."""
        assert self.table.key is not None, f"the table {self.table.name} needs a key"
        return str(self.table.key(row))

    def row_href_of(self, row: Any) -> str:
        """Where a row leads; empty if nowhere."""
        return self.table.row_href(row) if self.table.row_href is not None else ""


def _whole(sent: dict[str, str], name: str, default: int, ignored: list[str]) -> int:
    text = sent.pop(name, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    ignored.append(name)
    return default


def _code(value: object) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _shown(value: object) -> object:
    """A value as a cell shows it, where the page does not say how."""
    if value is None or value == "":
        return components.NOTHING
    if isinstance(value, Markup):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return components.when(value)
    if isinstance(value, int | float | Decimal):
        return components.number(value)
    if isinstance(value, Enum):
        return components.words(value)
    return escape(value)


def _bare(value: object) -> CsvValue:
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, str | bool | int | float | Decimal):
        return value
    return iso_time(value) if isinstance(value, datetime) else str(value)
