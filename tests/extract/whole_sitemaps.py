"""A sitemap read at once: what all its chunks say together."""

from __future__ import annotations

from comity.extract.sitemap.read import iter_entries
from comity.model.sitemap import SitemapChunk, SitemapLimits


def read_sitemap(body: bytes, content_type: str | None = None, limits: SitemapLimits | None = None) -> SitemapChunk:
    """Read every chunk; the last one's kind holds."""
    chunks = list(iter_entries(body, content_type=content_type, limits=limits or SitemapLimits()))
    return SitemapChunk(
        chunks[-1].kind,
        tuple(entry for chunk in chunks for entry in chunk.entries),
        tuple(entry for chunk in chunks for entry in chunk.nested),
        frozenset().union(*(chunk.problems for chunk in chunks)),
    )
