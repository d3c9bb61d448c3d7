"""The memory of a gate, its limits, and its answers.

A gate decides when the next request to a host may start. `GateMemory` is loaded from the host's row when a lease is
taken, and saved to it again; everything else lives as long as the lease. Times are UNIX seconds, durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.named_tuple import fast_new

SLOT_TIMEOUT_MESSAGE: Final = "Timeout waiting for host concurrency slot"


class Door(StrEnum):
    """The front doors that talk to hosts themselves."""

    SOURCES = "sources"
    AUDIT = "audit"
    CRAWL = "crawl"
    SQL = "sql"


class DelaySource(StrEnum):
    """What determined the delay between two requests to a host."""

    POLICY = "policy"
    ROBOTS = "robots"
    ADAPTIVE = "adaptive"
    DOOR = "door"
    RANDOM = "random"
    NONE = "none"


class WaitReason(StrEnum):
    """Why a request may not start now."""

    DELAY = "delay"
    BLOCK = "block"
    CONCURRENCY = "concurrency"
    UNCLEAN_END = "unclean_end"
    LEASE_OVER = "lease_over"


class AnswerKind(StrEnum):
    """What a response says about the host's pace."""

    SUCCESS = "success"  # the host serves: clears a block
    RATE_LIMITED = "rate_limited"  # 429
    UNAVAILABLE = "unavailable"  # 503
    OTHER = "other"  # any other status: says nothing about pace
    FAILED = "failed"  # no answer at all
    UNSENT = "unsent"  # the slot was reserved and returned unused


@dataclass(frozen=True, slots=True)
class DoorProfile:
    """A front door's own limits, where neither operator nor robots.txt is stricter."""

    interval_s: float | None
    random_delay_s: tuple[float, float] | None
    max_concurrency: int
    slot_timeout_s: float = inf
    retry_limit: int = 5
    max_retry_backoff_s: float = 600.0
    denials_kept: int = 1_000
    """Links that robots.txt forbids, of one host in one run, whose evidence is stored in full."""
    max_adaptive_delay_s: float = inf  # a slow host cannot raise its own delay further


DOOR_PROFILES: Final[Mapping[Door, DoorProfile]] = MappingProxyType(
    {
        Door.SOURCES: DoorProfile(interval_s=3.0, random_delay_s=None, max_concurrency=1, retry_limit=2),
        # Every decision of an audit has its evidence.
        Door.AUDIT: DoorProfile(
            interval_s=None, random_delay_s=(0.2, 0.5), max_concurrency=2, slot_timeout_s=10.0, denials_kept=1_000_000
        ),
        Door.CRAWL: DoorProfile(interval_s=1.0, random_delay_s=None, max_concurrency=1),
        # `max_parallel_per_domain` replaces the 1.
        Door.SQL: DoorProfile(interval_s=None, random_delay_s=None, max_concurrency=1),
    }
)


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits in force on one host, combined by `rules.politeness.pace.limits_for`."""

    policy_interval_s: float | None = None  # None: the operator made no row
    door_interval_s: float | None = None
    crawl_delay_s: float | None = None  # robots.txt
    random_delay_s: tuple[float, float] | None = None
    max_concurrency: int = 1
    max_retry_backoff_s: float = 600.0
    slot_timeout_s: float = inf
    max_adaptive_delay_s: float = inf


@fast_new
class GateMemory(NamedTuple):
    """What the gate remembers between two holders of a host's lease; it is stored on the host's row.

    `unclean_end_at` is when a lease ended without release; it stays until a request has waited for it.
    """

    next_fetch_at: float | None = None
    blocked_until: float | None = None
    backoff_step: int = 0
    adaptive_delay_s: float = 0.0
    latency_baseline_s: float | None = None
    latency_recent_s: float | None = None
    unclean_end_at: float | None = None
    # If it is not stored, the next holder assumes the latest possible time.
    last_start_at: float | None = None


@dataclass(frozen=True, slots=True)
class DelayInForce:
    """The delay from one start to the next, and what determined it."""

    seconds: float
    source: DelaySource


@dataclass(frozen=True, slots=True)
class Start:
    """A request may start now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """No request may start before `until`; infinite when only a finished request can change that."""

    until: float
    reason: WaitReason


@fast_new
class Reservation(NamedTuple):
    """A start that was granted: `number` counts the starts of this lease, `delay` is what it waited for."""

    number: int
    started_at: float
    delay: DelayInForce


@dataclass(frozen=True, slots=True)
class SlotTimeout:
    """Nothing was fetched: all slots of the host were taken for too long."""

    waited_s: float
    message: str = SLOT_TIMEOUT_MESSAGE


@fast_new
class Observation(NamedTuple):
    """What one finished request showed; `retry_after_s` is None without a usable Retry-After.

    `arrived_s` is how long after its start the request reached the host: a slow connection must not bring the
    next one closer to it than the delay.
    """

    answer: AnswerKind
    latency_s: float | None = None
    retry_after_s: float | None = None
    arrived_s: float = 0.0


# The three below are rebuilt on every request; named tuples are frozen too, and four times cheaper to make.


@fast_new
class Pace(NamedTuple):
    """How fast a host responds, and the delay that follows from it (0: none of its own)."""

    adaptive_delay_s: float = 0.0
    latency_baseline_s: float | None = None
    latency_recent_s: float | None = None


@fast_new
class Block(NamedTuple):
    """A 429 or 503 holds the host until `until`; starts up to number `mark` were made before it was set."""

    until: float = -inf
    mark: int = 0
    step: int = 0


@fast_new
class GateState(NamedTuple):
    """One gate at one moment. Times are -inf where there is nothing to wait for."""

    limits: GateLimits
    floor: DelayInForce  # of the fixed limits alone
    delay: DelayInForce  # in force between the last start and the next
    jitter: float  # the chance drawn for that gap
    next_fetch_at: float
    last_start_at: float
    carried_until: float  # what earlier holders and reservations left on the row
    unclean_end_at: float
    lease_ends_at: float
    seen_at: float  # the latest time this gate has seen
    block: Block
    pace: Pace
    in_flight: int
    starts: int
    slower_mark: int = -1  # how many starts there were when a response slower than recent ones last counted
    quicker_mark: int = -1  # the same of one that was not slower


# The result of a request, and whether it is retried.


class GiveUpReason(StrEnum):
    """Why a request is not tried again."""

    FINAL_STATUS = "final_status"
    RETRIES_SPENT = "retries_spent"


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try the URL again after this many seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try the URL again in this run."""

    reason: GiveUpReason
