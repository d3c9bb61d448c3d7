"""Lists of hosts, and of what belongs to one host, in pages that an index finds however large the tables are.

A page continues after the last row of the page before; rows are never counted. If a filter has no index, a limited
number of rows is examined (`Window`): the page may then be short, and says where the next one continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    UnaryExpression,
    and_,
    case,
    func,
    literal_column,
    or_,
    select,
    true,
)

from comity.database.tables import (
    QUEUED,
    domain_frontier,
    domain_moves,
    domains,
    evidence,
    fetches,
    politeness_ledger,
)
from comity.model.host import HostStatus

NAMES_LOOKED_AT: Final = 60_000
"""Names that one page of a search looks through."""
ROWS_LOOKED_AT: Final = 5_000
"""Rows that one page looks at where a filter has no index."""
HOST_SORTS: Final = ("domain", "last_crawled_at", "priority_score", "next_crawl_after")
_HIGHEST: Final = "\U0010ffff"
Wanted = Callable[[Any], ColumnElement[bool]]


class Window(NamedTuple):
    """The rows of a page, and the last row that was looked at; None at the end of the list."""

    rows: Sequence[Any]
    last: Any | None


class HostOrder(NamedTuple):
    """By which column hosts are listed, and in which direction; names break ties in the same direction.

    Hosts without a value come last, by name.
    """

    column: str
    is_descending: bool = False


def by_name(
    connection: Connection,
    status: HostStatus | None,
    after: str | None,
    prefix: str,
    limit: int,
    *,
    is_descending: bool = False,
) -> Window:
    """Hosts by name, of one status or of all, whose names begin with a text."""
    column = domains.c
    end = column.domain.desc() if is_descending else column.domain
    statement = select(domains).order_by(end).limit(limit)
    if status is not None:
        statement = statement.where(column.status == status)
        statement = statement.with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
    if prefix:
        statement = statement.where(column.domain >= prefix, column.domain < prefix + _HIGHEST)
    if after is not None:
        statement = statement.where(column.domain < after if is_descending else column.domain > after)
    rows = connection.execute(statement).all()
    return Window(rows, rows[-1] if len(rows) == limit else None)


def name_contains(
    connection: Connection, status: HostStatus | None, after: str | None, text: str, limit: int
) -> Window:
    """Hosts by name whose names contain a text and do not begin with it. Looks at `NAMES_LOOKED_AT` names."""
    column = domains.c
    names = select(column.domain).order_by(column.domain).limit(NAMES_LOOKED_AT)
    if status is not None:
        names = names.where(column.status == status)
        names = names.with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
    if after is not None:
        names = names.where(column.domain > after)
    looked_at = names.subquery()
    place = func.instr if connection.dialect.name == "sqlite" else func.strpos
    matching = (
        select(looked_at.c.domain).where(place(looked_at.c.domain, text) > 1).order_by(looked_at.c.domain).limit(limit)
    )
    found = list(connection.execute(matching).scalars())
    if len(found) == limit:
        last: str | None = found[-1]
    else:
        edge = select(func.max(looked_at.c.domain), func.count()).select_from(looked_at)
        highest, count = connection.execute(edge).one()
        last = highest if count == NAMES_LOOKED_AT else None
    rows = connection.execute(select(domains).where(column.domain.in_(found)).order_by(column.domain)).all()
    return Window(rows, last)


def in_order(
    connection: Connection,
    order: HostOrder,
    status: HostStatus | None,
    after: tuple[Any, str] | None,
    limit: int,
) -> Window:
    """Hosts by a column with an index; those without a value come last, by name.

    `after` is the value and the name of the last row of the page before. With a status, `ROWS_LOOKED_AT` rows at most
    are looked at, unless few hosts have that status: then all of them are sorted.
    """
    if status is not None and _has_few(connection, status):
        return _filtered(connection, order, after, limit, domains.c.status == status, "idx_domains_status")
    is_nullable = order.column != "priority_score"
    found: list[Any] = []
    if after is None or after[0] is not None:
        window = _segment(connection, order, after, limit, status, has_value=True)
        if window.last is not None or not is_nullable:
            return window
        found, after = list(window.rows), None
    window = _segment(connection, order, after, limit - len(found), status, has_value=False)
    return Window([*found, *window.rows], window.last)


def _segment(
    connection: Connection,
    order: HostOrder,
    after: tuple[Any, str] | None,
    limit: int,
    status: HostStatus | None,
    *,
    has_value: bool,
) -> Window:
    """Hosts that have a value in the order of it, or those that have none, in the order of their names."""
    column, name = domains.c[order.column], domains.c.domain
    statement: Select[Any] = select(domains)
    ends: tuple[Any, ...] = (name,)
    if has_value:
        statement = statement.where(column.is_not(None), *_behind(column, name, order.is_descending, after))
        ends = (column.desc(), name.desc()) if order.is_descending else (column, name)
    else:
        statement = statement.where(column.is_(None))
        if after is not None:
            statement = statement.where(name > after[1])
    if status is None:
        rows = connection.execute(statement.order_by(*ends).limit(limit)).all()
        return Window(rows, rows[-1] if len(rows) == limit else None)
    return _window(connection, statement, ends, lambda row: row.status == status, limit)


def _window(connection: Connection, statement: Select[Any], ends: Sequence[Any], wanted: Wanted, limit: int) -> Window:
    """The first rows that are wanted, among the first `ROWS_LOOKED_AT` in an order; the database filters them."""
    ordered = statement.order_by(*ends)
    looked_at = ordered.limit(ROWS_LOOKED_AT).subquery()
    of_window = [_on(looked_at, end) for end in ends]
    rows = connection.execute(select(looked_at).where(wanted(looked_at.c)).order_by(*of_window).limit(limit)).all()
    if len(rows) == limit:
        return Window(rows, rows[-1])
    return Window(rows, connection.execute(ordered.offset(ROWS_LOOKED_AT - 1).limit(1)).first())


def _on(looked_at: Any, end: Any) -> Any:
    """The same order on the rows of a subquery."""
    column = end.element if isinstance(end, UnaryExpression) else end
    found = looked_at.c[column.name]
    return found.desc() if isinstance(end, UnaryExpression) else found


def _has_few(connection: Connection, status: HostStatus) -> bool:
    some = select(domains.c.domain).where(domains.c.status == status).limit(ROWS_LOOKED_AT)
    some = some.with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
    count = connection.execute(select(func.count()).select_from(some.subquery())).scalar_one()
    return bool(count < ROWS_LOOKED_AT)


def _filtered(
    connection: Connection,
    order: HostOrder,
    after: tuple[Any, str] | None,
    limit: int,
    condition: ColumnElement[bool],
    index: str,
) -> Window:
    """The same for a few hosts, which are sorted."""
    column, name = domains.c[order.column], domains.c.domain
    statement = select(domains).where(condition).with_hint(domains, f"INDEXED BY {index}", "sqlite")
    if after is not None:
        if after[0] is None:
            statement = statement.where(column.is_(None), name > after[1])
        else:
            statement = statement.where(or_(column.is_(None), *_behind(column, name, order.is_descending, after)))
    tie = case((column.is_(None), name), else_=None)  # those without a value are in the order of their names
    ends = (column.desc().nulls_last(), tie, name.desc()) if order.is_descending else (column.asc().nulls_last(), name)
    rows = connection.execute(statement.order_by(*ends).limit(limit)).all()
    return Window(rows, rows[-1] if len(rows) == limit else None)


def _behind(column: Any, name: Any, is_descending: bool, after: tuple[Any, Any] | None) -> list[ColumnElement[bool]]:
    """Rows behind a place in the order of a column and a second one that breaks its ties."""
    if after is None:
        return []
    value, last = after
    if is_descending:
        return [and_(column <= value, or_(column < value, name < last))]
    return [and_(column >= value, or_(column > value, name > last))]


def count_up_to(connection: Connection, status: HostStatus | None, most: int) -> int:
    """How many hosts there are, counted no further than `most`."""
    some = select(domains.c.domain).limit(most)
    if status is not None:
        some = some.where(domains.c.status == status)
        some = some.with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
    return int(connection.execute(select(func.count()).select_from(some.subquery())).scalar_one())


def moves(
    connection: Connection,
    host_id: UUID,
    after: int | None,
    limit: int,
    *,
    to_status: HostStatus | None = None,
    oldest_first: bool = False,
) -> Window:
    """Changes of a host's status, newest first. With a status, `ROWS_LOOKED_AT` changes are looked at."""
    column = domain_moves.c
    statement = select(domain_moves).where(column.domain_id == host_id)
    if after is not None:
        statement = statement.where(column.id > after if oldest_first else column.id < after)
    end = column.id if oldest_first else column.id.desc()
    wanted = None if to_status is None else (lambda row: row.to_status == to_status)
    return _by_time(connection, statement, [end], limit, wanted)


