"""Statements on `sources`, their pages, locks and logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from comity.database.dialects import insert_into, is_taken
from comity.database.sources.tables import crawl_locks, crawl_logs, source_pages, sources
from comity.database.types import instant
from comity.model.errors import AlreadyThere
from comity.model.job import ListingKind, SourceType
from comity.model.source import KnownPage, ScheduleName, Source, SourceBlock, SourceStatus

_FIELDS: Final = tuple(field.name for field in fields(Source))
_KINDS: Final[dict[str, type[StrEnum]]] = {
    "source_type": SourceType,
    "status": SourceStatus,
    "schedule": ScheduleName,
}


def source_from(row: Row[Any]) -> Source:
    """Read a source's row; where an older table has nothing, or an unknown word, the default is used."""
    values = {name: value for name in _FIELDS if (value := getattr(row, name)) is not None}
    for name, kind in _KINDS.items():
        if values.get(name) not in set(kind):
            values.pop(name, None)
        else:
            values[name] = kind(values[name])
    return Source(**values | {"crawl_frequency_days": row.crawl_frequency_days})


def page_from(row: Row[Any]) -> KnownPage:
    """Read the row of a page that was believed."""
    return KnownPage(
        row.number,
        row.url,
        row.final_url,
        row.etag,
        row.last_modified,
        row.next_url,
        ListingKind(row.kind),
        row.found,
    )


LOCK_S: Final = 1800.0  # longer than any run may take


def add(connection: Connection, values: Mapping[str, Any]) -> Row[Any] | None:
    """Add a source; None if there is one with that address already."""
    statement = (
        insert_into(connection, sources)
        .values(**values)
        .on_conflict_do_nothing(index_elements=["careers_url"])
        .returning(*sources.c)
    )
    return connection.execute(statement).first()


def get(connection: Connection, source_id: UUID) -> Row[Any] | None:
    """One source by its identity."""
    return connection.execute(select(sources).where(sources.c.id == source_id)).first()


def get_to_change(connection: Connection, source_id: UUID) -> Row[Any] | None:
    """The same, locked until the transaction ends."""
    statement = select(sources).where(sources.c.id == source_id).with_for_update(key_share=True)
    return connection.execute(statement).first()


def with_address(connection: Connection, careers_url: str) -> Row[Any] | None:
    """One source by its address."""
    return connection.execute(select(sources).where(sources.c.careers_url == careers_url)).first()


def with_addresses(connection: Connection, careers_urls: Iterable[str]) -> dict[str, Row[Any]]:
    """The sources with some addresses, by address."""
    found: dict[str, Row[Any]] = {}
    rest = iter(careers_urls)
    while some := list(islice(rest, 500)):
        rows = connection.execute(select(sources).where(sources.c.careers_url.in_(some)))
        found |= {row.careers_url: row for row in rows}
    return found


def change(connection: Connection, source_id: UUID, values: Mapping[str, Any], now: datetime | None) -> Row[Any] | None:
    """Change a source; None if it does not exist. Raises `AlreadyThere` if another one has its new address.

    With another status, the reason of the old one is over.
    """
    if "status" in values:
        values = {"block_reason_code": None, **values}
    statement = (
        update(sources)
        .where(sources.c.id == source_id)
        .values(**values, updated_at=instant(connection, now))
        .returning(*sources.c)
    )
    try:
        return connection.execute(statement).first()
    except IntegrityError as error:
        if is_taken(error):
            raise AlreadyThere(f"{values.get('careers_url')} is already another source") from None
        raise


def addresses(connection: Connection, status: SourceStatus, block: SourceBlock | None = None) -> Sequence[Any]:
    """The identities and addresses of sources in one status; of blocked ones, those that were blocked for a reason."""
    statement = select(sources.c.id, sources.c.careers_url).where(sources.c.status == status)
    if block is not None:
        statement = statement.where(sources.c.block_reason_code == block)
    return connection.execute(statement).all()


def block(connection: Connection, ids: Iterable[UUID], reason: SourceBlock, message: str) -> None:
    """Block sources for a reason."""
    _set_status(connection, ids, SourceStatus.BLOCKED, reason, message)


def unblock(connection: Connection, ids: Iterable[UUID]) -> None:
    """Let sources be read again; they are due now."""
    _set_status(connection, ids, SourceStatus.ACTIVE, None, None)


def _set_status(
    connection: Connection, ids: Iterable[UUID], status: SourceStatus, reason: SourceBlock | None, message: str | None
) -> None:
    values = {
        "status": str(status),
        "block_reason_code": None if reason is None else str(reason),
        "last_crawl_message": message,
        "next_run_at": None,
    }
    rest = iter(ids)
    while some := list(islice(rest, 500)):
        connection.execute(update(sources).where(sources.c.id.in_(some)).values(**values))


SORTS: Final = {
    "next_run_at": sources.c.next_run_at,
    "last_crawled_at": sources.c.last_crawled_at,
    "org_name": sources.c.org_name,
}
"""What the list of sources can be sorted by. A source that has never run comes before those that have."""


