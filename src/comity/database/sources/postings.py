"""Statements on `job_postings`, on the sources that list them, and on what search has yet to index of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from comity.database.dialects import insert_into
from comity.database.sources.tables import job_postings, job_sightings, search_outbox

_BATCH: Final = 200
Item = TypeVar("Item")


def known(connection: Connection, hashes: Collection[str]) -> dict[str, Row[Any]]:
    """The postings with these hashes, locked until the transaction ends."""
    found: dict[str, Row[Any]] = {}
    for batch in _batches(sorted(hashes)):
        statement = select(job_postings).where(job_postings.c.canonical_hash.in_(batch))
        statement = statement.order_by(job_postings.c.canonical_hash).with_for_update()
        found |= {row.canonical_hash: row for row in connection.execute(statement)}
    return found


def open_of_one(connection: Connection, source_id: UUID) -> list[Row[Any]]:
    """The open postings that a source lists and no other does, locked until the transaction ends."""
    others = job_sightings.alias("others")
    of_others = select(others.c.posting_id).where(
        others.c.posting_id == job_sightings.c.posting_id, others.c.source_id != source_id
    )
    statement = select(job_sightings.c.posting_id).where(job_sightings.c.source_id == source_id, ~of_others.exists())
    ids = list(connection.execute(statement).scalars())
    found: list[Row[Any]] = []
    for batch in _batches(sorted(ids)):
        rows = select(job_postings).where(job_postings.c.id.in_(batch), job_postings.c.closed_at.is_(None))
        found += connection.execute(rows.order_by(job_postings.c.canonical_hash).with_for_update())
    return found


def add(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> dict[str, UUID]:
    """Add postings; returns the identities of those that no other process added meanwhile, by hash."""
    added: dict[str, UUID] = {}
    for batch in _batches(sorted(rows, key=lambda row: str(row["canonical_hash"]))):
        statement = (
            insert_into(connection, job_postings)
            .values([dict(row) for row in batch])
            .on_conflict_do_nothing(index_elements=["canonical_hash"])
            .returning(job_postings.c.id, job_postings.c.canonical_hash)
        )
        added |= {row.canonical_hash: row.id for row in connection.execute(statement)}
    return added


def change(connection: Connection, posting_id: UUID, values: Mapping[str, Any]) -> None:
    """Change one posting."""
    connection.execute(update(job_postings).where(job_postings.c.id == posting_id).values(**values))


def seen(connection: Connection, posting_ids: Collection[UUID], now: datetime) -> None:
    """Note that postings are still listed."""
    for batch in _batches(sorted(posting_ids)):
        connection.execute(update(job_postings).where(job_postings.c.id.in_(batch)).values(last_seen_at=now))


def sighted_on(connection: Connection, source_id: UUID, page_numbers: Collection[int]) -> dict[int, list[UUID]]:
    """The postings that a source listed on some of its pages, by page."""
    found: dict[int, list[UUID]] = {number: [] for number in page_numbers}
    statement = select(job_sightings.c.posting_id, job_sightings.c.page_number).where(
        job_sightings.c.source_id == source_id, job_sightings.c.page_number.in_(list(page_numbers))
    )
    for row in connection.execute(statement):
        found[row.page_number].append(row.posting_id)
    return found


def listers(connection: Connection, posting_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """Which sources list some postings."""
    found: dict[UUID, set[UUID]] = {}
    for batch in _batches(sorted(posting_ids)):
        statement = select(job_sightings.c.posting_id, job_sightings.c.source_id)
        for row in connection.execute(statement.where(job_sightings.c.posting_id.in_(batch))):
            found.setdefault(row.posting_id, set()).add(row.source_id)
    return found


def sight(connection: Connection, source_id: UUID, pages: Mapping[UUID, int], now: datetime) -> None:
    """Note on which page a source lists each posting."""
    for batch in _batches(sorted(pages)):
        statement = insert_into(connection, job_sightings).values(
            [
                {"source_id": source_id, "posting_id": posting_id, "page_number": pages[posting_id], "seen_at": now}
                for posting_id in batch
            ]
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["source_id", "posting_id"],
                set_={name: statement.excluded[name] for name in ("page_number", "seen_at")},
            )
        )


def detach_unseen(connection: Connection, source_id: UUID, since: datetime) -> None:
    """Keep postings open that a source seems to have dropped, but on none of its pages: no unchanged page has them."""
    statement = update(job_sightings).where(job_sightings.c.source_id == source_id, job_sightings.c.seen_at < since)
    connection.execute(statement.values(page_number=0))


def forget_unseen(connection: Connection, source_id: UUID, since: datetime) -> list[UUID]:
    """Forget what a source no longer lists; returns those postings."""
    statement = (
        delete(job_sightings)
        .where(job_sightings.c.source_id == source_id, job_sightings.c.seen_at < since)
        .returning(job_sightings.c.posting_id)
    )
    return list(connection.execute(statement).scalars())


def forget_all_of(connection: Connection, source_id: UUID) -> list[UUID]:
    """Forget everything that a source lists; returns those postings."""
    statement = (
        delete(job_sightings).where(job_sightings.c.source_id == source_id).returning(job_sightings.c.posting_id)
    )
    return list(connection.execute(statement).scalars())


def close_unlisted(connection: Connection, posting_ids: Collection[UUID], now: datetime) -> list[UUID]:
    """Close the postings that no source lists any longer; the others go to a source that does."""
    listed = listers(connection, posting_ids)
    closed: list[UUID] = []
    for batch in _batches(sorted(set(posting_ids) - listed.keys())):
        statement = (
            update(job_postings)
            .where(job_postings.c.id.in_(batch), job_postings.c.closed_at.is_(None))
            .values(closed_at=now, updated_at=now)
            .returning(job_postings.c.id)
        )
        closed += connection.execute(statement).scalars()
    for posting_id, by in listed.items():
        orphaned = update(job_postings).where(job_postings.c.id == posting_id, job_postings.c.source_id.not_in(by))
        connection.execute(orphaned.values(source_id=min(by)))
    return closed


def queue_for_search(connection: Connection, posting_ids: Iterable[UUID], action: str) -> None:
    """Leave word for search, in the transaction that made the change."""
    rows = [{"posting_id": posting_id, "action": action} for posting_id in posting_ids]
    if rows:
        connection.execute(insert(search_outbox), rows)


def linking_to(connection: Connection, host: str, after: UUID | None, limit: int) -> Sequence[Any]:
    """Open postings whose link may lead to a host or to one below it, in batches by identity."""
    statement = select(job_postings.c.id, job_postings.c.apply_url).where(
        job_postings.c.closed_at.is_(None), job_postings.c.apply_url.icontains(host, autoescape=True)
    )
    if after is not None:
        statement = statement.where(job_postings.c.id > after)
    return connection.execute(statement.order_by(job_postings.c.id).limit(limit)).all()


def close(connection: Connection, posting_ids: Collection[UUID]) -> None:
    """Close postings, whichever sources list them, and remove them from search."""
    now = func.current_timestamp()
    for batch in _batches(sorted(posting_ids)):
        statement = update(job_postings).where(job_postings.c.id.in_(batch))
        connection.execute(statement.values(closed_at=now, updated_at=now))
        connection.execute(delete(job_sightings).where(job_sightings.c.posting_id.in_(batch)))
    queue_for_search(connection, posting_ids, "delete")


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch
