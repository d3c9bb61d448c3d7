"""Statements on `domain_frontier`: a host's URLs, those still to visit and those done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Select,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)

from comity.database.bulk import Encoding, driver_text, insert_rows, run_for_each
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP, domain_frontier, domains
from comity.database.types import UtcDateTime
from comity.model.frontier import FrontierEntry
from comity.model.sitemap import PageHints

_BATCH: Final = 500


# Literal, not bound: the index of queued rows is used only if the statement visibly wants no others.
_KEYS = (
    select(domain_frontier.c.url_key)
    .where(domain_frontier.c.domain_id == bindparam("host"))
    .limit(bindparam("most", type_=Integer()))
)
_IS_QUEUED = domain_frontier.c.state == literal_column(str(QUEUED))
_IS_TOO_DEEP = domain_frontier.c.state == literal_column(str(TOO_DEEP))
# Of hosts, not of lists of visits: those stay in the database.
SHARED: Final = exists().where(domains.c.id == domain_frontier.c.domain_id)
_QUEUE = "INDEXED BY idx_domain_frontier_queue"  # SQLite would look at every row's state instead
_DEEP = "INDEXED BY idx_domain_frontier_too_deep"
_PLACE = ("domain_id", "run_id", "url", "url_key", "depth", "priority")
_ORIGIN = ("found_by", "found_on")
_ENTRY = (*_PLACE, *_ORIGIN)


def add(connection: Connection, host_id: UUID, run_id: UUID | None, entries: Iterable[FrontierEntry]) -> int:
    """Queue URLs that this host has never had; returns how many were new."""
    encode = Encoding(connection)
    host, run = encode.uuid(host_id), encode.uuid_or_none(run_id)
    rows, hinted = [], []
    for url, key, depth, priority, hints, found_by, found_on in entries:
        rows.append((host, run, url, key, depth, priority, int(found_by), found_on))
        if hints is not None:
            hinted.append((key, hints))
    added = insert_rows(connection, domain_frontier, _ENTRY, rows, unless=("domain_id", "url_key"))
    if hinted:
        note_hints(connection, host_id, hinted)
    return added


def add_too_deep(connection: Connection, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> None:
    """Store URLs that this host has never had and that lie deeper than the limit; they are not handed out."""
    encode = Encoding(connection)
    host, run = encode.uuid(host_id), encode.uuid_or_none(run_id)
    rows = [
        (host, run, entry.url, entry.key, entry.depth, entry.priority, TOO_DEEP, int(entry.found_by), entry.found_on)
        for entry in entries
    ]
    insert_rows(connection, domain_frontier, (*_PLACE, "state", *_ORIGIN), rows, unless=("domain_id", "url_key"))


def lift_links(connection: Connection, host_id: UUID, entries: Sequence[FrontierEntry]) -> int:
    """Queue those of the URLs that were too deep, and were found nearer to a seed; returns how many."""
    host = Encoding(connection).uuid(host_id)
    rows = [(entry.depth, entry.priority, host, entry.key) for entry in entries]
    if not rows:
        return 0
    return int(connection.exec_driver_sql(_lift_text(connection.dialect.name), rows).rowcount)


@lru_cache(maxsize=2)
def _lift_text(dialect: str) -> str:
    table = domain_frontier
    statement = (
        update(table)
        .where(
            table.c.domain_id == bindparam("host"),
            table.c.url_key == bindparam("found"),
            table.c.state == literal_column(str(TOO_DEEP)),
        )
        .ordered_values(
            (table.c.state, literal_column(str(QUEUED))),
            (table.c.depth, bindparam("new_depth", type_=Integer())),
            (table.c.priority, bindparam("new_priority", type_=Integer())),
        )
    )
    return driver_text(dialect, statement, ("new_depth", "new_priority", "host", "found"))


def lift(connection: Connection, host_id: UUID, max_depth: int) -> int:
    """Queue the URLs of a host that are no longer too deep; returns how many."""
    table = domain_frontier.c
    statement = (
        update(domain_frontier)
        .where(table.domain_id == host_id, _IS_TOO_DEEP, table.depth <= max_depth)
        .values(state=QUEUED)
    )
    return connection.execute(statement).rowcount


def too_deep(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """How many URLs of hosts are too deep, and the least depth of them; hosts that have none are missing."""
    table = domain_frontier.c
    statement = (
        select(table.domain_id, func.count().label("urls"), func.min(table.depth).label("least"))
        .where(table.domain_id.in_(list(host_ids)), _IS_TOO_DEEP)
        .with_hint(domain_frontier, _DEEP, "sqlite")
        .group_by(table.domain_id)
    )
    return {row.domain_id: (row.urls, row.least) for row in connection.execute(statement)}


def too_deep_keys(connection: Connection, host_id: UUID, limit: int) -> list[int]:
    """The keys of URLs of a host that are too deep, at most `limit` of them."""
    table = domain_frontier.c
    statement = (
        select(table.url_key)
        .where(table.domain_id == host_id, _IS_TOO_DEEP)
        .with_hint(domain_frontier, _DEEP, "sqlite")
        .limit(limit)
    )
    return list(connection.execute(statement).scalars())


def note_hints(connection: Connection, host_id: UUID, hinted: Iterable[tuple[int, PageHints]]) -> None:
    """Note what a sitemap says of URLs that the host has; what it says now is newer than what it said."""
    encode = Encoding(connection)
    host = encode.uuid(host_id)
    values = [
        (
            encode.time_or_none(hints.lastmod.timestamp() if hints.lastmod is not None else None),
            str(hints.changefreq) if hints.changefreq is not None else None,
            hints.priority,
            host,
            key,
        )
        for key, hints in hinted
    ]
    if values:
        connection.exec_driver_sql(_hint_text(connection.dialect.name), values)


def peek(connection: Connection, host_id: UUID, limit: int, now: datetime | None) -> Sequence[Any]:
    """The next URLs of a host: by priority, then depth, then age. They stay queued until acknowledged."""
    parameters: dict[str, Any] = {"host": host_id, "most": limit}
    if now is not None:
        parameters["now"] = now
    elif connection.dialect.name != "postgresql":
        raise ValueError("an embedded state has no clock: pass the time")
    return connection.execute(_look_statement(now is None), parameters).all()


@lru_cache(maxsize=2)
def _look_statement(asks_server_time: bool) -> Select[Any]:
    table = domain_frontier.c
    now = func.now() if asks_server_time else bindparam("now", type_=UtcDateTime())
    return (
        select(table.url, table.url_key, table.depth, table.attempts, table.priority)
        .where(
            table.domain_id == bindparam("host"), _IS_QUEUED, or_(table.not_before.is_(None), table.not_before <= now)
        )
        .order_by(table.priority.desc(), table.depth, table.id)
        .limit(bindparam("most", type_=Integer()))
    )


def keys(connection: Connection, host_id: UUID, limit: int) -> list[int]:
    """The keys of URLs that a host has, queued or not, at most `limit` of them."""
    return list(connection.execute(_KEYS, {"host": host_id, "most": limit}).scalars())


def acknowledge(
    connection: Connection, visited: Iterable[tuple[UUID, Sequence[int]]], *, dropped: bool = False
) -> None:
    """Mark URLs, by host and keys, as done or as dropped: they are not handed out again."""
    encode = Encoding(connection)
    state = DROPPED if dropped else DONE
    rows: list[tuple[Any, ...]] = []
    for host_id, of_host in visited:
        host = encode.uuid(host_id)
        rows += [(state, host, key) for key in of_host]
    if rows:
        run_for_each(connection, _acknowledge_text(connection.dialect.name), rows)


def put_back(connection: Connection, waiting: Iterable[tuple[UUID, int, float, int]]) -> None:
    """Leave URLs queued until a time; the last value is 1 if this was a try, 0 if it was only postponed."""
    encode = Encoding(connection)
    rows = [(attempts, encode.time(at), encode.uuid(host_id), key) for host_id, key, at, attempts in waiting]
    if rows:
        run_for_each(connection, _put_back_text(connection.dialect.name), rows)


@lru_cache(maxsize=2)
def _hint_text(dialect: str) -> str:
    table = domain_frontier
    statement = (
        update(table)
        .where(table.c.domain_id == bindparam("host"), table.c.url_key == bindparam("listed"))
        .values(
            lastmod=bindparam("said_lastmod"),
            changefreq=bindparam("said_changefreq"),
            sitemap_priority=bindparam("said_priority"),
        )
    )
    return driver_text(dialect, statement, ("said_lastmod", "said_changefreq", "said_priority", "host", "listed"))


@lru_cache(maxsize=2)
def _acknowledge_text(dialect: str) -> str:
    table = domain_frontier
    statement = (
        update(table)
        .where(table.c.domain_id == bindparam("host"), table.c.url_key == bindparam("visited"))
        .values(state=bindparam("new_state"))
    )
    return driver_text(dialect, statement, ("new_state", "host", "visited"))


@lru_cache(maxsize=2)
def _put_back_text(dialect: str) -> str:
    table = domain_frontier
    statement = (
        update(table)
        .where(table.c.domain_id == bindparam("host"), table.c.url_key == bindparam("visited"))
        .values(attempts=table.c.attempts + bindparam("tries", type_=Integer()), not_before=bindparam("until"))
    )
    return driver_text(dialect, statement, ("tries", "until", "host", "visited"))


def requeue_all(connection: Connection, host_id: UUID) -> int:
    """Queue all URLs of a host again, for a crawl from the start; returns how many were done."""
    mine = domain_frontier.c.domain_id == host_id
    connection.execute(update(domain_frontier).where(mine, _IS_QUEUED).values(attempts=0, not_before=None))
    statement = (
        update(domain_frontier)
        .where(domain_frontier.c.domain_id == host_id, domain_frontier.c.state == DONE)
        .values(state=QUEUED, attempts=0, not_before=None)
    )
    return connection.execute(statement).rowcount


def requeue_some(connection: Connection, host_id: UUID, ranked: Iterable[tuple[int, int]]) -> int:
    """Queue URLs that are done again, by key, each with a priority; returns how many."""
    encode = Encoding(connection)
    host = encode.uuid(host_id)
    rows = [(priority, host, key) for key, priority in ranked]
    if not rows:
        return 0
    return int(connection.exec_driver_sql(_requeue_text(connection.dialect.name), rows).rowcount)


@lru_cache(maxsize=2)
def _requeue_text(dialect: str) -> str:
    table = domain_frontier
    statement = (
        update(table)
        .where(
            table.c.domain_id == bindparam("host"),
            table.c.url_key == bindparam("known"),
            table.c.state == literal_column(str(DONE)),
        )
        .ordered_values(
            (table.c.state, literal_column(str(QUEUED))),
            (table.c.attempts, literal_column("0")),
            (table.c.not_before, literal_column("NULL")),
            (table.c.priority, bindparam("new_priority")),
        )
    )
    return driver_text(dialect, statement, ("new_priority", "host", "known"))


def size(connection: Connection, host_id: UUID) -> int:
    """How many URLs of a host are still to visit."""
    return connection.execute(
        select(func.count()).where(domain_frontier.c.domain_id == host_id, _IS_QUEUED)
    ).scalar_one()


def queued_up_to(connection: Connection, host_id: UUID, most: int) -> int:
    """How many URLs of a host are still to visit, counted no further than `most`."""
    return int(connection.execute(_queued_statement(), {"host": host_id, "most": most}).scalar_one())


@lru_cache(maxsize=1)
def _queued_statement() -> Select[Any]:
    some: Select[Any] = (
        select(literal_column("1"))
        .select_from(domain_frontier)
        .where(domain_frontier.c.domain_id == bindparam("host"), _IS_QUEUED)
        .limit(bindparam("most", type_=Integer()))
        .with_hint(domain_frontier, _QUEUE, "sqlite")
    )
    return select(func.count()).select_from(some.subquery())


def queued_of(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many URLs of each of some hosts are still to visit; those that have none are missing."""
    statement = (
        select(domain_frontier.c.domain_id, func.count().label("urls"))
        .where(domain_frontier.c.domain_id.in_(list(host_ids)), _IS_QUEUED)
        .group_by(domain_frontier.c.domain_id)
        .with_hint(domain_frontier, _QUEUE, "sqlite")
    )
    return {row.domain_id: row.urls for row in connection.execute(statement)}