def requests(
    connection: Connection, host_id: UUID, after: int | None, limit: int, *, oldest_first: bool = False
) -> Sequence[Any]:
    """Requests to a host in the order of the ledger, newest first; `after` is the last place that is known."""
    column = politeness_ledger.c
    statement = select(politeness_ledger).where(column.domain_id == host_id)
    if after is not None:
        statement = statement.where(column.sequence > after if oldest_first else column.sequence < after)
    ends = (column.sequence, column.id) if oldest_first else (column.sequence.desc(), column.id.desc())
    return connection.execute(statement.order_by(*ends).limit(limit)).all()


def fetches_of_host(
    connection: Connection,
    host: str,
    after: tuple[datetime, int] | None,
    limit: int,
    *,
    outcome: str | None = None,
    only_errors: bool = False,
    oldest_first: bool = False,
) -> Window:
    """Visits of a host, newest first. With a filter, `ROWS_LOOKED_AT` visits are looked at."""
    column = fetches.c
    behind = _behind(column.crawled_at, column.id, not oldest_first, after)
    statement = select(fetches).where(column.domain == host, *behind)

    def wanted(row: Any) -> ColumnElement[bool]:
        conditions = [row.outcome == outcome] if outcome is not None else []
        return and_(true(), *conditions, *([row.error.is_not(None)] if only_errors else []))

    ends = _ends(column.crawled_at, column.id, oldest_first)
    return _by_time(connection, statement, ends, limit, wanted if outcome is not None or only_errors else None)


