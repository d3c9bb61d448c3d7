"""Queries on what happened over the last hours, and on what waits for a person; each reads an index or a sample.

Fetches have no index of their times alone, but their numbers rise with time: the rows of an hour are found by halving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, select, text

from comity.database.bulk import Encoding, placed, rows_of
from comity.database.queue.tables import bots, crawl_jobs, webhooks
from comity.database.sources.tables import crawl_logs, sources
from comity.database.status_queries import OUT_OF_ORDER, FetchTimes
from comity.model.bot import BotStatus
from comity.model.queue import JobStatus
from comity.model.source import SourceStatus

_MOST_READ: Final = 2_000  # rows of an hour
_STRETCHES: Final = 10  # of neighbouring rows, of which a larger hour is read
_MOST_RUNS: Final = 50_000
MOST_JOBS: Final = 10_000  # of one status that are counted


class FetchHour(NamedTuple):
    """The fetches of a stretch of time: how many by outcome, their bytes, and how long they took."""

    outcomes: dict[str, int]
    bytes_received: int
    durations_ms: list[int]
    is_exact: bool


def fetches_between(connection: Connection, times: FetchTimes, start: datetime, end: datetime) -> FetchHour:
    """The fetches of a stretch of time. Of very many, ten stretches of neighbouring rows stand for all."""
    first = times.mark(start - OUT_OF_ORDER).number
    last = times.mark(end + OUT_OF_ORDER).number
    rows = last - first
    if rows <= _MOST_READ:
        return _added_up(_read(connection, first, last, start, end), 1.0, is_exact=True)
    number = times.mark(end).number - times.mark(start).number
    length = _MOST_READ // _STRETCHES
    found: list[Any] = []
    for stretch in range(_STRETCHES):
        begin = first + rows * stretch // _STRETCHES
        found += _read(connection, begin, begin + length, start, end)
    return _added_up(found, number / max(len(found), 1), is_exact=False)


def _read(connection: Connection, first: int, last: int, start: datetime, end: datetime) -> Sequence[Any]:
    statement = (
        "SELECT outcome, bytes_received, duration_ms FROM fetches "
        "WHERE id > ? AND id <= ? AND crawled_at >= ? AND crawled_at < ?"
    )
    time = Encoding(connection).time
    values = (first, last, time(start.timestamp()), time(end.timestamp()))
    return rows_of(connection, placed(connection.dialect.name, statement), values)


def _added_up(rows: Sequence[Any], scale: float, *, is_exact: bool) -> FetchHour:
    outcomes = Counter(outcome for outcome, _bytes, _duration in rows)
    received = sum(each for _outcome, each, _duration in rows)
    durations = sorted(each for _outcome, _bytes, each in rows if each is not None)
    scaled = {outcome: round(count * scale) for outcome, count in outcomes.items()}
    return FetchHour(scaled, round(received * scale), durations, is_exact)


def runs_since(connection: Connection, since: datetime) -> Sequence[Any]:
    """The runs of sources since a moment, newest first; the index of their times has them."""
    column = crawl_logs.c
    return connection.execute(
        select(column.ran_at, column.status, column.found, column.inserted, column.closed)
        .where(column.ran_at >= since)
        .order_by(column.ran_at.desc())
        .limit(_MOST_RUNS)
    ).all()


def sources_by_status(connection: Connection) -> dict[str, int]:
    """How many sources have each status."""
    counted = select(sources.c.status, func.count()).group_by(sources.c.status)
    return {row[0]: row[1] for row in connection.execute(counted)}


def failing_sources(connection: Connection, failures: int) -> int:
    """Active sources that failed at least this often in a row."""
    active = select(func.count()).where(sources.c.status == SourceStatus.ACTIVE)
    return int(connection.execute(active.where(sources.c.consecutive_failures >= failures)).scalar_one())


def jobs_by_status(connection: Connection) -> dict[str, int]:
    """How many jobs have each status, counted up to `MOST_JOBS` and one more."""
    counted = {}
    for status in JobStatus:
        some = select(crawl_jobs.c.id).where(crawl_jobs.c.status == status).limit(MOST_JOBS + 1).subquery()
        counted[str(status)] = int(connection.execute(select(func.count()).select_from(some)).scalar_one())
    return counted


def disabled_webhooks(connection: Connection) -> int:
    """Webhooks that were turned off because their receiver failed."""
    disabled = select(func.count()).where(~webhooks.c.enabled, webhooks.c.disabled_reason.is_not(None))
    return int(connection.execute(disabled).scalar_one())


def quarantined_bots(connection: Connection) -> int:
    """Bots that were stopped because their jobs failed."""
    quarantined = select(func.count()).where(bots.c.status == BotStatus.QUARANTINED)
    return int(connection.execute(quarantined).scalar_one())


def size_bytes(connection: Connection) -> int | None:
    """The size of the database as its server reports it; None for a file."""
    if connection.dialect.name != "postgresql":
        return None
    return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
