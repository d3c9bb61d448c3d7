"""Statements on `grants`: permission for single requests of other crawlers.

Written as text and run for a whole batch at once: a busy crawler asks for thousands of grants a second.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, array_text, insert_rows, placed, rows_of, run
from comity.database.queue import reservations
from comity.database.queue.reservations import HostRow, among
from comity.database.queue.tables import grants

_NEW: Final = (
    ("id", "uuid"),
    ("domain_id", "uuid"),
    ("client", "text"),
    ("url", "text"),
    ("slot_at", "timestamptz"),
    ("slot_ends_at", "timestamptz"),
    ("slot", "jsonb"),
    ("lease_token", "bigint"),
    ("expires_at", "timestamptz"),
    ("granted_at", "timestamptz"),
)
"""The columns of a new grant, with their types on PostgreSQL."""


class NewGrant(NamedTuple):
    """A grant to be stored."""

    id: UUID
    host_id: UUID
    url: str
    not_before: float
    start_by: float
    document: str
    lease_token: int
    expires_at: float


class GrantRow(NamedTuple):
    """A stored grant."""

    id: UUID
    client: str
    url: str
    not_before: float
    start_by: float
    document: str
    """As JSON."""
    lease_token: int
    expires_at: float
    is_open: bool
    outcome: str | None


def add(connection: Connection, client: str, rows: Sequence[NewGrant], now: float) -> None:
    """Store grants of a client."""
    if not rows:
        return
    encode = Encoding(connection)
    uuid, time, moment = encode.uuid, encode.common_time, encode.time(now)
    values = [
        (
            uuid(grant_id),
            uuid(host_id),
            client,
            url,
            time(not_before),
            time(start_by),
            document,
            token,
            time(expires_at),
            moment,
        )
        for grant_id, host_id, url, not_before, start_by, document, token, expires_at in rows
    ]
    if connection.dialect.name == "postgresql":
        run(connection, _ADD, tuple(map(array_text, zip(*values, strict=True))))
    else:
        insert_rows(connection, grants, tuple(name for name, _ in _NEW), values)


# One statement for a whole batch.
_ADD: Final = (
    f"INSERT INTO grants ({', '.join(name for name, _ in _NEW)}) "  # noqa: S608  # our own words
    f"SELECT * FROM unnest({', '.join(f'%s::{kind}[]' for _, kind in _NEW)})"
)


def take(connection: Connection, ids: Collection[UUID]) -> dict[UUID, tuple[GrantRow, HostRow]]:
    """Read grants with their hosts, and lock both until the transaction ends; the rows of hosts are waited for.

    All transactions lock hosts first, and in the order of their ids.
    """
    if not ids:
        return {}
    encode, decode = Encoding(connection), Decoding(connection)
    native = connection.dialect.name == "postgresql"
    asked = {encode.uuid(each): each for each in ids}
    listed: Any = list(asked) if native else json.dumps(list(asked))
    hosts: dict[Any, HostRow] = {}
    found: dict[UUID, tuple[GrantRow, HostRow]] = {}
    for row in rows_of(connection, _take_text(native), (listed,)):
        host = hosts.get(row[0])
        if host is None:
            host = hosts[row[0]] = reservations.host_row(decode, row)
        grant_id = asked[row[reservations.WIDTH]]
        found[grant_id] = _read(decode, grant_id, row[reservations.WIDTH + 1 :]), host
    return found


@lru_cache(maxsize=2)
def _take_text(native: bool) -> str:
    listed = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    document = "g.slot::text" if native else "g.slot"
    return f"""
SELECT {reservations.COLUMNS}, g.id, g.client, g.url, g.slot_at, g.slot_ends_at, {document}, g.lease_token,
    g.expires_at, g.is_open, g.outcome
FROM grants AS g JOIN domains AS d ON d.id = g.domain_id LEFT JOIN domain_policies AS p ON p.host = d.domain
WHERE g.id {listed} {"ORDER BY d.id FOR NO KEY UPDATE OF d, g" if native else ""}
"""  # noqa: S608  # our own words


def _read(decode: Decoding, grant_id: UUID, row: Sequence[Any]) -> GrantRow:
    seconds = decode.common_seconds
    return GrantRow(
        grant_id,
        row[0],
        row[1],
        seconds(row[2]) or 0.0,
        seconds(row[3]) or 0.0,
        row[4],
        row[5],
        seconds(row[6]) or 0.0,
        bool(row[7]),
        row[8],
    )


def overdue(connection: Connection, now: float, limit: int) -> list[UUID]:
    """Open grants that ran out, those longest over first; locks nothing."""
    decode = Decoding(connection)
    statement = "SELECT id FROM grants WHERE is_open AND expires_at <= ? ORDER BY expires_at LIMIT ?"
    values = (Encoding(connection).time(now), limit)
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), values)
    return [decode.uuid(row[0]) for row in rows]


def end(connection: Connection, ids: Collection[UUID], outcome: str, now: float) -> None:
    """Close grants that are taken in this transaction."""
    if not ids:
        return
    encode = Encoding(connection)
    statement = "UPDATE grants SET is_open = false, outcome = ?, ended_at = ? WHERE id {names} AND is_open"
    text, listed = among(connection, statement, [encode.uuid(each) for each in ids])
    run(connection, text, (outcome, encode.time(now), listed))


def open_of(connection: Connection, bot_id: str) -> int:
    """How many open grants the clients of a bot have: those with its name, or that followed by a slash."""
    statement = "SELECT count(*) FROM grants WHERE is_open AND (client = ? OR substr(client, 1, ?) = ?)"
    values = (bot_id, len(bot_id) + 1, f"{bot_id}/")
    return int(connection.exec_driver_sql(placed(connection.dialect.name, statement), values).scalar_one())


def forget(connection: Connection, before: float, limit: int) -> int:
    """Delete grants that ended long ago, the oldest first; the ledger has their results. Returns how many.

    Grants that another transaction has locked are left for the next time: several servers forget at once.
    """
    lock = "FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    statement = f"""
DELETE FROM grants WHERE id IN (
    SELECT id FROM grants WHERE granted_at < ? AND NOT is_open ORDER BY granted_at LIMIT ? {lock}
)
"""  # noqa: S608  # our own words
    values = (Encoding(connection).time(before), limit)
    return int(connection.exec_driver_sql(placed(connection.dialect.name, statement), values).rowcount)
