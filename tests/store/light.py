"""Pages to store, made without any of the packages that read them."""

from __future__ import annotations

import gzip
from typing import Any
from uuid import UUID

from xxhash import xxh3_128_hexdigest

from comity.model.page import PageRecord

RUN = UUID("11111111-2222-3333-4444-555555555555")


def page(number: int, body: bytes | None = None, **changes: Any) -> PageRecord:
    """A page of HTML like any other."""
    body = f"<title>Page {number}</title><p>{'word ' * 50}{number}".encode() if body is None else body
    url = f"https://example.com/p/{number}"
    record = PageRecord(
        run_id=RUN,
        url_key=number,
        url=url,
        surt_key=f"com,example)/p/{number}",
        http_status=200,
        body=body,
        encoding="utf-8",
        content_type="text/html; charset=utf-8",
        crawl_time=1_700_000_000 + number / 1000,
        error=None,
        etag=f'"{number}"',
        last_modified=None,
        content_hash=xxh3_128_hexdigest(body),
        final_url=url,
        redirect_count=0,
        title=f"Page {number}",
    )
    return record._replace(**changes)


def compressed(record: PageRecord) -> PageRecord:
    """The same page as it comes from a site that compresses."""
    return record._replace(coded=gzip.compress(record.body or b"", mtime=0), coding="gzip")


def nothing(number: int, error: str = "http_404", **changes: Any) -> PageRecord:
    """A visit that brought no page."""
    without = {"body": None, "encoding": None, "http_status": 404, "error": error, "title": None, "content_hash": None}
    return page(number)._replace(**without | changes)
