"""Preparing a sitemap's bytes for the scanner: inflated up to a limit, in an encoding that keeps markup recognisable.

In the result every `<` and `&` is the ASCII byte; `encoding` is that of the text between.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from isal import igzip_lib, isal_zlib

from comity.extract.decode import encoding_of
from comity.model.sitemap import SitemapProblem

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW_BITS: Final = 31
_PIECE_BYTES: Final = 1 << 20  # of output
_SLICE_BYTES: Final = 1 << 12  # of input: where one is damaged, all of it is lost
_MOST_LAYERS: Final = 2  # files that are stored compressed and compressed once more on the way
# Each member costs a new decoder, so a body of empty ones would burn time without growing.
_MOST_MEMBERS: Final = 1_000
_ISAL_ERROR: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # its stub gives an instance
# In these a byte of markup may be part of a character; the text is converted to UTF-8 before it is scanned.
_CONVERTED: Final = re.compile(r"utf-(?:16|32)-?[lb]e|cp932|iso2022_jp")


@dataclass(slots=True)
class DecodedSitemap:
    """Bytes that can be searched for markup, and the problems met on the way."""

    data: bytes = b""
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
    encoding, skipped = encoding_of(body, content_type)
    if _CONVERTED.fullmatch(encoding):
        body = body[skipped:].decode(encoding, "replace").encode("utf-8", "replace")
        encoding, skipped = "utf-8", 0
    result.data = body[skipped:] if skipped else body
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


def decode_part(part: bytes, encoding: str, problems: set[SitemapProblem]) -> str:
    """Decode the text between markup; what does not fit the encoding is read as Windows-1252."""
    try:
        return part.decode(encoding)
    except UnicodeDecodeError:
        problems.add(SitemapProblem.BAD_ENCODING)
        return part.decode("cp1252", "replace")
