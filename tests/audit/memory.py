"""An audit in memory: `AuditData` from lists, and pages without a fault to build the lists from.

audit = MemoryAudit(pages=[good_page("/"), good_page("/a", status=404)], links=[link("/", "/a")])
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from comity.model.audit import (
    AuditedLink,
    AuditedPage,
    AuditedRobots,
    AuditInfo,
    Heading,
    ListedUrl,
    PageFacts,
    RobotsDecision,
    SitemapFile,
)
from comity.model.page import FOLLOWED, Hop, PageLink, PageRegion
from comity.rules.audit.similarity import similarity_of

SITE = "https://example.test"
SITEMAP = f"{SITE}/sitemap.xml"
GOOD_HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    ("content-encoding", "gzip"),
    ("cache-control", "max-age=600"),
    ("strict-transport-security", "max-age=31536000"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'self'"),
    ("referrer-policy", "strict-origin-when-cross-origin"),
)
GOOD_ROBOTS = f"User-agent: *\nDisallow: /private/\n\nSitemap: {SITEMAP}\n"


def audit_info(**changes: Any) -> AuditInfo:
    """An audit that saw everything."""
    info = AuditInfo(
        audit_id="0190b7a0", site=f"{SITE}/", started_at=1_700_000_000.0, ended_at=1_700_000_060.0,
        ended_by="exhausted", sentence="Every page that was found was visited.", max_pages=200, max_minutes=60.0,
        user_agent="ComityBot/1.0",
    )  # fmt: skip
    return replace(info, **changes)


@dataclass(slots=True)
class MemoryAudit:
    """An audit from lists; each call reads anew, as from a stored one."""

    pages_: Sequence[AuditedPage] = ()
    links_: Sequence[AuditedLink] = ()
    robots_: Sequence[AuditedRobots] = ()
    sitemaps_: Sequence[SitemapFile] = ()
    listed_: Sequence[ListedUrl] = ()
    decisions_: Sequence[RobotsDecision] = ()
    info: AuditInfo = field(default_factory=audit_info)

    def pages(self) -> Iterable[AuditedPage]:
        return iter(sorted(self.pages_, key=lambda each: (each.depth, each.url)))

    def links(self) -> Iterable[AuditedLink]:
        return iter(sorted(self.links_, key=lambda each: each.page))

    def outcomes(self) -> dict[str, int]:
        return dict(Counter(each.link.outcome for each in self.links_))

    def robots(self) -> Sequence[AuditedRobots]:
        return self.robots_

    def sitemaps(self) -> Sequence[SitemapFile]:
        return self.sitemaps_

    def listed(self) -> Iterable[ListedUrl]:
        return iter(self.listed_)

    def decisions(self) -> Iterable[RobotsDecision]:
        return iter(self.decisions_)


def absolute(path: str) -> str:
    return SITE + path if path.startswith("/") else path


def words_of(path: str, count: int = 250) -> list[str]:
    """Words that no other path has: a digest for each."""
    return [hashlib.md5(f"{path} {number}".encode()).hexdigest()[:6] for number in range(count)]


def good_facts(path: str, **changes: Any) -> PageFacts:
    """What the HTML of a page without a fault says."""
    words = words_of(path)
    facts = PageFacts(
        language="en",
        titles=(f"The page about {path}",),
        descriptions=(f"Everything that there is to say about {path}, in two lines.",),
        headings=(Heading(1, f"About {path}"), Heading(2, "More")),
        canonicals=(absolute(path),),
        images=1,
        word_count=len(words),
        text_hash=hashlib.sha256(path.encode()).hexdigest(),
        similarity=similarity_of(words),
        has_viewport=True,
    )
    return replace(facts, **changes)


def good_page(path: str, *, facts: PageFacts | None = None, **changes: Any) -> AuditedPage:
    """A page without a fault, listed in the sitemap."""
    url = absolute(path)
    page = AuditedPage(
        url=url, status=200, depth=0 if path == "/" else 1, final_url=url, content_type="text/html",
        content_hash=hashlib.sha256(url.encode()).hexdigest(), headers=GOOD_HEADERS,
        hops=(Hop(url, 200, None, 80.0, 120.0),), first_byte_ms=80.0, elapsed_ms=120.0, wire_bytes=6_000,
        body_bytes=20_000, in_sitemap=True, facts=facts or good_facts(path),
    )  # fmt: skip
    return replace(page, **changes)


def failed_page(path: str, status: int | None = 404, error: str | None = None, **changes: Any) -> AuditedPage:
    """A URL that gave no page: an error status, or no answer where the status is None."""
    url = absolute(path)
    page = AuditedPage(
        url=url, status=status, error=error or (f"http_{status}" if status else "connect_failure: refused"), depth=1,
        final_url=url if status else None, hops=(Hop(url, status, None, 80.0, 120.0),), in_sitemap=False,
    )  # fmt: skip
    return replace(page, **changes)


def redirected_page(path: str, *locations: str, status: int = 301, last: int = 200, **changes: Any) -> AuditedPage:
    """A URL that redirects, over one or several hops, to where the last of them answers."""
    urls = [absolute(each) for each in (path, *locations)]
    hops = [Hop(at, status, to, 40.0, 50.0) for at, to in pairwise(urls)]
    hops.append(Hop(urls[-1], last, None, 80.0, 120.0))
    page = good_page(path, hops=tuple(hops), final_url=urls[-1], status=last, in_sitemap=False)
    if last >= 400:
        page = replace(page, error=f"http_{last}", facts=None)
    else:
        page = replace(page, facts=good_facts(locations[-1]))
    return replace(page, **changes)


def link(
    page: str,
    to: str,
    *,
    text: str = "more",
    rel: tuple[str, ...] = (),
    region: PageRegion = PageRegion.MAIN,
    outcome: str = FOLLOWED,
) -> AuditedLink:
    """A link from one page to another."""
    return AuditedLink(absolute(page), PageLink(absolute(to), text, rel, region, outcome))


def listed(*paths: str) -> list[ListedUrl]:
    """URLs in the sitemap."""
    return [ListedUrl(absolute(path), SITEMAP) for path in paths]


def good_site(*further: AuditedPage, paths: Sequence[str] = ("/", "/a", "/b")) -> MemoryAudit:
    """A small site without a fault, with further pages that are linked from the start."""
    pages = [good_page(path) for path in paths]
    links = [link(one, other) for one in paths for other in paths if one != other]
    links += [link("/", page.url) for page in further]
    return MemoryAudit(
        pages_=[*pages, *further],
        links_=links,
        robots_=[AuditedRobots(SITE, 200, GOOD_ROBOTS, "robots.txt answered 200: its rules apply")],
        sitemaps_=[SitemapFile(SITEMAP, "read", len(paths))],
        listed_=listed(*paths, *(page.url for page in further if page.in_sitemap)),
    )
