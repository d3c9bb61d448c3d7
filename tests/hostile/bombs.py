"""Bodies that are small on the wire and enormous when inflated."""

from __future__ import annotations

import struct
import zlib
from functools import cache

import brotli
import zstandard

from tests.hostile.bodies import CODERS, deflate, rows
from tests.hostile.web import Exchange, route

_PIECE = bytes(1 << 20)
_PIECES = 256
BOMB_BYTES = _PIECES * len(_PIECE)  # of zeros, were it inflated


@cache
def _deflate_bomb(kind: str) -> bytes:
    """One stream made of the same flushed block many times over, so that making it costs next to nothing."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = coder.compress(_PIECE) + coder.flush(zlib.Z_FULL_FLUSH)
    raw = block * _PIECES + coder.flush()
    if kind == "raw-deflate":
        return raw
    check = 0 if kind == "gzip" else 1
    for _ in range(_PIECES):
        check = zlib.crc32(_PIECE, check) if kind == "gzip" else zlib.adler32(_PIECE, check)
    if kind == "gzip":
        return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + raw + struct.pack("<II", check, BOMB_BYTES)
    return b"\x78\xda" + raw + struct.pack(">I", check)


@cache
def _brotli() -> bytes:
    coder = brotli.Compressor(quality=1, lgwin=22)
    return b"".join(coder.process(_PIECE) for _ in range(_PIECES)) + coder.finish()


@cache
def _zstd_blocks() -> bytes:
    """Run-length blocks: four bytes on the wire stand for 128 KiB (RFC 8878 §3.1.1.2)."""
    # Magic number, then a header without content size or checksum and with a window of 8 MiB.
    head = struct.pack("<I", 0xFD2FB528) + bytes([0b0000_0000, 13 << 3])
    size = 128 * 1024
    block = struct.pack("<I", (size << 3) | (1 << 1))[:3] + b"\0"
    last = struct.pack("<I", (size << 3) | (1 << 1) | 1)[:3] + b"\0"
    return head + block * (BOMB_BYTES // size - 1) + last


@cache
def _bomb(kind: str) -> tuple[bytes, str]:
    if kind in ("gzip", "deflate", "raw-deflate"):
        return _deflate_bomb(kind), kind.removeprefix("raw-")
    if kind == "br":
        return _brotli(), "br"
    if kind == "zstd":
        return _zstd_blocks(), "zstd"
    if kind == "zstd-window":
        parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
        coder = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        return coder.compress(bytes(1 << 20)) + coder.flush(), "zstd"
    if kind == "zstd-lie":  # states a size of 2^62 bytes
        head = struct.pack("<I", 0xFD2FB528) + bytes([0b1110_0000]) + struct.pack("<Q", 1 << 62)
        return head + struct.pack("<I", (5 << 3) | 1)[:3] + b"hello", "zstd"
    if kind == "nested":
        return deflate(_deflate_bomb("gzip")), "gzip, gzip"
    if kind == "nested-br":
        return brotli.compress(_deflate_bomb("gzip"), quality=5), "gzip, br"
    if kind == "inner":  # the outer layer alone swells; what is inside stays small
        return deflate(deflate(b"small") + bytes(64 << 20)), "gzip, gzip"
    if kind == "members":  # many empty members: time, not space
        return deflate(b"") * 50_000, "gzip"
    if kind == "frames":
        return zstandard.ZstdCompressor().compress(b"") * 50_000, "zstd"
    raise KeyError(kind)


KINDS = ("gzip", "deflate", "raw-deflate", "br", "zstd", "nested", "nested-br")


@route("/bomb/")
async def bomb(exchange: Exchange) -> None:
    body, coding = _bomb(exchange.path.rpartition("/")[2])
    await exchange.answer(body, headers=(("Content-Type", "text/html"), ("Content-Encoding", coding)))


@cache
def _coded_rows(kind: str, count: int) -> bytes:
    return CODERS[kind](rows(count))


@route("/large/")
async def large(exchange: Exchange) -> None:
    """An honest text of `rows` rows; `/large/gzip`, `/large/br` …; the last `cut` bytes are lost."""
    kind = exchange.path.rpartition("/")[2]
    body = _coded_rows(kind, int(exchange.number("rows", 1)))
    body = body[: len(body) - int(exchange.number("cut", 0))]
    fields = (("Content-Type", "text/plain"), ("Content-Encoding", kind.removeprefix("raw-")))
    await exchange.answer(body, headers=fields)
