"""Statements on `sitemaps`: the files of a host that were requested, and those still to request."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, delete, func, select

from comity.database.dialects import insert_for
from comity.database.tables import sitemaps
from comity.database.types import from_seconds, to_seconds
from comity.model.sitemap import SitemapKind, SitemapRow, SitemapState

_MOST: Final = 500_000  # the plan itself is bounded: four times as many files as are requested

_LONGEST_DETAIL: Final = 1000


def put(connection: Connection, host_id: UUID, rows: Iterable[SitemapRow]) -> None:
    """Record files that were requested or planned; a plan does not replace the record of a request."""
    by_key: dict[int, SitemapRow] = {}
    for row in rows:
        if row.state is not SitemapState.PLANNED or row.key not in by_key:
            by_key[row.key] = row
    values = [
        {
            "domain_id": host_id,
            "url_key": row.key,
            "url": row.url,
            "depth": row.depth,
            "is_guess": row.is_guess,
            "state": str(row.state),
            "status": row.status,
            "kind": str(row.kind) if row.kind is not None else None,
            "entries": row.entries,
            "detail": _storable(row.detail) if row.detail is not None else None,
            "asked_at": from_seconds(row.asked_at) if row.asked_at is not None else None,
        }
        for row in by_key.values()
    ]
    statement = insert_for(connection.dialect.name, sitemaps)
    new = statement.excluded
    keep = ("state", "status", "kind", "entries", "detail", "asked_at")
    statement = statement.on_conflict_do_update(
        index_elements=["domain_id", "url_key"],
        set_={name: new[name] for name in keep},
        where=new.state != str(SitemapState.PLANNED),
    )
    if values:
        connection.execute(statement, values)


def _storable(text: str) -> str:
    """The beginning of a text, in characters that both databases accept."""
    return text[:_LONGEST_DETAIL].replace("\0", " ").encode("utf-8", "replace").decode()


def of_host(connection: Connection, host_id: UUID) -> list[SitemapRow]:
    """What is known of a host's sitemap files."""
    statement = select(sitemaps).where(sitemaps.c.domain_id == host_id).order_by(sitemaps.c.depth).limit(_MOST)
    return [
        SitemapRow(
            row.url,
            row.url_key,
            row.depth,
            row.is_guess,
            SitemapState(row.state),
            row.status,
            SitemapKind(row.kind) if row.kind else None,
            row.entries,
            row.detail,
            to_seconds(row.asked_at),
        )
        for row in connection.execute(statement)
    ]


def find(connection: Connection, host_id: UUID, key: int) -> Any:
    """What is known of one sitemap file."""
    return connection.execute(
        select(sitemaps).where(sitemaps.c.domain_id == host_id, sitemaps.c.url_key == key)
    ).first()


def of_hosts(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, list[SitemapRow]]:
    """What is known of the sitemap files of some hosts; most have none."""
    known = select(sitemaps.c.domain_id).where(sitemaps.c.domain_id.in_(list(host_ids))).distinct()
    return {host_id: of_host(connection, host_id) for host_id in connection.execute(known).scalars().all()}


def forget(connection: Connection, host_id: UUID) -> None:
    """Plan a host's sitemaps from the start again."""
    connection.execute(delete(sitemaps).where(sitemaps.c.domain_id == host_id))


def planned(connection: Connection, host_id: UUID) -> int:
    """How many files of a host are still to be read."""
    return planned_of(connection, [host_id]).get(host_id, 0)


def planned_of(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many files of each of some hosts are still to be read; those that have none are missing."""
    statement = (
        select(sitemaps.c.domain_id, func.count().label("files"))
        .where(sitemaps.c.domain_id.in_(list(host_ids)), sitemaps.c.state == str(SitemapState.PLANNED))
        .group_by(sitemaps.c.domain_id)
    )
    return {row.domain_id: row.files for row in connection.execute(statement)}
