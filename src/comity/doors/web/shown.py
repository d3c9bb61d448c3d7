"""What the routes answer: named columns only, in the names of the tables, times in UTC."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from comity.doors.shapes.base import Instant, Shape
from comity.model.job import ListingKind, SourceType
from comity.model.source import ScheduleName, SourceStatus


class Shown(Shape):
    """An answer, read from a value of the rooms."""


class SourceShown(Shown):
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
    empty_reads: int = Field(description="Runs in a row that found nothing.")
    change_statistics: dict[str, Any] | None = Field(description="What the adaptive schedule has learnt of it.")
    created_at: Instant | None
    updated_at: Instant | None


class SourceKept(SourceShown):
    """A source as it was just set."""

    notes: list[str] = Field(description="What is asked for in vain, such as a time window without a time zone.")


class SourcesShown(Shown):
    """A part of the table of sources."""

    sources: list[SourceShown]
    total: int = Field(description="How many there are in all.")
    limit: int
    offset: int


class RunQueued(Shown):
    """A run that was asked for; its result will be in the log."""

    source_id: UUID
    queued: bool = Field(description="false: it waits for its turn already.")


class DueQueued(Shown):
    """How many due sources will be run now."""

    queued: int = Field(examples=[3])


class PoolShown(Shown):
    """How many runs there may be at once."""

    at_once: int = Field(serialization_alias="global", examples=[3])


class LockShown(Shown):
    """A source that is being run."""

    source_id: UUID
    careers_url: str
    locked_at: Instant
    expires_at: Instant | None
    holder: str | None


class StatusShown(Shown):
    """How busy the crawl is."""

    running: bool = Field(description="Whether the scheduler runs in this process.")
    scheduler: bool = Field(description="Whether the settings let it run.")
    pool: PoolShown
    due_count: int = Field(description="Sources that are due, also those that are being run.")
    locked: int = Field(description="Sources that are being run, over all processes.")
    in_flight: int = Field(description="Runs under way in this process.")
    queued: int = Field(description="Runs that were asked for here and wait for their turn.")
    locks: list[LockShown]


class LogShown(Shown):
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
    next_run_reason: str | None = Field(description="Why then: the rule of the schedule, in a sentence.")


class LogsShown(Shown):
    """The latest runs, newest first."""

    logs: list[LogShown]


class RobotsShown(Shown):
    """The robots.txt of a host as it was last read."""

    host: str
    origin: str
    robots_txt: str | None
    fetched_at: Instant | None
    expires_at: Instant | None
    crawl_delay_ms: int | None
    disallow: list[str]
    access: str = Field(description="What reading it came to: parse, allow_all or disallow_all.")
    http_status: int | None
    detail: str | None
    other_origins: list[str] = Field(description="Other origins of the host whose file is known.")


class HeadShown(Shown):
    """What a site says about a page without sending it."""

    url: str
    final_url: str
    status: int
    size: int | None
    content_type: str | None
    etag: str | None
    last_modified: str | None
    elapsed_ms: int
    note: str | None = Field(description="What to know beside that, such as that scripts are not run.")


class JobShown(Shown):
    """A job posting as it would be kept."""

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


class SimulationShown(Shown):
    """What a run would find on the first page; nothing of it was stored."""

    careers_url: str
    kind: ListingKind | None = Field(description="null: the page could not be read.")
    found: int
    jobs: list[JobShown] = Field(description="The first three.")
    next_url: str | None
    message: str
    status: int | None


class PieceShown(Shown):
    """A stretch of text, and whether it is what was looked for; put together, the text as it is."""

    text: str
    is_match: bool


class PostingShown(Shown):
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


class HitShown(Shown):
    """A posting that was found, with what was looked for marked in it."""

    posting: PostingShown
    title: list[PieceShown]
    org_name: list[PieceShown]
    location: list[PieceShown]
    snippet: list[PieceShown]


class FacetShown(Shown):
    """How many of the postings found have a value."""

    value: str
    count: int


class SearchShown(Shown):
    """A part of what was found."""

    hits: list[HitShown]
    total: int = Field(description="How many there are in all.")
    facets: dict[str, list[FacetShown]]


class SessionShown(Shown):
    """Who asks: somebody who logged in, a program with a token, or anybody on this machine."""

    kind: Literal["session", "token", "open"]
    csrf_token: str | None = Field(description="To be sent as X-CSRF-Token with every change.")
    expires_at: Instant | None


class HealthShown(Shown):
    """Whether the server is well."""

    status: Literal["ok", "ready"]


def shown_list(kind: type[Any], values: Any) -> list[Any]:
    """Many values as answers."""
    return [kind.model_validate(value) for value in values]
