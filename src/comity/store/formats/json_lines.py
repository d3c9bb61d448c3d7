"""Parts as JSON lines: one object per page, with the common columns.

A body that is text is in `body`; one that is not is in `body_bytes`, as base64 (RFC 4648 §4).
"""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final

from isal import isal_zlib

from comity.model.expression import ColumnType, ExtractedValues, TypeName
from comity.model.page import PageRecord
from comity.store.formats.columns import body_as_text, microseconds, valid_unicode
from comity.store.parts.part import PartWriter

_to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_GZIP_LEVEL: Final = 2
_GZIP_WINDOW_BITS: Final = 31
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LinesPart(PartWriter):
    """A part as JSON lines; compressed, it is one gzip member."""

    def __init__(self, path: Path, *, compressed: bool = False) -> None:
        super().__init__(path)
        self._gzip: Any = isal_zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WINDOW_BITS) if compressed else None

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        line = to_json_line(record)
        file.write(line if self._gzip is None else self._gzip.compress(line))

    def _end(self, file: BinaryIO) -> None:
        if self._gzip is not None:
            file.write(self._gzip.flush())


def to_json_line(record: PageRecord) -> bytes:
    """One page as a line of JSON."""
    body = body_as_text(record)
    is_binary = body is None and record.body is not None
    row = {
        "url": record.url,
        "surt_key": record.surt_key,
        "http_status": record.http_status,
        "body": body,
        "content_type": record.content_type,
        "crawl_time": format_time(record),
        "error": record.error,
        "etag": record.etag,
        "last_modified": record.last_modified,
        "content_hash": record.content_hash,
        "final_url": record.final_url,
        "redirect_count": record.redirect_count,
        "title": record.title,
        "body_bytes": b64encode(record.body or b"").decode("ascii") if is_binary else None,
        "run_id": str(record.run_id),
        "text": record.text,
        "markdown": record.markdown,
    }
    if record.columns is not None:
        row |= further_values(record.columns)
    text = _to_json(row)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        return f"{valid_unicode(text)}\n".encode()


def further_values(columns: ExtractedValues) -> dict[str, Any]:
    """What was extracted from a page, as values of JSON: decimals are numbers where that loses no digit."""
    return {name: _json_value(value, kind) for (name, kind), value in zip(*columns, strict=True)}


def _json_value(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    if kind.name is TypeName.DECIMAL:
        number = float(value)
        return number if Decimal(repr(number)) == Decimal(value) else value
    return json.loads(value) if kind.name is TypeName.JSON else value


def format_time(record: PageRecord) -> str:
    """When a page was crawled: ISO 8601 in UTC, to the microsecond."""
    at = _EPOCH + timedelta(microseconds=microseconds(record.crawl_time))
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
