"""Statements on `fetches` about what is known of pages: what a refresh asks with, and by which it chooses."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Final

from sqlalchemy import Connection, func, or_, select

from comity.database.tables import fetches
from comity.model.frontier import SeenPage

_BATCH: Final = 500
# A visit that told something of the page; one that failed leaves what was known before.
_TOLD: Final = ("fetched", "not_modified", "gone", "rejected")
_GONE: Final = (404, 410)
_BY_SOURCE: Final = "source"  # what the run of a source saw is no page of a crawl


def last_seen(connection: Connection, keys: Collection[int]) -> dict[int, SeenPage]:
    """What the last visit of each URL found, by key, one statement for a few hundred; unvisited ones are missing."""
    found: dict[int, SeenPage] = {}
    rest = iter(keys)
    column = fetches.c
    while some := list(islice(rest, _BATCH)):
        number = func.row_number().over(
            partition_by=column.url_key, order_by=(column.crawled_at.desc(), column.id.desc())
        )
        ranked = (
            select(
                column.url_key,
                column.crawled_at,
                column.status,
                column.etag,
                column.last_modified,
                column.content_hash,
                column.final_url,
                column.images_found,
                column.images_read,
                number.label("number"),
            )
            .where(column.url_key.in_(some), column.outcome.in_(_TOLD), column.discovery_type != _BY_SOURCE)
            .subquery()
        )
        for row in connection.execute(select(ranked).where(ranked.c.number == 1)):
            found[row.url_key] = SeenPage(
                row.crawled_at.timestamp(),
                row.status in _GONE,
                row.etag,
                row.last_modified,
                row.content_hash,
                row.final_url,
                row.images_found,
                row.images_read,
            )
    return found


def were_pages(connection: Connection, keys: Collection[int]) -> set[int]:
    """Those of the URLs, by key, under which a page came before, and no picture."""
    found: set[int] = set()
    rest, column = iter(keys), fetches.c
    while some := list(islice(rest, _BATCH)):
        statement = select(column.url_key).where(
            column.url_key.in_(some),
            column.outcome == "fetched",
            column.discovery_type != _BY_SOURCE,
            or_(column.content_type.is_(None), column.content_type.not_like("image/%")),
        )
        found.update(connection.execute(statement).scalars())
    return found
