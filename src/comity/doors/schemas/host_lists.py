"""Response schemas of lists of one host: requests, visits, URLs, moves and decisions; and what actions on it did."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.doors.schemas.decisions import EvidenceView
from comity.model.host import HostStatus

_NEXT = "The value of `after` for the next page; null: this is the last one."
_WHOLE = "false: the filter was applied to a part of the rows; the next page continues after them."


class RequestView(Schema):
    """A request to a host, from the politeness ledger."""

    number: int = Field(description="Its place among the requests to the host.")
    url: str
    purpose: str = Field(examples=["page"])
    started_at: Instant
    ended_at: Instant
    status: int | None
    delay_s: float = Field(description="The time between requests that was in force.")
    delay_source: str = Field(description="What set the delay.", examples=["robots"])
    max_concurrency: int
    allowed_at: Instant | None = Field(
        description="The earliest moment at which it was allowed to start; null if nothing came before it."
    )
    held_by: str | None = Field(description="What it had to wait for: delay, pause or concurrency.")
    is_early: bool = Field(description="Whether it started before it was allowed to.")
    blocked_until: Instant | None = Field(description="The end of the pause that the answer asked for.")
    rule: str | None = Field(description="The line of robots.txt that decided.")
    rule_line: int | None


class RequestList(Schema):
    """One page of the requests to a host, newest first."""

    requests: list[RequestView]
    limit: int
    next: str | None = Field(description=_NEXT)


class FetchView(Schema):
    """One visit of a page."""

    id: int
    page_url: str
    final_url: str | None
    redirect_count: int
    outcome: str = Field(examples=["fetched"])
    status: int | None
    error: str | None
    content_type: str | None
    bytes_received: int
    duration_ms: int | None
    depth: int
    crawled_at: Instant
    discovery_type: str
    run_id: UUID | None


class FetchList(Schema):
    """One page of the visits of a host's pages, newest first."""

    fetches: list[FetchView]
    limit: int
    next: str | None = Field(description=_NEXT)
    is_whole: bool = Field(description=_WHOLE)


class UrlView(Schema):
    """A URL of a host's frontier. With a frontier in Redis, only the URL and its state are known."""

    url: str
    state: str
    depth: int | None
    priority: int | None
    attempts: int | None
    not_before: Instant | None
    discovered_at: Instant | None


class UrlList(Schema):
    """One page of the URLs of a host in one state."""

    urls: list[UrlView]
    limit: int
    next: str | None = Field(description=_NEXT)
    is_whole: bool = Field(description=_WHOLE)


class MoveView(Schema):
    """A change of a host's status."""

    moved_at: Instant
    from_status: str
    to_status: str
    reason_code: str | None
    reason: str | None
    holder: str | None = Field(description="The worker that held the lease.")


class MoveList(Schema):
    """One page of the changes of a host's status, newest first."""

    moves: list[MoveView]
    limit: int
    next: str | None = Field(description=_NEXT)


class EvidencePage(Schema):
    """One page of the decisions about the URLs of a host, newest first."""

    evidence: list[EvidenceView]
    limit: int
    next: str | None = Field(description=_NEXT)
    is_whole: bool = Field(description=_WHOLE)


class ResetView(Schema):
    """The result of a reset."""

    host: str
    before: HostStatus
    after: HostStatus
    urls_requeued: int


class CooldownView(Schema):
    """A host that is not crawled for a while."""

    host: str
    until: Instant
