"""Grants: permission for single requests of crawlers that have their own URLs, and what these report of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.queue import Slot

MOST_URLS: Final = 100
GRANT_TTL_S: Final = 60.0
"""How long after the end of its window a grant waits for its report."""


class Permission(StrEnum):
    """The decision about a URL that a client asked for."""

    ALLOWED = "allowed"
    DENIED = "denied"
    WAIT = "wait"


class GrantReason(StrEnum):
    """Why a URL may not be requested, or not yet."""

    BAD_URL = "bad_url"
    TAKEN_DOWN = "taken_down"
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    NOT_CONTACTED = "not_contacted"  # Comity itself does not ask this address
    LEASED = "leased"
    RESERVED = "reserved"
    BLOCKED = "blocked"
    TOO_SOON = "too_soon"
    ROBOTS_UNKNOWN = "robots_unknown"
    OVER_LIMIT = "over_limit"  # the client's own limits, or its quarantine


class GrantAnswer(NamedTuple):
    """The answer about one URL: a grant, a denial, or when to ask again."""

    url: str
    permission: Permission
    reason: GrantReason | None = None
    message: str | None = None
    rule: str | None = None
    rule_line: int | None = None
    grant_id: UUID | None = None
    slot: Slot | None = None
    expires_at: float | None = None
    retry_after_s: float | None = None


class GrantReport(NamedTuple):
    """What a client says of a request that it made with a grant; without a status there was no answer."""

    grant_id: UUID
    status: int | None = None
    latency_s: float | None = None
    retry_after_s: float | None = None
    started_at: float | None = None


class ReportResult(StrEnum):
    """What became of a report or a release."""

    RECORDED = "recorded"
    RELEASED = "released"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class ReportAnswer(NamedTuple):
    """The answer to one report, and until when the host is blocked now."""

    grant_id: UUID
    result: ReportResult
    blocked_until: float | None = None


@dataclass(frozen=True, slots=True)
class GrantAnswers:
    """The answers to one request, as they were at `now`, by the clock that the times are of."""

    now: float
    answers: tuple[GrantAnswer, ...]
    reports: tuple[ReportAnswer, ...] = ()