def any_url(connection: Connection, host_id: UUID) -> str | None:
    """Some URL of a host, queued or not."""
    table = domain_frontier.c
    value: str | None = connection.execute(select(table.url).where(table.domain_id == host_id).limit(1)).scalar()
    return value


def next_ready_at(connection: Connection, host_id: UUID) -> datetime | None:
    """When the earliest postponed URL of a host may be tried again."""
    value: datetime | None = connection.execute(
        select(domain_frontier.c.not_before)
        .where(
            domain_frontier.c.domain_id == host_id,
            _IS_QUEUED,
            domain_frontier.c.not_before.is_not(None),
        )
        .order_by(domain_frontier.c.not_before)
        .limit(1)
    ).scalar()
    return value


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Give one host's URLs to another; those it already has are dropped."""
    known = select(domain_frontier.c.url_key).where(domain_frontier.c.domain_id == to_host)
    mine = domain_frontier.c.domain_id == from_host
    connection.execute(delete(domain_frontier).where(mine, domain_frontier.c.url_key.in_(known)))
    connection.execute(update(domain_frontier).where(mine).values(domain_id=to_host))


def states(connection: Connection, host_id: UUID) -> dict[int, int]:
    """How many URLs of a host are in each state."""
    statement = (
        select(domain_frontier.c.state, func.count().label("urls"))
        .where(domain_frontier.c.domain_id == host_id)
        .group_by(domain_frontier.c.state)
    )
    return {row.state: row.urls for row in connection.execute(statement)}


