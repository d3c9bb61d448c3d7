"""Parts: finished Parquet files that any DuckDB, Arrow or pandas opens at once."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from comity.model.page_record import PageRecord
from comity.store.text import as_text

_TIME: Final = pa.timestamp("us", tz="UTC")
SCHEMA: Final = pa.schema(
    [
        ("url", pa.string()),
        ("surt_key", pa.string()),
        ("http_status", pa.int32()),
        ("body", pa.string()),
        ("content_type", pa.string()),
        ("crawl_time", _TIME),
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
_ROW_GROUP: Final = 200
_UTF8: Final = ("utf-8", "utf8")
_PLAIN: Final = ("http_status", "content_type", "run_id", "redirect_count")  # few values, many times


class PartWriter:
    """Writes one part, row group by row group; it is there, whole, only once it is finished."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._writer: pq.ParquetWriter | None = None
        self.count = 0

    def add(self, records: list[PageRecord]) -> None:
        """Write a row group."""
        if not records:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._temporary,
                SCHEMA,
                compression="zstd",
                compression_level=1,
                use_dictionary=list(_PLAIN),
                write_statistics=["url"],
            )
        self._writer.write_table(_table(records))
        self.count += len(records)

    def finish(self) -> None:
        """Put the part in its place; one without pages is none."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            _sync(self._temporary)
            self._temporary.rename(self._path)
            _sync(self._path.parent)

    def abandon(self) -> None:
        """Leave nothing behind."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._temporary.unlink(missing_ok=True)


def write_part(path: Path, records: Iterable[PageRecord]) -> int:
    """Write a part whole or not at all; returns how many pages it holds."""
    part = PartWriter(path)
    try:
        for batch in _batches(records):
            part.add(batch)
        part.finish()
    finally:
        part.abandon()
    return part.count


def _batches(records: Iterable[PageRecord]) -> Iterator[list[PageRecord]]:
    rest = iter(records)
    while batch := list(islice(rest, _ROW_GROUP)):
        yield batch


def _table(batch: list[PageRecord]) -> pa.Table:
    texts, octets = zip(*(_body(record) for record in batch), strict=True)
    return pa.Table.from_arrays(
        [
            pa.array([record.url for record in batch], pa.string()),
            pa.array([record.surt_key for record in batch], pa.string()),
            pa.array([record.http_status for record in batch], pa.int32()),
            _strings(texts),
            pa.array([record.content_type for record in batch], pa.string()),
            pa.array([round(record.crawl_time * 1e6) for record in batch], pa.int64()).cast(
                SCHEMA.field("crawl_time").type
            ),
            pa.array([record.error for record in batch], pa.string()),
            pa.array([record.etag for record in batch], pa.string()),
            pa.array([record.last_modified for record in batch], pa.string()),
            pa.array([record.content_hash for record in batch], pa.string()),
            pa.array([record.final_url for record in batch], pa.string()),
            pa.array([record.redirect_count for record in batch], pa.int32()),
            pa.array([record.title for record in batch], pa.string()),
            pa.array(octets, pa.binary()),
            pa.array([str(record.run_id) for record in batch], pa.string()),
        ],
        schema=SCHEMA,
    )


def _body(record: PageRecord) -> tuple[bytes | None, bytes | None]:
    """The body as UTF-8 text where it is text, as octets where it is not."""
    body = record.body
    if body is None:
        return None, None
    if record.encoding is not None and record.encoding.lower() in _UTF8 and not body.startswith(codecs.BOM_UTF8):
        return body, None  # checked in one go with the rest of the column
    text = as_text(body, record.content_type, record.encoding)
    return (text.encode("utf-8", "replace"), None) if text is not None else (None, body)


def _strings(texts: Sequence[bytes | None]) -> pa.Array:
    """A column of text from UTF-8 octets; what is not UTF-8 after all is mended as a browser would."""
    try:
        return pa.array(texts, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in texts], pa.string())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
