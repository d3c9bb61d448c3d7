"""Why a URL was or was not fetched: what the state knows about it, and the answer.

`rules.why` turns `UrlFacts` into an `Explanation`; `reports.why` gathers the facts.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from comity.model.dataclass import dataclass
from comity.model.frontier import FoundBy
from comity.model.wording import Words


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The row of the URL's host."""

    name: str
    status: str
    is_seeded: bool
    seeded_by: str | None
    first_seen_at: datetime
    block_reason: str | None = None
    block_code: str | None = None
    blocked_at: datetime | None = None
    next_crawl_after: datetime | None = None
    holder: str | None = None
    """The current lease holder, if there is one."""
    held_until: datetime | None = None
    blocked_until: datetime | None = None
    """Until when the site itself wants no requests (Retry-After)."""
    next_fetch_at: datetime | None = None
    unrecorded: int = 0
    """How many URLs were seen and not queued without a record."""
    is_paused: bool = False
    """Whether a crawl with its own limits, or one that was stopped, left the host to a person."""


@dataclass(frozen=True, slots=True)
class RobotsFacts:
    """What the stored robots.txt of the origin says of this URL."""

    allowed: bool
    reason: str
    is_unreadable: bool
    read_at: datetime | None
    expires_at: datetime | None
    crawl_delay_s: float | None
    failure: str | None = None
    """The `FailureKind` of a file that could not be fetched."""


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """The URL in its host's frontier."""

    state: str  # queued | done | dropped | too_deep
    depth: int
    attempts: int
    not_before: datetime | None
    found_by: FoundBy
    found_at: str | None
    """The page or sitemap that named it."""
    discovered_at: datetime | None
    is_image: bool = False


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """One row of `fetches`."""

    at: datetime
    outcome: str
    status: int | None
    error: str | None
    final_url: str | None
    content_type: str | None
    is_by_source: bool = False

    @property
    def code(self) -> str:
        """The code of what ended it, without the sentence."""
        return (self.error or "").partition(":")[0]

    @property
    def reason(self) -> str:
        """The sentence that was stored with it."""
        return (self.error or "").partition(": ")[2]


@dataclass(frozen=True, slots=True)
class DecisionFacts:
    """One row of `evidence`."""

    at: datetime
    type: str
    content: dict[str, Any]
    confidence: str = "high"

    @property
    def reason(self) -> str:
        """The text that led to it."""
        for key in ("reason", "said", "matchedRule"):
            value = self.content.get(key)
            if value:
                return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
        return ""


@dataclass(frozen=True, slots=True)
class SightingFacts:
    """The URL was seen and not queued."""

    at: datetime
    code: str
    found_by: FoundBy
    host: str
    """Whose page or sitemap named it."""
    found_at: str | None
    reason: str | None = None
    """What decided, where the code alone does not say it: the pattern."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The URL as an image of a page."""

    asked_at: datetime | None
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class SitemapFacts:
    """The URL as a sitemap file."""

    state: str
    status: int | None
    entries: int
    detail: str | None
    asked_at: datetime | None
    is_guess: bool
    is_index: bool = False


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The URL as a source's own, or as a later page of its listing."""

    careers_url: str
    status: str
    created_at: datetime | None
    last_run_at: datetime | None
    last_status: str | None
    message: str | None
    next_run_at: datetime | None
    next_run_reason: str | None
    holder: str | None
    """Who runs it now."""


@dataclass(frozen=True, slots=True)
class CrawlJobFacts:
    """The URL in the crawl service: its policy, and its last job."""

    since: datetime | None
    """When the policy was added; without one, the job."""
    is_enabled: bool | None
    """Whether the policy makes jobs; None without a policy."""
    next_run_at: datetime | None
    job_id: str | None = None
    """Of the last job; None if there was none."""
    status: str | None = None
    holder: str | None = None
    """The bot that has it locked."""
    held_until: datetime | None = None
    not_before: datetime | None = None
    finished_at: datetime | None = None
    error: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether a bot has the job, or may get it."""
        return self.status in ("pending", "locked", "expired")


@dataclass(frozen=True, slots=True)
class UrlFacts:
    """Everything that is known of one URL."""

    now: datetime
    url: str
    host_name: str
    path: str
    takedown: str | None = None
    host: HostFacts | None = None
    robots: RobotsFacts | None = None
    policy: str | None = None
    queue: QueueFacts | None = None
    visits: tuple[VisitFacts, ...] = ()
    """Oldest first, as all that follow."""
    decisions: tuple[DecisionFacts, ...] = ()
    sightings: tuple[SightingFacts, ...] = ()
    image: ImageFacts | None = None
    sitemap: SitemapFacts | None = None
    source: SourceFacts | None = None
    crawl_job: CrawlJobFacts | None = None
    budget: str | None = None
    """The budget that the last run of the host spent."""
    max_depth: int | None = None
    """How far the last run of the host followed links."""
    retry_limit: int = 5
    variants: tuple[str, ...] = ()
    """Variants of the URL that the host has."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The last decision, as a sentence; and what would change it."""

    code: str
    sentence: Words
    remedy: Words


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way from discovery to now; without a time it holds now."""

    at: datetime | None
    what: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to `comity why`."""

    url: str
    host: str
    code: str
    decision: Words
    chain: tuple[Step, ...]
    remedy: Words
    would_be_fetched: bool
    """Whether the next crawl of the host fetches it, as far as is known."""
