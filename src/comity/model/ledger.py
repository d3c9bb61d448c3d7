"""The politeness ledger: one row per request, notes of the rules in force, and what an audit of them finds."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.gate import DelayInForce
from comity.model.named_tuple import fast_new


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
    """One violation; `number` is the row's position in its host's chain, 0 if no row is concerned."""

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
    """What an operator's policy said from a time on; None if it was deleted."""

    valid_from: float
    limits: tuple[int, int] | None
    """The interval in milliseconds, and how many requests at once."""


def found(breach: Breach, line: LedgerLine, sentence: str) -> Violation:
    """A violation by one request."""
    return Violation(breach, line.number, line.url, line.started_at, sentence)


class Purpose(StrEnum):
    """What a request was for."""

    ROBOTS = "robots"
    PAGE = "page"
    SITEMAP = "sitemap"
    REDIRECT = "redirect"
    IMAGE = "image"
    PART = "part"
    """Something that a fetcher needs to show a page, such as a script that a browser runs."""
    LOGIN = "login"
    """A page with a login form, and the form as it is sent."""
    JOB = "job"
    """A request that a bot made for a job that it pulled, as it reported it."""
    GRANT = "grant"
    """A request that another crawler made with a grant, as it reported it."""


class NoteKind(StrEnum):
    """What a note in the ledger is about."""

    ROBOTS = "robots"
    """The robots.txt of an origin took effect."""
    GAP = "gap"
    """A process ended without giving its lease back: requests of its last moments may be missing."""
    UNREPORTED = "unreported"
    """A job or a grant ran out without a report: its request may have been made, within its window."""
    UNUSED = "unused"
    """A job or a grant was returned: its client says that it made no request."""


@fast_new
class LedgerRow(NamedTuple):
    """One request: when it started and ended, which limits it knew, and what the host answered."""

    host_id: UUID
    host: str
    lease_token: int
    request_number: int
    """1 for the first request under the lease: a number that is missing is a request that was not recorded."""
    url: str
    purpose: Purpose | str
    """A job or a grant of a client with its own product token names it: `grant:examplebot`."""
    started_at: float
    ended_at: float
    delay: DelayInForce
    max_concurrency: int
    policy_interval_ms: int | None
    policy_max_concurrency: int | None
    robots_version: str | None
    rule_line: int | None
    rule: str | None
    status: int | None
    retry_after_s: float | None
    blocked_until: float | None


class LedgerNote(NamedTuple):
    """A fact about a host that is not a request."""

    host_id: UUID
    host: str
    lease_token: int
    kind: NoteKind
    origin: str | None
    version: str | None
    valid_from: float
    valid_until: float
    detail: str
    """A JSON object."""
