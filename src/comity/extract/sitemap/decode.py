"""A sitemap's bytes before the scanner: inflated up to a limit, in an encoding that keeps markup recognisable.

In the result every `<` and `&` is the ASCII byte; `encoding` is that of the text between. `recognise` tells the kind of
a document by its first element, whatever precedes it.
"""

import re
from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum
from io import BytesIO
from typing import Any, Final

from isal import igzip_lib, isal_zlib

from comity.extract.decode import encoding_of
from comity.model.dataclass import dataclass
from comity.model.sitemap import SitemapKind, SitemapProblem

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
_PREAMBLE_BYTES: Final = 1 << 16
_ROOT: Final = re.compile(rb"<([A-Za-z_][\w.-]*+:)?(urlset|sitemapindex|url|sitemap|rss|feed|rdf)(?=[\s/>])", re.I)
_MISPLACED_ROOT: Final = re.compile(rb"<([A-Za-z_][\w.-]*+:)?(urlset|sitemapindex)(?=[\s/>])", re.I)
_INTERNAL_SUBSET: Final = re.compile(rb"[^<>\[]*+\[")
_END_OF_SUBSET: Final = re.compile(rb"\]\s*+>")


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


class SitemapField(IntEnum):
    """What an element means."""

    NONE = 0
    PAGE = 1
    NESTED = 2
    LOC = 3
    LASTMOD = 4
    CHANGEFREQ = 5
    PRIORITY = 6
    LINK = 7
    GUID = 8
    PUBLISHED = 9


_SITEMAP_FIELDS: Final = {
    b"url": SitemapField.PAGE,
    b"sitemap": SitemapField.NESTED,
    b"loc": SitemapField.LOC,
    b"lastmod": SitemapField.LASTMOD,
    b"changefreq": SitemapField.CHANGEFREQ,
    b"priority": SitemapField.PRIORITY,
}
_RSS_FIELDS: Final = {
    b"item": SitemapField.PAGE,
    b"link": SitemapField.LOC,
    b"guid": SitemapField.GUID,
    b"pubdate": SitemapField.LASTMOD,
    b"dc:date": SitemapField.LASTMOD,
}
_ATOM_FIELDS: Final = {
    b"entry": SitemapField.PAGE,
    b"link": SitemapField.LINK,
    b"updated": SitemapField.LASTMOD,
    b"modified": SitemapField.LASTMOD,
    b"published": SitemapField.PUBLISHED,
}
_KINDS: Final = {
    b"urlset": (SitemapKind.URLSET, _SITEMAP_FIELDS),
    b"url": (SitemapKind.URLSET, _SITEMAP_FIELDS),
    b"sitemapindex": (SitemapKind.INDEX, _SITEMAP_FIELDS),
    b"sitemap": (SitemapKind.INDEX, _SITEMAP_FIELDS),
    b"rss": (SitemapKind.FEED, _RSS_FIELDS),
    b"rdf": (SitemapKind.FEED, _RSS_FIELDS),
    b"feed": (SitemapKind.FEED, _ATOM_FIELDS),
}


@dataclass(frozen=True, slots=True)
class Recognised:
    """What the first element says that a document is."""

    kind: SitemapKind
    fields: dict[bytes, SitemapField]
    root: bytes
    start: int


def recognise(data: bytes) -> Recognised | None:
    """Find the root of a sitemap or feed; None if this is something else."""
    start = _after_preamble(data)
    found = _ROOT.match(data, start)
    if found is None:
        # Warnings of a script, or an error page, may stand before it.
        found = _MISPLACED_ROOT.search(data, 0, _PREAMBLE_BYTES)
    if found is None:
        return None
    prefix, local = (found[1] or b"").lower(), found[2].lower()
    kind, known = _KINDS[local]
    fields = dict(known)
    if prefix:
        fields |= {prefix + name: field for name, field in known.items()}
    is_whole = local not in (b"url", b"sitemap")
    return Recognised(kind, fields, prefix + local if is_whole else b"", found.end() if is_whole else found.start())


def _after_preamble(data: bytes) -> int:
    """Where the first element begins, behind blanks, declarations and comments."""
    position = data.find(b"<")
    while position >= 0:
        if data[position + 1 : position + 2] not in (b"!", b"?"):
            return position
        after = end_of_special(data, position, special_end(data, position))
        if after < 0:
            return 0
        position = data.find(b"<", after)
    return 0


def special_end(data: bytes, start: int) -> bytes:
    """What ends the comment, CDATA section, instruction or declaration that begins here."""
    if data.startswith(b"<!--", start):
        return b"-->"
    if data.startswith(b"<![CDATA[", start):
        return b"]]>"
    if data.startswith(b"<?", start):
        return b"?>"
    # Entities are declared between brackets. They are passed over, and so are never expanded.
    return b"]>" if _INTERNAL_SUBSET.match(data, start + 2) else b">"


def end_of_special(data: bytes, start: int, mark: bytes) -> int:
    """Where such a piece is over; -1 if its end does not come."""
    if mark == b"]>":
        end = _END_OF_SUBSET.search(data, start)
        return end.end() if end else -1
    found = data.find(mark, start + (4 if mark == b"-->" else 2))
    return -1 if found < 0 else found + len(mark)
