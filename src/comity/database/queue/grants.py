"""Statements on `grants`: permission for single requests of other crawlers.

Spelled by hand and run for a whole batch at once: a busy crawler asks for thousands of grants a second.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, insert_rows, placed
from comity.database.queue.tables import grants

_NEW: Final = (
    "id",
    "domain_id",
    "client",
    "url",
    "slot_at",
    "slot_ends_at",
    "slot",
    "lease_token",
    "expires_at",
    "granted_at",
)


class NewGrant(NamedTuple):
    """A grant to be stored."""

    id: UUID
    host_id: UUID
    client: str
    url: str
    not_before: float
    start_by: float
    document: str
    lease_token: int
    expires_at: float


class GrantRow(NamedTuple):
    """A stored grant."""

    id: UUID
    host_id: UUID
    client: str
    url: str
    not_before: float
    start_by: float
    document: dict[str, Any]
    lease_token: int
    expires_at: float
    is_open: bool
    outcome: str | None


def add(connection: Connection, rows: Sequence[NewGrant], now: float) -> None:
    """Store grants."""
    encode = Encoding(connection)
    uuid, time, moment = encode.uuid, encode.time, encode.time(now)
    values = [
        (
            uuid(row.id),
            uuid(row.host_id),
            row.client,
            row.url,
            time(row.not_before),
            time(row.start_by),
            row.document,
            row.lease_token,
            time(row.expires_at),
            moment,
        )
        for row in rows
    ]
    insert_rows(connection, grants, _NEW, values)


def counts(connection: Connection, leases: Collection[tuple[UUID, int]]) -> dict[UUID, int]:
    """How many grants there are under some leases, by host."""
    if not leases:
        return {}
    encode, decode = Encoding(connection), Decoding(connection)
    tokens = dict(leases)
    native = connection.dialect.name == "postgresql"
    keys = [encode.uuid(host_id) for host_id in tokens]
    rows = connection.exec_driver_sql(_counts_text(native), (keys if native else json.dumps(keys),))
    found = ((decode.uuid(row[0]), row[1], row[2]) for row in rows)
    return {host_id: number for host_id, token, number in found if tokens.get(host_id) == token}


@lru_cache(maxsize=2)
def _counts_text(native: bool) -> str:
    """Of a host that is held, the grants of the present lease, which its row names."""
    listed = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    return f"""
SELECT g.domain_id, g.lease_token, count(*) FROM domains AS d
JOIN grants AS g ON g.domain_id = d.id AND g.lease_token = d.lease_token
WHERE d.id {listed} GROUP BY g.domain_id, g.lease_token
"""  # noqa: S608  # our own words


def lock(connection: Connection, ids: Collection[UUID]) -> dict[UUID, GrantRow]:
    """Read grants and keep them until the transaction ends."""
    encode = Encoding(connection)
    return _locked(connection, [encode.uuid(each) for each in ids])


def lock_overdue(connection: Connection, now: float, limit: int) -> dict[UUID, GrantRow]:
    """The same for open grants that ran out, those longest over first."""
    statement = placed(
        connection.dialect.name, "SELECT id FROM grants WHERE is_open AND expires_at <= ? ORDER BY expires_at LIMIT ?"
    )
    rows = connection.exec_driver_sql(statement, (Encoding(connection).time(now), limit))
    found = _locked(connection, [row[0] for row in rows])
    return {grant_id: row for grant_id, row in found.items() if row.is_open and row.expires_at <= now}


def _locked(connection: Connection, keys: list[Any]) -> dict[UUID, GrantRow]:
    if not keys:
        return {}
    decode = Decoding(connection)
    native = connection.dialect.name == "postgresql"
    rows = connection.exec_driver_sql(_lock_text(native), (keys if native else json.dumps(keys),))
    found = [_read(decode, row) for row in rows]
    return {row.id: row for row in found}


@lru_cache(maxsize=2)
def _lock_text(native: bool) -> str:
    listed = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    columns = "id, domain_id, client, url, slot_at, slot_ends_at, slot, lease_token, expires_at, is_open, outcome"
    text = f"SELECT {columns} FROM grants WHERE id {listed} ORDER BY id"  # noqa: S608  # our own words
    return f"{text} FOR UPDATE" if native else text


def _read(decode: Decoding, row: Sequence[Any]) -> GrantRow:
    seconds = decode.seconds
    return GrantRow(
        decode.uuid(row[0]),
        decode.uuid(row[1]),
        row[2],
        row[3],
        seconds(row[4]) or 0.0,
        seconds(row[5]) or 0.0,
        decode.json(row[6]),
        row[7],
        seconds(row[8]) or 0.0,
        bool(row[9]),
        row[10],
    )


def end(connection: Connection, ended: Sequence[tuple[UUID, str]], now: float) -> None:
    """Close grants that are locked in this transaction, each with its outcome."""
    if not ended:
        return
    encode = Encoding(connection)
    moment, is_open = encode.time(now), False
    values = [(is_open, outcome, moment, encode.uuid(grant_id)) for grant_id, outcome in ended]
    statement = "UPDATE grants SET is_open = ?, outcome = ?, ended_at = ? WHERE id = ? AND is_open"
    connection.exec_driver_sql(placed(connection.dialect.name, statement), values)
