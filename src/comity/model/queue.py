"""The crawl service: policies that make jobs, bots that pull them and submit results, and grants for other crawlers."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.gate import DoorProfile

RETRY_BACKOFF_MINUTES: Final = 5
LARGEST_PULL: Final = 100
LONGEST_ERROR: Final = 4000
"""Characters of a job's `error_msg`."""
OWN_BOT: Final = "comity"
"""Who has the jobs that Comity's own worker does."""
QUEUE_PROFILE: Final = DoorProfile(interval_s=1.0, random_delay_s=None, max_concurrency=1)
"""The limits of bots and of crawlers with grants on one host, where neither operator nor robots.txt is stricter."""


class JobStatus(StrEnum):
    """The status of a job; `rules.job_transitions` says which changes are legal."""

    PENDING = "pending"
    LOCKED = "locked"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


class BotError(StrEnum):
    """The codes that a bot's request is answered with when it is refused (docs/bots.md)."""

    VALIDATION_ERROR = "validation_error"
    JOB_NOT_FOUND = "job_not_found"
    JOB_NOT_LOCKED = "job_not_locked"
    JOB_ALREADY_LOCKED = "job_already_locked"
    NOT_ASSIGNED = "not_assigned"
    LOCK_EXPIRED = "lock_expired"
    INTERNAL_ERROR = "internal_error"
    TAKEN_DOWN = "taken_down"


class SkipReason(StrEnum):
    """Why a pull skipped the jobs of a host, or a grant was refused."""

    LEASED = "leased"  # one of Comity's own workers talks to the host
    RESERVED = "reserved"  # another bot does
    BLOCKED = "blocked"  # the host asked to wait
    PARKED = "parked"  # the jobs of the host failed too often in a row
    TOO_SOON = "too_soon"  # its next slot is further away than a pull looks
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNKNOWN = "robots_unknown"  # robots.txt is being read
    TAKEN_DOWN = "taken_down"
    BAD_URL = "bad_url"  # not a web address, or one of another host


class PullLimit(StrEnum):
    """Why a bot gets no jobs, however many wait: its own limit, or its quarantine."""

    IN_HAND = "max_jobs_in_hand"
    PER_MINUTE = "max_jobs_per_minute"
    QUARANTINE = "quarantine"


class WebhookEvent(StrEnum):
    """What a webhook can be called for."""

    JOB_DONE = "job.done"
    JOB_FAILED = "job.failed"
    PRICE_CHANGED = "price.changed"
    BACK_IN_STOCK = "stock.back"


class Slot(NamedTuple):
    """A time at which one request to a host may start, in UNIX seconds: not before the first, not after the second.

    The slot after it begins one delay after `start_by`, so that whenever in its window a request starts, no two are
    closer than the delay.
    """

    not_before: float
    start_by: float
    delay_s: float
    delay_source: str


@dataclass(frozen=True, slots=True)
class PulledJob:
    """A job that a bot holds."""

    job_id: UUID
    policy_id: UUID | None
    url: str
    host: str
    priority: int
    retry_count: int
    max_retries: int
    lock_ttl_s: int
    locked_until: datetime
    slot: Slot
    crawl_config: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class PulledJobs:
    """The answer to a pull: the jobs, and how many others were considered and skipped, by reason."""

    jobs: tuple[PulledJob, ...]
    skipped: dict[SkipReason, int]
    retry_after_s: float | None = None
    """When a pull is likely to find something, where this one found nothing."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a bot reports of a job."""

    bot_id: str
    job_id: UUID
    success: bool
    price: Decimal | None = None
    currency: str | None = None
    title: str | None = None
    in_stock: bool | None = None
    parsed_data: dict[str, Any] | None = None
    raw_html: str | None = None
    error_msg: str | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    started_at: float | None = None
    """When the bot's request to the site started, if it says so; UNIX seconds."""


class BotRefused(Exception):
    """A bot's request that is refused, with one of these codes."""

    def __init__(self, code: BotError, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}


@dataclass(frozen=True, slots=True)
class KeptLocks:
    """The answer to a heartbeat: the jobs whose locks were kept, until when, and those that the bot does not hold."""

    kept: tuple[tuple[UUID, datetime], ...]
    lost: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ReleasedJobs:
    """The answer to a release: the jobs that were given back, and those that the bot does not hold."""

    released: tuple[UUID, ...]
    lost: tuple[UUID, ...]
