"""Statements that list stored decisions a page at a time; each is answered by an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, select

from comity.database.tables import evidence


def of_url(connection: Connection, key: int, kind: str | None, limit: int, offset: int) -> Sequence[Row[Any]]:
    """What was decided about a URL, newest first."""
    return _page(connection, select(evidence).where(evidence.c.url_key == key), kind, limit, offset)


def of_host(connection: Connection, host_id: UUID, kind: str | None, limit: int, offset: int) -> Sequence[Row[Any]]:
    """What was decided about the URLs of a host, newest first."""
    return _page(connection, select(evidence).where(evidence.c.domain_id == host_id), kind, limit, offset)


def _page(
    connection: Connection, statement: Select[Any], kind: str | None, limit: int, offset: int
) -> Sequence[Row[Any]]:
    if kind is not None:
        statement = statement.where(evidence.c.type == kind)
    ordered = statement.order_by(evidence.c.created_at.desc(), evidence.c.id.desc())
    return connection.execute(ordered.limit(limit).offset(offset)).all()
