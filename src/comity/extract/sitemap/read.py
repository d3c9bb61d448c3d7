"""Reading a sitemap: takes body bytes, returns entries in document order, however broken the markup.

Our own scanner instead of an XML parser: broken files are read as far as they go, entities are never expanded, and time
and memory are linear in the body. `iter_entries` works in small steps, between which the caller can do something else.
Addresses are returned as written; the caller resolves and judges them. A plain list has one address per line
(sitemaps.org, "Text file").
"""

import re
from collections.abc import Iterator
from typing import Final

from comity.extract.sitemap.decode import DecodedSitemap, decode_part, decode_sitemap
from comity.extract.sitemap.markup import MarkupScanner
from comity.extract.sitemap.root import recognise
from comity.model.sitemap import SitemapChunk, SitemapEntry, SitemapKind, SitemapLimits, SitemapProblem

CHUNK_ENTRIES: Final = 500
_DEFAULT_LIMITS: Final = SitemapLimits()
_WINDOW_BYTES: Final = 1 << 18
_LINE: Final = re.compile(rb"[^\s][^\r\n]*")
_COMMENT: Final = b"#"  # not in the format, but generators write a first line of their own
_ADDRESS: Final = re.compile(rb"https?://[^\s/?#]\S*\s*", re.IGNORECASE)


def iter_entries(
    body: bytes,
    *,
    content_type: str | None,
    limits: SitemapLimits = _DEFAULT_LIMITS,
    chunk_entries: int = CHUNK_ENTRIES,
    with_alternates: bool = False,
) -> Iterator[SitemapChunk]:
    """Read a sitemap chunk by chunk; there is at least one, and the last one's kind holds."""
    source: DecodedSitemap | None = None
    for source in decode_sitemap(body, content_type, limits.most_bytes):
        if source is None:
            yield SitemapChunk(SitemapKind.NOT_A_SITEMAP)
    assert source is not None
    recognised = recognise(source.data)
    if recognised is not None:
        scanner = MarkupScanner(source, recognised, limits, chunk_entries, with_alternates=with_alternates)
        yield from scanner.chunks()
        return
    yield from iter_lines(source, limits, chunk_entries)


def iter_lines(source: DecodedSitemap, limits: SitemapLimits, chunk_entries: int) -> Iterator[SitemapChunk]:
    """Read a list whose first line, comments aside, is an address; later lines that are none are passed over."""
    data, problems = source.data, set(source.problems)
    lines = _LINE.finditer(data, 0, _WINDOW_BYTES)
    first = next((line[0] for line in lines if not line[0].startswith(_COMMENT)), b"")
    if not _ADDRESS.fullmatch(first):
        yield SitemapChunk(SitemapKind.NOT_A_SITEMAP, problems=frozenset(problems))
        return
    entries: list[SitemapEntry] = []
    room, start = limits.most_entries, 0
    while start < len(data):
        end = min(start + _WINDOW_BYTES, len(data))
        if end < len(data):
            # A line is not cut in two, unless it is longer than any address.
            end = max(data.rfind(b"\n", start, end), data.rfind(b"\r", start, end)) + 1 or end
        for line in _LINE.finditer(data, start, end):
            if not _ADDRESS.fullmatch(line[0]):
                continue
            if len(line[0]) > limits.most_loc_characters:
                problems.add(SitemapProblem.LOC_CHARACTERS)
                continue
            if not room:
                problems.add(SitemapProblem.ENTRIES)
                yield SitemapChunk(SitemapKind.TEXT, tuple(entries), problems=frozenset(problems))
                return
            room -= 1
            entries.append(SitemapEntry(decode_part(line[0], source.encoding, problems).strip()))
            if len(entries) >= chunk_entries:
                yield SitemapChunk(SitemapKind.TEXT, tuple(entries))
                entries.clear()
        start = end
        yield SitemapChunk(SitemapKind.TEXT, tuple(entries))
        entries.clear()
    yield SitemapChunk(SitemapKind.TEXT, problems=frozenset(problems))
