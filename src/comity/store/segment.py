"""Segments: pages appended as they come, synced to disk before they count as stored.

A record is a small header, its fields as JSON and its body, compressed as the site sent it. Reading stops at the first
record that is cut short or damaged: that is where a crash ended the file. Whoever writes or reads a whole segment
holds a lock on it, so that no two processes make a part of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import ENOENT
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple
from uuid import UUID

from xxhash import xxh3_64, xxh3_64_intdigest

from comity.model.expression import VARCHAR, ExtractedValues, StoredColumn, type_called
from comity.model.page import PageRecord
from comity.store.formats.columns import utf8
from comity.store.parts.part import sync_folder

Decode = Callable[[bytes, str], bytes]  # a coded body and its coding; gives the body

OPEN: Final = ".open"  # a process writes it, or died doing so
LEFT: Final = ".left"  # its writer gave it up, since it could not make a part of it
_HEADER: Final = struct.Struct("<4sIIIQ")
_CONTENT: Final = struct.Struct("<ii")  # lengths of text and Markdown; -1 where there is none
_MAGIC: Final = b"CSG1"
_NO_BODY: Final = 0
_HAS_BODY: Final = 1
_LONGEST_FIELDS: Final = 64 * 1024 * 1024
_PIECES_PER_CALL: Final = 512  # the system takes 1,024
_FOLDER_ATTEMPTS: Final = 100  # to make a folder that others remove
_to_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode
_name_of: Final = lru_cache(maxsize=16)(str)  # of a run: nearly always there is one, and formatting it is slow


class SegmentGone(FileNotFoundError):
    """The segment is not there any more: another process took it over, or it was deleted."""


class SegmentWriter:
    """One open segment of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _new_file(path)
        _lock(self._file)
        self._is_sound = True
        self.size = 0
        try:
            sync_folder(path.parent)
        except OSError:
            self.path.unlink()
            self._close()
            raise

    def append(self, records: Iterable[PageRecord]) -> list[int]:
        """Write records and wait until the disk has them; gives where each one begins."""
        if not self._is_sound:
            raise OSError(f"{self.path} ends with a partial record and cannot be extended")
        if not _is_at(self._file, self.path):
            raise SegmentGone(ENOENT, "it was removed while pages were written to it", str(self.path))
        pieces: list[bytes] = []
        places: list[int] = []
        at = self.size
        for record in records:
            places.append(at)
            for piece in encode(record):
                pieces.append(piece)
                at += len(piece)
        try:
            _write_all(self._file, pieces)
            os.fdatasync(self._file)
        except OSError:
            # A full disk leaves no half record behind: the next append begins where this one did.
            self._is_sound = False
            os.ftruncate(self._file, self.size)
            self._is_sound = True
            raise
        self.size = at
        return places

    def touch(self) -> None:
        """Show others that it is in use, though nothing was written for long."""
        with suppress(OSError):
            os.utime(self.path)

    def forget(self) -> None:
        """It belongs to another process: close it, and leave all files alone."""
        self._close()

    def remove(self) -> None:
        """Its pages are in a part: take it away."""
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.parent)
        self._close()

    def leave(self) -> None:
        """Close the file and let the next process make a part of it."""
        with suppress(OSError):  # it is found under its old name too, once this process has ended
            self.path.rename(self.path.with_suffix(LEFT))
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class SegmentPage(NamedTuple):
    """A page as a segment has it: its body is still coded, and not yet in the record."""

    record: PageRecord
    body: bytes | None

    def decoded(self, decode: Decode) -> PageRecord:
        """The page with its body; one that cannot be decoded any more says so in `error`."""
        body, record = self.body, self.record
        if body is None or record.coding is None:
            return record._replace(body=body)
        try:
            return record._replace(body=decode(body, record.coding), coded=body)
        except Exception as problem:  # whatever it is, one page must not stand in the way of all others
            return record._replace(error=record.error or f"undecodable: {problem}"[:200], coding=None)


def encode(record: PageRecord) -> tuple[bytes, ...]:
    """One record as it is written: header, fields, main content, body."""
    body = record.coded if record.coded is not None else record.body
    coding = record.coding if record.coded is not None else None
    fields: list[Any] = [_name_of(record.run_id), *record[1:5], *record[6:16], coding, *record[18:20]]
    if record.columns is not None:
        columns, values = record.columns
        fields.append([[column.name, str(column.type), value] for column, value in zip(columns, values, strict=True)])
    meta = [_to_json(fields).encode("utf-8", "surrogatepass")]
    if record.text is not None or record.markdown is not None:
        meta += _content(record)
    data = body or b""
    # The body has its own check in `content_hash`; this one finds where a crash cut the file.
    digest = xxh3_64_intdigest(data, seed=_digest_of(meta))
    kind = _NO_BODY if body is None else _HAS_BODY
    return _HEADER.pack(_MAGIC, kind, sum(map(len, meta)), len(data), digest), *meta, data


