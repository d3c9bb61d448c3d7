"""Results of commands that have no HTTP route: one schema per command with `--json`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.doors.schemas.decisions import SeedsAdded
from comity.model.host import HostStatus


class HostReset(Schema):
    """A host that was reset."""

    domain: str
    status_before: HostStatus
    status: HostStatus
    urls_requeued: int


class HostMerge(Schema):
    """A host that was renamed or merged into another."""

    old: str
    new: str
    action: str = Field(description="renamed, folded or skipped.")
    detail: str | None
    done: bool = Field(description="false in a dry run, and for hosts that were skipped.")


class PrioritiesComputed(Schema):
    """Priorities that were recalculated."""

    hosts: int


class SkippedLine(Schema):
    """A seed that cannot be used."""

    line: int | None = None
    member: str | None = None
    reason: str


class SeedsLoaded(SeedsAdded):
    """Seeds from a list; `members_skipped` instead of `lines_skipped` if they come from Redis."""

    lines_skipped: int | None = None
    members_skipped: int | None = None
    skipped: list[SkippedLine]


class BackfillView(Schema):
    """What a backfill read, changed and skipped, and which counters disagree."""

    is_dry_run: bool
    is_resumed: bool
    fetches: dict[str, Any]
    provenance: dict[str, Any] | None
    provenance_lacks: str | None
    before: dict[str, int]
    after: dict[str, int]
    created: int
    raised: int
    unchanged: int
    left: dict[str, int] = Field(description="Hosts that were not changed, by reason.")
    left_hosts: list[dict[str, Any]]
    counters: list[dict[str, Any]]
    mismatches: list[dict[str, Any]]
    orphans: dict[str, int]
    backfilled: list[dict[str, Any]]


class HostAuditView(Schema):
    """The check of one host."""

    host: str
    requests: int
    violations: list[dict[str, Any]]
    remarks: list[str]
    digest: str = Field(description="The last digest of the hash chain, to compare later.")


class LedgerExportView(Schema):
    """The exported ledger."""

    file: str
    hosts: int
    requests: int
    digest: str


class PolitenessView(Schema):
    """The check of the politeness ledger."""

    requests: int
    hosts: int
    violations: int
    found: list[HostAuditView]
    export: LedgerExportView | None = Field(None, description="Only with --export.")


class SchemaAgeView(Schema):
    """The schema of the state."""

    revision: str | None
    head: str
    is_current: bool
    state: str
    revision_before: str | None = Field(None, description="Only after an upgrade or downgrade.")


class FrontierMoved(Schema):
    """Queued URLs that were moved."""

    urls_moved: int


class PageInList(Schema):
    """One page in a list."""

    url: str
    http_status: int | None
    content_type: str | None
    crawl_time: Instant
    title: str | None
    error: str | None


class PageBody(Schema):
    """The newest stored body of a page."""

    url: str
    content_type: str | None
    crawl_time: Instant
    body: str | None = Field(description="The body as text; null if it is not text.")
    body_bytes: str | None = Field(description="A body that is not text, as base64.")


class PagesExported(Schema):
    """Pages that were exported."""

    pages: int
    target: str
    in_segments: int = Field(description="Pages of running or interrupted crawls, which cannot be read yet.")


class PagesAnswer(Schema):
    """The result of a query."""

    rows: list[dict[str, Any]]
    in_segments: int
    parts_left_out: int = Field(description="Parts that are damaged or missing.")


class PartView(Schema):
    """A part: its manifest, and what was found."""

    part: str
    rows: int | None = None
    size: int | None = None
    digest: str | None = None
    first_crawl_time: str | None = None
    last_crawl_time: str | None = None
    run_ids: list[str] | None = None
    writer: str | None = None
    at: int | None = Field(None, description="Its offset in the file that it was appended to.")
    found: str = Field(description="whole, damaged, missing, unlisted, finishing or copy.")
    found_bytes: int
    reason: str | None


class PartsView(Schema):
    """The parts of a folder or file."""

    pages: str
    parts: list[PartView]
    is_sound: bool
    in_segments: int
    foreign: list[str]
    unnoted_bytes: int
    is_thorough: bool | None = Field(None, description="Only from `comity pages verify`.")


class PasswordHash(Schema):
    """The hash of a password."""

    admin_password_hash: str


class NewToken(Schema):
    """A new token, and its hash."""

    token: str
    admin_token_hash: str


class SearchStatusView(Schema):
    """What still has to be indexed."""

    engine: str
    pending: int
    failing: int
    oldest_at: Instant | None
    next_attempt_at: Instant | None
    last_error: str | None


class IndexRebuilt(Schema):
    """Postings that were indexed."""

    indexed: int
    removed: int
    postponed: int
    error: str | None


class SourceRunResult(Schema):
    """A run of a source."""

    source_id: UUID
    careers_url: str
    status: str
    message: str
    pages: int
    duration_ms: int
    next_run_at: Instant | None
    source_status: str
    host: str
    next_run_reason: str
    found: int
    inserted: int
    updated: int
    skipped: int
    closed: int


class SourceNotRun(Schema):
    """A source that was not run."""

    source_id: UUID
    why: str
    reason: str


class DueSourcesRun(Schema):
    """The sources that were due."""

    queued: int
    runs: list[SourceRunResult]
    skipped: list[SourceNotRun]


class ScheduleResult(Schema):
    """One schedule in a simulation."""

    schedule: str
    visits: int
    budget_used: float
    is_within_budget: bool
    stretch: float
    changes: int
    mean_delay_days: float
    delay_gain: float
    slowest_tenth_days: float
    freshness: float
    stalest_tenth: float


class ScheduleComparison(Schema):
    """Schedules compared on known changes; `sweep` has one for each budget, with --plot."""

    world: dict[str, Any]
    visits_per_day: float
    limits: dict[str, Any]
    schedules: list[ScheduleResult]
    aim: dict[str, Any]
    sweep: list[dict[str, Any]] | None = None


class CrawlStatementResult(Schema):
    """The row that a CRAWL statement returns."""

    pages: int
    errors: int
    refused: int = Field(description="URLs that were not requested, for example because of robots.txt.")
    left_out: int = Field(description="URLs that the filter left out, or that the table has.")
    not_addresses: int = Field(description="Values of the query that are not URLs.")
    ended_by: str = Field(description="A code of endings.md.")
    hosts_left: int = Field(description="Hosts with URLs that the same statement will visit.")
