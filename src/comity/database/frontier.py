"""Statements on `domain_frontier`: a host's URLs, those still to visit and those done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, or_, select, update

from comity.database.instants import instant
from comity.database.spelling import insert_into
from comity.database.tables import DONE, DROPPED, QUEUED, domain_frontier
from comity.model.frontier import FrontierEntry


def add(connection: Connection, host_id: UUID, run_id: UUID | None, entries: Iterable[FrontierEntry]) -> int:
    """Queue URLs that this host has never had; returns how many were new."""
    rows = [
        {
            "domain_id": host_id,
            "run_id": run_id,
            "url": entry.url,
            "url_key": entry.key,
            "depth": entry.depth,
            "priority": entry.priority,
        }
        for entry in entries
    ]
    if not rows:
        return 0
    statement = insert_into(connection, domain_frontier).on_conflict_do_nothing(index_elements=["domain_id", "url_key"])
    return int(connection.execute(statement, rows).rowcount)


def look(connection: Connection, host_id: UUID, limit: int, now: datetime | None) -> Sequence[Any]:
    """The next URLs of a host: by priority, then depth, then age. They stay queued until acknowledged."""
    ready = or_(domain_frontier.c.not_before.is_(None), domain_frontier.c.not_before <= instant(connection, now))
    return connection.execute(
        select(
            domain_frontier.c.id,
            domain_frontier.c.url,
            domain_frontier.c.url_key,
            domain_frontier.c.depth,
            domain_frontier.c.attempts,
        )
        .where(domain_frontier.c.domain_id == host_id, domain_frontier.c.state == QUEUED, ready)
        .order_by(domain_frontier.c.priority.desc(), domain_frontier.c.depth, domain_frontier.c.id)
        .limit(limit)
    ).all()


def acknowledge(connection: Connection, ids: Sequence[int], *, dropped: bool = False) -> None:
    """Mark URLs as done, or as dropped: they are not handed out again."""
    if ids:
        state = DROPPED if dropped else DONE
        connection.execute(update(domain_frontier).where(domain_frontier.c.id.in_(ids)).values(state=state))


def put_back(connection: Connection, entry_id: int, not_before: datetime, *, attempts: int) -> None:
    """Leave a URL queued, not before a time; `attempts` is 1 if this was a try, 0 if it was only put off."""
    connection.execute(
        update(domain_frontier)
        .where(domain_frontier.c.id == entry_id)
        .values(attempts=domain_frontier.c.attempts + attempts, not_before=not_before)
    )


def requeue_all(connection: Connection, host_id: UUID) -> int:
    """Queue everything again that a host ever had, for a crawl from the start."""
    statement = (
        update(domain_frontier)
        .where(domain_frontier.c.domain_id == host_id, domain_frontier.c.state == DONE)
        .values(state=QUEUED, attempts=0, not_before=None)
    )
    return connection.execute(statement).rowcount


def size(connection: Connection, host_id: UUID) -> int:
    """How many URLs of a host are still to visit."""
    return connection.execute(
        select(func.count()).where(domain_frontier.c.domain_id == host_id, domain_frontier.c.state == QUEUED)
    ).scalar_one()


def next_ready_at(connection: Connection, host_id: UUID) -> datetime | None:
    """When the earliest postponed URL of a host may be tried again."""
    value: datetime | None = connection.execute(
        select(domain_frontier.c.not_before)
        .where(
            domain_frontier.c.domain_id == host_id,
            domain_frontier.c.state == QUEUED,
            domain_frontier.c.not_before.is_not(None),
        )
        .order_by(domain_frontier.c.not_before)
        .limit(1)
    ).scalar()
    return value


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Give one host's URLs to another; those it has already fall away."""
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
