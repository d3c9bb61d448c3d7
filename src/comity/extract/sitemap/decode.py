"""A sitemap's bytes made readable: inflated under a cap if they are compressed, in an encoding that keeps markup.

Wire bytes enter; what leaves holds every `<` and `&` as the ASCII octet, with the encoding of the text between.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from isal import igzip_lib, isal_zlib

from comity.model.sitemap import SitemapProblem

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW_BITS: Final = 31
_PIECE_BYTES: Final = 1 << 20  # of output
_SLICE_BYTES: Final = 1 << 12  # of input: where one is damaged, all of it is lost
_MOST_LAYERS: Final = 2  # files that are stored compressed and compressed once more on the way
# Each member costs a new decoder, so a body of empty ones would burn time without growing.
_MOST_MEMBERS: Final = 1_000
_ISAL_ERROR: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # its stub gives an instance
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([a-z0-9_.:-]{1,40})", re.IGNORECASE | re.ASCII)
_DECLARED: Final = re.compile(rb"\s*<\?xml\s[^<>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})[\"']")
# Encodings in which an octet of markup is always markup: they are read as they are.
_PLAIN: Final = re.compile(r"utf-8|ascii|iso8859-\d+|cp125\d|koi8-[ru]|gbk|gb2312|gb18030|big5|euc_\w+|mac-\w+")
_WIDE: Final = re.compile(r"utf-16(?:-[lb]e)?|utf-32(?:-[lb]e)?|shift_jis|cp932|iso2022_\w+|hz")


@dataclass(slots=True)
class DecodedSitemap:
    """Octets that can be searched for markup, and what had to be mended on the way."""

    octets: bytes = b""
    encoding: str = "utf-8"
    problems: set[SitemapProblem] = field(default_factory=set)


def decode_sitemap(body: bytes, content_type: str | None, most_bytes: int) -> Iterator[DecodedSitemap | None]:
    """Give None after every piece of work, so that a caller can do something else, and the result last."""
    result = DecodedSitemap()
    for _ in range(_MOST_LAYERS):
        if not body.startswith(_GZIP_MAGIC):
            break
        inflated = BytesIO()
        pause_at = _PIECE_BYTES
        for piece in _inflated(body, most_bytes, result.problems):
            inflated.write(piece)
            if inflated.tell() >= pause_at:
                pause_at += _PIECE_BYTES
                yield None
        body = inflated.getvalue()
    if len(body) > most_bytes:
        result.problems.add(SitemapProblem.BODY_BYTES)
        body = body[:most_bytes]
    encoding, skipped = _encoding(body, content_type)
    if _WIDE.fullmatch(encoding):
        body = body[skipped:].decode(encoding, "replace").encode("utf-8", "replace")
        encoding, skipped = "utf-8", 0
    result.octets = body[skipped:] if skipped else body
    result.encoding = encoding
    yield result


def _inflated(body: bytes, most_bytes: int, problems: set[SitemapProblem]) -> Iterator[bytes]:
    """Inflate every member, as far as the cap and the data go."""
    decoder: Any = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
    room, members, taken = most_bytes, 1, 0
    data = b""
    while True:
        if len(data) < len(_GZIP_MAGIC) and taken < len(body):
            data += body[taken : taken + _SLICE_BYTES]
            taken += _SLICE_BYTES
        if decoder.eof:
            if not data.startswith(_GZIP_MAGIC):
                return  # whatever else follows is not body (RFC 1952 §2.2)
            members += 1
            if members > _MOST_MEMBERS:
                problems.add(SitemapProblem.BAD_GZIP)
                return
            decoder = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
        try:
            piece: bytes = decoder.decompress(data, min(_PIECE_BYTES, room + 1))
        except _ISAL_ERROR:
            problems.add(SitemapProblem.BAD_GZIP)
            return
        if len(piece) > room:
            problems.add(SitemapProblem.BODY_BYTES)
            yield piece[:room]
            return
        room -= len(piece)
        yield piece
        data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
        if not decoder.eof and not data and not piece and taken >= len(body):
            problems.add(SitemapProblem.TRUNCATED)
            return


def _encoding(body: bytes, content_type: str | None) -> tuple[str, int]:
    """Choose the encoding by mark, header, declaration (RFC 7303 §3), and how many octets the mark takes."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return encoding, len(mark)
    start = body[:4]
    if start[:1] == b"<" and start[1:2] == b"\0":
        return "utf-16-le", 0
    if start[:2] == b"\0<":
        return "utf-16-be", 0
    said = _CHARSET.search((content_type or "")[:256])
    declared = _DECLARED.match(body[:512])
    for label in (said[1] if said else None, declared[1].decode("ascii") if declared else None):
        known = _known(label) if label else None
        if known is not None:
            return known, 0
    return "utf-8", 0


def _known(label: str) -> str | None:
    """The codec of a label, if it is one that text on the web has; UTF-16 was told by its octets already."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    if name.startswith(("utf-16", "utf-32")):
        return None
    return name if _PLAIN.fullmatch(name) or _WIDE.fullmatch(name) else None
