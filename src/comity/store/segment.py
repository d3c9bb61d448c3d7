"""Segments: pages appended as they come, safe on disk before anything says that they are done.

A record is a small header, its fields as JSON and its body as it is. Reading stops at the first record that
is cut short or damaged: that is where a crash ended the file.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final
from uuid import UUID

from xxhash import xxh3_64_intdigest

from comity.model.page_record import PageRecord

_HEADER: Final = struct.Struct("<4sIIIQ")
_MAGIC: Final = b"CSG1"
_NO_BODY: Final = 0
_HAS_BODY: Final = 1


class SegmentWriter:
    """One open segment of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self.size = 0
        _sync_folder(path.parent)

    def append(self, records: Iterable[PageRecord]) -> list[tuple[int, int]]:
        """Write records and wait until the disk has them; gives where each one lies."""
        pieces: list[bytes] = []
        places: list[tuple[int, int]] = []
        at = self.size
        for record in records:
            piece = encode(record)
            pieces.append(piece)
            places.append((at, len(piece)))
            at += len(piece)
        data = memoryview(b"".join(pieces))
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fdatasync(self._file)
        except OSError:
            # A full disk leaves no half record behind: the next append begins where this one did.
            os.ftruncate(self._file, self.size)
            raise
        self.size = at
        return places

    def close(self) -> None:
        """Close the file; it stays until its part is written."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def encode(record: PageRecord) -> bytes:
    """One record as it is written."""
    fields = asdict(record)
    body = fields.pop("body")
    fields["run_id"] = str(record.run_id)
    meta = json.dumps(fields, separators=(",", ":")).encode()
    payload = meta + (body or b"")
    kind = _NO_BODY if body is None else _HAS_BODY
    return _HEADER.pack(_MAGIC, kind, len(meta), len(body or b""), xxh3_64_intdigest(payload)) + payload


def read_segment(path: Path) -> Iterator[tuple[int, PageRecord]]:
    """Read the whole records of a segment, each with where it begins."""
    with path.open("rb") as file:
        at = 0
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            magic, kind, meta_length, body_length, digest = _HEADER.unpack(header)
            payload = file.read(meta_length + body_length) if magic == _MAGIC else b""
            if len(payload) != meta_length + body_length or xxh3_64_intdigest(payload) != digest:
                return
            fields = json.loads(payload[:meta_length])
            fields["run_id"] = UUID(fields["run_id"])
            yield at, PageRecord(body=payload[meta_length:] if kind == _HAS_BODY else None, **fields)
            at += len(header) + len(payload)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
