"""A small audit without the crawler: reads a site on loopback page by page, and gives it as `AuditData`.

It has no pace, no state and no limits but one on pages. It shows that the rules find what is planted; that the crawler
keeps what they need is shown by the tests of the command.
"""

from __future__ import annotations

import gzip
import http.client
import re
import ssl
import time
from collections import deque
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

from comity.extract.decode import parse_html
from comity.extract.page_facts import SaidByServer, read_facts
from comity.model.audit import AuditedLink, AuditedPage, AuditedRobots, ListedUrl, PageFacts, SitemapFile
from comity.model.page import FOLLOWED, Hop, PageLink, PageRegion
from comity.rules.canonical import resolve_link
from comity.rules.robots.verdict import AgentRules, parse_robots
from tests.audit.memory import MemoryAudit, audit_info
from tests.audit.sites.labelled import AUTHORITY

_AGENT = "SmallAudit"
_MAX_PAGES = 500
_MAX_HOPS = 10
_LOC = re.compile(r"<loc>([^<]+)</loc>")


@dataclass(slots=True)
class _Response:
    status: int
    headers: tuple[tuple[str, str], ...]
    wire: bytes
    first_byte_ms: float

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.wire) if self.header("content-encoding") == "gzip" else self.wire


@dataclass(slots=True)
class SmallAudit:
    """Reads one site."""

    origin: str
    start: str = "/"
    pages: list[AuditedPage] = field(default_factory=list)
    links: list[AuditedLink] = field(default_factory=list)

    def run(self) -> MemoryAudit:
        """Visit everything that the site names, and give what was kept."""
        robots, rules = self._robots()
        sitemaps, listed = self._sitemaps(robots)
        start = self.origin + self.start
        if rules is not None:
            self._visit_all(start, [each.url for each in listed], rules)
        return MemoryAudit(
            pages_=[replace(page, in_sitemap=any(page.url == each.url for each in listed)) for page in self.pages],
            links_=self.links,
            robots_=[robots],
            sitemaps_=sitemaps,
            listed_=listed,
            info=audit_info(site=start, user_agent=_AGENT),
        )

    def _robots(self) -> tuple[AuditedRobots, AgentRules | None]:
        response = _get(f"{self.origin}/robots.txt")
        if response is None or response.status >= 500:
            return AuditedRobots(self.origin, response.status if response else None, None, "not read"), None
        if response.status >= 400:
            return AuditedRobots(self.origin, response.status, None, "not there"), parse_robots(b"").for_agent(_AGENT)
        file = AuditedRobots(self.origin, response.status, response.body.decode(), "its rules apply")
        return file, parse_robots(response.body).for_agent(_AGENT)

    def _sitemaps(self, robots: AuditedRobots) -> tuple[list[SitemapFile], list[ListedUrl]]:
        named = parse_robots((robots.text or "").encode()).sitemaps
        files, listed = [], []
        for url in named or (f"{self.origin}/sitemap.xml",):
            response = _get(url)
            if response is None or response.status != 200:
                files.append(SitemapFile(url, "missing", 0))
                continue
            found = _LOC.findall(response.body.decode())
            files.append(SitemapFile(url, "read", len(found)))
            listed += [ListedUrl(each, url) for each in found]
        return files, listed

    def _visit_all(self, start: str, listed: list[str], rules: AgentRules) -> None:
        queue = deque([(start, 0)])
        seen = {start}

        def enqueue(url: str, depth: int) -> None:
            if urlsplit(url).netloc == urlsplit(self.origin).netloc and url not in seen:
                seen.add(url)
                queue.append((url, depth))

        for turn in ("links", "sitemap"):  # what links name first, so that depths are those of links
            while queue and len(self.pages) < _MAX_PAGES:
                url, depth = queue.popleft()
                if not rules.verdict(url).allowed:
                    self.pages.append(AuditedPage(url, error="blocked_by_robots: a rule", depth=depth))
                    continue
                page, links = _visit(url, depth)
                self.pages.append(page)
                self.links += [AuditedLink(url, link) for link in links]
                for link in links:
                    enqueue(link.url, depth + 1)
                for canonical in page.facts.canonicals if page.facts is not None else ():
                    enqueue(canonical, depth + 1)
            if turn == "links":
                for url in listed:
                    enqueue(url, 1)


def _visit(url: str, depth: int) -> tuple[AuditedPage, list[PageLink]]:
    hops: list[Hop] = []
    at = url
    for _ in range(_MAX_HOPS):
        begun = time.monotonic()
        response = _get(at)
        if response is None:
            return AuditedPage(url, error="reset: the connection was closed", depth=depth), []
        location = response.header("location") if 300 <= response.status < 400 else ""
        elapsed_ms = (time.monotonic() - begun) * 1000
        hops.append(Hop(at, response.status, location or None, response.first_byte_ms, elapsed_ms))
        if not location:
            return _page(url, at, depth, hops, response)
        at = urljoin(at, location)
    return AuditedPage(url, error=f"too_many_redirects: {_MAX_HOPS}", depth=depth, hops=tuple(hops)), []


def _page(url: str, at: str, depth: int, hops: list[Hop], response: _Response) -> tuple[AuditedPage, list[PageLink]]:
    facts: PageFacts | None = None
    links: list[PageLink] = []
    if response.status < 400 and "html" in response.header("content-type"):
        document = parse_html(response.body, response.header("content-type"))
        said = SaidByServer(robots=tuple(value for name, value in response.headers if name == "x-robots-tag"))
        facts, raw = read_facts(document, url=at, base=at, said=said)
        for each in raw:
            target = resolve_link(each.href, at)
            address = target.url if target is not None else each.href
            links.append(PageLink(address, each.text, each.rel, PageRegion(each.region), FOLLOWED))
    page = AuditedPage(
        url=url,
        status=response.status,
        error=f"http_{response.status}" if response.status >= 400 else None,
        depth=depth,
        final_url=at,
        content_type=response.header("content-type"),
        headers=response.headers,
        hops=tuple(hops),
        first_byte_ms=response.first_byte_ms,
        elapsed_ms=sum(hop.elapsed_ms for hop in hops),
        wire_bytes=len(response.wire),
        body_bytes=len(response.body),
        facts=facts,
    )
    return page, links


def _get(url: str) -> _Response | None:
    parts = urlsplit(url)
    assert parts.hostname == "127.0.0.1"
    port = parts.port or 80
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=str(AUTHORITY))
        connection = http.client.HTTPSConnection(parts.hostname, port, timeout=60, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, port, timeout=60)
    try:
        begun = time.monotonic()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", "User-Agent": _AGENT})
        response = connection.getresponse()
        first_byte_ms = (time.monotonic() - begun) * 1000
        headers = tuple((name.lower(), value) for name, value in response.getheaders())
        return _Response(response.status, headers, response.read(), first_byte_ms)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
