"""Pages of a list by key: the next page begins after the last row of this one.

A page deep in a million rows costs as little as the first, and rows that come or go meanwhile neither repeat nor hide
others. For that each part of the page must be one range of one index, in its order. So a page is put together from
ranges: the rows that are equal to the last one in the first columns of the order and beyond it in the next. No value
is the smallest. A condition that allows several values (any status) is several ranges, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, case, func, select, union_all

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


def page_of(
    connection: Connection,
    selected: Select[Any],
    table: FromClause,
    sorts: Sorts,
    page: PageOf,
    conditions: Conditions = (),
    groups: Sequence[Conditions] = ((),),
) -> list[Row[Any]]:
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
    return list(connection.execute(statement.limit(page.limit)))


_Directed = Sequence[tuple[SortKey, bool]]


def _ranges(keys: _Directed, after: tuple[Any, ...] | None) -> Iterator[list[ColumnElement[bool]]]:
    """The ranges that make up what comes after a row, none of which needs rows without a value to be sorted in."""
    if after is None:
        optional = [key.column for key, _ in keys if key.may_be_missing][:1]  # no order has two of them
        for column in optional:
            yield [column.is_(None)]
        yield [column.is_not(None) for column in optional]
        return
    equal: list[ColumnElement[bool]] = []
    for (key, descending), value in zip(keys, after, strict=True):
        column = key.column
        if value is None:
            if not descending:
                yield [*equal, column.is_not(None)]
            equal.append(column.is_(None))
            continue
        yield [*equal, column < value if descending else column > value]
        if descending and key.may_be_missing:
            yield [*equal, column.is_(None)]
        equal.append(column == value)


def _order(keys: _Directed, *, with_nulls: bool = False) -> Iterator[ColumnElement[Any]]:
    for key, descending in keys:
        if with_nulls and key.may_be_missing:
            is_set = case((key.column.is_(None), 0), else_=1)
            yield is_set.desc() if descending else is_set
        yield key.column.desc() if descending else key.column


COUNTED: Final = 10_000


def count_up_to(connection: Connection, table: FromClause, conditions: Conditions, most: int = COUNTED) -> int:
    """How many rows there are, but at most one more than `most`: a large table is never counted as a whole."""
    some = select(table.c[next(iter(table.primary_key)).name]).where(*conditions).limit(most + 1).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())
