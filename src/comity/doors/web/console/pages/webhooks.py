"""/admin/webhooks: URLs that are called for events, and the log of the calls."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from comity.doors.web.console import components
from comity.doors.web.console.forms import Field, Form, FormInvalid, FormValues, PostedForm
from comity.doors.web.console.page import FOR_OPERATORS, PageRouter, redirect, url
from comity.doors.web.console.pages import queue
from comity.doors.web.console.tables import Column, Filter, Table, TableQuery, choice, search
from comity.doors.web.notices import Offer
from comity.doors.web.routes.webhooks import visible_to
from comity.doors.web.services import CurrentCaller, Services, WebServices
from comity.model.errors import BadInput, ComityError
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
from comity.reports.queue import identity_of
from comity.rules.queue.webhook import SHORTEST_SECRET

router = PageRouter("/admin/webhooks")
_PATH: Final = "/webhooks"


def _state(row: Webhook) -> object:
    if not row.enabled:
        return components.badge("off", "disabled", title=row.disabled_reason or "")
    return components.badge("warn", "failing") if row.consecutive_failures else components.badge("good", "enabled")


TABLE: Final = Table(
    "webhooks",
    [
        Column(
            "url",
            "URL",
            lambda row: components.shortened(row.url, 80),
            lambda row: row.url,
            sorts=True,
            is_wide=True,
        ),
        Column("enabled", "State", _state),
        Column("events", "Events", lambda row: ", ".join(row.events), csv=lambda row: " ".join(row.events)),
        Column("consecutive_failures", "Failures in a row", sorts=True, is_number=True, is_minor=True),
        Column(
            "note",
            "Note",
            lambda row: components.shortened(row.note, 50),
            lambda row: row.note,
            is_minor=True,
            is_wide=True,
        ),
        Column("created_at", "Created", sorts=True, is_minor=True),
        Column("id", "Id", in_page=False),
    ],
    [
        search("Search by URL, event or note"),
        choice("enabled", "State", [("1", "enabled"), ("0", "disabled")]),
        choice("event", "Event", WebhookEvent),
    ],
    default_sort="created_at",
    key=lambda row: row.id,
    row_href=lambda row: url(_PATH, row.id),
    empty="No webhooks yet. A webhook is a URL of yours that is called when a job ends or a price changes.",
)


def _answered(row: Any) -> object:
    if row.last_error:
        return components.shortened(row.last_error, 60)
    return str(row.last_status) if row.last_status is not None else components.NOTHING


DELIVERY_TABLE: Final = Table(
    "webhook_deliveries",
    [
        Column("event", "Event"),
        Column("status", "Status", lambda row: queue.delivery_badge(row.status)),
        Column("last_status", "Response", _answered, is_wide=True),
        Column("attempts", "Attempts", is_number=True, is_minor=True),
        Column("next_attempt_at", "Next attempt", is_minor=True),
        Column("created_at", "Created", sorts=True),
        Column("id", "Id", in_page=False),
        Column("webhook_id", "Webhook", in_page=False),
        Column("last_error", "Error", in_page=False),
        Column("delivered_at", "Delivered", in_page=False),
    ],
    [choice("status", "Status", DeliveryStatus), Filter("webhook", "Webhook", is_of_links=True)],
    default_sort="-created_at",
    pages_by_key=True,
    key=lambda row: row.id,
    newer="First",
    row_href=lambda row: url(f"{_PATH}/deliveries", row.id),
    empty="Nothing has been sent yet. Deliveries are kept for 30 days.",
    empty_lead=("Add a webhook", "/webhooks/new"),
)
# Of one webhook, whose page shows them.
OWN_DELIVERIES: Final = replace(DELIVERY_TABLE, filters=DELIVERY_TABLE.filters[:1])
_ABOUT_EVENTS: Final = {
    WebhookEvent.JOB_DONE: "A result was submitted.",
    WebhookEvent.JOB_FAILED: "A job failed without retries left.",
    WebhookEvent.PRICE_CHANGED: "The price of a policy's page changed.",
    WebhookEvent.BACK_IN_STOCK: "A product is back in stock.",
}
FORM: Final = Form(
    (
        Field(
            "url",
            "URL",
            "url",
            required=True,
            placeholder="https://hooks.example/comity",
            attributes={"maxlength": LONGEST_URL},
        ),
        *(Field(str(event), str(event), "check", text) for event, text in _ABOUT_EVENTS.items()),
        Field(
            "secret",
            "Secret",
            help="The secret that signs the calls. If empty, Comity makes one and shows it once.",
            attributes={"minlength": SHORTEST_SECRET, "maxlength": LONGEST_SECRET, "autocomplete": "off"},
            is_code=True,
        ),
        Field("note", "Note", help="What it is for, or who runs it.", attributes={"maxlength": LONGEST_NOTE}),
    ),
    {str(WebhookEvent.JOB_DONE): "on"},
)
EDIT: Final = Form(tuple(field for field in FORM.fields if field.name != "secret"))


def _events(entered: FormValues) -> list[str]:
    return [str(event) for event in WebhookEvent if entered.is_on(str(event))]


@router.get("")
def listed(request: Request, services: Services, caller: CurrentCaller) -> Response:
    """List the webhooks, the oldest first; there are at most 100."""
    query = TABLE.read(request)
    enabled = {"1": True, "0": False}.get(query.get("enabled") or "")
    known = list_webhooks(services.state.database, enabled=enabled)
    seen = [visible_to(caller, each) for each in known if query.get("event") in (None, *map(str, each.events))]
    rows = TABLE.arranged(query, seen)
    if query.wants_csv:
        return TABLE.csv(rows)
    shown = rows[query.offset : query.offset + query.limit + 1]
    return queue.render_queue(
        request,
        "queue/webhooks.html",
        title="Webhooks",
        part=_PATH,
        listing=TABLE.listing(query, shown, total=len(rows)),
    )


@router.get("/new", dependencies=FOR_OPERATORS)
def new(request: Request) -> HTMLResponse:
    """Show an empty form."""
    return _form_page(request, FORM, "New webhook", _PATH, "Add", _PATH)


@router.post("")
def add(request: Request, services: Services, entered: PostedForm) -> Response:
    """Add a webhook, and show the secret that Comity made, once."""
    state = services.state
    try:
        webhook, secret = add_webhook(
            state.database,
            state.clock,
            entered.get("url"),
            _events(entered),
            secret=entered.get("secret") or None,
            note=entered.get("note"),
            networks=state.settings.allow_networks,
        )
    except BadInput as error:
        return _form_page(request, _refused(FORM, entered, error), "New webhook", _PATH, "Add", _PATH, status=422)
    if secret is None:
        return redirect(request, f"{_PATH}/{webhook.id}", notice="Added.")
    return _secret_page(request, webhook, secret, "Webhook added")


@router.get("/deliveries")
def listed_deliveries(request: Request, services: Services, caller: CurrentCaller) -> Response:
    """List deliveries, the newest first."""
    known = [visible_to(caller, each) for each in list_webhooks(services.state.database)]
    table = _of_receivers({each.id: each.url.partition("://")[2] for each in known})
    query = table.read(request)
    return _deliveries(request, services, table, query, "queue/deliveries.html", _wanted(query), title="Deliveries")


def _of_receivers(receivers: dict[UUID, str]) -> Table:
    """The table of deliveries with the receiver of each, and a choice among the receivers."""

    def receiver(row: Any) -> object:
        return components.shortened(receivers.get(row.webhook_id, ""), 50)

    event, *others = DELIVERY_TABLE.columns
    columns = [event, Column("receiver", "Receiver", receiver, in_csv=False, is_wide=True), *others]
    choices = [(str(key), components.cut(name, 50)) for key, name in receivers.items()]
    filters = [DELIVERY_TABLE.filters[0], choice("webhook", "Receiver", choices)]
    return replace(DELIVERY_TABLE, columns=columns, filters=filters if choices else DELIVERY_TABLE.filters)


@router.get("/deliveries/{delivery_id}")
def show_delivery(
    request: Request, services: Services, caller: CurrentCaller, delivery_id: queue.RowId
) -> HTMLResponse:
    """Show one delivery: what is sent, and the result."""
    database = services.state.database
    delivery = get_delivery(database, delivery_id)
    return queue.render_queue(
        request,
        "queue/delivery.html",
        title=f"Delivery {str(delivery_id)[:8]}",
        part=_PATH,
        trail=[("Webhooks", _PATH), ("Deliveries", f"{_PATH}/deliveries")],
        delivery=delivery,
        webhook=visible_to(caller, get_webhook(database, delivery.webhook_id)),
        status_badge=queue.delivery_badge(delivery.status),
        payload=json.dumps(delivery.payload, indent=2, ensure_ascii=False),
    )


@router.post("/deliveries/{delivery_id}/resend")
def resend(request: Request, services: Services, delivery_id: queue.RowId) -> Response:
    """Have a delivery that has ended made again."""
    state, path = services.state, f"{_PATH}/deliveries/{delivery_id}"
    get_delivery(state.database, delivery_id)
    try:
        send_again(state.database, state.clock, delivery_id)
    except ComityError as error:
        return redirect(request, path, notice=f"Not sent again: {error}.", kind="warn")
    return redirect(request, path, notice="It is sent again, with the same id.")


@router.get("/{webhook_id}")
def show(request: Request, services: Services, caller: CurrentCaller, webhook_id: queue.RowId) -> Response:
    """Show one webhook with its deliveries."""
    webhook = visible_to(caller, get_webhook(services.state.database, webhook_id))
    query = OWN_DELIVERIES.read(request)
    wanted = {"webhook_id": webhook_id, "status": query.get("status")}
    return _deliveries(
        request,
        services,
        OWN_DELIVERIES,
        query,
        "queue/webhook.html",
        wanted,
        title=components.shortened(webhook.url, 90).striptags(),
        webhook=webhook,
        state_badge=_state(webhook),
    )


@router.get("/{webhook_id}/edit", dependencies=FOR_OPERATORS)
def edit(request: Request, services: Services, webhook_id: queue.RowId) -> HTMLResponse:
    """Show the form with what the webhook has."""
    form, path = _filled(get_webhook(services.state.database, webhook_id)), f"{_PATH}/{webhook_id}"
    return _form_page(request, form, "Edit webhook", path, "Save", path)


def _filled(webhook: Webhook) -> Form:
    return EDIT.filled(
        {"url": webhook.url, "note": webhook.note or "", **dict.fromkeys(map(str, webhook.events), "on")}
    )


@router.post("/{webhook_id}")
def save(request: Request, services: Services, webhook_id: queue.RowId, entered: PostedForm) -> Response:
    """Change a webhook. Waiting deliveries go to the new URL."""
    state, path = services.state, f"{_PATH}/{webhook_id}"
    try:
        _filled(get_webhook(state.database, webhook_id)).require_same(entered)
        edit_webhook(
            state.database,
            state.clock,
            webhook_id,
            networks=state.settings.allow_networks,
            url=entered.get("url"),
            events=_events(entered),
            note=entered.get("note"),
        )
    except (FormInvalid, BadInput) as error:
        return _form_page(request, _refused(EDIT, entered, error), "Edit webhook", path, "Save", path, status=422)
    return redirect(request, path, notice="Saved.")


@router.post("/{webhook_id}/enable")
def enable(request: Request, services: Services, webhook_id: queue.RowId) -> Response:
    """Enable a webhook and forget its failures."""
    enable_webhook(services.state.database, services.state.clock, webhook_id)
    return redirect(request, f"{_PATH}/{webhook_id}", notice="Enabled. Waiting deliveries are sent.")


@router.post("/{webhook_id}/disable")
def disable(request: Request, services: Services, webhook_id: queue.RowId) -> Response:
    """Disable a webhook; deliveries that wait are kept."""
    disable_webhook(services.state.database, services.state.clock, webhook_id)
    return redirect(
        request,
        f"{_PATH}/{webhook_id}",
        notice="Disabled. Waiting deliveries are kept.",
        offer=Offer(f"{_PATH}/{webhook_id}/enable"),
    )


@router.post("/{webhook_id}/test")
async def send_test(request: Request, services: Services, webhook_id: queue.RowId) -> Response:
    """Call a webhook now with the event `test`, and show the result."""
    state = services.state
    async with services.trial():
        delivery_id = await asyncio.to_thread(add_test_delivery, state.database, state.clock, webhook_id)
        await services.webhooks.send_one(delivery_id)
        found = await asyncio.to_thread(get_delivery, state.database, delivery_id)
    is_good = found.status is DeliveryStatus.DELIVERED
    came = f"answered {found.last_status}" if found.last_status is not None else found.last_error or "did not answer"
    sentence = f"The receiver {came}." if found.last_status is not None or is_good else f"The call failed: {came}."
    return redirect(request, f"{_PATH}/{webhook_id}", notice=sentence, kind="good" if is_good else "bad")


@router.get("/{webhook_id}/new-secret", dependencies=FOR_OPERATORS)
def ask_new_secret(request: Request, services: Services, webhook_id: queue.RowId) -> HTMLResponse:
    """Ask before a secret is replaced."""
    get_webhook(services.state.database, webhook_id)
    return queue.confirmation(
        request,
        _PATH,
        question="Make a new secret?",
        path=f"{_PATH}/{webhook_id}/new-secret",
        submit="Make a new secret",
        consequence="From now on, calls are signed with the new secret, so the receiver needs it. It is shown once.",
        back=f"{_PATH}/{webhook_id}",
    )


@router.post("/{webhook_id}/new-secret")
def new_secret(request: Request, services: Services, webhook_id: queue.RowId) -> Response:
    """Make a new secret and show it, once."""
    webhook, secret = renew_secret(services.state.database, services.state.clock, webhook_id)
    return _secret_page(request, webhook, secret, "New secret")


@router.get("/{webhook_id}/delete", dependencies=FOR_OPERATORS)
def ask_delete(request: Request, services: Services, webhook_id: queue.RowId) -> HTMLResponse:
    """Ask before a webhook is deleted."""
    webhook = get_webhook(services.state.database, webhook_id)
    return queue.confirmation(
        request,
        _PATH,
        question="Delete this webhook?",
        path=f"{_PATH}/{webhook_id}/delete",
        submit="Delete",
        consequence=f"The webhook {webhook.url} is deleted with its log of deliveries.",
        back=f"{_PATH}/{webhook_id}",
    )


@router.post("/{webhook_id}/delete")
def delete(request: Request, services: Services, webhook_id: queue.RowId) -> Response:
    """Delete a webhook with its deliveries."""
    delete_webhook(services.state.database, webhook_id)
    return redirect(request, _PATH, notice="Deleted.")


def _wanted(query: TableQuery) -> dict[str, Any]:
    named = query.get("webhook")
    webhook_id = (identity_of(named) or identity_of("0" * 32)) if named else None
    return {"webhook_id": webhook_id, "status": query.get("status")}


def _deliveries(
    request: Request,
    services: WebServices,
    table: Table,
    query: TableQuery,
    template: str,
    wanted: dict[str, Any],
    *,
    title: str,
    **context: Any,
) -> Response:
    database = services.state.database
    if query.wants_csv:
        return table.csv(DELIVERIES.export(database, sort=query.sort_text, **wanted), is_begun=True)
    page = DELIVERIES.safe_page(database, sort=query.sort_text, limit=query.limit, cursor=query.after or None, **wanted)
    listing = table.listing(query, page.items, cursor=page.cursor)
    return queue.render_queue(request, template, title=title, part=_PATH, listing=listing, **context)


def _secret_page(request: Request, webhook: Webhook, secret: str, title: str) -> HTMLResponse:
    return queue.render_queue(
        request,
        "queue/secret.html",
        title=title,
        part=_PATH,
        noun="secret",
        secret=secret,
        explanation="Calls are signed with it (X-Comity-Signature). It cannot be shown again.",
        back=f"{_PATH}/{webhook.id}",
        back_label="To the webhook",
    )


def _refused(form: Form, entered: FormValues, error: FormInvalid | BadInput) -> Form:
    found = form.refused(entered, error)
    if isinstance(error, BadInput) and error.field == "events":
        return replace(found, errors={"": "Choose at least one event."})
    return found


def _form_page(
    request: Request, form: Form, title: str, path: str, submit: str, back: str, status: int = 200
) -> HTMLResponse:
    return queue.render_queue(
        request,
        "queue/webhook_form.html",
        title=title,
        part=_PATH,
        status=status,
        form=form,
        post_path=path,
        submit=submit,
        back=back,
        events=[str(event) for event in WebhookEvent],
    )
