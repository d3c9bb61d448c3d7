"""Which pages a run may take, and how far it goes."""

from __future__ import annotations

from dataclasses import dataclass

from comity.model.fetch import ContentTypeRules

HTML_TYPES = ContentTypeRules(
    accept=("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml")
)
# Some servers know their pictures only as octets.
IMAGE_TYPES = ContentTypeRules(accept=("image/*", "application/octet-stream", "binary/octet-stream"))


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """What a whole-site crawl follows."""

    follow_links: bool = True
    max_depth: int = 50
    respect_nofollow: bool = True
    follow_canonical: bool = True
    content_types: ContentTypeRules = HTML_TYPES
    collapse_subdomains: bool = False
    sitemaps: bool = True
