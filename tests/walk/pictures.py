"""Small pictures for tests: files whose headers are right, and whose rest is whatever makes them different."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 3, height: int = 2, more: bytes = b"") -> bytes:
    """A PNG that says its size; `more` makes another content of it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(header)) + chunk + struct.pack(">I", zlib.crc32(chunk)) + more


def gif(width: int = 3, height: int = 2, more: bytes = b"") -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0" + more + b";"


def jpeg(width: int = 3, height: int = 2, *, before: bytes = b"") -> bytes:
    """A JPEG; `before` stands before the frame, as whole segments."""
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9 + before + frame + b"\xff\xd9"


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


def bmp(width: int = 3, height: int = 2) -> bytes:
    return b"BM" + b"\0" * 12 + struct.pack("<Iii", 40, width, height) + b"\0" * 28


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(body) + 12) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def webp_lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width: int, height: int) -> bytes:
    sides = b"".join((side - 1).to_bytes(3, "little") for side in (width, height))
    return webp(b"VP8X", b"\0\0\0\0" + sides)


def avif(*sizes: tuple[int, int], brand: bytes = b"avif") -> bytes:
    boxes = b"".join(struct.pack(">I4sIII", 20, b"ispe", 0, width, height) for width, height in sizes)
    return (
        struct.pack(">I4s4sI4s", 20, b"ftyp", brand, 0, b"mif1") + struct.pack(">I4s", 8 + len(boxes), b"meta") + boxes
    )
