"""Response schemas of sources, their runs, what test runs find, and search results.

Fields are listed one by one, under the names of the columns, so that a new column is not published by accident.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.job import ListingKind, SourceType
from comity.model.source import ScheduleName, SourceStatus
from comity.model.source_import import ImportResult
from comity.rules.next_run import NextRunOrigin


class SourceView(Schema):
    """A source."""

    id: UUID
    org_name: str | None
    careers_url: str
    source_type: SourceType
    org_type: str | None
    status: SourceStatus
    crawl_frequency_days: int | None
    next_run_at: Instant | None
    last_crawled_at: Instant | None
    last_crawl_status: str | None
    last_crawl_message: str | None
    consecutive_failures: int
    consecutive_nochange: int
    parser_hint: str | None
    time_window: str | None
    country: str | None
    time_zone: str | None
    schedule: ScheduleName
    importance: float
    last_found: int
    empty_reads: int = Field(description="Consecutive runs that found nothing.")
    change_statistics: dict[str, Any] | None = Field(
        description="What the adaptive schedule has learned about the source."
    )
    created_at: Instant | None
    updated_at: Instant | None


class NextRunView(Schema):
    """When a source runs next, and why."""

    next_run_at: Instant | None = Field(description="null: as soon as possible, or never while it is not active.")
    is_due: bool
    origin: NextRunOrigin = Field(description="What decided: the schedule, an operator, or that it is new.")
    reason: str
    planned_at: Instant | None = Field(description="The end of the run after which the schedule decided.")


class HintCheckView(Schema):
    """Whether a parser hint can be used."""

    is_valid: bool
    problem: str | None = Field(description="What is wrong with it, in one sentence.")


class BulkItemView(Schema):
    """What became of one source of a bulk action."""

    id: UUID
    is_done: bool
    reason: str | None = Field(description="Why nothing was done.")


class BulkReportView(Schema):
    """What became of each source of a bulk action, in the order of the request."""

    done: int
    sources: list[BulkItemView]


class SavedSourceView(SourceView):
    """A source after a change."""

    notes: list[str] = Field(description="Settings that have no effect, such as a time window without a time zone.")


class SourceList(Schema):
    """One page of the sources."""

    sources: list[SourceView]
    total: int = Field(description="The number of all matches, not only those on this page.")
    limit: int
    offset: int


class ImportedRowView(Schema):
    """The result for one row of an imported list."""

    row: int = Field(description="The number of the row, from 1, without the header.")
    line: int | None = Field(description="The line on which the row starts; null in a JSON list.")
    careers_url: str
    result: ImportResult
    field: str | None = Field(description="The invalid column.")
    reason: str | None = Field(description="Why the row was refused, or which columns were changed or differ.")
    source_id: UUID | None


class SourceImportView(Schema):
    """The result of importing a list of sources."""

    rows: list[ImportedRowView]
    is_written: bool = Field(
        serialization_alias="written",
        description="false: nothing was changed, because it was a dry run or because a row was refused.",
    )
    is_dry_run: bool = Field(serialization_alias="dry_run")
    counts: dict[str, int] = Field(description="The number of rows with each result.", examples=[{"added": 12}])
    ignored_columns: list[str] = Field(description="Columns in the list that sources do not have.")


class RunQueued(Schema):
    """A requested run; its result will be in the log."""

    source_id: UUID
    queued: bool = Field(description="false: a run of this source is already queued.")


class DueQueued(Schema):
    """The number of due sources that were queued."""

    queued: int = Field(examples=[3])


class PoolView(Schema):
    """The size of the pool that runs sources."""

    at_once: int = Field(serialization_alias="global", examples=[3])


class LockView(Schema):
    """The lock of a source that is running."""

    source_id: UUID
    careers_url: str
    locked_at: Instant
    expires_at: Instant | None
    holder: str | None


class SourcesStatusView(Schema):
    """The status of source runs."""

    running: bool = Field(description="Whether the scheduler is running in this process.")
    scheduler: bool = Field(description="Whether the settings enable the scheduler.")
    pool: PoolView
    due_count: int = Field(description="Sources that are due, including those that are running.")
    locked: int = Field(description="Sources that are running, in all processes.")
    in_flight: int = Field(description="Runs in progress in this process.")
    queued: int = Field(description="Runs queued in this process.")
    locks: list[LockView]


class SourceRunView(Schema):
    """One run of a source."""

    id: UUID
    source_id: UUID
    careers_url: str
    org_name: str | None
    ran_at: Instant
    duration_ms: int | None
    found: int | None
    inserted: int | None
    updated: int | None
    skipped: int | None
    closed: int
    pages: int
    status: str | None = Field(description="ok, warn or fail.")
    message: str | None
    next_run_at: Instant | None
    next_run_reason: str | None = Field(
        description="Why the next run is at that time: the rule of the schedule, in one sentence."
    )


class SourceRunList(Schema):
    """The latest source runs, newest first."""

    logs: list[SourceRunView]


class DueList(Schema):
    """Sources that are due and not running, in the order in which they will run."""

    sources: list[SourceView]


class HeadView(Schema):
    """The response headers of a page, fetched without its body."""

    url: str
    final_url: str
    status: int
    size: int | None
    content_type: str | None
    etag: str | None
    last_modified: str | None
    elapsed_ms: int
    note: str | None = Field(description="A remark, for example that scripts are not run.")


class JobView(Schema):
    """A job posting as it would be stored."""

    canonical_hash: str
    title: str
    org_name: str
    apply_url: str
    location_raw: str
    description_snippet: str
    deadline: Instant | None
    posted_at: Instant | None
    city: str | None
    country_iso: str | None
    level_norm: str | None
    work_modality: str | None
    career_type: str | None
    international_eligible: bool | None
    mission_tags: list[str]
    language: str | None


class SimulationView(Schema):
    """What a run would find on the first page. Nothing was stored."""

    careers_url: str
    kind: ListingKind | None = Field(description="null: the page could not be read.")
    found: int
    jobs: list[JobView] = Field(description="The first three postings.")
    next_url: str | None
    message: str
    status: int | None


class PieceView(Schema):
    """A piece of text, and whether it matches the query. The pieces joined together are the whole text."""

    text: str
    is_match: bool


class PostingView(Schema):
    """A job posting."""

    id: UUID
    title: str
    org_name: str
    apply_url: str
    location_raw: str
    description_snippet: str
    first_seen_at: Instant
    source_id: UUID | None
    source_url: str | None
    deadline: Instant | None
    posted_at: Instant | None
    city: str | None
    country_iso: str | None
    level_norm: str | None
    work_modality: str | None
    career_type: str | None
    international_eligible: bool | None
    mission_tags: list[str]
    language: str | None
    closed_at: Instant | None
    description_text: str | None = Field(
        None, description="The whole description as the listing has it; null unless the full text was requested."
    )


class HitView(Schema):
    """A posting that matches the query, with the matches marked."""

    posting: PostingView
    title: list[PieceView]
    org_name: list[PieceView]
    location: list[PieceView]
    snippet: list[PieceView]


class FacetView(Schema):
    """The number of matching postings with one value."""

    value: str
    count: int


class SearchResults(Schema):
    """One page of the postings that match a query."""

    hits: list[HitView]
    total: int = Field(description="The number of all matches, not only those on this page.")
    facets: dict[str, list[FacetView]]
    next: str | None = Field(None, description="The cursor for the next page; null on the last page.")
