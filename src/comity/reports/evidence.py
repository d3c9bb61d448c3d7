"""Stored decisions about one URL, or about the URLs of one host."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from comity.database import hosts, records
from comity.database.connection import Database
from comity.model.errors import NotFound, Remedy, RemedyCode


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """One decision with what led to it."""

    url: str
    type: str
    content: dict[str, Any]
    metadata: dict[str, Any] | None
    confidence: str
    created_at: datetime
    run_id: UUID | None


def evidence_of_url(
    database: Database, key: int, *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> list[StoredEvidence]:
    """What was decided about a URL, newest first."""
    with database.read() as connection:
        return [_stored(row) for row in records.evidence_of_url(connection, key, kind, limit, offset)]


def evidence_of_host(
    database: Database, host: str, *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> list[StoredEvidence]:
    """What was decided about the URLs of a host, newest first; `NotFound` if the host was never seen."""
    with database.read() as connection:
        row = hosts.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        return [_stored(each) for each in records.evidence_of_host(connection, row.id, kind, limit, offset)]


def _stored(row: Any) -> StoredEvidence:
    return StoredEvidence(
        row.url, row.type, row.content, row._mapping["metadata"], row.confidence, row.created_at, row.run_id
    )
