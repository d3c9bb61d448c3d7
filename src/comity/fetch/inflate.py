"""Decode content codings under a size cap: coded bytes enter, the plain body leaves, or `Undecodable` is raised.

Small bodies are inflated whole when they are complete, which costs least; large ones piece by piece as they
arrive, so that a bomb is stopped after the cap and neither the coded nor the plain body is ever held twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from typing import Any, Final, Protocol

import brotli
import zstandard
from isal import igzip_lib, isal_zlib

from comity.model.fetch import FailureKind

_FORMAT: Final = 1
_member_in_c: Callable[[bytes, int], bytes | None] | None
try:
    from comity.fetch import _inflate as _in_c

    _member_in_c = _in_c.member if _in_c.FORMAT == _FORMAT else None  # compiled from an older source
except ImportError:  # installed where there was no C compiler
    _member_in_c = None

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
MAX_CODINGS: Final = 2
# Plain HTML shrinks to about a tenth; a body that grows a hundredfold beyond the cap is an attack.
_BOMB_RATIO: Final = 100
_PIECE_BYTES: Final = 65_536
# Each member or frame costs a new decoder, so a body of empty ones would burn time without growing.
_MAX_MEMBERS: Final = 1_000
_ZSTD_WINDOW_BYTES: Final = 1 << 23  # RFC 9659 §3: senders may not ask for more
# Four bytes of zstd can stand for a block of 128 KiB, and its decoder has no output limit: slices bound it to 4 MiB.
_ZSTD_SLICE_BYTES: Final = 128
_KEPT_MOST_BYTES: Final = 2**30
_GZIP_WINDOW_BITS: Final = 31
_ZLIB_WINDOW_BITS: Final = 15
_RAW_WINDOW_BITS: Final = -15


class Undecodable(Exception):
    """The body cannot or may not be inflated; carries the kind of failure."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


@lru_cache(maxsize=256)
def parse_codings(field: str) -> tuple[str, ...]:
    """Read the Content-Encoding field: the codings in the order in which they were applied (RFC 9110 §8.4)."""
    names = [name.strip().lower() for name in field.split(",")]
    codings = tuple(_ALIASES.get(name, name) for name in names if name not in _NO_CODINGS)
    if len(codings) > MAX_CODINGS:
        raise Undecodable(
            FailureKind.BAD_ENCODING, f"{len(codings)} content codings, at most {MAX_CODINGS} are decoded"
        )
    for coding in codings:
        if coding not in _STAGES:
            raise Undecodable(FailureKind.BAD_ENCODING, f"unknown content coding {coding[:40]!r}")
    return codings


def inflate_coded(wire: bytes, field: str) -> bytes:
    """Inflate a body that was stored as received, by its Content-Encoding field; it was within its cap then."""
    return inflate_whole(wire, parse_codings(field), _KEPT_MOST_BYTES)


def inflate_member(wire: bytes, cap: int) -> bytes | None:
    """Inflate a body that is one plain member of gzip, valid to the letter of RFC 1951 and 1952; None of any other.

    Each reader of gzip takes such a body, so that it may be stored as it came. isal also takes some that others refuse,
    and so does not tell. None also where Comity was installed without a C compiler.
    """
    body = _member_in_c(wire, cap) if _member_in_c is not None else None
    if body is None or isal_zlib.crc32(body) != int.from_bytes(wire[-8:-4], "little"):
        return None
    return body


