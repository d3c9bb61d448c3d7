"""Response schemas of runs: crawls, audits, queries and source runs, and the progress of those under way."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.doors.schemas.events import FaultView


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
    hosts: list[HostLoadView] = Field(description="Open hosts, those that need longest first; at most 100.")


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
    """A run that was started; it goes on in the background."""

    run_id: UUID