def find(connection: Connection, host_ids: Collection[UUID], key: int) -> Row[Any] | None:
    """The row of one URL, queued or done."""
    statement = select(domain_frontier).where(
        domain_frontier.c.domain_id.in_(list(host_ids)), domain_frontier.c.url_key == key
    )
    return connection.execute(statement).first()


def urls(connection: Connection, host_id: UUID, state: int, after: int, limit: int) -> Sequence[Any]:
    """URLs of a host in one state, in the order of their row numbers."""
    table = domain_frontier.c
    return connection.execute(
        select(table.id, table.url, table.url_key)
        .where(table.domain_id == host_id, table.state == state, table.id > after)
        .order_by(table.id)
        .limit(limit)
    ).all()


def done_after(connection: Connection, host_id: UUID, after: int | None, limit: int) -> Sequence[Any]:
    """URLs that are done, with what sitemaps say of them, in the order of their keys: the index has them so."""
    table = domain_frontier.c
    statement = (
        select(table.url_key, table.priority, table.lastmod, table.changefreq, table.sitemap_priority)
        .where(table.domain_id == host_id, table.state == DONE)
        .order_by(table.url_key)
        .limit(limit)
        .with_hint(domain_frontier, "INDEXED BY uq_domain_frontier_url", "sqlite")
    )
    if after is not None:
        statement = statement.where(table.url_key > after)
    return connection.execute(statement).all()