def listed(
    connection: Connection,
    *,
    sort: str = "next_run_at",
    descending: bool = False,
    limit: int = 100,
    offset: int = 0,
    **wanted: str | None,
) -> Sequence[Row[Any]]:
    """Sources, without deleted ones unless they are wanted, the next to run first.

    One that is paused or blocked has no next run, whatever its row says, and comes last in that order.
    """
    column = SORTS[sort]
    order = column.desc().nulls_last() if descending else column.asc().nulls_first()
    runs = [sources.c.status != SourceStatus.ACTIVE] if sort == "next_run_at" else []
    statement = select(sources).where(_matching(**wanted)).order_by(*runs, order, sources.c.careers_url)
    return connection.execute(statement.limit(limit).offset(offset)).all()


def count_of(connection: Connection, **wanted: str | None) -> int:
    """How many `listed` would give without its limit."""
    statement = select(func.count()).select_from(sources).where(_matching(**wanted))
    return connection.execute(statement).scalar_one()


def count_by_status(connection: Connection) -> dict[str, int]:
    """How many sources are in each status."""
    statement = select(sources.c.status, func.count()).group_by(sources.c.status)
    return {row[0]: row[1] for row in connection.execute(statement)}


def _matching(
    status: str | None = None,
    source_type: str | None = None,
    org_type: str | None = None,
    result: str | None = None,
    containing: str | None = None,
) -> ColumnElement[bool]:
    wanted: list[ColumnElement[bool]] = [
        sources.c.status == status if status is not None else sources.c.status != SourceStatus.DELETED
    ]
    if source_type is not None:
        wanted.append(sources.c.source_type == source_type)
    if org_type is not None:
        wanted.append(sources.c.org_type == org_type)
    if result is not None:
        wanted.append(sources.c.last_crawl_status == result)
    if containing is not None:
        wanted.append(
            or_(
                sources.c.careers_url.icontains(containing, autoescape=True),
                sources.c.org_name.icontains(containing, autoescape=True),
            )
        )
    return and_(*wanted)


def _is_due(connection: Connection, now: datetime | None) -> ColumnElement[bool]:
    return and_(
        sources.c.status == SourceStatus.ACTIVE,
        or_(sources.c.next_run_at.is_(None), sources.c.next_run_at <= instant(connection, now)),
    )


def _lock_holds(connection: Connection, now: datetime | None) -> ColumnElement[bool]:
    """Whether a lock is in force; one without an end, as other programs insert them, lasts as long as any other.

    Never NULL: the condition is also negated, and the negation of NULL would keep such a lock forever.
    """
    end = crawl_locks.c.expires_at
    return or_(
        and_(end.is_not(None), end > instant(connection, now)),
        and_(end.is_(None), crawl_locks.c.locked_at > instant(connection, now, -LOCK_S)),
    )


def due(connection: Connection, now: datetime | None, limit: int, but: Collection[UUID] = ()) -> Sequence[Row[Any]]:
    """Sources that are due and not running, those that never ran first."""
    locked = select(crawl_locks.c.source_id).where(_lock_holds(connection, now))
    statement = select(sources).where(_is_due(connection, now), sources.c.id.not_in(locked))
    if but:
        statement = statement.where(sources.c.id.not_in(list(but)))
    statement = statement.order_by(sources.c.next_run_at.asc().nulls_first(), sources.c.id)
    return connection.execute(statement.limit(limit)).all()


def count_due(connection: Connection, now: datetime | None) -> int:
    """How many sources are due, also those that are being run."""
    return connection.execute(select(func.count()).select_from(sources).where(_is_due(connection, now))).scalar_one()


def adaptive(connection: Connection) -> Sequence[Any]:
    """What the sources of the adaptive schedule claim of its budget."""
    columns = sources.c
    statement = select(
        columns.careers_url,
        columns.org_type,
        columns.crawl_frequency_days,
        columns.importance,
        columns.change_statistics,
    ).where(columns.schedule == ScheduleName.ADAPTIVE, columns.status == SourceStatus.ACTIVE)
    return connection.execute(statement).all()


def locked(connection: Connection, now: datetime | None) -> Sequence[Row[Any]]:
    """The locks in force, with the sources' addresses, oldest first."""
    statement = (
        select(crawl_locks, sources.c.careers_url)
        .join(sources, sources.c.id == crawl_locks.c.source_id)
        .where(_lock_holds(connection, now))
        .order_by(crawl_locks.c.locked_at)
    )
    return connection.execute(statement).all()


