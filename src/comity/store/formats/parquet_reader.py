"""Columns of parts that `parquet` wrote: a file and names of columns enter, rows leave, a row group at a time.

DuckDB reads them too, and everything else besides, but needs thirty megabytes for it. This reads what our own writer
makes, and no more: plain values, definition levels by runs, zstd.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import zstandard
from isal import igzip_lib, isal_zlib

from comity.model.errors import ComityError
from comity.store.formats.plain_values import PHYSICAL_TYPES, Physical

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the length of the footer, and the magic
_LONGEST_FOOTER: Final = 256 * 1024 * 1024
_LONGEST_HEADER: Final = 256
_GZIP: Final = 2  # of the codecs; all else is zstd
_GZIP_WINDOW_BITS: Final = 31
_PHYSICAL: Final = {number: how for how, number in PHYSICAL_TYPES.items()}
_LETTERS: Final = {Physical.INT32: "i", Physical.INT64: "q", Physical.DOUBLE: "d"}
_ISAL_ERROR: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # its stub gives an instance
_DAMAGED: Final = (
    *(KeyError, IndexError, struct.error, TypeError, UnicodeDecodeError, zstandard.ZstdError),
    _ISAL_ERROR,
)
_length: Final = struct.Struct("<I").unpack_from
# Thrift's compact protocol.
_TRUE, _FALSE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 4, 5, 6, 8, 9, 12


class UnreadablePart(ComityError):
    """A file that is no whole part of ours."""


def read_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a part; a column that it does not have is null. `UnreadablePart` if it is damaged."""
    try:
        with path.open("rb") as file:
            footer = _Thrift(_footer(file)).struct()
            for group in footer[4]:
                chunks = {b".".join(chunk[3][3]).decode("utf-8", "replace"): chunk[3] for chunk in group[1]}
                rows = group[3]
                columns = [_values(file, chunks[name]) if name in chunks else [None] * rows for name in names]
                yield from zip(*columns, strict=True)
    except _DAMAGED as problem:
        raise UnreadablePart(f"{path} is not a complete part: {problem}") from None


def _footer(file: BinaryIO) -> bytes:
    size = file.seek(0, 2)
    if size < len(_MAGIC) + _TAIL:
        raise IndexError("it is too short")
    file.seek(size - _TAIL)
    (length,), magic = struct.unpack("<I", file.read(4)), file.read(4)
    if magic != _MAGIC or length > min(size - _TAIL, _LONGEST_FOOTER):
        raise IndexError("it has no footer")
    file.seek(size - _TAIL - length)
    return file.read(length)


def _values(file: BinaryIO, column: dict[int, Any]) -> list[Any]:
    """All values of a column in a row group, page by page."""
    how, count = _PHYSICAL[column[1]], column[5]
    is_text = how is Physical.BYTES
    found: list[Any] = []
    at = column[9]
    decompress = _inflate if column[4] == _GZIP else _decompress
    while len(found) < count:
        file.seek(at)
        thrift = _Thrift(file.read(_LONGEST_HEADER))
        header = thrift.struct()
        at += thrift.at
        file.seek(at)
        plain = decompress(file.read(header[3]), header[2])
        at += header[3]
        levels_end = 4 + _length(plain)[0]
        is_there = _levels(plain, 4, levels_end, header[5][1])
        there = iter(_texts(plain, levels_end) if is_text else _numbers(plain, levels_end, how, sum(is_there)))
        found += [next(there) if each else None for each in is_there]
        if not is_there:
            raise IndexError("an empty page")
    return found


def _inflate(coded: bytes, size: int) -> bytes:
    return isal_zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(coded, size) if size > 0 else b""


def _decompress(coded: bytes, size: int) -> bytes:
    return zstandard.ZstdDecompressor().decompress(coded, max_output_size=size)


def _levels(plain: bytes, at: int, end: int, count: int) -> list[bool]:
    """Which of the values are there, from runs (Encodings.md, RLE with a bit width of one)."""
    found: list[bool] = []
    while at < end:
        run, at = _varint(plain, at)
        if run & 1 or run >> 1 > count:
            raise IndexError("levels that are not in runs")
        found += [plain[at] == 1] * (run >> 1)
        at += 1
    if len(found) != count:
        raise IndexError("levels are missing")
    return found


def _texts(plain: bytes, at: int) -> Iterator[str]:
    end = len(plain)
    while at < end:
        (length,) = _length(plain, at)
        yield plain[at + 4 : at + 4 + length].decode("utf-8", "replace")
        at += 4 + length


def _numbers(plain: bytes, at: int, how: Physical, count: int) -> Sequence[Any]:
    if how is Physical.BOOLEAN:
        bits = int.from_bytes(plain[at:], "little")
        return [bool(bits >> place & 1) for place in range(count)]
    return struct.unpack_from(f"<{count}{_LETTERS[how]}", plain, at)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


class _Thrift:
    """Reads structs: the values of their fields by number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self) -> dict[int, Any]:
        """A struct, up to the byte that ends it."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 0x0F)
        return fields

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _unsigned(self) -> int:
        value, self.at = _varint(self._data, self.at)
        return value

    def _number(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in (_I16, _I32, _I64):
            return self._number()
        if kind == _BINARY:
            length = self._unsigned()
            self.at += length
            return self._data[self.at - length : self.at]
        if kind == _LIST:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 0x0F) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct()
        raise KeyError(f"a field of type {kind}")
