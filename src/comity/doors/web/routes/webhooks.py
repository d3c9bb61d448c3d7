"""/admin/webhooks: URLs of operators that are called for events, and the log of the calls."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import ConfigDict, Field, model_validator

from comity.doors.schemas.queue import (
    NewWebhook,
    WebhookDeliveryList,
    WebhookDeliveryView,
    WebhookList,
    WebhookView,
)
from comity.doors.web.access import Caller
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.exports import EXPORTED, ExportFormat, stream
from comity.doors.web.requests import Limit, Line, RequestBody, Text
from comity.doors.web.services import CurrentCaller, Services
from comity.model.queue import WebhookEvent
from comity.model.webhook import DeliveryStatus, Webhook
from comity.operate.webhooks import (
    DELIVERIES,
    LONGEST_NOTE,
    LONGEST_SECRET,
    LONGEST_URL,
    add_test_delivery,
    add_webhook,
    delete_webhook,
    disable_webhook,
    edit_webhook,
    enable_webhook,
    get_delivery,
    get_webhook,
    list_webhooks,
    renew_secret,
    send_again,
)
from comity.rules.queue.webhook import SHORTEST_SECRET
from comity.rules.url_secrets import only_origin

router = Router(Audience.ADMIN, prefix="/admin/webhooks", tags=["webhooks"])

_ID_EXAMPLE: Final = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"
WebhookId = Annotated[UUID, Path(description="The id of a webhook.", examples=[_ID_EXAMPLE])]
DeliveryId = Annotated[UUID, Path(description="The id of a delivery.", examples=[_ID_EXAMPLE])]
EventName = Literal["job.done", "job.failed", "price.changed", "stock.back"]
OfWebhook = Annotated[UUID | None, Query(description="Only those of this webhook.")]
OfStatus = Annotated[DeliveryStatus | None, Query()]
OfEvent = Annotated[Literal[EventName, "test"] | None, Query(description="Only those of this event.")]
_Url = Annotated[
    Text,
    Field(pattern="^[Hh][Tt][Tt][Pp][Ss]?://", max_length=LONGEST_URL, examples=["https://hooks.example/comity"]),
]
_Events = Annotated[
    list[EventName],
    Field(min_length=1, max_length=len(WebhookEvent), description="What it is called for.", examples=[["job.done"]]),
]
_Secret = Annotated[
    str,
    Field(
        pattern="^[ -~]+$",
        min_length=SHORTEST_SECRET,
        max_length=LONGEST_SECRET,
        description="The secret that signs the calls: printable ASCII.",
        examples=["at least 16 characters"],
    ),
]
_Note = Annotated[Line, Field(max_length=LONGEST_NOTE)]


def visible_to(caller: Caller, webhook: Webhook) -> Webhook:
    """A webhook as a caller may see it: a URL may hold a secret, and a viewer can do nothing that needs it."""
    return webhook if caller.may_write else replace(webhook, url=only_origin(webhook.url))


class WebhookRequest(RequestBody):
    """A new webhook."""

    url: _Url
    events: _Events
    secret: _Secret | None = Field(
        None,
        description="What calls are signed with; by default Comity makes one. `env:WEBHOOK_SECRET_NAME` names a "
        "variable of the server's environment, so that the state does not hold it.",
        examples=["at least 16 characters"],
    )
    note: _Note | None = Field(None, description="What it is for, or who runs it.")
    enabled: bool = True


def _as_changes(schema: dict[str, Any]) -> None:
    schema["minProperties"] = 1
    for each in schema["properties"].values():
        each.pop("default", None)


class WebhookChanges(RequestBody):
    """Changes of a webhook. null removes the note; the others always have a value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    url: _Url = ""
    events: _Events = Field(default_factory=list)
    secret: _Secret = ""
    note: _Note | None = None

    @model_validator(mode="after")
    def _has_any(self) -> WebhookChanges:
        if not self.model_fields_set:
            raise ValueError("send at least one field to change")
        return self


@router.get("", operation_id="list_webhooks", response_model=WebhookList)
def list_all(
    services: Services,
    caller: CurrentCaller,
    enabled: Annotated[bool | None, Query(description="Only enabled ones, or only disabled ones.")] = None,
) -> WebhookList:
    """List the webhooks, the oldest first. There are at most 100. Viewers see only the host of a URL."""
    found = list_webhooks(services.state.database, enabled=enabled)
    return WebhookList(webhooks=WebhookView.list_of(visible_to(caller, webhook) for webhook in found))


@router.get("/export", operation_id="export_webhooks", response_class=Response, responses=EXPORTED)
def export(
    services: Services,
    caller: CurrentCaller,
    format: Annotated[ExportFormat, Query(description="csv, json or jsonl.")] = "csv",  # noqa: A002
    enabled: Annotated[bool | None, Query(description="Only enabled ones, or only disabled ones.")] = None,
) -> Response:
    """Export the webhooks, the oldest first, without their secrets. Viewers see only the host of a URL."""
    found = list_webhooks(services.state.database, enabled=enabled)
    return stream("webhooks", format, WebhookView, [visible_to(caller, webhook) for webhook in found])


@router.post(
    "", operation_id="add_webhook", status_code=201, response_model=NewWebhook, responses=error_responses(413, 415)
)
def add(services: Services, body: WebhookRequest) -> NewWebhook:
    """Add a webhook. A secret that Comity makes is in this answer and cannot be shown again."""
    state = services.state
    values = body.model_dump(exclude={"url", "events"})
    networks = state.settings.allow_networks
    added, secret = add_webhook(state.database, state.clock, body.url, body.events, networks=networks, **values)
    return _with_secret(added, secret)


