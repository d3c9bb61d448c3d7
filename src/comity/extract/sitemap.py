"""Sitemaps read for a crawler: body bytes in, entries in document order out, whatever the markup.

A scanner of our own instead of an XML parser: broken files are read as far as they go, entities are never expanded,
and time and memory are linear in the body. `iter_entries` works in small steps, between which a caller can
do something else. Addresses are given as written; resolving and judging them is the caller's.
"""

from collections.abc import Iterator
from typing import Final

from comity.extract.sitemap_markup import MarkupScanner
from comity.extract.sitemap_octets import Readable, readable
from comity.extract.sitemap_root import recognise
from comity.extract.sitemap_text import iter_lines
from comity.model.sitemap import SitemapChunk, SitemapKind, SitemapLimits

CHUNK_ENTRIES: Final = 500
_DEFAULT_LIMITS: Final = SitemapLimits()


def iter_entries(
    body: bytes,
    *,
    content_type: str | None,
    limits: SitemapLimits = _DEFAULT_LIMITS,
    chunk_entries: int = CHUNK_ENTRIES,
) -> Iterator[SitemapChunk]:
    """Read a sitemap chunk by chunk; there is at least one, and the last one's kind holds."""
    source: Readable | None = None
    for source in readable(body, content_type, limits.most_bytes):
        if source is None:
            yield SitemapChunk(SitemapKind.NOT_A_SITEMAP)
    assert source is not None
    recognised = recognise(source.octets)
    if recognised is not None:
        yield from MarkupScanner(source, recognised, limits, chunk_entries).chunks()
        return
    yield from iter_lines(source, limits, chunk_entries)
