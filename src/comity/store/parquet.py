"""Parts: finished Parquet files that any DuckDB, Arrow or pandas opens at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from comity.model.page_record import PageRecord
from comity.store.text import as_text

SCHEMA: Final = pa.schema(
    [
        ("url", pa.string()),
        ("surt_key", pa.string()),
        ("http_status", pa.int32()),
        ("body", pa.string()),
        ("content_type", pa.string()),
        ("crawl_time", pa.timestamp("us", tz="UTC")),
        ("error", pa.string()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("content_hash", pa.string()),
        ("final_url", pa.string()),
        ("redirect_count", pa.int32()),
        ("title", pa.string()),
        ("body_bytes", pa.binary()),  # where the body is not text
        ("run_id", pa.string()),
    ]
)
_ROW_GROUP: Final = 2000


def write_part(path: Path, records: Iterable[PageRecord]) -> int:
    """Write a part whole or not at all; returns how many pages it holds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    count = 0
    try:
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd", compression_level=3) as writer:
            batch: list[dict[str, Any]] = []
            for record in records:
                batch.append(_row(record))
                if len(batch) >= _ROW_GROUP:
                    writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                    batch.clear()
                count += 1
            if batch:
                writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
        if count:
            _sync(temporary)
            temporary.rename(path)
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _row(record: PageRecord) -> dict[str, Any]:
    text, octets = _body(record)
    return {
        "url": record.url,
        "surt_key": record.surt_key,
        "http_status": record.http_status,
        "body": text,
        "content_type": record.content_type,
        "crawl_time": datetime.fromtimestamp(record.crawl_time, UTC),
        "error": record.error,
        "etag": record.etag,
        "last_modified": record.last_modified,
        "content_hash": record.content_hash,
        "final_url": record.final_url,
        "redirect_count": record.redirect_count,
        "title": record.title,
        "body_bytes": octets,
        "run_id": str(record.run_id),
    }


def _body(record: PageRecord) -> tuple[str | None, bytes | None]:
    """The body as text where it is text, as octets where it is not."""
    if record.body is None:
        return None, None
    text = as_text(record.body, record.content_type, record.encoding)
    return (text, None) if text is not None else (None, record.body)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
