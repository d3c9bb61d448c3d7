"""What the state keeps of a robots.txt that came into force: the cache row, the file by its digest, a ledger note.

All three are written in one transaction, so that the ledger can say which file decided at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from comity.database import ledger
from comity.database import robots as robots_table
from comity.model.lease import Lease
from comity.model.ledger import LedgerNote, NoteKind
from comity.model.robots import RobotsAccess
from comity.rules.ledger_chain import START, chained, microseconds
from comity.rules.robots import parsed_part
from comity.rules.robots_parse import product_token
from comity.walk.robots.in_force import RobotsInForce


class RobotsRecord(NamedTuple):
    """One reading of robots.txt, ready to be written."""

    values: dict[str, Any]
    note: LedgerNote
    body: bytes
    is_cached: bool = False
    """Whether the cache row is there already and only the note is new."""


def record_of(lease: Lease, found: RobotsInForce, agent: str, now: float, body: bytes) -> RobotsRecord:
    """What is to be written of robots.txt as it is in force from now on."""
    token = product_token(agent)
    detail = json.dumps({"access": _access(found), "agent": token, "status": found.reading.http_status})
    note = LedgerNote(
        lease.host_id,
        lease.host,
        lease.token,
        NoteKind.ROBOTS,
        found.origin,
        found.version,
        now,
        max(now, found.expires_at),
        detail,
    )
    return RobotsRecord({"origin": found.origin, "noted": noted_as(found, agent)}, note, body)


def noted_as(found: RobotsInForce, agent: str) -> str:
    """Identifies a note by everything that it puts in force."""
    return chained(START, (found.version, _access(found), product_token(agent), microseconds(found.expires_at)))


def keep_robots(connection: Connection, records: Sequence[RobotsRecord]) -> None:
    """Write readings."""
    files = {record.note.version: parsed_part(record.body) for record in records if record.note.version is not None}
    ledger.keep_versions(connection, files)
    for record in records:
        if record.is_cached:
            robots_table.note(connection, record.values["origin"], record.note.version, record.values["noted"])
        else:
            robots_table.put(connection, record.values)
    ledger.append_notes(connection, [record.note for record in records])


def _access(found: RobotsInForce) -> str:
    access = found.reading.access
    return str(RobotsAccess.PARSE if access is RobotsAccess.UNCHANGED else access)
