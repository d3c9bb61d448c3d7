"""Evidence: a stored decision with its reason."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from comity.model.named_tuple import fast_new


class EvidenceType(StrEnum):
    """The kinds of decisions about a URL."""

    ROBOTS_ALLOWED = "robots_allowed"
    BLOCKED_BY_ROBOTS = "blocked_by_robots"
    TAKEN_DOWN = "taken_down"
    NOINDEX = "noindex"
    NOFOLLOW = "nofollow"
    BUDGET = "budget"
    LOGIN_WALL = "login_wall"
    ADDRESS_REFUSED = "address_refused"
    TRAP = "trap"
    UNREADABLE = "unreadable"
    CANONICAL = "canonical"
    POSTPONED = "postponed"
    NO_HTTPS = "no_https"
    LEFT_OUT = "left_out"


@fast_new
class Evidence(NamedTuple):
    """One decision about one URL, with the words and numbers that led to it; a tuple, because every page makes some.

    `content` and `metadata` are documents, or JSON that was written already.
    """

    host_id: UUID
    url: str
    key: int
    type: EvidenceType
    content: dict[str, Any] | str
    metadata: dict[str, Any] | str
    confidence: str
    at: float
