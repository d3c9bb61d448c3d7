"""A page as users of the Python API see it: a record of the walk, or a row of a store, enters; a `Page` leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from comity.extract.fetched_page import ParsedPage, with_content
from comity.model.dataclass import dataclass
from comity.model.expression import ColumnType, ExtractedValues, TypeName
from comity.model.page import PageRecord
from comity.store.formats.body_text import as_text


@dataclass(frozen=True)
class Page(ParsedPage):
    """One visit of one URL. `error` is None for a page that was received; otherwise `body` is empty."""

    url: str
    """The canonical address that was asked for."""
    final_url: str
    """Where redirects led; the same as `url` without any."""
    status: int | None
    """The HTTP status; None if there was no answer."""
    content_type: str | None
    title: str | None
    body: bytes
    """The body without its content coding (gzip, br …); empty where there is none."""
    encoding: str | None
    """What an HTML page is written in, by the rules of browsers; None for everything else."""
    etag: str | None
    last_modified: str | None
    content_hash: str | None
    """XXH3-128 of the body, in hexadecimal."""
    crawl_time: datetime
    """When the request was started; in UTC."""
    redirect_count: int
    depth: int | None
    """Links between a seed and this page; None for a page that was read from a store."""
    run_id: str
    """The run in which it was visited; with `url` and `crawl_time` it names the visit."""
    data: Any = None
    """What your extractor made of it."""
    extracted: dict[str, Any] = field(default_factory=dict)
    """The values of the expressions in `extract`, by the names of their columns."""
    error: str | None = None
    """None, or a stable code: http_404, total_timeout, too_large, noindex …"""
    reason: str | None = None
    """The error in words, where there is more to say than its code."""

    @property
    def html(self) -> str:
        """The source: the body as text, decoded as a browser would; empty where it is not text."""
        return as_text(self.body, self.content_type, self.encoding) or ""


def extracted_of(columns: ExtractedValues | None) -> dict[str, Any]:
    """Stored values as Python's: `Decimal`, `date`, `datetime`; what your own extractor returned is in `data`."""
    if columns is None:
        return {}
    pairs = zip(columns.columns, columns.values, strict=True)
    return {
        column.name: _native(value, column.type) for column, value in pairs if column.type.name is not TypeName.JSON
    }


def data_of(columns: ExtractedValues) -> Any:
    """What your own extractor returned, as JSON keeps it."""
    pairs = zip(columns.columns, columns.values, strict=True)
    text = next((value for column, value in pairs if column.type.name is TypeName.JSON), None)
    return json.loads(text) if text is not None else None


def _native(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    match kind.name:
        case TypeName.DECIMAL:
            return Decimal(value)
        case TypeName.DATE:
            return date.fromisoformat(value)
        case TypeName.TIMESTAMP:
            return datetime.fromisoformat(value)
    return value


def page_of(record: PageRecord) -> Page:
    """A page from what the walk hands to its store."""
    code, _, reason = (record.error or "").partition(": ")
    page = Page(
        url=record.url,
        final_url=record.final_url or record.url,
        status=record.http_status,
        content_type=record.content_type,
        title=record.title,
        body=record.body or b"",
        encoding=record.encoding,
        etag=record.etag,
        last_modified=record.last_modified,
        content_hash=record.content_hash,
        crawl_time=datetime.fromtimestamp(record.crawl_time, UTC),
        redirect_count=record.redirect_count,
        depth=record.depth,
        run_id=str(record.run_id),
        data=record.data,
        extracted=extracted_of(record.columns),
        error=code or None,
        reason=reason or None,
    )
    return page if record.text is None and record.markdown is None else with_content(page, record.text, record.markdown)


def pages_of(records: Iterable[PageRecord], *, errors: bool) -> list[Page]:
    """The pages among records that a user asked for: those that were fetched, or all."""
    return [page_of(record) for record in records if errors or record.error is None]
