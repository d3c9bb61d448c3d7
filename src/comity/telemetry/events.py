"""Every event that is logged, with its fields. `docs/observability.md` has this table."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from comity.model.dataclass import dataclass


class Level(IntEnum):
    """The level of an event; the numbers are those of the standard library."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of line."""

    name: str
    level: Level
    text: str
    fields: tuple[str, ...] = ()


# Every line has these.
COMMON: Final = {
    "at": "when, in UTC",
    "level": "debug, info, warning or error",
    "event": "one of the names below",
    "process": "the number of the process",
    "message": "the same as a sentence",
}
WORKER_STARTED: Final = Event(
    "worker_started", Level.INFO, "A worker started.", ("version", "state", "pages_to", "concurrency")
)
SETTINGS_DOUBTED: Final = Event(
    "settings_doubted", Level.WARNING, "A variable is not a known setting, or requests carry no contact."
)
WORKER_ENDED: Final = Event("worker_ended", Level.INFO, "A worker ended and released its hosts.", ("runs", "seconds"))
WORKER_LEFT: Final = Event(
    "worker_left",
    Level.ERROR,
    "A store did not respond during shutdown; the worker exited and its leases will expire.",
    ("error",),
)
STOPPING: Final = Event("stopping", Level.INFO, "A stop was requested; requests in flight finish.", ("signal",))
METRICS_SERVED: Final = Event("metrics_served", Level.INFO, "Metrics and health are being served.", ("address",))
IDLE: Final = Event("idle", Level.INFO, "There is nothing to crawl now.")
HOST_LEFT: Final = Event(
    "host_left",
    Level.INFO,
    "A host was released.",
    ("host", "status", "code", "reason", "pages", "errors", "queued", "too_deep", "seconds", "next_run_at"),
)
RUN_ENDED: Final = Event(
    "run_ended",
    Level.INFO,
    "A run ended; a warning if it failed.",
    (
        "run_id",
        "status",
        "code",
        "reason",
        "pages",
        "errors",
        "refused",
        "bytes_received",
        "seconds",
        "pages_per_second",
        "hosts",
        "warnings",
    ),
)
STATE_LOST: Final = Event(
    "state_lost",
    Level.WARNING,
    "The state did not respond; the worker tries again after a pause.",
    ("error", "pause_s"),
)
PAGES_WAIT: Final = Event(
    "pages_wait",
    Level.WARNING,
    "The disk of the pages is full; the run waits up to 15 minutes and keeps its hosts.",
    ("error",),
)
PAGES_GO_ON: Final = Event("pages_go_on", Level.INFO, "There is disk space for pages again.", ("seconds",))
FRONTIER_LOST: Final = Event(
    "frontier_lost",
    Level.WARNING,
    "Redis does not respond, or accepts no writes; the run waits up to 15 minutes and keeps its hosts.",
    ("error",),
)
FRONTIER_BACK: Final = Event("frontier_back", Level.INFO, "Redis is back, and the run continues.", ("seconds",))
FRONTIER_BLANK: Final = Event(
    "frontier_blank",
    Level.WARNING,
    "Redis has no data of this state: it lost everything, or is the wrong server. Hosts are queued there again.",
    ("error",),
)
WORKER_DIED: Final = Event(
    "worker_died", Level.WARNING, "A worker process ended unexpectedly and is replaced.", ("error", "code", "pause_s")
)
WORKER_FAILED: Final = Event("worker_failed", Level.ERROR, "A worker cannot start or continue, and ends.", ("error",))
LOOP_FAILED: Final = Event(
    "loop_failed",
    Level.ERROR,
    "A background loop, such as the sweeper, failed unexpectedly; it starts again.",
    ("loop", "error"),
)
SOURCE_RUN: Final = Event(
    "source_run",
    Level.INFO,
    "A source was run; a warning if the run failed or its result is doubtful.",
    (
        "source_id",
        "careers_url",
        "host",
        "status",
        "reason",
        "found",
        "inserted",
        "updated",
        "skipped",
        "closed",
        "pages",
        "duration_ms",
        "next_run_at",
        "next_run_reason",
        "source_status",
    ),
)
SOURCE_LEFT: Final = Event(
    "source_left", Level.DEBUG, "A source was postponed: nothing was requested.", ("source_id", "why", "reason")
)
POLICY_JOB: Final = Event(
    "policy_job",
    Level.INFO,
    "A worker did a job of the crawl service; a warning if it failed for good or its result came too late.",
    ("job_id", "url", "host", "status", "reason", "price", "currency", "in_stock"),
)
RATE_LIMIT_WAIT: Final = Event(
    "rate_limit_wait",
    Level.DEBUG,
    "A request waits for its host: for the delay between requests, or because the host asked Comity to wait.",
    ("host", "reason", "seconds"),
)
SCRAPED: Final = Event("state_looked_at", Level.DEBUG, "The figures of the state were read.", ("seconds",))

EVENTS: Final = (
    WORKER_STARTED,
    SETTINGS_DOUBTED,
    METRICS_SERVED,
    HOST_LEFT,
    RUN_ENDED,
    IDLE,
    STATE_LOST,
    PAGES_WAIT,
    PAGES_GO_ON,
    FRONTIER_LOST,
    FRONTIER_BACK,
    FRONTIER_BLANK,
    WORKER_DIED,
    WORKER_LEFT,
    STOPPING,
    WORKER_ENDED,
    WORKER_FAILED,
    LOOP_FAILED,
    SOURCE_RUN,
    SOURCE_LEFT,
    POLICY_JOB,
    RATE_LIMIT_WAIT,
    SCRAPED,
)
