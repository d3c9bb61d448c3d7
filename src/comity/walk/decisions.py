"""Decisions about URLs as they are kept: evidence of what was said, by whom, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from comity.model.evidence import Evidence, EvidenceType
from comity.model.robots import RobotsVerdict
from comity.model.traps import TrapRefusal
from comity.rules.canonical import WebAddress
from comity.walk.leased_host import LeasedHost

_TRAPS_KEPT: Final = 100  # of one kind on one host: a trap has no end, and its evidence needs one


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


def is_worth_keeping(trap: TrapRefusal) -> bool:
    """Whether this is among the first of its kind on its host."""
    return trap.number <= _TRAPS_KEPT


def trap_evidence(host: LeasedHost, address: WebAddress, trap: TrapRefusal, now: float) -> Evidence:
    """That a link looks like one of endlessly many."""
    return Evidence(
        host_id=host.lease.host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.TRAP,
        content={"code": str(trap.code), "reason": trap.reason, "pattern": trap.pattern},
        metadata={"url": address.url, "code": str(trap.code)},
        confidence="high",
        at=now,
    )