def evidence_of_host(
    connection: Connection,
    host_id: UUID,
    after: tuple[datetime, int] | None,
    limit: int,
    *,
    kind: str | None = None,
    oldest_first: bool = False,
) -> Window:
    """Decisions about URLs of a host, newest first. With a kind, `ROWS_LOOKED_AT` decisions are looked at."""
    column = evidence.c
    behind = _behind(column.created_at, column.id, not oldest_first, after)
    statement = select(evidence).where(column.domain_id == host_id, *behind)
    ends = _ends(column.created_at, column.id, oldest_first)
    return _by_time(connection, statement, ends, limit, None if kind is None else (lambda row: row.type == kind))


def _ends(time: Any, identity: Any, oldest_first: bool) -> tuple[Any, Any]:
    return (time, identity) if oldest_first else (time.desc(), identity.desc())


def _by_time(
    connection: Connection, statement: Select[Any], ends: Sequence[Any], limit: int, wanted: Wanted | None
) -> Window:
    if wanted is not None:
        return _window(connection, statement, ends, wanted, limit)
    rows = connection.execute(statement.order_by(*ends).limit(limit)).all()
    return Window(rows, rows[-1] if len(rows) == limit else None)


def frontier_page(connection: Connection, host_id: UUID, state: int, after: int | None, limit: int) -> Window:
    """URLs of a host in one state: queued ones in the order of their turn, others by their keys.

    Queued URLs have one page: what comes behind it changes with every visit.
    """
    column = domain_frontier.c
    mine = select(domain_frontier).where(column.domain_id == host_id)
    if state == QUEUED:
        queued = mine.where(column.state == literal_column(str(QUEUED)))
        rows = connection.execute(queued.order_by(column.priority.desc(), column.depth, column.id).limit(limit)).all()
        return Window(rows, None)
    if after is not None:
        mine = mine.where(column.url_key > after)
    mine = mine.with_hint(domain_frontier, "INDEXED BY uq_domain_frontier_url", "sqlite")
    return _window(connection, mine, (column.url_key,), lambda row: row.state == state, limit)


def frontier_counts(connection: Connection, host_id: UUID, most: int) -> tuple[dict[int, int], bool]:
    """How many of a host's URLs are in each state, and whether that is all: at most `most` are looked at."""
    some = (
        select(domain_frontier.c.state)
        .where(domain_frontier.c.domain_id == host_id)
        .with_hint(domain_frontier, "INDEXED BY uq_domain_frontier_url", "sqlite")
        .order_by(domain_frontier.c.url_key)
        .limit(most)
        .subquery()
    )
    rows = connection.execute(select(some.c.state, func.count().label("urls")).group_by(some.c.state)).all()
    counts = {row.state: row.urls for row in rows}
    return counts, sum(counts.values()) < most
