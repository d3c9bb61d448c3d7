"""Response schemas of decisions: seeds, takedowns, evidence, why a URL was or was not fetched, robots verdicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.robots import Confidence
from comity.run.remedies import worded

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.operate.seeds import SeedReport
    from comity.operate.takedown import StoredTakedown, TakedownReport
    from comity.rules.canonical import WebAddress
    from comity.rules.robots.verdict import RobotsFile
    from comity.walk.robots.record import RobotsInForce


class SeedsAdded(Schema):
    """The result of adding seeds."""

    seeds_read: int
    hosts_given: int = Field(description="Hosts named by the seeds.")
    hosts_new: int
    urls_queued: int
    taken_down: list[str] = Field(description="Hosts and URLs that were skipped because they are taken down.")


def seeds_added(report: SeedReport, *, seeds_read: int) -> SeedsAdded:
    """The result of adding seeds."""
    return SeedsAdded(
        seeds_read=seeds_read,
        hosts_given=report.hosts_given,
        hosts_new=report.hosts_new,
        urls_queued=report.urls_queued,
        taken_down=list(report.taken_down),
    )


class TakedownView(Schema):
    """A host or URL that is never fetched, queued or served."""

    domain_or_url: str = Field(examples=["example.org/private"])
    reason: str | None
    created_at: Instant


class TakedownList(Schema):
    """One page of the takedowns, oldest first."""

    takedowns: list[TakedownView]
    total: int
    limit: int
    offset: int


class TakedownAdded(Schema):
    """The result of adding one takedown."""

    domain_or_url: str
    new: bool = Field(description="false: it was already taken down.")
    urls_dropped: int = Field(description="Queued URLs that were dropped.")
    postings_closed: int


class TakedownsAdded(Schema):
    """The result of adding takedowns."""

    takedowns: list[TakedownAdded]


class TakedownRemoved(Schema):
    """A host or URL that may be crawled again."""

    domain_or_url: str


def takedown_view(stored: StoredTakedown) -> TakedownView:
    """One stored takedown."""
    return TakedownView(domain_or_url=stored.entry, reason=stored.reason, created_at=stored.created_at)


def takedown_added(report: TakedownReport) -> TakedownAdded:
    """The result of adding one takedown."""
    return TakedownAdded(
        domain_or_url=report.entry,
        new=report.is_new,
        urls_dropped=report.urls_dropped,
        postings_closed=report.postings_closed,
    )


class EvidenceView(Schema):
    """A stored decision about a URL, with its reason."""

    url: str
    type: str = Field(examples=["blocked_by_robots"])
    content: dict[str, Any]
    metadata: dict[str, Any] | None
    confidence: str
    created_at: Instant
    run_id: UUID | None


class EvidenceList(Schema):
    """One page of stored decisions, newest first."""

    evidence: list[EvidenceView]
    limit: int
    offset: int
    has_more: bool


class WhyStep(Schema):
    """One event in the history of a URL, or one fact about it now."""

    at: Instant | None = Field(description="null: the fact applies now.")
    what: str = Field(examples=["found"])
    sentence: str


class WhyView(Schema):
    """The last decision about a URL, its history, and what would change it."""

    url: str
    host: str
    code: str = Field(examples=["robots_denied"])
    decision: str
    chain: list[WhyStep] = Field(description="From discovery to now.")
    remedy: str
    would_be_fetched: bool = Field(description="Whether the next crawl of the host is expected to fetch the URL.")


def why_view(state: State, address: WebAddress) -> WhyView:
    """Explain a URL from stored state; no request goes to the site."""
    return WhyView.model_validate(asdict(worded(state.why(address))))


class VerdictView(Schema):
    """Whether robots.txt allows a URL, with the deciding line."""

    allowed: bool
    reason: str
    rule: str | None
    line_number: int | None
    agent: str | None
    agent_line_number: int | None
    crawl_delay_seconds: float | None
    confidence: Confidence


class RobotsVerdictView(Schema):
    """The robots.txt of an origin, and its verdict on one URL."""

    origin: str
    url: str
    agent: str
    read: str = Field(description="The outcome of fetching the file.")
    http_status: int | None
    version: str | None
    crawl_delay_s: float | None
    sitemaps: list[str]
    disallow: list[str]
    verdict: VerdictView


def robots_verdict_view(found: RobotsInForce, address: WebAddress, agent: str) -> RobotsVerdictView:
    """Judge one URL for one crawler."""
    file: RobotsFile | None = found.file
    verdict = file.verdict(agent, address.path) if file is not None else found.verdict(address.path)
    return RobotsVerdictView(
        origin=found.origin,
        url=address.url,
        agent=agent,
        read=found.reading.reason,
        http_status=found.reading.http_status,
        version=found.version,
        crawl_delay_s=verdict.crawl_delay_seconds,
        sitemaps=list(file.sitemaps) if file is not None else [],
        disallow=list(file.for_agent(agent).disallowed()) if file is not None else [],
        verdict=VerdictView.model_validate(verdict),
    )
