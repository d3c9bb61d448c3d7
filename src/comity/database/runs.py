"""Statements on `crawl_runs`: one bounded piece of crawling."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Integer, Row, and_, bindparam, exists, func, insert, or_, select, update

from comity.database.bulk import Encoding, driver_text
from comity.database.tables import crawl_runs, domains, fetches
from comity.database.types import instant


def begin(
    connection: Connection, run_id: UUID, *, door: str, holder: str, settings: dict[str, Any], now: datetime
) -> None:
    """Note that a run starts."""
    connection.execute(
        insert(crawl_runs).values(id=run_id, door=door, holder=holder, settings=settings, started_at=now)
    )


def known(connection: Connection, run_ids: Collection[UUID]) -> set[UUID]:
    """Which of these runs this state knows; a run is recorded before its first page is stored."""
    return set(connection.execute(select(crawl_runs.c.id).where(crawl_runs.c.id.in_(list(run_ids)))).scalars())


def add(connection: Connection, run_id: UUID, *, crawled: int, failed: int, received: int) -> None:
    """Add to what a run has done."""
    values = (crawled, failed, received, Encoding(connection).uuid(run_id))
    connection.exec_driver_sql(_add_text(connection.dialect.name), values)


@lru_cache(maxsize=2)
def _add_text(dialect: str) -> str:
    column = crawl_runs.c
    statement = (
        update(crawl_runs)
        .where(column.id == bindparam("run"))
        .ordered_values(
            (column.pages_crawled, column.pages_crawled + bindparam("crawled", type_=Integer())),
            (column.pages_failed, column.pages_failed + bindparam("failed", type_=Integer())),
            (column.bytes_received, column.bytes_received + bindparam("received", type_=Integer())),
        )
    )
    return driver_text(dialect, statement, ("crawled", "failed", "received", "run"))


def settings_of(connection: Connection, run_id: UUID) -> dict[str, Any]:
    """The settings of a run; none where it is not known."""
    found = connection.execute(select(crawl_runs.c.settings).where(crawl_runs.c.id == run_id)).scalar()
    return found if isinstance(found, dict) else {}


def totals(connection: Connection, run_id: UUID) -> Any:
    """What a run has done."""
    done = select(crawl_runs.c.pages_crawled, crawl_runs.c.pages_failed, crawl_runs.c.bytes_received)
    return connection.execute(done.where(crawl_runs.c.id == run_id)).one()


def pages_of_hosts(connection: Connection, run_id: UUID) -> dict[str, int]:
    """How many pages a run has of each host."""
    statement = (
        select(fetches.c.domain, func.count().label("pages"))
        .where(fetches.c.run_id == run_id, fetches.c.outcome.in_(("fetched", "not_modified")))
        .group_by(fetches.c.domain)
    )
    return {row.domain: row.pages for row in connection.execute(statement)}


def open_runs(connection: Connection, since: datetime, now: datetime | None, limit: int) -> Sequence[Any]:
    """Runs that began since a moment and have not ended, oldest first, and whether their holder has a lease now."""
    holds = exists().where(
        domains.c.claimed_by == crawl_runs.c.holder, domains.c.claim_expires_at > instant(connection, now)
    )
    column = crawl_runs.c
    return connection.execute(
        select(
            column.id,
            column.holder,
            column.started_at,
            column.settings["processes"].as_integer().label("processes"),
            func.coalesce(column.settings["is_supervised"].as_boolean(), False).label("is_supervised"),
            holds.label("holds"),
        )
        .where(column.status == "running", column.started_at > since)
        .order_by(column.started_at)
        .limit(limit)
    ).all()


def end_dead(connection: Connection, run_ids: Collection[UUID], *, reason: str, detail: str, now: datetime) -> int:
    """Record that runs failed silently; one that has ended is not changed. Returns how many."""
    still = (crawl_runs.c.id.in_(list(run_ids)), crawl_runs.c.status == "running")
    values = {"status": "failed", "end_reason": reason, "end_detail": detail, "ended_at": now}
    return int(connection.execute(update(crawl_runs).where(*still).values(values)).rowcount)


def end(connection: Connection, run_id: UUID, *, status: str, reason: str, detail: str, now: datetime) -> None:
    """Note how a run ended, and why: by the code of an end reason, and in words."""
    values = {"status": status, "end_reason": reason, "end_detail": detail, "ended_at": now}
    connection.execute(update(crawl_runs).where(crawl_runs.c.id == run_id).values(values))


def get(connection: Connection, run_id: UUID) -> Row[Any] | None:
    """One run."""
    return connection.execute(select(crawl_runs).where(crawl_runs.c.id == run_id)).first()


def listed(
    connection: Connection,
    *,
    door: str | None = None,
    status: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> Sequence[Row[Any]]:
    """Runs, newest first; `after` is the start and the id of the last one known."""
    column = crawl_runs.c
    statement = select(crawl_runs)
    if door is not None:
        statement = statement.where(column.door == door)
    if status is not None:
        statement = statement.where(column.status == status)
    if after is not None:
        at, identity = after
        if oldest_first:
            same = and_(column.started_at == at, column.id > identity)
            statement = statement.where(column.started_at >= at, or_(column.started_at > at, same))
        else:
            same = and_(column.started_at == at, column.id < identity)
            statement = statement.where(column.started_at <= at, or_(column.started_at < at, same))
    ends = (column.started_at, column.id) if oldest_first else (column.started_at.desc(), column.id.desc())
    statement = statement.order_by(*ends)
    return connection.execute(statement.limit(limit)).all()


def request_stop(connection: Connection, run_id: UUID, now: datetime) -> bool:
    """Record that a run is to stop cleanly; False if it has ended. Repeating it changes nothing."""
    column = crawl_runs.c
    statement = (
        update(crawl_runs)
        .where(column.id == run_id, column.status == "running")
        .values(stop_requested_at=func.coalesce(column.stop_requested_at, now))
    )
    return connection.execute(statement).rowcount == 1


def is_stop_requested(connection: Connection, run_id: UUID) -> bool:
    """Whether an operator asked a run to stop."""
    statement = select(crawl_runs.c.stop_requested_at).where(crawl_runs.c.id == run_id)
    return connection.execute(statement).scalar() is not None


def hosts_of(connection: Connection, run_id: UUID, names: Collection[str]) -> Sequence[Row[Any]]:
    """Some hosts as they are now, and whether this run was their last."""
    column = domains.c
    statement = select(
        column.domain,
        column.status,
        column.block_reason,
        column.frontier_size,
        column.next_crawl_after,
        func.coalesce(column.last_crawl_run_id == run_id, False).label("is_of_run"),
        func.coalesce(column.paused_by_run == run_id, False).label("is_paused"),
    )
    return connection.execute(statement.where(column.domain.in_(list(names))).order_by(column.domain)).all()
