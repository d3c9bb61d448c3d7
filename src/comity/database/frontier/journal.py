"""Statements for a frontier outside the database: batches on their way there, and what it should hold.

`frontier_epochs` says which life of a host's frontier is the right one, and how many batches it was sent;
`frontier_journal` holds the batches until the other store has them on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum, auto
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, and_, bindparam, delete, exists, func, or_, select, update

from comity.database.bulk import Encoding, insert_rows
from comity.database.dialects import insert_into
from comity.database.frontier.rows import SHARED
from comity.database.records import OF_NO_CRAWL
from comity.database.tables import domain_frontier, domains, fetches, frontier_epochs, frontier_journal, robots_cache

_ASKED: Final = 1000  # hosts in one question


class JournalMark(NamedTuple):
    """Which life of a host's frontier is the right one, and the number of the last batch that it was sent."""

    epoch: str
    batch: int


def number(connection: Connection, counts: Mapping[UUID, int], epoch: str) -> dict[UUID, JournalMark]:
    """Take the next batch numbers of hosts, as many as requested; returns the last of each.

    The rows stay locked, so that numbers are committed in their order. `epoch` is that of hosts that had none.
    """
    statement = insert_into(connection, frontier_epochs)
    statement = statement.on_conflict_do_update(
        index_elements=[frontier_epochs.c.domain_id],
        set_={"batch": frontier_epochs.c.batch + statement.excluded.batch},
    ).returning(frontier_epochs.c.domain_id, frontier_epochs.c.epoch, frontier_epochs.c.batch)
    # In order: two who number the same hosts wait in line instead of for each other.
    rows = [{"domain_id": host_id, "epoch": epoch, "batch": counts[host_id]} for host_id in sorted(counts)]
    if not rows:
        return {}
    found = connection.execute(statement, rows if len(rows) > 1 else rows[0])
    return {row.domain_id: JournalMark(row.epoch, row.batch) for row in found}


def put(connection: Connection, rows: Iterable[tuple[UUID, int, bytes]]) -> None:
    """Store batches, by host and number."""
    encode = Encoding(connection)
    values = [(encode.uuid(host_id), batch, payload) for host_id, batch, payload in rows]
    insert_rows(connection, frontier_journal, ("domain_id", "batch", "payload"), values)


def marks(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, JournalMark]:
    """Those of the hosts that have a frontier elsewhere."""
    found: dict[UUID, JournalMark] = {}
    rest = iter(host_ids)
    while some := list(islice(rest, _ASKED)):
        rows = connection.execute(select(frontier_epochs).where(frontier_epochs.c.domain_id.in_(some)))
        found |= {row.domain_id: JournalMark(row.epoch, row.batch) for row in rows}
    return found


def batches_after(connection: Connection, host_id: UUID, batch: int, limit: int) -> Sequence[Any]:
    """The stored batches of a host after a number, in order."""
    table = frontier_journal.c
    return connection.execute(
        select(table.batch, table.payload)
        .where(table.domain_id == host_id, table.batch > batch)
        .order_by(table.batch)
        .limit(limit)
    ).all()


def first_batch(connection: Connection, host_id: UUID) -> int | None:
    """The number of the oldest stored batch of a host."""
    table = frontier_journal.c
    return connection.execute(select(func.min(table.batch)).where(table.domain_id == host_id)).scalar()


def some_hosts(connection: Connection, limit: int) -> list[UUID]:
    """Some hosts that have a frontier elsewhere."""
    return list(connection.execute(select(frontier_epochs.c.domain_id).limit(limit)).scalars())


def hosts_with_batches(connection: Connection, limit: int, among: Collection[UUID] | None = None) -> list[UUID]:
    """Hosts with batches in the journal."""
    statement = select(frontier_journal.c.domain_id).distinct().limit(limit)
    if among is not None:
        statement = statement.where(frontier_journal.c.domain_id.in_(list(among)))
    return list(connection.execute(statement).scalars())


def hosts_without_batches(connection: Connection, limit: int) -> list[UUID]:
    """Some hosts all of whose batches the other store has on disk."""
    is_kept = exists().where(frontier_journal.c.domain_id == frontier_epochs.c.domain_id)
    return list(connection.execute(select(frontier_epochs.c.domain_id).where(~is_kept).limit(limit)).scalars())


def remove(connection: Connection, confirmed: Mapping[UUID, int]) -> None:
    """Drop the batches of hosts up to a number: they are safe elsewhere."""
    table = frontier_journal.c
    statement = delete(frontier_journal).where(table.domain_id == bindparam("host"), table.batch <= bindparam("last"))
    rows = [{"host": host_id, "last": confirmed[host_id]} for host_id in sorted(confirmed)]
    if rows:
        connection.execute(statement, rows)


def begin_epoch(connection: Connection, host_id: UUID, epoch: str) -> JournalMark | None:
    """Declare a new life of a host's frontier; its numbers go on. None if it never had one."""
    statement = (
        update(frontier_epochs)
        .where(frontier_epochs.c.domain_id == host_id)
        .values(epoch=epoch)
        .returning(frontier_epochs.c.epoch, frontier_epochs.c.batch)
    )
    row = connection.execute(statement).first()
    return None if row is None else JournalMark(row.epoch, row.batch)


def forget(connection: Connection, host_id: UUID) -> None:
    """Note that a host's frontier is no longer in Redis."""
    connection.execute(delete(frontier_journal).where(frontier_journal.c.domain_id == host_id))
    connection.execute(delete(frontier_epochs).where(frontier_epochs.c.domain_id == host_id))


def host_of(connection: Connection, host_id: UUID) -> Any:
    """Name and status of a host."""
    return connection.execute(select(domains.c.domain, domains.c.status).where(domains.c.id == host_id)).first()


def origins_of(connection: Connection, host: str) -> list[str]:
    """The origins of a host whose robots.txt was requested."""
    statement = select(robots_cache.c.origin).where(robots_cache.c.host == host).order_by(robots_cache.c.origin)
    return list(connection.execute(statement.limit(10)).scalars())


def visits(connection: Connection, host: str, after: Any, limit: int) -> Sequence[Any]:
    """What was visited on a host, oldest first, behind the row `after`."""
    table = fetches.c
    statement = select(table.id, table.crawled_at, table.page_url, table.url_key, table.depth, table.outcome)
    statement = statement.where(table.domain == host, table.discovery_type.not_in(OF_NO_CRAWL))
    if after is not None:
        later = or_(
            table.crawled_at > after.crawled_at, and_(table.crawled_at == after.crawled_at, table.id > after.id)
        )
        statement = statement.where(later)
    return connection.execute(statement.order_by(table.crawled_at, table.id).limit(limit)).all()


class FrontierPlace(Enum):
    """Where there are URLs; in both places only while they are brought from one to the other."""

    NOWHERE = auto()
    HERE = auto()
    ELSEWHERE = auto()
    BOTH = auto()


def frontier_place(connection: Connection) -> FrontierPlace:
    """Check whether any host has URLs, and where."""
    elsewhere, here = connection.execute(
        select(exists(select(frontier_epochs.c.domain_id)), exists(select(domain_frontier.c.id).where(SHARED)))
    ).one()
    if elsewhere:
        return FrontierPlace.BOTH if here else FrontierPlace.ELSEWHERE
    return FrontierPlace.HERE if here else FrontierPlace.NOWHERE
