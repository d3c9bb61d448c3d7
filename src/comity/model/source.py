"""Sources: pages re-read on a schedule for job postings, what one run found, and how it ended."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.evidence import Evidence
from comity.model.job import JobFound, ListingKind, SourceType
from comity.model.ledger import LedgerRow
from comity.model.outcome import FetchRow

ROBOTS_DISALLOW = "robots disallow"
AUTO_PAUSED = "auto-paused after failures"


ORG_TYPES: Final = ("un", "igo", "mdb", "ingo", "ngo", "academic", "government", "foundation", "company", "other")
"""Kinds of organisations; un, ingo, ngo and academic have their own base frequencies."""


class SourceStatus(StrEnum):
    """Whether a source is read; only an active one is."""

    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    DELETED = "deleted"


class SourceBlock(StrEnum):
    """What blocked a source, unless an operator did."""

    TAKEN_DOWN = "taken_down"
    """Removing the takedown makes it active again."""
    ROBOTS_DENIED = "robots_denied"


class RunStatus(StrEnum):
    """How a run of a source ended; a run with `warn` is not believed as a whole."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class ScheduleName(StrEnum):
    """Which rules say when a source is read again."""

    S0 = "s0"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class Source:
    """One source as its row says."""

    id: UUID
    careers_url: str
    org_name: str | None = None
    source_type: SourceType = SourceType.HTML
    org_type: str | None = None
    status: SourceStatus = SourceStatus.ACTIVE
    crawl_frequency_days: int | None = 3
    next_run_at: datetime | None = None
    last_crawled_at: datetime | None = None
    last_crawl_status: str | None = None
    last_crawl_message: str | None = None
    consecutive_failures: int = 0
    consecutive_nochange: int = 0
    parser_hint: str | None = None
    time_window: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    country: str | None = None
    time_zone: str | None = None
    schedule: ScheduleName = ScheduleName.S0
    importance: float = 1.0
    change_statistics: dict[str, Any] | None = None
    last_found: int = 0
    empty_reads: int = 0


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page of a source as last believed: its validators for a conditional request, and its next page."""

    number: int
    url: str
    final_url: str
    etag: str | None
    last_modified: str | None
    next_url: str | None
    kind: ListingKind
    found: int


@dataclass(frozen=True, slots=True)
class PageRead:
    """One page of a listing in this run; `unchanged` names the known page that it still is."""

    number: int
    url: str
    final_url: str
    status: int
    kind: ListingKind
    jobs: tuple[JobFound, ...] = ()
    next_url: str | None = None
    message: str = ""
    etag: str | None = None
    last_modified: str | None = None
    unchanged: KnownPage | None = None
    is_elsewhere: bool = False  # it only embeds what the next one lists
    is_scripted: bool = False  # only its scripts would fill it

    @property
    def found(self) -> int:
        """How many postings are on it."""
        return self.unchanged.found if self.unchanged is not None else len(self.jobs)


class Trouble(StrEnum):
    """Why a page could not be read."""

    TAKEN_DOWN = "taken_down"
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    BUSY = "host_busy"
    ASKED_TO_WAIT = "asked_to_wait"  # the site asked to wait longer than a run does
    REFUSED = "refused"
    FAILED = "failed"
    NO_PAGES = "no_pages"
    CUT_OFF = "cut_off"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What kept a page from being read, in a sentence; `until` is when to retry, if that is known."""

    trouble: Trouble
    reason: str
    until: float | None = None
    status: int | None = None


@dataclass(slots=True)
class Reading:
    """What a run read of a source: pages in order, and what ended it if it was not the last page."""

    pages: list[PageRead] = field(default_factory=list)
    obstacle: Obstacle | None = None
    is_cut: bool = False  # the policy's pages were spent before the last one
    page_limit: int = 0
    requests: list[LedgerRow] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    fetches: list[FetchRow] = field(default_factory=list)
    host: str = ""
    wants_scripts: bool = False
    """Whether a policy on the way allows scripts, which are never run."""

    @property
    def is_whole(self) -> bool:
        """Whether the listing was read from its first page to its last."""
        return bool(self.pages) and self.obstacle is None and not self.is_cut

    @property
    def found(self) -> int:
        """Postings on all pages, those on unchanged ones included."""
        return sum(page.found for page in self.pages)

    @property
    def is_unchanged(self) -> bool:
        """Whether every page returned 304."""
        return bool(self.pages) and all(page.unchanged is not None for page in self.pages)


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a reading: what of it is stored, and what it says about the source."""

    status: RunStatus
    message: str
    stores: bool = False
    """Whether the postings found are kept."""
    closes: bool = False
    """Whether postings that are no longer listed are closed."""
    is_failure: bool = False
    """Whether it counts towards the circuit breaker."""
    counts_as_visit: bool = True
    """Whether it says anything about how often the page changes."""
    last_found: int = 0
    empty_reads: int = 0
    becomes: SourceStatus | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run changed."""

    found: int = 0
    inserted: int = 0
    updated: int = 0
    skipped: int = 0
    closed: int = 0


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One finished run of a source."""

    source_id: UUID
    careers_url: str
    status: RunStatus
    message: str
    counts: Counts
    pages: int
    duration_ms: int
    next_run_at: datetime | None
    source_status: SourceStatus
    host: str = ""
    next_run_reason: str = ""


class NotRun(StrEnum):
    """Why a source was not run."""

    LOCKED = "locked"
    NOT_DUE = "not_due"
    BUSY = "host_busy"
    OUTSIDE_WINDOW = "outside_window"
    LOST = "lost"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class SourceSkipped:
    """A source that was skipped this time; nothing was logged."""

    source_id: UUID
    why: NotRun
    reason: str


@dataclass(frozen=True, slots=True)
class HeadRead:
    """The answer to a HEAD request."""

    url: str
    final_url: str
    status: int
    size: int | None
    content_type: str | None
    etag: str | None
    last_modified: str | None
    elapsed_ms: int
    note: str | None = None
    """What a reader of the page should know beside that."""