@router.get("/deliveries", operation_id="list_webhook_deliveries", response_model=WebhookDeliveryList)
def list_deliveries(
    services: Services,
    webhook_id: OfWebhook = None,
    status: OfStatus = None,
    event: OfEvent = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page.", max_length=5000)] = None,
) -> WebhookDeliveryList:
    """List deliveries, the newest first. They are kept for 30 days."""
    page = DELIVERIES.page(
        services.state.database,
        limit=limit,
        cursor=cursor,
        webhook_id=webhook_id,
        status=None if status is None else str(status),
        event=event,
    )
    found = WebhookDeliveryView.list_of(page.items)
    return WebhookDeliveryList(deliveries=found, limit=limit, next_cursor=page.cursor)


@router.get("/deliveries/export", operation_id="export_webhook_deliveries", response_class=Response, responses=EXPORTED)
def export_deliveries(
    services: Services,
    format: Annotated[ExportFormat, Query(description="csv, json or jsonl.")] = "csv",  # noqa: A002
    webhook_id: OfWebhook = None,
    status: OfStatus = None,
    event: OfEvent = None,
) -> Response:
    """Export deliveries, the newest first."""
    wanted: dict[str, Any] = {
        "webhook_id": webhook_id,
        "status": None if status is None else str(status),
        "event": event,
    }
    rows = DELIVERIES.export(services.state.database, **wanted)
    return stream("webhook_deliveries", format, WebhookDeliveryView, rows)


@router.get(
    "/deliveries/{delivery_id}",
    operation_id="get_webhook_delivery",
    response_model=WebhookDeliveryView,
    responses=error_responses(404),
)
def show_delivery(services: Services, delivery_id: DeliveryId) -> WebhookDeliveryView:
    """Show one delivery."""
    return WebhookDeliveryView.model_validate(get_delivery(services.state.database, delivery_id))


@router.post(
    "/deliveries/{delivery_id}/resend",
    operation_id="resend_webhook_delivery",
    response_model=WebhookDeliveryView,
    responses=error_responses(404, 409),
)
def resend_delivery(services: Services, delivery_id: DeliveryId) -> WebhookDeliveryView:
    """Send a finished delivery once more, with the same id and content, and a new signature."""
    state = services.state
    return WebhookDeliveryView.model_validate(send_again(state.database, state.clock, delivery_id))


@router.get("/{webhook_id}", operation_id="get_webhook", response_model=WebhookView, responses=error_responses(404))
def show(services: Services, caller: CurrentCaller, webhook_id: WebhookId) -> WebhookView:
    """Show one webhook. Viewers see only the host of its URL."""
    return WebhookView.model_validate(visible_to(caller, get_webhook(services.state.database, webhook_id)))


@router.patch(
    "/{webhook_id}", operation_id="edit_webhook", response_model=WebhookView, responses=error_responses(404, 413, 415)
)
def edit(services: Services, webhook_id: WebhookId, body: WebhookChanges) -> WebhookView:
    """Change the fields that are sent. Waiting deliveries go to the new URL, signed with the new secret."""
    state = services.state
    changes = body.model_dump(exclude_unset=True)
    networks = state.settings.allow_networks
    return WebhookView.model_validate(
        edit_webhook(state.database, state.clock, webhook_id, networks=networks, **changes)
    )


@router.delete(
    "/{webhook_id}", operation_id="delete_webhook", response_model=WebhookView, responses=error_responses(404)
)
def delete(services: Services, webhook_id: WebhookId) -> WebhookView:
    """Delete a webhook with its deliveries. The answer is the deleted webhook."""
    return WebhookView.model_validate(delete_webhook(services.state.database, webhook_id))


@router.post(
    "/{webhook_id}/enable", operation_id="enable_webhook", response_model=WebhookView, responses=error_responses(404)
)
def enable(services: Services, webhook_id: WebhookId) -> WebhookView:
    """Enable a webhook and reset its failure count. Waiting deliveries are sent."""
    return WebhookView.model_validate(enable_webhook(services.state.database, services.state.clock, webhook_id))


@router.post(
    "/{webhook_id}/disable", operation_id="disable_webhook", response_model=WebhookView, responses=error_responses(404)
)
def disable(services: Services, webhook_id: WebhookId) -> WebhookView:
    """Disable a webhook: no more events are recorded for it. Waiting deliveries are kept until it is enabled."""
    return WebhookView.model_validate(disable_webhook(services.state.database, services.state.clock, webhook_id))


@router.post(
    "/{webhook_id}/new-secret",
    operation_id="renew_webhook_secret",
    response_model=NewWebhook,
    responses=error_responses(404),
)
def new_secret(services: Services, webhook_id: WebhookId) -> NewWebhook:
    """Make a new secret for a webhook. Calls are signed with it from now on."""
    return _with_secret(*renew_secret(services.state.database, services.state.clock, webhook_id))


@router.post(
    "/{webhook_id}/test",
    operation_id="test_webhook",
    response_model=WebhookDeliveryView,
    responses=error_responses(404, 409, 429),
)
async def send_test(services: Services, webhook_id: WebhookId) -> WebhookDeliveryView:
    """Call a webhook now with the event `test`, also a disabled one, and show the result. It is not repeated."""
    state = services.state
    async with services.trial():
        delivery_id = await asyncio.to_thread(add_test_delivery, state.database, state.clock, webhook_id)
        await services.webhooks.send_one(delivery_id)
        found = await asyncio.to_thread(get_delivery, state.database, delivery_id)
    return WebhookDeliveryView.model_validate(found)


def _with_secret(webhook: Webhook, secret: str | None) -> NewWebhook:
    return NewWebhook(**WebhookView.model_validate(webhook).model_dump(), secret=secret)
