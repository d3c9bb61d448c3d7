"""Image headers: takes a body, returns its format and size, or None if it is no image.

Nothing is decoded. A header is believed as far as possible: a size of zero, or larger than the format allows, counts as
unknown. Every loop ends after a bounded number of steps, whatever the bytes are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import Struct, error
from typing import Final

from comity.model.image import ImageFormat, ImageShape

_LARGEST: Final = 2**31 - 1  # PNG (ISO 15948 §11.2.2); no other format has more
_JPEG_SEGMENTS_MOST: Final = 2000
_JPEG_FILL_MOST: Final = 64
_LOOKED_AT: Final = 64 * 1024  # of an AVIF's boxes, and of the text before an SVG's first element
_SVG_TAG_MOST: Final = 16 * 1024
_TWO_BIG, _TWO_SMALL = Struct(">II"), Struct("<HH")
_TWO_SHORT_BIG, _TWO_SIGNED = Struct(">HH"), Struct("<ii")
# ITU T.81 table B.1: start of frame, without the markers between them that are something else.
_START_OF_FRAME: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_SVG_ATTRIBUTE: Final = re.compile(rb"[\s\"'](width|height|viewBox)\s*=\s*[\"']([^\"'<>]{1,100})[\"']")
_SVG_LENGTH: Final = re.compile(rb"\s*(\d{1,10}(?:\.\d{1,10})?)\s*(?:px)?\s*")
_NUMBERS: Final = re.compile(rb"[\s,]+")


def read_image(body: bytes) -> ImageShape | None:
    """Name the format by the bytes, whatever the server calls it, and read the size from the header."""
    for mark, read in _BY_MARK:
        if body.startswith(mark):
            try:
                return read(body)
            except error:  # the header ends too soon
                return None
    if body[4:8] == b"ftyp":
        return _avif(body)
    return _svg(body)


def _shape(kind: ImageFormat, width: int, height: int) -> ImageShape:
    is_size = 0 < width <= _LARGEST and 0 < height <= _LARGEST
    return ImageShape(kind, width, height) if is_size else ImageShape(kind)


def _png(body: bytes) -> ImageShape | None:
    if body[12:16] not in (b"IHDR", b"CgBI"):
        return None
    start = 16 if body[12:16] == b"IHDR" else 32  # Apple's own chunk comes before the header
    return _shape(ImageFormat.PNG, *_TWO_BIG.unpack_from(body, start))


def _gif(body: bytes) -> ImageShape | None:
    if body[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return _shape(ImageFormat.GIF, *_TWO_SMALL.unpack_from(body, 6))


def _bmp(body: bytes) -> ImageShape | None:
    header = int.from_bytes(body[14:18], "little")
    if header == 12:
        return _shape(ImageFormat.BMP, *_TWO_SMALL.unpack_from(body, 18))
    if not 16 <= header <= 200:
        return None
    width, height = _TWO_SIGNED.unpack_from(body, 18)
    return _shape(ImageFormat.BMP, width, abs(height))  # upside down, if it is negative


def _webp(body: bytes) -> ImageShape | None:
    """RFC 9649 §2.5 to §2.7."""
    if body[8:12] != b"WEBP":
        return None
    kind = body[12:16]
    if kind == b"VP8 " and body[23:26] == b"\x9d\x01\x2a":
        width, height = _TWO_SMALL.unpack_from(body, 26)
        return _shape(ImageFormat.WEBP, width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L" and body[20:21] == b"\x2f" and len(body) >= 25:
        bits = int.from_bytes(body[21:25], "little")
        return _shape(ImageFormat.WEBP, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X" and len(body) >= 30:
        width, height = (int.from_bytes(body[start : start + 3], "little") + 1 for start in (24, 27))
        return _shape(ImageFormat.WEBP, width, height)
    return None


def _jpeg(body: bytes) -> ImageShape | None:
    """Go from segment to segment until a frame begins; pictures that are cut off before that have no size."""
    place = 2
    for _segment in range(_JPEG_SEGMENTS_MOST):
        fill = body[place : place + _JPEG_FILL_MOST]
        after = fill.lstrip(b"\xff")  # any number of these may come before a marker; no encoder writes many
        if not after or len(after) == len(fill):
            break
        place += len(fill) - len(after)
        marker = body[place]
        place += 1
        if marker in _WITHOUT_LENGTH:
            continue
        if marker in _START_OF_FRAME:
            height, width = _TWO_SHORT_BIG.unpack_from(body, place + 3)
            return _shape(ImageFormat.JPEG, width, height)
        length = int.from_bytes(body[place : place + 2], "big")
        if length < 2 or marker == 0xDA:  # the picture itself, and no frame before it
            break
        place += length
    return ImageShape(ImageFormat.JPEG)


def _avif(body: bytes) -> ImageShape | None:
    """The largest of the sizes that the boxes of a picture name (ISO 23008-12 §6.5.3): others are of its parts."""
    brands = body[8 : min(int.from_bytes(body[:4], "big"), 128)]
    if not any(brands[start : start + 4] in (b"avif", b"avis") for start in range(0, len(brands), 4)):
        return None
    best, place = ImageShape(ImageFormat.AVIF), 0
    head = body[:_LOOKED_AT]
    while (place := head.find(b"ispe", place) + 4) > 3:
        if place + 12 <= len(head):
            shape = _shape(ImageFormat.AVIF, *_TWO_BIG.unpack_from(head, place + 4))
            if (shape.width or 0) * (shape.height or 0) > (best.width or 0) * (best.height or 0):
                best = shape
    return best


def _svg(body: bytes) -> ImageShape | None:
    """Text whose first element is svg; its size is said in pixels, or by the box that it shows."""
    head = body[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip()
    start = head.find(b"<svg")
    if not head.startswith(b"<") or start < 0 or head[start + 4 : start + 5] not in (b" ", b"\t", b"\r", b"\n", b">"):
        return None
    if any(mark in head[:start].lower() for mark in (b"<html", b"<!doctype html", b"<head", b"<body")):
        return None  # a page with a drawing in it
    tag = head[start : start + _SVG_TAG_MOST].partition(b">")[0]
    said = dict(reversed(_SVG_ATTRIBUTE.findall(tag)))  # of two of a kind, the first counts
    sides = [_SVG_LENGTH.fullmatch(said.get(name, b"")) for name in (b"width", b"height")]
    if sides[0] is not None and sides[1] is not None:
        return _shape(ImageFormat.SVG, round(float(sides[0][1])), round(float(sides[1][1])))
    box = [_SVG_LENGTH.fullmatch(part) for part in _NUMBERS.split(said.get(b"viewBox", b"").strip())[2:]]
    if len(box) == 2 and box[0] is not None and box[1] is not None:
        return _shape(ImageFormat.SVG, round(float(box[0][1])), round(float(box[1][1])))
    return ImageShape(ImageFormat.SVG)


_BY_MARK: Final[tuple[tuple[bytes, Callable[[bytes], ImageShape | None]], ...]] = (
    (b"\xff\xd8", _jpeg),
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
    (b"BM", _bmp),
)
