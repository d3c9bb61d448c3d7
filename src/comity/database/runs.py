"""Statements on `crawl_runs`: one bounded piece of crawling."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, insert, select, update

from comity.database.tables import crawl_runs


def begin(
    connection: Connection, run_id: UUID, *, door: str, holder: str, settings: dict[str, Any], now: datetime
) -> None:
    """Note that a run starts."""
    connection.execute(
        insert(crawl_runs).values(id=run_id, door=door, holder=holder, settings=settings, started_at=now)
    )


def known(connection: Connection, run_ids: Collection[UUID]) -> set[UUID]:
    """Which of these runs this state knows of; a run is noted before its first page is kept."""
    return set(connection.execute(select(crawl_runs.c.id).where(crawl_runs.c.id.in_(list(run_ids)))).scalars())


def add(connection: Connection, run_id: UUID, *, crawled: int, failed: int, received: int) -> None:
    """Add to what a run has done."""
    connection.execute(
        update(crawl_runs)
        .where(crawl_runs.c.id == run_id)
        .values(
            pages_crawled=crawl_runs.c.pages_crawled + crawled,
            pages_failed=crawl_runs.c.pages_failed + failed,
            bytes_received=crawl_runs.c.bytes_received + received,
        )
    )


def end(connection: Connection, run_id: UUID, *, status: str, reason: str, now: datetime) -> None:
    """Note how a run ended, and why."""
    connection.execute(
        update(crawl_runs).where(crawl_runs.c.id == run_id).values(status=status, end_reason=reason, ended_at=now)
    )
