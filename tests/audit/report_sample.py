"""A bookshop with ordinary faults: the audit that tests of the report, and its screenshot, are made of."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from comity.model.audit import (
    AgentAccess,
    AgentRule,
    AuditedLink,
    AuditedPage,
    AuditedRobots,
    Finding,
    FindingCode,
    FoundOn,
    ListedUrl,
    RobotsDecision,
    Severity,
    SitemapFile,
)
from comity.model.page import PageLink, PageRegion
from tests.audit.memory import MemoryAudit, audit_info, good_facts

SHOP = "https://harbour.example"
ROBOTS = f"""# robots.txt of Harbour Books
User-agent: *
Disallow: /cart/
Disallow: /account/
Crawl-delay: 1

User-agent: GPTBot
User-agent: CCBot
Disallow: /

Sitemap: {SHOP}/sitemap.xml
"""
_FOLDERS = (
    "books/fiction/",
    "books/history/",
    "books/maps/",
    "journal/2025/",
    "journal/2026/",
    "authors/",
    "help/",
    "",
)
_WORDS = ("the-quiet-sea", "tides", "lighthouse", "rope", "salt", "north", "estuary")
STATUSES = (200, 404, 500, None)


def pages_of_shop(count: int) -> Iterator[AuditedPage]:
    """Pages of many kinds, the same at each call."""
    chance = random.Random(7)
    facts = good_facts("/")
    for number in range(count):
        url = f"{SHOP}/{chance.choice(_FOLDERS)}{chance.choice(_WORDS)}-{number}" if number else f"{SHOP}/"
        status = chance.choices(STATUSES, (88, 8, 2, 2))[0] if number else 200
        error = None if status == 200 else f"http_{status}" if status else "blocked_by_robots: Disallow: /cart/"
        yield AuditedPage(
            url=url,
            status=status,
            error=error,
            depth=min(int(chance.expovariate(0.5)), 12) if number else 0,
            elapsed_ms=chance.lognormvariate(5.6, 0.8) if status else None,
            body_bytes=int(chance.lognormvariate(10.6, 1)),
            facts=facts if status == 200 else None,
        )


class ShopAudit:
    """An audit of any size that holds none of its pages."""

    def __init__(self, size: int, links_each: int = 3) -> None:
        self.size, self.links_each = size, links_each
        self.info = audit_info(site=f"{SHOP}/", pages=size, requests=size + 20)

    def pages(self) -> Iterator[AuditedPage]:
        return pages_of_shop(self.size)

    def links(self) -> Iterator[AuditedLink]:
        for page in self.pages():
            for number in range(self.links_each):
                yield AuditedLink(page.url, PageLink(f"{SHOP}/l{number}", "More", (), PageRegion.MAIN, "followed"))

    def outcomes(self) -> dict[str, int]:
        return {"followed": self.size * self.links_each}

    def robots(self) -> Sequence[AuditedRobots]:
        return [AuditedRobots(SHOP, 200, ROBOTS, "robots.txt answered 200: its rules apply")]

    def sitemaps(self) -> Sequence[SitemapFile]:
        return [SitemapFile(f"{SHOP}/sitemap.xml", "read", self.size)]

    def listed(self) -> Iterator[ListedUrl]:
        return (ListedUrl(page.url, f"{SHOP}/sitemap.xml") for page in self.pages())

    def decisions(self) -> Iterator[RobotsDecision]:
        for number in range(3):
            yield RobotsDecision(
                f"{SHOP}/cart/{number}", False, "Disallow: /cart/", 3, 1.0, "2026-01-05T09:00:00Z", "high"
            )
        for page in self.pages():
            yield RobotsDecision(page.url, True, None, None, 1.0, "2026-01-05T09:00:01Z", "high")


def every_finding(urls: Sequence[str], each: int) -> list[Finding]:
    """A finding of every code, each on so many pages, every one with twenty pages that hold it."""
    severities = list(Severity)
    return [
        Finding(
            code=code,
            severity=severities[number % 3],
            title=code.replace("_", " ").capitalize(),
            meaning="What it means to visitors and search engines.",
            remedy="What to do about it.",
            pages=tuple(FoundOn(urls[at % len(urls)], "what is wrong there", tuple(urls[:20])) for at in range(each)),
        )
        for number, code in enumerate(FindingCode)
    ]


def agents_of_shop(robots: Sequence[AuditedRobots], sections: Sequence[str]) -> list[AgentAccess]:
    """Two agents: one may read everything, the other nothing."""
    allowed = dict.fromkeys(sections, AgentRule(True, None, None))
    denied = dict.fromkeys(sections, AgentRule(False, 9, "Disallow: /"))
    return [
        AgentAccess("Googlebot", "Google", "search", allowed),
        AgentAccess("GPTBot", "OpenAI", "AI training", denied),
    ]


def hostile_audit(text: str) -> MemoryAudit:
    """An audit in which everything that comes from the site is this text."""
    address = f"{SHOP}/{text}"
    page = replace(next(pages_of_shop(1)), url=address, error=text, status=404)
    return MemoryAudit(
        pages_=[page, replace(page, url=text)],
        links_=[AuditedLink(text, PageLink(text, text, (text,), PageRegion.BODY, text))],
        robots_=[AuditedRobots(SHOP, 200, text, text)],
        sitemaps_=[SitemapFile(text, text, 1, text)],
        listed_=[ListedUrl(text, text)],
        decisions_=[RobotsDecision(text, False, text, 1, None, text, text)],
        info=audit_info(site=text, sentence=text, ended_by="page_limit", user_agent=text, audit_id=text, left=1),
    )
