"""Decisions: seeds that were added, takedowns, what is known of a URL, and what robots.txt means for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.robots import Confidence

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.operate.seeds import SeedReport
    from comity.operate.takedown import StoredTakedown, TakedownReport
    from comity.rules.canonical import WebAddress
    from comity.rules.robots.verdict import RobotsFile
    from comity.walk.robots.in_force import RobotsInForce


class SeedsAdded(Schema):
    """What became of a list of seeds."""

    seeds_read: int
    hosts_given: int = Field(description="Hosts that the seeds name.")
    hosts_new: int
    urls_queued: int
    taken_down: list[str] = Field(description="Hosts and URLs that were left out, since they are taken down.")


def seeds_shape(report: SeedReport, *, seeds_read: int) -> SeedsAdded:
    """What became of a list of seeds."""
    return SeedsAdded(
        seeds_read=seeds_read,
        hosts_given=report.hosts_given,
        hosts_new=report.hosts_new,
        urls_queued=report.urls_queued,
        taken_down=list(report.taken_down),
    )


class TakedownShown(Schema):
    """A host or URL that is never fetched, queued or served."""

    domain_or_url: str = Field(examples=["example.org/private"])
    reason: str | None
    created_at: Instant


class TakedownsShown(Schema):
    """A part of the takedowns, oldest first."""

    takedowns: list[TakedownShown]
    total: int
    limit: int
    offset: int


class TakedownAdded(Schema):
    """What adding a takedown did."""

    domain_or_url: str
    new: bool = Field(description="false: it was taken down already.")
    urls_dropped: int = Field(description="URLs that were queued, and are no more.")
    postings_closed: int


class TakedownsAdded(Schema):
    """What adding takedowns did."""

    takedowns: list[TakedownAdded]


class TakedownRemoved(Schema):
    """A host or URL that may be crawled again."""

    domain_or_url: str


def takedown_shape(stored: StoredTakedown) -> TakedownShown:
    """An entry as it stands."""
    return TakedownShown(domain_or_url=stored.entry, reason=stored.reason, created_at=stored.created_at)


def takedown_added(report: TakedownReport) -> TakedownAdded:
    """What adding one entry did."""
    return TakedownAdded(
        domain_or_url=report.entry,
        new=report.is_new,
        urls_dropped=report.urls_dropped,
        postings_closed=report.postings_closed,
    )


class EvidenceShown(Schema):
    """A stored decision about a URL, with what led to it."""

    url: str
    type: str = Field(examples=["blocked_by_robots"])
    content: dict[str, Any]
    metadata: dict[str, Any] | None
    confidence: str
    created_at: Instant
    run_id: UUID | None


class EvidencesShown(Schema):
    """Stored decisions, newest first."""

    evidence: list[EvidenceShown]
    limit: int
    offset: int
    has_more: bool


class WhyStep(Schema):
    """One thing that happened to a URL, or holds for it now."""

    at: Instant | None = Field(description="null: it holds now.")
    what: str = Field(examples=["found"])
    sentence: str


class WhyShown(Schema):
    """What decided about a URL last, how it came to that, and what would change it."""

    url: str
    host: str
    code: str = Field(examples=["robots_denied"])
    decision: str
    chain: list[WhyStep] = Field(description="From discovery to now.")
    remedy: str
    would_be_fetched: bool = Field(description="Whether the next crawl of the host fetches it, as far as is known.")


def why_shape(state: State, address: WebAddress) -> WhyShown:
    """Explain a URL; nothing is asked of the site."""
    return WhyShown.model_validate(asdict(state.why(address)))


class VerdictShown(Schema):
    """Whether robots.txt lets one URL be fetched, with the line that decided."""

    allowed: bool
    reason: str
    rule: str | None
    line_number: int | None
    agent: str | None
    agent_line_number: int | None
    crawl_delay_seconds: float | None
    confidence: Confidence


class RobotsVerdictShown(Schema):
    """What robots.txt of an origin says, and what it means for one page."""

    origin: str
    url: str
    agent: str
    read: str = Field(description="What reading the file came to.")
    http_status: int | None
    version: str | None
    crawl_delay_s: float | None
    sitemaps: list[str]
    disallow: list[str]
    verdict: VerdictShown


def robots_verdict_shape(found: RobotsInForce, address: WebAddress, agent: str) -> RobotsVerdictShown:
    """Decide for one page and one crawler."""
    file: RobotsFile | None = found.file
    verdict = file.verdict(agent, address.path) if file is not None else found.verdict(address.path)
    return RobotsVerdictShown(
        origin=found.origin,
        url=address.url,
        agent=agent,
        read=found.reading.reason,
        http_status=found.reading.http_status,
        version=found.version,
        crawl_delay_s=verdict.crawl_delay_seconds,
        sitemaps=list(file.sitemaps) if file is not None else [],
        disallow=list(file.for_agent(agent).disallowed()) if file is not None else [],
        verdict=VerdictShown.model_validate(verdict),
    )
