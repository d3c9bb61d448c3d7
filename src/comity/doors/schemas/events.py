"""The result of a crawl, and the events of `--json-lines`. The lines are written by hand; tests hold them to this."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema


class CrawledHost(Schema):
    """How one host ended."""

    host: str
    status: str = Field(description="A host status, or `lease lost`.")
    pages: int
    errors: int
    queued: int = Field(description="URLs still to visit.")
    reason: str | None = Field(description="The reason in words; null if there is nothing to say.")
    seconds: float = Field(description="How long the host was open.")
    next_run_at: Instant | None
    code: str = Field(description="The end reason; see endings.md.")
    too_deep: int = Field(description="Queued links that are deeper than the run follows.")


class FaultView(Schema):
    """Errors of one kind."""

    code: str
    count: int
    urls: list[str] = Field(description="The first of them.")


class IdleView(Schema):
    """A host that was named and not crawled."""

    host: str
    why: str
    due_at: Instant | None
    remedy: str
    code: str


class RunSummaryView(Schema):
    """How a run ended."""

    run_id: UUID
    status: Literal["finished", "stopped", "failed"]
    code: str = Field(description="The end reason; see endings.md.")
    reason: str
    pages: int
    errors: int
    refused: int
    bytes_received: int
    seconds: float
    hosts: list[CrawledHost]
    warnings: list[str]
    unchanged: int
    images_found: int
    images_stored: int
    images_failed: int
    endings: dict[str, int] = Field(description="How many hosts ended for each reason.")
    faults: list[FaultView] = Field(description="Errors by kind, the most frequent first.")


class CrawlResult(Schema):
    """The result of a crawl."""

    summary: RunSummaryView
    idle: list[IdleView]
    taken_down: list[str] = Field(description="Seeds that a takedown excludes.")
    state: str
    pages: str = Field(description="Where the pages are.")
    pages_are_parts: bool


class WorkerRun(Schema):
    """A run of a worker: one line each."""

    run_id: UUID
    status: str
    code: str
    reason: str
    pages: int
    unchanged: int
    errors: int
    refused: int
    bytes_received: int
    seconds: float
    hosts: int
    endings: dict[str, int]
    warnings: list[str]


class LeftOutView(Schema):
    """Links of a page that were left out for one reason."""

    links: int
    first: str | None = Field(description="The first of them; null for links that were met before.")


class PageEvent(Schema):
    """A page came, or has not changed, and is committed."""

    event: Literal["page"]
    at: Instant = Field(description="When its first request started.")
    url: str
    host: str
    outcome: Literal["fetched", "not_modified", "image"]
    depth: int = Field(description="Links from a seed.")
    status: int
    ms: float
    bytes: int = Field(description="Received, as they came over the wire.")
    content_type: str | None
    redirected_to: str | None
    attempt: int
    links_found: int | None
    links_new: int | None = Field(description="Of these, those that were queued.")
    left_out: dict[str, LeftOutView] | None = Field(None, description="Why other links were left out; only with -vv.")


class ErrorEvent(Schema):
    """A request failed, or its answer cannot be used. It may be tried again."""

    event: Literal["error"]
    at: Instant
    url: str
    host: str
    outcome: Literal["gone", "rate_limited", "rejected", "failed"]
    depth: int
    code: str = Field(description="As `fetches.error` begins: http_404, dns, timeout …")
    reason: str
    status: int | None
    ms: float | None
    bytes: int | None
    content_type: str | None
    redirected_to: str | None
    attempt: int


class RefusedEvent(Schema):
    """A queued URL was not requested: robots.txt, a takedown, an address that is not public."""

    event: Literal["refused"]
    at: Instant
    url: str
    host: str
    outcome: Literal["refused"]
    depth: int
    code: str
    reason: str


class WaitEvent(Schema):
    """A request waits for its host; only with -vv."""

    event: Literal["wait"]
    at: Instant
    host: str
    seconds: float
    reason: str = Field(description="delay, robots, policy, adaptive, retry_after or unclean_end.")


class WarningEvent(Schema):
    """Something to know."""

    event: Literal["warning"]
    at: Instant
    message: str


class HostEvent(CrawledHost):
    """A host was released; all its pages come before it."""

    event: Literal["host"]
    at: Instant


class RunEvent(WorkerRun):
    """A run of a worker ended; only from `comity work`, which writes no summary."""

    event: Literal["run"]
    at: Instant


class SummaryEvent(CrawlResult):
    """The crawl ended: the document of --json. The last line."""

    event: Literal["summary"]
    at: Instant


EVENTS = {
    "page": PageEvent,
    "error": ErrorEvent,
    "refused": RefusedEvent,
    "host": HostEvent,
    "wait": WaitEvent,
    "warning": WarningEvent,
    "run": RunEvent,
    "summary": SummaryEvent,
}
