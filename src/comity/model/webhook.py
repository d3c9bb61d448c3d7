"""A webhook: a URL of an operator that is called when a job ends, a price changes or a product is back in stock."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from comity.model.dataclass import dataclass

TEST_EVENT: Final = "test"
"""The event of a test delivery; no webhook needs to want it."""


class DeliveryStatus(StrEnum):
    """Whether a call was accepted, is still to be made or repeated, or was given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as operators see it. Its secret is not here: it is only read to sign a call."""

    id: UUID
    url: str
    events: tuple[str, ...]
    enabled: bool
    consecutive_failures: int
    disabled_reason: str | None
    note: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """One call of a webhook: what is sent, and the result of the last attempt."""

    id: UUID
    webhook_id: UUID
    event: str
    payload: dict[str, Any]
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str | None
    is_test: bool
    created_at: datetime
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A call that this process has claimed and makes now."""

    id: UUID
    webhook_id: UUID
    url: str
    secret: str = field(repr=False)
    event: str
    payload: dict[str, Any]
    created_at: datetime
    attempt: int
    """Which attempt it is; 1 is the first. Its result counts only while the row has this number."""
    is_test: bool
