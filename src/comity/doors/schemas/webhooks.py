"""The JSON of webhooks for operators. Secrets are in none of it, except in the answer that makes one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.queue import WebhookEvent
from comity.model.webhook import DeliveryStatus


class WebhookView(Schema):
    """A webhook: a URL that is called for some events. Its secret is shown only when Comity makes it."""

    id: UUID
    url: str
    events: list[WebhookEvent]
    enabled: bool
    consecutive_failures: int = Field(description="Failed attempts since the last call that was accepted.")
    disabled_reason: str | None
    note: str | None
    created_at: Instant
    updated_at: Instant


class NewWebhook(WebhookView):
    """A webhook with its secret, which cannot be shown again."""

    secret: str | None = Field(description="null if the request named the secret.")


class WebhookList(Schema):
    """All webhooks, the oldest first."""

    webhooks: list[WebhookView]


class WebhookDeliveryView(Schema):
    """One call of a webhook, and the result of its last attempt."""

    id: UUID = Field(description="The same at each attempt; sent as X-Comity-Delivery.")
    webhook_id: UUID
    event: str = Field(description="job.done, job.failed, price.changed, stock.back or test.")
    status: DeliveryStatus
    attempts: int
    next_attempt_at: Instant | None
    last_attempt_at: Instant | None
    last_status: int | None = Field(description="The status that the receiver answered last.")
    last_error: str | None
    is_test: bool
    created_at: Instant
    delivered_at: Instant | None
    payload: dict[str, Any] = Field(description="The field `data` of what is sent.")


class WebhookDeliveryList(Schema):
    """A page of deliveries, the newest first."""

    deliveries: list[WebhookDeliveryView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")
