"""Evidence: a stored decision with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID


class EvidenceType(StrEnum):
    """What was decided about a URL."""

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """One decision about one URL, with the words and numbers that led to it."""

    host_id: UUID
    url: str
    key: int
    type: EvidenceType
    content: dict[str, Any]
    metadata: dict[str, Any]
    confidence: str
    at: float
