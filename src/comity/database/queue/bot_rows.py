"""Statements on `bots` that pulls and submits run: the allowance of a bot, and its failures in a row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, placed


class BotRow(NamedTuple):
    """What a bot's row says when it pulls, and the time of its transaction."""

    status: str
    max_jobs_in_hand: int | None
    max_jobs_per_minute: int | None
    failures: int
    times_quarantined: int
    quarantined_until: float | None
    minute_started_at: float | None
    pulled_this_minute: int


_COLUMNS = (
    "status, max_jobs_in_hand, max_jobs_per_minute, consecutive_failures, times_quarantined, quarantined_until, "
    "minute_started_at, pulled_this_minute"
)


def seen(connection: Connection, bot_id: str, now: float) -> BotRow:
    """Note that a bot asks now, and keep its row until the transaction ends; a new bot gets a row."""
    encode, decode = Encoding(connection), Decoding(connection)
    moment = encode.time(now)
    row = connection.exec_driver_sql(_seen_text(connection.dialect.name), (bot_id, moment, moment)).one()
    return BotRow(row[0], row[1], row[2], row[3], row[4], decode.seconds(row[5]), decode.seconds(row[6]), row[7])


@lru_cache(maxsize=2)
def _seen_text(dialect: str) -> str:
    statement = f"""
INSERT INTO bots (bot_id, last_seen_at, created_at) VALUES (?, ?, ?)
ON CONFLICT (bot_id) DO UPDATE SET last_seen_at = excluded.last_seen_at RETURNING {_COLUMNS}
"""  # noqa: S608
    return placed(dialect, statement)


def note_pull(
    connection: Connection, bot_id: str, jobs: int, minute_started_at: float, this_minute: int, *, resumes: bool
) -> None:
    """Count the jobs of a pull; `resumes` ends a quarantine that is over."""
    encode = Encoding(connection)
    status = "status = 'active', quarantined_until = NULL, " if resumes else ""
    statement = (
        f"UPDATE bots SET {status}jobs_pulled = jobs_pulled + ?, minute_started_at = ?, pulled_this_minute = ? "  # noqa: S608
        "WHERE bot_id = ?"
    )
    values = (jobs, encode.time(minute_started_at), this_minute, bot_id)
    connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


def standing(connection: Connection, bot_id: str) -> tuple[int, int] | None:
    """A bot's failures in a row, and how often it was quarantined; keeps its row until the transaction ends."""
    lock = " FOR NO KEY UPDATE" if connection.dialect.name == "postgresql" else ""
    statement = f"SELECT consecutive_failures, times_quarantined FROM bots WHERE bot_id = ?{lock}"  # noqa: S608
    row = connection.exec_driver_sql(placed(connection.dialect.name, statement), (bot_id,)).first()
    return None if row is None else (row[0], row[1])


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
    connection.exec_driver_sql(placed(connection.dialect.name, statement), (*values, bot_id))