def inflate_whole(wire: bytes, codings: tuple[str, ...], cap: int) -> bytes:
    """Inflate a complete body: the most common forms in one call, all others piece by piece."""
    if not wire:
        return wire
    if codings == ("gzip",) and cap > 0:  # to isal, zero means without limit
        decoder = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
        try:
            # Its end states its size (RFC 1952 §2.3.1), so a buffer of exactly that size is allocated.
            size = int.from_bytes(wire[-4:], "little")
            body: bytes = decoder.decompress(wire, size if 0 < size < cap else cap)
        except _ISAL_ERROR as problem:
            raise Undecodable(FailureKind.BAD_ENCODING, f"gzip: {problem}") from None
        if decoder.eof and not decoder.unused_data:
            return body if len(body) == size else bytes(memoryview(body))
    elif codings == ("zstd",) and _zstd_size(wire) <= cap:
        try:
            # The frame states its size, so exactly that is reserved; a lie or a second frame is an error here.
            return zstandard.ZstdDecompressor().decompress(wire, allow_extra_data=False)
        except zstandard.ZstdError:
            pass
    stream = StreamInflater(codings, cap)
    view = memoryview(wire)
    for start in range(0, len(wire), _PIECE_BYTES // 4):
        stream.feed(view[start : start + _PIECE_BYTES // 4])
    return stream.finish()


def inflate_beginning(wire: bytes, codings: tuple[str, ...], cap: int) -> bytes:
    """As much of a body as can be inflated, at most `cap` bytes."""
    stream = StreamInflater(codings, cap)
    view = memoryview(wire)
    with suppress(Undecodable):
        for start in range(0, len(wire), _PIECE_BYTES // 4):
            stream.feed(view[start : start + _PIECE_BYTES // 4])
    return stream.so_far()


class StreamInflater:
    """Undoes up to two codings piece by piece; every stage's output is counted against the cap."""

    def __init__(self, codings: tuple[str, ...], cap: int) -> None:
        self._stages = [_STAGES[coding]() for coding in reversed(codings)]
        self._made = [0] * len(codings)
        self._cap = cap
        self._wire_bytes = 0
        self._body = BytesIO()

    def feed(self, chunk: bytes | memoryview) -> None:
        """Take the next piece from the wire."""
        self._wire_bytes += len(chunk)
        pieces: Iterator[bytes | memoryview] = iter((chunk,))
        for position, stage in enumerate(self._stages):
            pieces = self._through(stage, position, pieces)
        for piece in pieces:
            self._body.write(piece)

    def finish(self) -> bytes:
        """The plain body; a stream that stops in the middle is an error, never a short body."""
        if self._wire_bytes and not all(stage.complete() for stage in self._stages):
            raise Undecodable(FailureKind.BAD_ENCODING, "the encoded body is truncated")
        # BytesIO hands over its own buffer: no second copy of a large body.
        return self._body.getvalue()

    def so_far(self) -> bytes:
        """What has been inflated up to now, at most as much as the cap."""
        return self._body.getvalue()

    def _through(
        self, stage: _Stage, position: int, pieces: Iterator[bytes | memoryview]
    ) -> Iterator[bytes | memoryview]:
        made = self._made
        for piece in pieces:
            try:
                for grown in stage.feed(piece):
                    made[position] += len(grown)
                    if made[position] > self._cap:
                        yield grown[: self._cap - made[position]]  # the beginning is complete up to the cap
                        raise self._overflow()
                    yield grown
            except _CODEC_ERRORS as problem:
                raise Undecodable(FailureKind.BAD_ENCODING, f"{stage.name}: {problem}") from None

    def _overflow(self) -> Undecodable:
        if self._cap >= self._wire_bytes * _BOMB_RATIO:
            detail = f"{self._wire_bytes} bytes expand to more than {self._cap}"
            return Undecodable(FailureKind.DECOMPRESSION_BOMB, detail)
        return Undecodable(FailureKind.TOO_LARGE, f"the decompressed body is larger than {self._cap} bytes")


class _Stage(Protocol):
    """One coding being undone."""

    name: str

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        """Take coded bytes, yield plain pieces of bounded size."""
        ...

    def complete(self) -> bool:
        """Whether the coded stream has reached its end."""
        ...


class _Deflate:
    """gzip with any number of members, zlib, or raw deflate; isal does the work."""

    def __init__(self, name: str, window_bits: int | None) -> None:
        self.name = name
        self._window_bits = window_bits
        self._decoder: Any = None if window_bits is None else isal_zlib.decompressobj(window_bits)
        self._head = b""
        self._members = 1
        self._over = False

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        if self._over:
            return
        if self._decoder is None or self._decoder.eof:
            data = self._head + bytes(data)
            self._head = b""
            if not self._ready(data):
                return
        decoder = self._decoder
        while True:
            grown = decoder.decompress(data, _PIECE_BYTES)
            if grown:
                yield grown
            if decoder.eof:
                rest: bytes = decoder.unused_data
                if not self._next_member(rest):
                    return
                decoder, data = self._decoder, rest
            else:
                data = decoder.unconsumed_tail
                if not data and len(grown) < _PIECE_BYTES:
                    return

    def complete(self) -> bool:
        return self._over or (self._decoder is not None and self._decoder.eof)

    def _ready(self, data: bytes) -> bool:
        """Choose between zlib and raw deflate by the first two bytes: servers send either as `deflate`."""
        if self._decoder is not None:
            return self._next_member(data)
        if len(data) < 2:
            self._head = data
            return False
        # RFC 1950 §2.2: method 8, and a check that makes the two bytes a multiple of 31.
        zlib_head = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        self._decoder = isal_zlib.decompressobj(_ZLIB_WINDOW_BITS if zlib_head else _RAW_WINDOW_BITS)
        return True

    def _next_member(self, rest: bytes) -> bool:
        """Begin the next gzip member (RFC 1952 §2.2); whatever else follows the end is not body."""
        if self._window_bits != _GZIP_WINDOW_BITS:
            self._over = True
            return False
        if len(rest) < 2:
            self._head = rest
            return False
        if rest[:2] != b"\x1f\x8b":
            self._over = True
            return False
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise Undecodable(FailureKind.BAD_ENCODING, f"more than {_MAX_MEMBERS} gzip members")
        self._decoder = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
        return True


class _Brotli:
    name = "br"

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        grown = self._decoder.process(bytes(data), output_buffer_limit=_PIECE_BYTES)
        while grown:
            yield grown
            if self._decoder.is_finished():
                return
            grown = self._decoder.process(b"", output_buffer_limit=_PIECE_BYTES)

    def complete(self) -> bool:
        return bool(self._decoder.is_finished())


class _Zstd:
    name = "zstd"

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
        self._decoder = self._context.decompressobj()
        self._frames = 1

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        view = memoryview(data)
        for start in range(0, len(view), _ZSTD_SLICE_BYTES):
            rest: bytes | memoryview = view[start : start + _ZSTD_SLICE_BYTES]
            while rest:
                if self._decoder.eof:
                    self._next_frame()
                grown = self._decoder.decompress(rest)
                if grown:
                    yield grown
                rest = self._decoder.unused_data

    def complete(self) -> bool:
        return self._decoder.eof

    def _next_frame(self) -> None:
        self._frames += 1
        if self._frames > _MAX_MEMBERS:
            raise Undecodable(FailureKind.BAD_ENCODING, f"more than {_MAX_MEMBERS} zstd frames")
        self._decoder = self._context.decompressobj()


def _zstd_size(wire: bytes) -> int:
    """The size that a frame states, or more than any cap if it states none."""
    try:
        size = zstandard.frame_content_size(wire)
    except zstandard.ZstdError:
        return 1 << 63
    return size if size > 0 else 1 << 63


_ISAL_ERROR: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # its stub gives an instance
_CODEC_ERRORS: Final = (_ISAL_ERROR, brotli.error, zstandard.ZstdError)
_ALIASES: Final = {"x-gzip": "gzip"}
# Misconfigured servers name charsets and transfer encodings here, which leave the bytes unchanged.
_NO_CODINGS: Final = frozenset(
    {"", "identity", "none", "utf-8", "utf8", "iso-8859-1", "windows-1252", "us-ascii", "7bit", "8bit", "binary"}
)
_STAGES: Final[dict[str, Callable[[], _Stage]]] = {
    "gzip": lambda: _Deflate("gzip", _GZIP_WINDOW_BITS),
    "deflate": lambda: _Deflate("deflate", None),
    "br": _Brotli,
    "zstd": _Zstd,
}