def change_state(connection: Connection, host_id: UUID, keys: Collection[int], before: int, after: int) -> int:
    """Bring URLs, by their keys, from one state to another; waits and tries are forgotten. Returns how many."""
    table, changed, rest = domain_frontier.c, 0, iter(keys)
    while some := list(islice(rest, _BATCH)):
        changed += connection.execute(
            update(domain_frontier)
            .where(table.domain_id == host_id, table.url_key.in_(some), table.state == before)
            .values(state=after, attempts=0, not_before=None)
        ).rowcount
    return changed


def first_host(connection: Connection) -> UUID | None:
    """Some host that has URLs here, those of lists aside."""
    found: UUID | None = connection.execute(select(domain_frontier.c.domain_id).where(SHARED).limit(1)).scalar()
    return found


def first_rows(connection: Connection, host_id: UUID, limit: int) -> Sequence[Any]:
    """A host's oldest URLs with everything that is known of them."""
    table = domain_frontier.c
    statement = select(domain_frontier).where(table.domain_id == host_id).order_by(table.id).limit(limit)
    return connection.execute(statement).all()


def remove_up_to(connection: Connection, host_id: UUID, row_id: int) -> None:
    """Forget a host's URLs up to a row."""
    table = domain_frontier.c
    connection.execute(delete(domain_frontier).where(table.domain_id == host_id, table.id <= row_id))


def forget(connection: Connection, host_id: UUID) -> None:
    """Forget every URL of a host."""
    connection.execute(delete(domain_frontier).where(domain_frontier.c.domain_id == host_id))