def lock(
    connection: Connection, source_id: UUID, holder: str, now: datetime | None, *, due_only: bool
) -> Row[Any] | None:
    """Insert a lock or skip; one that ran out is taken over. Gives the source, or None if it is locked or not due."""
    wanted = and_(sources.c.id == source_id, sources.c.status != SourceStatus.DELETED)
    if due_only:
        wanted = and_(wanted, _is_due(connection, now))
    statement = insert_into(connection, crawl_locks).values(
        source_id=source_id,
        holder=holder,
        locked_at=instant(connection, now),
        expires_at=instant(connection, now, LOCK_S),
    )
    statement = statement.on_conflict_do_update(
        index_elements=["source_id"],
        set_={name: statement.excluded[name] for name in ("holder", "locked_at", "expires_at")},
        where=~_lock_holds(connection, now),
    ).returning(crawl_locks.c.source_id)
    if connection.execute(select(sources.c.id).where(wanted)).first() is None:
        return None
    if connection.execute(statement).first() is None:
        return None
    # The former holder of the lock may have run it since we looked.
    row = connection.execute(select(sources).where(wanted)).first()
    if row is None:
        unlock(connection, source_id, holder)
    return row


def lock_of(connection: Connection, source_id: UUID, now: datetime | None) -> str | None:
    """The holder that runs a source now, if any."""
    statement = select(crawl_locks.c.holder).where(crawl_locks.c.source_id == source_id, _lock_holds(connection, now))
    row = connection.execute(statement).first()
    return None if row is None else row.holder or "another process"


def is_locked(connection: Connection, source_id: UUID, now: datetime | None) -> bool:
    """Whether a source is being run."""
    statement = select(crawl_locks.c.source_id).where(
        crawl_locks.c.source_id == source_id, _lock_holds(connection, now)
    )
    return connection.execute(statement).first() is not None


def holds_lock(connection: Connection, source_id: UUID, holder: str) -> bool:
    """Whether a lock is still this holder's, with its row locked until the transaction ends."""
    statement = (
        select(crawl_locks.c.source_id)
        .where(crawl_locks.c.source_id == source_id, crawl_locks.c.holder == holder)
        .with_for_update()
    )
    return connection.execute(statement).first() is not None


def unlock(connection: Connection, source_id: UUID, holder: str) -> None:
    """Take a lock of one's own away."""
    connection.execute(delete(crawl_locks).where(crawl_locks.c.source_id == source_id, crawl_locks.c.holder == holder))


def lock_holders(connection: Connection, prefix: str) -> list[str]:
    """Holders of locks whose names begin so."""
    statement = select(crawl_locks.c.holder).where(crawl_locks.c.holder.startswith(prefix, autoescape=True)).distinct()
    return list(connection.execute(statement).scalars())


def unlock_all_of(connection: Connection, holders: Collection[str]) -> int:
    """Take away the locks of holders that are gone."""
    return connection.execute(delete(crawl_locks).where(crawl_locks.c.holder.in_(list(holders)))).rowcount


def pages_of(connection: Connection, source_id: UUID) -> Sequence[Row[Any]]:
    """The pages of a source as last accepted."""
    statement = select(source_pages).where(source_pages.c.source_id == source_id)
    return connection.execute(statement.order_by(source_pages.c.number)).all()


def put_pages(connection: Connection, source_id: UUID, rows: Iterable[Mapping[str, Any]]) -> None:
    """Remember the pages of a source in place of those known before."""
    forget_pages(connection, source_id)
    values = [{"source_id": source_id, **row} for row in rows]
    if values:
        connection.execute(insert(source_pages), values)


def forget_pages(connection: Connection, source_id: UUID) -> None:
    """Have every page of a source read as if for the first time."""
    connection.execute(delete(source_pages).where(source_pages.c.source_id == source_id))


def forget_all_pages(connection: Connection) -> None:
    """Mark every source to be read as if for the first time: what may be stored of its pages has changed."""
    connection.execute(delete(source_pages))


def add_log(connection: Connection, values: Mapping[str, Any]) -> None:
    """Store the result of a run."""
    connection.execute(insert(crawl_logs).values(**values))


def logs(
    connection: Connection,
    source_id: UUID | None,
    limit: int,
    *,
    status: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    oldest_first: bool = False,
) -> Sequence[Row[Any]]:
    """The latest runs, of one source or of all, newest first; `after` is the time and the id of the last one known."""
    statement = select(crawl_logs, sources.c.careers_url, sources.c.org_name).join(
        sources, sources.c.id == crawl_logs.c.source_id
    )
    if source_id is not None:
        statement = statement.where(crawl_logs.c.source_id == source_id)
    if status is not None:
        statement = statement.where(crawl_logs.c.status == status)
    at, identity = crawl_logs.c.ran_at, crawl_logs.c.id
    if after is not None:
        same = and_(at == after[0], identity < after[1] if oldest_first else identity > after[1])
        if oldest_first:
            statement = statement.where(at >= after[0], or_(at > after[0], same))
        else:
            statement = statement.where(at <= after[0], or_(at < after[0], same))
    ends = (at, identity.desc()) if oldest_first else (at.desc(), identity)
    return connection.execute(statement.order_by(*ends).limit(limit)).all()