def _digest_of(meta: list[bytes]) -> int:
    if len(meta) == 1:
        return xxh3_64_intdigest(meta[0])
    digest = xxh3_64()
    for piece in meta:  # they are large, and not joined for that
        digest.update(piece)
    return digest.intdigest()


def with_content(record: PageRecord) -> PageRecord:
    """A record with its main content encoded: once, for the segment and for the part."""
    if record.content is not None or (record.text is None and record.markdown is None):
        return record
    text, markdown = record.text, record.markdown
    return record._replace(
        content=(utf8(text) if text is not None else None, utf8(markdown) if markdown is not None else None)
    )


def read_records(file: BinaryIO) -> Iterator[SegmentPage]:
    """The whole records of a segment."""
    while len(header := file.read(_HEADER.size)) == _HEADER.size:
        magic, kind, meta_length, body_length, digest = _HEADER.unpack(header)
        if magic != _MAGIC or meta_length > _LONGEST_FIELDS:
            return
        meta, body = file.read(meta_length), file.read(body_length)
        if len(body) != body_length or xxh3_64_intdigest(body, seed=xxh3_64_intdigest(meta)) != digest:
            return
        fields, _line_end, content = meta.partition(b"\n")
        run_id, url_key, url, surt_key, http_status, *rest = json.loads(fields)
        coding, headers, address, columns = (*rest[10:], None, None, None)[:4]
        pairs = tuple((name, value) for name, value in headers) if headers is not None else None
        values = (UUID(run_id), url_key, url, surt_key, http_status, None, *rest[:10], None, coding, pairs, address)
        record = PageRecord(*values)
        if columns:
            record = record._replace(columns=_columns(columns))
        if content:
            text, markdown = _read_content(content)
            record = record._replace(text=text, markdown=markdown)
        yield SegmentPage(record, None if kind == _NO_BODY else body)


def _content(record: PageRecord) -> list[bytes]:
    """The main content behind the other fields, as it is: to quote it for JSON takes longer than all the rest."""
    pieces = with_content(record).content or (None, None)
    lengths = [-1 if piece is None else len(piece) for piece in pieces]
    return [b"\n" + _CONTENT.pack(*lengths), *(piece for piece in pieces if piece)]


def _read_content(content: bytes) -> list[str | None]:
    found: list[str | None] = []
    at = _CONTENT.size
    for length in _CONTENT.unpack_from(content):
        found.append(content[at : at + length].decode() if length >= 0 else None)
        at += max(length, 0)
    return found


def _columns(written: list[tuple[str, str, Any]]) -> ExtractedValues:
    """What was extracted, as it was written."""
    names = tuple((name, kind) for name, kind, _value in written)
    return ExtractedValues(_stored_columns(names), [value for _name, _kind, value in written])


@lru_cache(maxsize=16)
def _stored_columns(names: tuple[tuple[str, str], ...]) -> tuple[StoredColumn, ...]:
    """The same tuple for every page of a run, which spares comparing them."""
    return tuple(StoredColumn(name, type_called(kind) or VARCHAR) for name, kind in names)


def count_pages(path: Path) -> int:
    """How many pages a segment holds, by its headers alone."""
    count = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            magic, _kind, meta_length, body_length, _digest = _HEADER.unpack(header)
            if magic != _MAGIC or file.seek(meta_length + body_length, os.SEEK_CUR) > size:
                break
            count += 1
    return count


@contextmanager
def taken_over(path: Path) -> Iterator[BinaryIO | None]:
    """A segment, open and locked; None if another process has it, or it is gone."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    with file:
        yield file if _lock(file.fileno()) and _is_at(file.fileno(), path) else None


def _lock(descriptor: int) -> bool:
    """Lock a file for as long as it is open; False if another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: the name of a segment's holder must do
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether a file is still the one that its name leads to."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _new_file(path: Path) -> int:
    """Make a file; the folder may be removed at any moment by a process that found it empty at its end."""
    for _attempt in range(_FOLDER_ATTEMPTS):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except (FileNotFoundError, FileExistsError):  # the latter by mkdir, where the folder went while it looked
            if os.path.lexists(path.parent if not path.parent.is_dir() else path):
                raise
    raise FileNotFoundError(ENOENT, "its folder is removed again and again", str(path))


def _write_all(descriptor: int, pieces: Sequence[bytes]) -> None:
    """Write many small pieces in few calls, without holding them twice."""
    for first in range(0, len(pieces), _PIECES_PER_CALL):
        some = pieces[first : first + _PIECES_PER_CALL]
        written = os.writev(descriptor, some)
        if written < sum(map(len, some)):  # a full disk, or a signal
            _write(descriptor, b"".join(some)[written:])


def _write(descriptor: int, written: bytes) -> None:
    data = memoryview(written)
    while data:
        data = data[os.write(descriptor, data) :]
