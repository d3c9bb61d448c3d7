"""The politeness ledger: one row for each request, and notes of what was in force, so that conduct can be checked."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from comity.model.gate import DelayInForce


class Purpose(StrEnum):
    """What a request was for."""

    ROBOTS = "robots"
    PAGE = "page"
    SITEMAP = "sitemap"
    REDIRECT = "redirect"
    IMAGE = "image"
    PART = "part"
    """Something that a fetcher needs to show a page, such as a script that a browser runs."""


class NoteKind(StrEnum):
    """What a note in the ledger is about."""

    ROBOTS = "robots"
    """The robots.txt of an origin came into force."""
    GAP = "gap"
    """A process ended without giving its lease back: requests of its last moments may be missing."""


class LedgerRow(NamedTuple):
    """One request: when it started and ended, which limits it knew, and what the host answered."""

    host_id: UUID
    host: str
    lease_token: int
    request_number: int
    """1 for the first request under the lease: a number that is missing is a request that was not recorded."""
    url: str
    purpose: Purpose
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
    """A fact about a host that is no request."""

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
