"""Schemas of runs (crawls, audits, queries and source runs): their results, progress, and events of `--json-lines`.

Tests check the lines against these schemas.
"""

from __future__ import annotations

from typing import Any, Literal
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
    reason: str | None = Field(description="The reason as a sentence, or null.")
    seconds: float = Field(description="How long the run held the host.")
    next_run_at: Instant | None
    code: str = Field(description="The end reason; see endings.md.")
    too_deep: int = Field(description="Queued links that are deeper than the depth limit.")
    pages_in_all: int | None = Field(
        description="Pages of this and earlier runs, each URL once; null in events before the summary."
    )


class FaultView(Schema):
    """Errors of one kind."""

    code: str
    count: int
    urls: list[str] = Field(description="The first URLs with this error.")


class IdleView(Schema):
    """A host that was requested but not crawled."""

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
    taken_down: list[str] = Field(description="Seeds that were skipped because they are taken down.")
    state: str
    pages: str = Field(description="Where the pages are stored.")
    pages_are_parts: bool


class WorkerRun(Schema):
    """A run of a worker."""

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
    first: str | None = Field(description="The first of these links; null for links that were already known.")


class PageEvent(Schema):
    """A page was fetched, or has not changed, and is committed."""

    event: Literal["page"]
    at: Instant = Field(description="When its first request started.")
    url: str
    host: str
    outcome: Literal["fetched", "not_modified", "image"]
    depth: int = Field(description="Links from a seed.")
    status: int
    ms: float
    bytes: int = Field(description="Bytes received over the network, before decompression.")
    content_type: str | None
    redirected_to: str | None
    attempt: int
    links_found: int | None
    links_new: int | None = Field(description="How many of these links were queued.")
    left_out: dict[str, LeftOutView] | None = Field(None, description="Why other links were left out; only with -vv.")


class ErrorEvent(Schema):
    """A request failed, or its response cannot be used. It may be retried."""

    event: Literal["error"]
    at: Instant
    url: str
    host: str
    outcome: Literal["gone", "rate_limited", "rejected", "failed"]
    depth: int
    code: str = Field(description="The error code, as in `fetches.error`: http_404, dns, timeout …")
    reason: str
    status: int | None
    ms: float | None
    bytes: int | None
    content_type: str | None
    redirected_to: str | None
    attempt: int


class RefusedEvent(Schema):
    """A queued URL was not requested, because of robots.txt, a takedown or an address that is not public."""

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
    """A warning."""

    event: Literal["warning"]
    at: Instant
    message: str


class HostEvent(CrawledHost):
    """A host was released; its pages are all above."""

    event: Literal["host"]
    at: Instant


class RunEvent(WorkerRun):
    """A run of a worker ended; only from `comity work`, which writes no summary."""

    event: Literal["run"]
    at: Instant


class SummaryEvent(CrawlResult):
    """The crawl ended: the same document as --json, and always the last line."""

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


class RunView(Schema):
    """One run."""

    id: UUID
    door: str = Field(description="crawl, sources, audit or sql.")
    status: str = Field(description="running, finished, stopped or failed.")
    end_reason: str | None = Field(description="The code of its end; see endings.md.")
    ending: str | None = Field(description="How it ended, in a sentence.")
    started_at: Instant
    ended_at: Instant | None
    stop_requested_at: Instant | None
    pages_crawled: int
    pages_failed: int
    bytes_received: int
    seeds: list[str] = Field(description="What it was asked to crawl; empty if it took whatever was due.")
    can_stop: bool = Field(description="Whether it can be stopped here: it runs, and was started for its seeds.")


class RunList(Schema):
    """Runs, newest first."""

    runs: list[RunView]
    next: str | None = Field(description="The cursor of the next page; null on the last page.")


class HostLoadView(Schema):
    """What an open host of a run still has to do."""

    host: str
    queued: int
    delay_s: float
    latency_s: float | None
    blocked_s: float


class RunProgressView(Schema):
    """The counters of a run under way; only the server that runs it has them."""

    pages: int
    errors: int
    refused: int
    unchanged: int
    bytes_received: int
    links_found: int
    queued: int
    left_out: int
    hosts_active: int
    hosts_waiting: int
    hosts_blocked: int
    hosts_done: int
    warnings: list[str]
    faults: list[FaultView]
    hosts: list[HostLoadView] = Field(description="Open hosts, slowest first; at most 100.")


class RunHostView(Schema):
    """A host that a run was asked to crawl, as it is now."""

    host: str
    status: str
    block_reason: str | None
    queued: int
    next_crawl_after: Instant | None
    is_last_run: bool = Field(description="Whether this run was the last that crawled the host.")
    is_paused: bool = Field(description="Whether workers leave the host alone until this run is continued.")


class RunDetailView(RunView):
    """One run, with its hosts and its settings."""

    hosts: list[RunHostView]
    settings: dict[str, Any] = Field(description="The settings in force, without secrets.")
    progress: RunProgressView | None = Field(description="null if the run ended or belongs to another process.")


class RunStarted(Schema):
    """A run that was started; it continues in the background."""

    run_id: UUID
