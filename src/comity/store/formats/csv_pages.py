"""Parts as CSV: one line per page, with the common columns; a body that is not text is in `body_bytes`, as base64.

What was extracted from a page is one JSON object in the last column: parts of one file may differ in what was
extracted, but not in their columns.

The first line names the columns. In a folder every part has it; in one file it is written once, before the first part
that is joined to it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from isal import isal_zlib

from comity.model.page import PageRecord
from comity.rules.csv_rows import csv_line
from comity.store.formats.columns import NAMES, body_as_text, valid_unicode
from comity.store.formats.json_lines import format_time, further_values
from comity.store.parts.part import PartWriter
from comity.store.target import Format

EXTRACTED: Final = "extracted"
_ALL: Final = (*NAMES, EXTRACTED)
_to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NOT_GZIP: Final = cast("type[Exception]", isal_zlib.error)
_GZIP_LEVEL: Final = 2
_GZIP_WINDOW_BITS: Final = 31


class CsvPart(PartWriter):
    """A part as CSV; compressed, it is one gzip member."""

    def __init__(self, path: Path, *, compressed: bool = False, has_head: bool = True) -> None:
        super().__init__(path)
        self._has_head = has_head
        self._gzip: Any = _compressor() if compressed else None

    def _begin(self, file: BinaryIO) -> None:
        if self._has_head:
            self._write(file, _HEAD)

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        self._write(file, to_csv_line(record))

    def _end(self, file: BinaryIO) -> None:
        if self._gzip is not None:
            file.write(self._gzip.flush())

    def _write(self, file: BinaryIO, line: bytes) -> None:
        file.write(line if self._gzip is None else self._gzip.compress(line))


def head_of(kind: Format) -> bytes:
    """The beginning of a file: the line with the names of the columns."""
    if kind is Format.CSV:
        return _HEAD
    gzip = _compressor()
    return bytes(gzip.compress(_HEAD) + gzip.flush())


def to_csv_line(record: PageRecord) -> bytes:
    """One page as a line of CSV."""
    body = body_as_text(record)
    is_binary = body is None and record.body is not None
    values: dict[str, Any] = {
        "body": body,
        "crawl_time": format_time(record),
        "body_bytes": b64encode(record.body or b"").decode("ascii") if is_binary else None,
        "run_id": str(record.run_id),
        EXTRACTED: _to_json(further_values(record.columns)) if record.columns is not None else None,
    }
    text = csv_line([values[name] if name in values else getattr(record, name) for name in _ALL])
    try:
        return text.encode()
    except UnicodeEncodeError:
        return valid_unicode(text).encode()


def has_head(path: Path, kind: Format) -> bool:
    """Whether a file begins with the columns of pages."""
    with path.open("rb") as file:
        begun = file.read(2 * len(_HEAD))
    if kind is Format.CSV_GZ:
        try:
            begun = isal_zlib.decompressobj(wbits=_GZIP_WINDOW_BITS).decompress(begun, len(_HEAD))
        except _NOT_GZIP:
            return False
    return begun.startswith(_HEAD)


def _compressor() -> Any:
    return isal_zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WINDOW_BITS)


_HEAD: Final = csv_line(_ALL).encode()
