"""The politeness ledger: one row for every request that was started, so that manners can be proved afterwards."""

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


class LedgerRow(NamedTuple):
    """A request as the gate saw it: when it was let go, on whose word, and what the host said to it."""

    host_id: UUID
    lease_token: int
    url: str
    purpose: Purpose
    started_at: float
    ended_at: float
    delay: DelayInForce
    max_concurrency: int
    robots_version: str | None
    rule_line: int | None
    rule: str | None
    status: int | None
    blocked_until: float | None
