"""Statements on `bots`: who may pull jobs, with which key and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from comity.database.bulk import placed, rows_of
from comity.database.dialects import insert_into
from comity.database.queue.tables import bots, crawl_jobs
from comity.database.types import instant
from comity.model.bot import BotRecord, BotStatus


def _in_hand() -> ColumnElement[int]:
    """How many jobs a bot holds."""
    held = crawl_jobs.c.locked_by == bots.c.bot_id
    return select(func.count()).where(held, crawl_jobs.c.status == "locked").correlate(bots).scalar_subquery()


def _bots() -> Select[Any]:
    return select(bots, _in_hand().label("jobs_in_hand"))


def add(connection: Connection, bot_id: str, values: Mapping[str, Any], now: datetime | None) -> bool:
    """Add a bot; False if there is one with that id, whatever its status."""
    statement = (
        insert_into(connection, bots)
        .values(bot_id=bot_id, created_at=instant(connection, now), **values)
        .on_conflict_do_nothing(index_elements=[bots.c.bot_id])
        .returning(bots.c.bot_id)
    )
    return connection.execute(statement).first() is not None


def get(connection: Connection, bot_id: str) -> Row[Any] | None:
    """One bot."""
    return connection.execute(_bots().where(bots.c.bot_id == bot_id)).first()


def listed(
    connection: Connection, *, status: str | None, after: str | None = None, limit: int | None = None
) -> list[Row[Any]]:
    """Bots in the order of their ids, after one of them."""
    statement = _bots().order_by(bots.c.bot_id)
    if status is not None:
        statement = statement.where(bots.c.status == status)
    if after is not None:
        statement = statement.where(bots.c.bot_id > after)
    return list(connection.execute(statement if limit is None else statement.limit(limit)))


class BotKey(NamedTuple):
    """A key of a bot."""

    bot_id: str
    key_hash: str
    status: str


def key_of(connection: Connection, key_hash: str) -> BotKey | None:
    """The bot with this hash of a key, with the hash and its status."""
    # Written out by hand: most requests of bots run it.
    statement = placed(connection.dialect.name, "SELECT bot_id, key_hash, status FROM bots WHERE key_hash = ?")
    found = rows_of(connection, statement, (key_hash,))
    return BotKey(*found[0]) if found else None


def change(connection: Connection, bot_id: str, values: Mapping[str, Any]) -> bool:
    """Change some columns; False if there is no such bot."""
    statement = update(bots).where(bots.c.bot_id == bot_id).values(**values)
    return connection.execute(statement).rowcount > 0


def bot_from(row: Any) -> BotRecord:
    """A row as a noun."""
    return BotRecord(
        bot_id=row.bot_id,
        status=BotStatus(row.status),
        has_key=row.key_hash is not None,
        max_jobs_in_hand=row.max_jobs_in_hand,
        max_jobs_per_minute=row.max_jobs_per_minute,
        consecutive_failures=row.consecutive_failures,
        jobs_pulled=row.jobs_pulled,
        jobs_done=row.jobs_done,
        jobs_failed=row.jobs_failed,
        jobs_in_hand=row.jobs_in_hand,
        quarantined_until=row.quarantined_until,
        note=row.note,
        last_seen_at=row.last_seen_at,
        created_at=row.created_at,
    )
