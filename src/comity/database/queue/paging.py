"""Pages of a list by key: the next page begins after the last row of this one.

A page deep in a million rows costs as little as the first, and rows that are added or deleted in between neither repeat
nor hide others. For that each part of the page must be one range of one index, in its order. So a page is put together
from ranges: the rows that are equal to the last one in the first columns of the order and beyond it in the next. No
value is the smallest. A condition that allows several values (any status) is several ranges, too.

What no index finds (a text within a URL) is searched for among a limited number of the next rows. Such a page may be
short, and says where the next one continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, case, func, select, union_all

from comity.model.dataclass import dataclass

Conditions = Sequence[ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class PageOf:
    """Which rows of a list: their order, and the sort values and id of the row before the first."""

    sort: str
    descending: bool
    limit: int
    after: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column of an order; `reverse` if it goes against the direction of the first, `is_set` if no row lacks it."""

    column: ColumnElement[Any]
    reverse: bool = False
    is_set: bool = False

    @property
    def may_be_missing(self) -> bool:
        """Whether rows may have no value in this column."""
        return bool(getattr(self.column, "nullable", False)) and not self.is_set


Sorts = Mapping[str, tuple[SortKey, ...]]


def by(*columns: ColumnElement[Any]) -> tuple[SortKey, ...]:
    """An order in which every column goes in the same direction."""
    return tuple(map(SortKey, columns))


def keys_of(table: FromClause, sorts: Sorts, sort: str) -> tuple[SortKey, ...]:
    """The columns of an order, with the id that decides between equals."""
    keys = sorts[sort]
    return (*keys, SortKey(table.c.id, keys[-1].reverse))


class FoundRows(list[Row[Any]]):
    """The rows of a page; `last` is the last one that a search looked at, if others follow that it did not look at."""

    last: Row[Any] | None = None


def page_of(
    connection: Connection,
    selected: Select[Any],
    table: FromClause,
    sorts: Sorts,
    page: PageOf,
    conditions: Conditions = (),
    groups: Sequence[Conditions] = ((),),
) -> FoundRows:
    """The rows of one page. `conditions` are about the table itself; a row belongs to exactly one of the groups."""
    keys = keys_of(table, sorts, page.sort)
    columns = [(key, page.descending is not key.reverse) for key in keys]
    ranges = list(_ranges(columns, page.after))
    parts = [
        select(table.c.id).where(*conditions, *group, *within).order_by(*_order(columns)).limit(page.limit)
        for group in groups
        for within in ranges
    ]
    # Only the ids are looked for in the ranges: conditions need not name their table, and what is joined is few rows.
    ids = union_all(*(select(part.subquery().c.id) for part in parts))
    statement = selected.where(table.c.id.in_(ids)).order_by(*_order(columns, with_nulls=True))
    return FoundRows(connection.execute(statement.limit(page.limit)))


def searched(
    connection: Connection,
    selected: Select[Any],
    table: FromClause,
    sorts: Sorts,
    page: PageOf,
    conditions: Conditions,
    matches: ColumnElement[bool],
) -> FoundRows:
    """The rows of one page that match, among the next `LOOKED_AT` that the conditions allow."""
    columns = [(key, page.descending is not key.reverse) for key in keys_of(table, sorts, page.sort)]
    ids: list[Any] = []
    last: Any = None
    left = LOOKED_AT
    for within in _ranges(columns, page.after):
        wanted = {key.column.name: key.column for key, _ in columns}
        ordered = select(*wanted.values(), matches.label("is_match")).where(*conditions, *within)
        ordered = ordered.order_by(*_order(columns)).limit(left)
        looked_at = ordered.subquery()
        same_order = [(SortKey(looked_at.c[key.column.name]), descending) for key, descending in columns]
        hits = select(looked_at.c.id).where(looked_at.c.is_match).order_by(*_order(same_order))
        ids += connection.execute(hits.limit(page.limit - len(ids))).scalars()
        if len(ids) >= page.limit:
            break
        number = int(connection.execute(select(func.count()).select_from(looked_at)).scalar_one())
        if number == left:
            last = connection.execute(ordered.offset(left - 1).limit(1)).one().id
            break
        left -= number
    statement = selected.where(table.c.id.in_(ids if last is None else {*ids, last}))
    rows = connection.execute(statement.order_by(*_order(columns, with_nulls=True))).all()
    found = FoundRows(row for row in rows if row.id in ids)
    found.last = next((row for row in rows if row.id == last), None)
    return found


_Directed = Sequence[tuple[SortKey, bool]]


def _ranges(keys: _Directed, after: tuple[Any, ...] | None) -> Iterator[list[ColumnElement[bool]]]:
    """The ranges that make up what comes after a row, in order; none needs rows without a value to be sorted in."""
    if after is None:
        optional = [(key.column, way) for key, way in keys if key.may_be_missing][:1]  # no order has two of them
        with_value: list[ColumnElement[bool]] = [column.is_not(None) for column, _ in optional]
        without: list[list[ColumnElement[bool]]] = [[column.is_(None)] for column, _ in optional]
        is_descending = bool(optional) and optional[0][1]
        yield from ([with_value, *without] if is_descending else [*without, with_value])
        return
    equal: list[ColumnElement[bool]] = []
    levels: list[list[list[ColumnElement[bool]]]] = []
    for (key, descending), value in zip(keys, after, strict=True):
        column = key.column
        if value is None:
            levels.append([] if descending else [[*equal, column.is_not(None)]])
            equal.append(column.is_(None))
            continue
        beyond = [[*equal, column < value if descending else column > value]]
        if descending and key.may_be_missing:
            beyond.append([*equal, column.is_(None)])
        levels.append(beyond)
        equal.append(column == value)
    for level in reversed(levels):
        yield from level


def _order(keys: _Directed, *, with_nulls: bool = False) -> Iterator[ColumnElement[Any]]:
    for key, descending in keys:
        if with_nulls and key.may_be_missing:
            is_set = case((key.column.is_(None), 0), else_=1)
            yield is_set.desc() if descending else is_set
        yield key.column.desc() if descending else key.column


COUNTED: Final = 10_000
LOOKED_AT: Final = 10_000
"""Rows that one page of a search looks at."""


def count_up_to(connection: Connection, table: FromClause, conditions: Conditions, most: int = COUNTED) -> int:
    """How many rows there are, but at most one more than `most`: a large table is never counted as a whole."""
    some = select(table.c[next(iter(table.primary_key)).name]).where(*conditions).limit(most + 1).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())
