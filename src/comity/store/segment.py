"""Segments: pages appended as they come, safe on disk before anything says that they are done.

A record is a small header, its fields as JSON and its body, compressed as the site sent it. Reading stops at the first
record that is cut short or damaged: that is where a crash ended the file.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

from xxhash import xxh3_64_intdigest

from comity.model.page_record import PageRecord

Decode = Callable[[bytes, str], bytes]  # a coded body and its coding; gives the body

_HEADER: Final = struct.Struct("<4sIIIQ")
_MAGIC: Final = b"CSG1"
_NO_BODY: Final = 0
_HAS_BODY: Final = 1
_to_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class SegmentWriter:
    """One open segment of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self.size = 0
        _sync_folder(path.parent)

    def append(self, records: Iterable[PageRecord]) -> list[int]:
        """Write records and wait until the disk has them; gives where each one begins."""
        pieces: list[bytes] = []
        places: list[int] = []
        at = self.size
        for record in records:
            places.append(at)
            for piece in encode(record):
                pieces.append(piece)
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


def encode(record: PageRecord) -> tuple[bytes, bytes, bytes]:
    """One record as it is written: header, fields, body."""
    body = record.coded if record.coded is not None else record.body
    coding = record.coding if record.coded is not None else None
    fields = [str(record.run_id), *record[1:5], *record[6:16], coding]
    meta = _to_json(fields).encode("utf-8", "surrogatepass")
    octets = body or b""
    # The body has its own check in `content_hash`; this one finds where a crash cut the file.
    digest = xxh3_64_intdigest(octets, seed=xxh3_64_intdigest(meta))
    kind = _NO_BODY if body is None else _HAS_BODY
    return _HEADER.pack(_MAGIC, kind, len(meta), len(octets), digest), meta, octets


def read_segment(path: Path, decode: Decode) -> Iterator[PageRecord]:
    """Read the whole records of a segment."""
    with path.open("rb") as file:
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            magic, kind, meta_length, body_length, digest = _HEADER.unpack(header)
            payload = file.read(meta_length + body_length) if magic == _MAGIC else b""
            meta, octets = payload[:meta_length], payload[meta_length:]
            if len(octets) != body_length or xxh3_64_intdigest(octets, seed=xxh3_64_intdigest(meta)) != digest:
                return
            run_id, url_key, url, surt_key, http_status, *rest, coding = json.loads(meta)
            body = None if kind == _NO_BODY else (decode(octets, coding) if coding else octets)
            yield PageRecord(UUID(run_id), url_key, url, surt_key, http_status, body, *rest)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
