"""What the rules hold grows with pages, not with links."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass, replace

from comity.model.audit import AuditedLink, AuditedPage
from comity.model.page import PageLink, PageRegion
from comity.rules.audit.findings import find
from tests.audit.memory import SITE, MemoryAudit, good_facts
from tests.sizes import sized

PAGES = sized(400, 10_000)
FACTS = good_facts("/")
MOST_BYTES_A_PAGE = 3_000  # 30 MB for 10,000 pages


def url_of(number: int) -> str:
    return f"{SITE}/section-{number % 10}/a-page-with-a-long-name-{number}"


@dataclass(slots=True)
class GeneratedAudit(MemoryAudit):
    """Pages and links that are made while they are read, as from a stored audit."""

    links_of_each: int = 10

    def pages(self) -> Iterable[AuditedPage]:
        for number in range(PAGES):
            url = url_of(number)
            facts = replace(
                FACTS,
                titles=(f"Title {url}",),
                descriptions=(f"Description of the page {url}, which is as long as they are",),
                canonicals=(url,),
                text_hash=f"{number:032x}",
                similarity=number * 0x9E3779B97F4A7C15 % 2**64,
            )
            # Every page has several faults.
            yield AuditedPage(
                url,
                200,
                final_url=url,
                headers=(("server", "x"),),
                first_byte_ms=5_000.0,
                body_bytes=9_000,
                facts=facts,
            )

    def links(self) -> Iterable[AuditedLink]:
        for number in range(PAGES):
            for further in range(self.links_of_each):
                to = url_of((number * 7 + further) % (PAGES + 100))
                yield AuditedLink(url_of(number), PageLink(to, "more", (), PageRegion.MAIN, "followed"))


def most_held(links_of_each: int) -> int:
    audit = GeneratedAudit(links_of_each=links_of_each)
    tracemalloc.start()
    try:
        find(audit)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_pages_and_not_with_links() -> None:
    few, many = most_held(2), most_held(sized(30, 100))
    assert many < few * 1.1
    assert many < PAGES * MOST_BYTES_A_PAGE
