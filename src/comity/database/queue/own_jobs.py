"""Statements for the jobs that Comity's own worker does: under the lease of their host, so they have no slot."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection

from comity.database.bulk import Encoding, placed, run
from comity.database.queue.reservations import bot_holder
from comity.model.queue import OWN_BOT


def lock(connection: Connection, job_id: UUID, ends_at: float, lease_token: int, now: float) -> bool:
    """Lock a waiting job of a host whose row is kept here; False if it does not wait any more."""
    encode = Encoding(connection)
    moment = encode.time(now)
    statement = """
UPDATE crawl_jobs SET status = 'locked', locked_by = ?, locked_at = ?, lock_ends_at = ?, slot_at = NULL,
    slot_ends_at = NULL, slot = NULL, lease_token = ?, moved_by = ?, move_reason = 'taken by a worker', updated_at = ?
WHERE id = ? AND status IN ('pending', 'expired') AND not_before IS NULL
"""
    values = (OWN_BOT, moment, encode.time(ends_at), lease_token, bot_holder(OWN_BOT), moment, encode.uuid(job_id))
    return connection.exec_driver_sql(placed(connection.dialect.name, statement), values).rowcount > 0


def note_site(connection: Connection, host_id: UUID, failures: int, parked_until: float | None) -> None:
    """Write how many jobs of a host failed in a row, and until when it is parked for that."""
    encode = Encoding(connection)
    statement = "UPDATE domains SET queue_failures = ?, queue_parked_until = ? WHERE id = ?"
    values = (failures, encode.time_or_none(parked_until), encode.uuid(host_id))
    run(connection, placed(connection.dialect.name, statement), values)
