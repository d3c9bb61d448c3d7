"""A page as it is kept."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID


class PageRecord(NamedTuple):
    """One visit's page, or the reason why there is none; `run_id`, `url_key` and `crawl_time` name the visit.

    `coded` is the body as it came off the wire, where it came compressed: it is what waits on disk for its part.
    `headers` and `address` are for archives, and None where nobody asked for them. `depth` and `extracted` are in no
    store: they are for whoever takes pages in this process.
    """

    run_id: UUID
    url_key: int
    url: str
    surt_key: str
    http_status: int | None
    body: bytes | None
    encoding: str | None
    content_type: str | None
    crawl_time: float
    error: str | None
    etag: str | None
    last_modified: str | None
    content_hash: str | None
    final_url: str | None
    redirect_count: int
    title: str | None
    coded: bytes | None = None
    coding: str | None = None
    headers: tuple[tuple[str, str], ...] | None = None
    address: str | None = None
    depth: int | None = None
    extracted: Any = None
