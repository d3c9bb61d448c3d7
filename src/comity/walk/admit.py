"""Admit: what a page links to becomes frontier entries, or evidence of why not.

Canonical form, scope, takedown and robots are asked in that order, cheapest first; a link that was met on this
host before costs one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import FrontierEntry
from comity.model.page import Link
from comity.model.robots import RobotsVerdict
from comity.model.scope import CrawlScope
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.takedown import Takedowns
from comity.walk.leased_host import LeasedHost

_WITHOUT_PATH = ("/", "http://", "https://")
_REMEMBERED = 100_000  # links as written


def admit_links(
    host: LeasedHost,
    links: Iterable[Link],
    *,
    base: str,
    depth: int,
    scope: CrawlScope,
    takedowns: Takedowns,
    now: float,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Turn the links of a page at `depth - 1` into entries for the frontier of the same host."""
    entries: list[FrontierEntry] = []
    refused: list[Evidence] = []
    if not scope.follow_links or depth > scope.max_depth:
        return entries, refused
    met = host.met.setdefault(base[: base.index("/", 8)], set())
    if len(met) > _REMEMBERED:
        met.clear()
    for link in links:
        if link.nofollow and scope.respect_nofollow:
            continue
        href = link.href
        # What does not depend on the page's own path and was met before needs no second look.
        if href.startswith(_WITHOUT_PATH):
            if href in met:
                continue
            met.add(href)
        address = resolve_link(href, base, collapse=scope.collapse_subdomains)
        if address is None or address.host != host.name or host.work.is_met(address.key):
            continue
        entry = takedowns.covering(address)
        if entry is not None:
            refused.append(taken_down(host, address, entry, now))
            continue
        robots = host.robots.get(address.origin)
        verdict = robots.verdict(address.path) if robots is not None else None
        if verdict is not None and not verdict.allowed:
            host.tally.refused_by_robots += 1
            refused.append(robots_evidence(host, address, verdict, now))
            continue
        entries.append(FrontierEntry(address.url, address.key, depth))
    return entries, refused


def robots_evidence(host: LeasedHost, address: WebAddress, verdict: RobotsVerdict, now: float) -> Evidence:
    """What robots.txt said about a URL, in the two forms in which audits read it."""
    decision = {
        "allowed": verdict.allowed,
        "matchedRule": verdict.rule,
        "crawlDelay": verdict.crawl_delay_seconds,
    }
    return Evidence(
        host_id=host.lease.host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.ROBOTS_ALLOWED if verdict.allowed else EvidenceType.BLOCKED_BY_ROBOTS,
        content=decision | {"timestamp": iso_time(now), "line": verdict.line_number, "reason": verdict.reason},
        metadata={"url": address.url} | decision,
        confidence=str(verdict.confidence),
        at=now,
    )


def iso_time(seconds: float) -> str:
    """UNIX seconds as evidence shows them: ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def taken_down(host: LeasedHost, address: WebAddress, entry: str, now: float) -> Evidence:
    """That a URL is covered by a takedown."""
    return Evidence(
        host_id=host.lease.host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.TAKEN_DOWN,
        content={"entry": entry, "reason": f"taken down: {entry}"},
        metadata={"url": address.url, "entry": entry},
        confidence="high",
        at=now,
    )
