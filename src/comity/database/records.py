"""Statements on `fetches` and `evidence`: settle writes them in bulk; refreshes and reports read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, Select, func, or_, select

from comity.database.bulk import Encoding, insert_rows
from comity.database.tables import evidence, fetches
from comity.model.evidence import Evidence
from comity.model.frontier import SeenPage
from comity.model.outcome import FetchRow

_FETCH: Final = (
    "run_id",
    "domain_id",
    "domain",
    "page_url",
    "url_key",
    "final_url",
    "redirect_count",
    "outcome",
    "status",
    "error",
    "content_type",
    "content_hash",
    "etag",
    "last_modified",
    "bytes_received",
    "duration_ms",
    "depth",
    "images_found",
    "crawled_at",
    "discovery_type",
    "images_read",
    "columns_key",
)
# The values between the host and the duration, which are stored as they are.
_as_they_are: Final = itemgetter(
    *map(
        FetchRow._fields.index,
        (
            "host",
            "url",
            "url_key",
            "final_url",
            "redirect_count",
            "outcome",
            "status",
            "error",
            "content_type",
            "content_hash",
            "etag",
            "last_modified",
            "wire_bytes",
        ),
    )
)


def add_fetches(connection: Connection, run_id: UUID | None, rows: Iterable[FetchRow]) -> None:
    """Add one row for each visit; settling the same visit twice leaves one."""
    encode = Encoding(connection)
    run, host_of, time, flag = encode.uuid_or_none(run_id), encode.uuid, encode.time, encode.flag
    host_id, host = None, None
    values = []
    for row in rows:
        if row.host_id is not host_id:  # mostly they come host by host
            host_id = row.host_id
            host = host_of(host_id)
        values.append(
            (
                run,
                host,
                *_as_they_are(row),
                round(row.elapsed_s * 1000),
                row.depth,
                row.images_found,
                time(row.at),
                row.discovery_type,
                flag(row.images_read),
                row.columns_key,
            )
        )
    insert_rows(connection, fetches, _FETCH, values, unless=("run_id", "url_key", "crawled_at"))


def committed(connection: Connection, run_id: UUID, keys: Collection[int]) -> set[tuple[int, Any]]:
    """Which visits of a run were settled, by URL key and time."""
    statement = (
        select(fetches.c.url_key, fetches.c.crawled_at)
        .where(fetches.c.run_id == run_id, fetches.c.url_key.in_(list(keys)))
        .with_hint(fetches, BY_URL, "sqlite")
    )
    return {(row.url_key, row.crawled_at) for row in connection.execute(statement)}


def fetches_of(connection: Connection, key: int, limit: int = 50) -> Sequence[Any]:
    """When a URL was visited, and the outcomes, newest first."""
    return connection.execute(
        select(fetches).where(fetches.c.url_key == key).order_by(fetches.c.crawled_at.desc()).limit(limit)
    ).all()


def last_contents(connection: Connection, host: str, limit: int) -> list[tuple[str, str]]:
    """Paths and content hashes of the last pages of a host, oldest first."""
    statement = (
        select(fetches.c.page_url, fetches.c.content_hash)
        .where(fetches.c.domain == host, fetches.c.content_hash.is_not(None))
        .order_by(fetches.c.crawled_at.desc())
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    return [(row.page_url[row.page_url.index("/", 8) :], row.content_hash) for row in reversed(rows)]


_BATCH: Final = 500
BY_URL: Final = "INDEXED BY idx_fetches_url"
"""For statements that name a run and URLs: SQLite would read all visits of the run instead."""
# Outcomes that say something about the page; a visit that failed leaves what was known before.
_INFORMATIVE: Final = ("fetched", "not_modified", "gone", "rejected")
_GONE: Final = (404, 410)
# `discovery_type` of visits that no crawl made: what they fetched is not a page of a crawl and does not count as one.
_OF_NO_LIST: Final = ("source", "policy")
OF_NO_CRAWL: Final = (*_OF_NO_LIST, "audit", "sql")


def last_seen(connection: Connection, keys: Collection[int], *, of_crawls: bool = True) -> dict[int, SeenPage]:
    """What the last visit of each URL found, by key, one statement for a few hundred; unvisited ones are missing.

    Only visits of crawls, whose store has the page that they found; otherwise also those of audits and queries.
    """
    others = OF_NO_CRAWL if of_crawls else _OF_NO_LIST
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
                column.columns_key,
                number.label("number"),
            )
            .where(column.url_key.in_(some), column.outcome.in_(_INFORMATIVE), column.discovery_type.not_in(others))
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
                row.columns_key,
            )
    return found


def last_columns_key(connection: Connection, host: str) -> int | None:
    """Which columns were read from the page of a host that was fetched last; None for none."""
    statement = (
        select(fetches.c.columns_key)
        .where(fetches.c.domain == host, fetches.c.outcome == "fetched", fetches.c.discovery_type.not_in(OF_NO_CRAWL))
        .order_by(fetches.c.crawled_at.desc())
        .limit(1)
    )
    found: int | None = connection.execute(statement).scalar()
    return found


def were_pages(connection: Connection, keys: Collection[int]) -> set[int]:
    """Those of the URLs, by key, under which a page came in a crawl before, and no picture."""
    found: set[int] = set()
    rest, column = iter(keys), fetches.c
    while some := list(islice(rest, _BATCH)):
        statement = select(column.url_key).where(
            column.url_key.in_(some),
            column.outcome == "fetched",
            column.discovery_type.not_in(OF_NO_CRAWL),
            or_(column.content_type.is_(None), column.content_type.not_like("image/%")),
        )
        found.update(connection.execute(statement).scalars())
    return found


_EVIDENCE: Final = ("run_id", "domain_id", "url", "url_key", "type", "content", "metadata", "confidence", "created_at")


def add_evidence(connection: Connection, run_id: UUID | None, items: Iterable[Evidence]) -> None:
    """Store decisions with their reasons."""
    encode = Encoding(connection)
    run, json, time = encode.uuid_or_none(run_id), encode.json, encode.time
    last_id, host = None, None
    values = []
    for host_id, url, key, kind, content, metadata, confidence, at in items:
        if host_id is not last_id:  # mostly they come host by host
            last_id = host_id
            host = encode.uuid(host_id)
        values.append((run, host, url, key, str(kind), json(content), json(metadata), confidence, time(at)))
    insert_rows(connection, evidence, _EVIDENCE, values)


def evidence_of(connection: Connection, key: int, limit: int = 50) -> Sequence[Any]:
    """What was decided about a URL, newest first."""
    return connection.execute(
        select(evidence).where(evidence.c.url_key == key).order_by(evidence.c.created_at.desc()).limit(limit)
    ).all()


def evidence_of_url(connection: Connection, key: int, kind: str | None, limit: int, offset: int) -> Sequence[Row[Any]]:
    """What was decided about a URL, newest first."""
    return _page(connection, select(evidence).where(evidence.c.url_key == key), kind, limit, offset)


def evidence_of_host(
    connection: Connection, host_id: UUID, kind: str | None, limit: int, offset: int
) -> Sequence[Row[Any]]:
    """What was decided about the URLs of a host, newest first."""
    return _page(connection, select(evidence).where(evidence.c.domain_id == host_id), kind, limit, offset)


def _page(
    connection: Connection, statement: Select[Any], kind: str | None, limit: int, offset: int
) -> Sequence[Row[Any]]:
    if kind is not None:
        statement = statement.where(evidence.c.type == kind)
    ordered = statement.order_by(evidence.c.created_at.desc(), evidence.c.id.desc())
    return connection.execute(ordered.limit(limit).offset(offset)).all()


def durations(connection: Connection, keys: Sequence[int]) -> dict[int, int]:
    """How long the last visit of each URL took, in milliseconds, by key."""
    found: dict[int, int] = {}
    for first in range(0, len(keys), _BATCH):
        some = list(keys[first : first + _BATCH])
        statement = (
            select(fetches.c.url_key, fetches.c.duration_ms).where(fetches.c.url_key.in_(some)).order_by(fetches.c.id)
        )
        found.update((row.url_key, row.duration_ms or 0) for row in connection.execute(statement))
    return found
