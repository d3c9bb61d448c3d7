"""One row of `fetches`: what a visit came to."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID


class FetchRow(NamedTuple):
    """A visit as it is remembered; a tuple, because every page makes one."""

    host_id: UUID
    host: str
    url: str
    url_key: int
    outcome: str
    status: int | None
    error: str | None
    at: float
    elapsed_s: float
    wire_bytes: int
    depth: int
    final_url: str | None = None
    redirect_count: int = 0
    content_type: str | None = None
    content_hash: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    discovery_type: str = "discovery"
    images_found: int = 0
    images_read: bool = False
