"""Statements on `bots`: their keys and limits, and what pulls and submits read and count."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from comity.database.bulk import Decoding, Encoding, placed, rows_of, run
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
    """Add a bot; False if the id is taken, whatever the status of that bot."""
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


class BotRow(NamedTuple):
    """A bot's row when it pulls."""

    status: str
    max_jobs_in_hand: int | None
    max_jobs_per_minute: int | None
    failures: int
    times_quarantined: int
    quarantined_until: float | None
    minute_started_at: float | None
    pulled_this_minute: int

    @property
    def is_limited(self) -> bool:
        """Whether what it gets depends on what it holds: then its requests must be handled one at a time."""
        return self.status != "active" or self.max_jobs_in_hand is not None or self.max_jobs_per_minute is not None


_COLUMNS = (
    "status, max_jobs_in_hand, max_jobs_per_minute, consecutive_failures, times_quarantined, quarantined_until, "
    "minute_started_at, pulled_this_minute"
)


def row_for_pull(connection: Connection, bot_id: str, now: float | None, *, keeps: bool = True) -> tuple[BotRow, float]:
    """A bot's row and the time; `keeps` locks the row until the transaction ends. A new bot gets a row.

    `now=None` asks the server.
    """
    decode = Decoding(connection)
    for _ in range(2):
        for row in rows_of(connection, _get_text(connection.dialect.name, keeps=keeps), (bot_id,)):
            found = BotRow(
                row[0], row[1], row[2], row[3], row[4], decode.seconds(row[5]), decode.seconds(row[6]), row[7]
            )
            return found, float(row[8]) if now is None else now
        statement = "INSERT INTO bots (bot_id) VALUES (?) ON CONFLICT (bot_id) DO NOTHING"
        connection.exec_driver_sql(placed(connection.dialect.name, statement), (bot_id,))
    raise AssertionError(f"the row of the bot {bot_id} cannot be seen")


@lru_cache(maxsize=4)
def _get_text(dialect: str, *, keeps: bool) -> str:
    native = dialect == "postgresql"
    time = "extract(epoch FROM clock_timestamp())" if native else "NULL"
    lock = " FOR NO KEY UPDATE" if native and keeps else ""
    return placed(dialect, f"SELECT {_COLUMNS}, {time} FROM bots WHERE bot_id = ?{lock}")  # noqa: S608


def is_limited(connection: Connection, bot_id: str) -> bool:
    """Whether a bot has limits, is quarantined or is revoked."""
    statement = """
SELECT 1 FROM bots WHERE bot_id = ?
    AND (status <> 'active' OR max_jobs_in_hand IS NOT NULL OR max_jobs_per_minute IS NOT NULL)
"""
    return bool(rows_of(connection, placed(connection.dialect.name, statement), (bot_id,)))


class PullCount(NamedTuple):
    """What a pull changes in a bot's row; `resumes` ends a quarantine that is over."""

    bot_id: str
    now: float
    jobs: int
    minute_started_at: float
    pulled_this_minute: int
    resumes: bool


def note_pull(connection: Connection, count: PullCount) -> None:
    """Note that a bot pulled, and count the jobs that it got."""
    values = pull_values(Encoding(connection), count)
    run(connection, placed(connection.dialect.name, pull_text(resumes=count.resumes)), values)


def pull_text(*, resumes: bool) -> str:
    """The statement of `note_pull`, for `pull_values`."""
    status = "status = 'active', quarantined_until = NULL, " if resumes else ""
    return (
        f"UPDATE bots SET {status}last_seen_at = ?, jobs_pulled = jobs_pulled + ?, minute_started_at = ?, "  # noqa: S608
        "pulled_this_minute = ? WHERE bot_id = ?"
    )


def pull_values(encode: Encoding, count: PullCount) -> tuple[Any, ...]:
    """The values of `pull_text`."""
    minute = encode.time(count.minute_started_at)
    return (encode.time(count.now), count.jobs, minute, count.pulled_this_minute, count.bot_id)


def failures_of(connection: Connection, bot_id: str) -> tuple[int, int] | None:
    """A bot's failures in a row, and how often it was quarantined; locks its row until the transaction ends."""
    lock = " FOR NO KEY UPDATE" if connection.dialect.name == "postgresql" else ""
    statement = f"SELECT consecutive_failures, times_quarantined FROM bots WHERE bot_id = ?{lock}"  # noqa: S608
    rows = rows_of(connection, placed(connection.dialect.name, statement), (bot_id,))
    return (rows[0][0], rows[0][1]) if rows else None


def note_seen(connection: Connection, bot_id: str, now: float) -> None:
    """Note when a bot was last seen."""
    statement = "UPDATE bots SET last_seen_at = ? WHERE bot_id = ?"
    run(connection, placed(connection.dialect.name, statement), (Encoding(connection).time(now), bot_id))


def note_success(connection: Connection, bot_id: str, now: float) -> None:
    """Count a finished job; the bot's failures in a row start again at zero."""
    statement = "UPDATE bots SET last_seen_at = ?, jobs_done = jobs_done + 1, consecutive_failures = 0 WHERE bot_id = ?"
    run(connection, placed(connection.dialect.name, statement), (Encoding(connection).time(now), bot_id))


def note_end(
    connection: Connection, bot_id: str, *, done: int, failed: int, failures: int, quarantined_until: float | None
) -> None:
    """Count jobs that ended, and quarantine the bot if it failed too often; a revoked bot stays revoked."""
    encode = Encoding(connection)
    values: tuple[Any, ...] = (done, failed, failures)
    quarantine = ""
    if quarantined_until is not None:
        quarantine = (
            ", times_quarantined = times_quarantined + 1, quarantined_until = ?, "
            "status = CASE WHEN status = 'active' THEN 'quarantined' ELSE status END"
        )
        values = (*values, encode.time(quarantined_until))
    statement = (
        "UPDATE bots SET jobs_done = jobs_done + ?, jobs_failed = jobs_failed + ?, consecutive_failures = ?"  # noqa: S608
        f"{quarantine} WHERE bot_id = ?"
    )
    run(connection, placed(connection.dialect.name, statement), (*values, bot_id))
