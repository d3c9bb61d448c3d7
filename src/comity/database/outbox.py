"""Statements on `search_outbox`: changes that search has yet to index, claimed, done or postponed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, literal, or_, select, update

from comity.database.sources.tables import job_postings, search_outbox, sources
from comity.database.types import instant
from comity.model.search import OutboxStatus, SearchDocument

_OUTBOX: Final = search_outbox.c
_LONGEST_ERROR: Final = 500
_BATCH: Final = 500


def claim(connection: Connection, now: datetime | None, for_s: float, limit: int) -> Sequence[Row[Any]]:
    """Claim the oldest rows that are due, for a while; after a crash they are due again."""
    due = or_(_OUTBOX.next_attempt_at.is_(None), _OUTBOX.next_attempt_at <= instant(connection, now))
    oldest = select(_OUTBOX.id).where(due).order_by(_OUTBOX.id).limit(limit).with_for_update(skip_locked=True)
    taken = update(search_outbox).where(_OUTBOX.id.in_(select(oldest.cte("oldest").c.id)))
    taken = taken.values(next_attempt_at=instant(connection, now, for_s))
    return connection.execute(taken.returning(_OUTBOX.id, _OUTBOX.posting_id, _OUTBOX.attempts)).all()


def done(connection: Connection, ids: Collection[int]) -> None:
    """Delete the rows that search has indexed."""
    for batch in _batches(sorted(ids)):
        connection.execute(delete(search_outbox).where(_OUTBOX.id.in_(batch)))


def postpone(connection: Connection, ids: Collection[int], now: datetime | None, for_s: float, error: str) -> None:
    """Record that sending failed, and when to try again."""
    for batch in _batches(sorted(ids)):
        connection.execute(
            update(search_outbox)
            .where(_OUTBOX.id.in_(batch))
            .values(
                attempts=_OUTBOX.attempts + 1,
                next_attempt_at=instant(connection, now, for_s),
                last_error=error.replace("\x00", " ")[:_LONGEST_ERROR],
            )
        )


def queue_all(connection: Connection) -> int:
    """Queue every posting, replacing all that was waiting; returns how many there are."""
    connection.execute(delete(search_outbox))
    every = select(job_postings.c.id, literal("upsert")).order_by(job_postings.c.id)
    connection.execute(insert(search_outbox).from_select(["posting_id", "action"], every))
    return count(connection)


def queue_host(connection: Connection, host: str) -> None:
    """Queue every posting that leads to a host or is listed there; superfluous ones do no harm."""
    there = (
        select(job_postings.c.id, literal("upsert"))
        .select_from(job_postings.outerjoin(sources, sources.c.id == job_postings.c.source_id))
        .where(
            or_(
                func.lower(job_postings.c.apply_url).contains(host, autoescape=True),
                func.lower(sources.c.careers_url).contains(host, autoescape=True),
            )
        )
    )
    connection.execute(insert(search_outbox).from_select(["posting_id", "action"], there))


def documents(connection: Connection, posting_ids: Collection[UUID]) -> dict[UUID, SearchDocument]:
    """Postings as search stores them; deleted ones are left out."""
    found: dict[UUID, SearchDocument] = {}
    for batch in _batches(sorted(posting_ids)):
        statement = (
            select(job_postings, sources.c.careers_url)
            .select_from(job_postings.outerjoin(sources, sources.c.id == job_postings.c.source_id))
            .where(job_postings.c.id.in_(batch))
        )
        found |= {row.id: _document(row) for row in connection.execute(statement)}
    return found


def status(connection: Connection) -> OutboxStatus:
    """How much is waiting, and what went wrong last."""
    counts = connection.execute(
        select(
            func.count().label("pending"),
            func.count().filter(_OUTBOX.attempts > 0).label("failing"),
            func.min(_OUTBOX.created_at).label("oldest_at"),
            func.min(_OUTBOX.next_attempt_at).label("next_attempt_at"),
        )
    ).one()
    last = select(_OUTBOX.last_error).where(_OUTBOX.last_error.is_not(None))
    error = connection.execute(last.order_by(_OUTBOX.next_attempt_at.desc(), _OUTBOX.id).limit(1)).scalar()
    return OutboxStatus(counts.pending, counts.failing, counts.oldest_at, counts.next_attempt_at, error)


def count(connection: Connection) -> int:
    """How much is waiting."""
    return int(connection.execute(select(func.count()).select_from(search_outbox)).scalar_one())


def _document(row: Row[Any]) -> SearchDocument:
    return SearchDocument(
        id=row.id,
        title=row.title,
        org_name=row.org_name,
        apply_url=row.apply_url,
        location_raw=row.location_raw,
        description_snippet=row.description_snippet,
        description_text=row.description_text,
        first_seen_at=row.first_seen_at,
        source_id=row.source_id,
        source_url=row.careers_url,
        deadline=row.deadline,
        posted_at=row.posted_at,
        city=row.city,
        country_iso=row.country_iso,
        level_norm=row.level_norm,
        work_modality=row.work_modality,
        career_type=row.career_type,
        international_eligible=row.international_eligible,
        mission_tags=tuple(row.mission_tags or ()),
        language=row.language,
        closed_at=row.closed_at,
    )


def _batches(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[first : first + _BATCH] for first in range(0, len(items), _BATCH)]
