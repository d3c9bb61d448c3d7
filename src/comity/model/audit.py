"""What a check of the politeness ledger reads and finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Breach(StrEnum):
    """What can be wrong with a ledger: a request that broke a limit, or a record that was tampered with."""

    TOO_SOON = "too_soon"
    TOO_MANY_AT_ONCE = "too_many_at_once"
    INSIDE_A_BLOCK = "inside_a_block"
    LATE_HAND = "late_hand"
    DISALLOWED = "disallowed"
    ENDS_BEFORE_START = "ends_before_start"
    DELAY_TOO_SHORT = "delay_too_short"
    CONCURRENCY_TOO_HIGH = "concurrency_too_high"
    BLOCK_TOO_SHORT = "block_too_short"
    ROBOTS_UNKNOWN = "robots_unknown"
    ROBOTS_STALE = "robots_stale"
    ROBOTS_MISMATCH = "robots_mismatch"
    ROBOTS_MISSING = "robots_missing"
    ROBOTS_ALTERED = "robots_altered"
    POLICY_MISMATCH = "policy_mismatch"
    ROW_ALTERED = "row_altered"
    ROW_MISSING = "row_missing"
    ROW_INSERTED = "row_inserted"
    REQUEST_UNRECORDED = "request_unrecorded"
    LEDGER_MISSING = "ledger_missing"
    FETCH_WITHOUT_REQUEST = "fetch_without_request"
    REQUEST_WITHOUT_FETCH = "request_without_fetch"
    ANCHOR_MISMATCH = "anchor_mismatch"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong; `number` is the row's place in its host's chain, 0 where none is concerned."""

    breach: Breach
    number: int
    url: str
    started_at: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What the check needs of one request."""

    number: int
    url: str
    lease_token: int
    started_at: float
    ended_at: float
    delay_s: float
    max_concurrency: int
    rule: str | None
    blocked_until: float | None
    purpose: str = "page"
    status: int | None = None
    retry_after_s: float | None = None
    robots_version: str | None = None
    rule_line: int | None = None
    policy_interval_ms: int | None = None
    policy_max_concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class RobotsNote:
    """A robots.txt that was in force: for which origin, from when, until when at most, read for which agent."""

    origin: str
    version: str | None
    valid_from: float
    valid_until: float
    access: str
    agent: str


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """What an operator's policy said from a moment on; None where it was taken away."""

    valid_from: float
    limits: tuple[int, int] | None
    """The interval in milliseconds, and how many requests at once."""


def found(breach: Breach, line: LedgerLine, sentence: str) -> Violation:
    """A violation by one request."""
    return Violation(breach, line.number, line.url, line.started_at, sentence)
