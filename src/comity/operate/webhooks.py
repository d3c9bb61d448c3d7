"""What an operator may do with webhooks: add, edit, enable, disable, delete, test; and the log of their deliveries.

A secret is stored as it is, because every call is signed with it, or as the name of an environment variable that the
server reads it from. It is shown once, when Comity makes it, and never read again except to sign.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import ada_url

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import webhooks as table
from comity.database.queue.paging import PageOf
from comity.database.queue.tables import webhook_deliveries
from comity.database.types import from_seconds
from comity.model.errors import BadInput, ComityError, NotFound, Remedy, RemedyCode
from comity.model.queue import WebhookEvent
from comity.model.webhook import DeliveryStatus, Webhook, WebhookDelivery
from comity.reports.queue import ListOf
from comity.rules.address_guard import Network, decide_name, decide_port
from comity.rules.queue.webhook import SECRET_VARIABLES, SHORTEST_SECRET, variable_of
from comity.walk.bots.threads import time_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

MOST_WEBHOOKS: Final = 100
LONGEST_URL: Final = 2000
LONGEST_NOTE: Final = 1000
LONGEST_SECRET: Final = 200
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # so that scanners for leaked secrets can find them
_SECRET_BYTES: Final = 32
_PORTS: Final = {"http:": 80, "https:": 443}
_BY_HAND: Final = "disabled by an operator"
_REMEDY: Final = Remedy(RemedyCode.LIST_WEBHOOKS)
DELIVERIES: Final = ListOf(
    "deliveries", table.deliveries, webhook_deliveries, table.DELIVERY_SORTS, "-created_at", WebhookDelivery
)


def check_url(url: str, networks: Sequence[Network] = ()) -> str:
    """The URL as it is called; `BadInput` if it is not a web address, or leads to a forbidden one."""
    if len(url) > LONGEST_URL:
        raise BadInput("url", f"must have at most {LONGEST_URL:,} characters")
    try:
        parsed = ada_url.URL(url.strip())
    except ValueError:
        raise BadInput("url", "must be an http or https URL") from None
    if parsed.protocol not in _PORTS or not url.isprintable():
        raise BadInput("url", "must be an http or https URL")
    if parsed.username or parsed.password:
        raise BadInput("url", "must not contain a user name or password; receivers check the signature instead")
    verdict = decide_port(int(parsed.port or _PORTS[parsed.protocol]))
    if verdict.allowed:
        verdict = decide_name(parsed.hostname, networks)
    if not verdict.allowed:
        raise BadInput("url", f"cannot be called: {verdict.reason}")
    parsed.hash = ""
    return str(parsed.href)


def check_events(events: Sequence[str]) -> list[str]:
    """The events, each once; `BadInput` if there is none or one is unknown."""
    known = [str(event) for event in WebhookEvent]
    unknown = [event for event in events if event not in known]
    if unknown or not events:
        raise BadInput("events", f"must be one or more of {', '.join(known)}")
    return [event for event in known if event in events]


def check_secret(secret: str) -> str:
    """The secret; `BadInput` if it is too short to protect anything, or cannot be typed into a receiver."""
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET or not secret.isascii() or not secret.isprintable():
        bounds = f"{SHORTEST_SECRET} to {LONGEST_SECRET}"
        raise BadInput("secret", f"must have {bounds} printable ASCII characters")
    if secret.startswith("env:") and variable_of(secret) is None:
        raise BadInput("secret", f"may only name an environment variable that begins with {SECRET_VARIABLES}")
    return secret


def add_webhook(
    database: Database,
    clock: Clock,
    url: str,
    events: Sequence[str],
    *,
    secret: str | None = None,
    note: str | None = None,
    enabled: bool = True,
    networks: Sequence[Network] = (),
) -> tuple[Webhook, str | None]:
    """Add a webhook; returns it with the secret that Comity made for it, None if the caller has set one."""
    values: dict[str, Any] = {"url": check_url(url, networks), "events": check_events(events), "note": _note(note)}
    made = None if secret is not None else _new_secret()
    values |= {"secret": made or check_secret(secret or ""), "enabled": enabled}
    if not enabled:
        values["disabled_reason"] = _BY_HAND
    with database.write() as connection:
        if table.count(connection) >= MOST_WEBHOOKS:
            raise BadInput(f"there are already {MOST_WEBHOOKS} webhooks; delete one first", remedy=_REMEDY)
        added = table.add(connection, values, _now(connection, database, clock))
        return _found(connection, added), made


def edit_webhook(
    database: Database, clock: Clock, webhook_id: UUID, *, networks: Sequence[Network] = (), **changes: Any
) -> Webhook:
    """Change url, events, note or secret; deliveries that wait go to the new URL, signed with the new secret."""
    checks = {
        "url": lambda url: check_url(url, networks),
        "events": check_events,
        "secret": check_secret,
        "note": _note,
    }
    values = {name: checks[name](value) for name, value in changes.items()}
    if not values:
        raise BadInput("nothing to change: give at least one field")
    return _change(database, clock, webhook_id, **values)


def renew_secret(database: Database, clock: Clock, webhook_id: UUID) -> tuple[Webhook, str]:
    """Make a new secret; calls are signed with it from now on."""
    secret = _new_secret()
    return _change(database, clock, webhook_id, secret=secret), secret


def enable_webhook(database: Database, clock: Clock, webhook_id: UUID) -> Webhook:
    """Enable a webhook and forget its failures; what waits is sent."""
    return _change(database, clock, webhook_id, enabled=True, consecutive_failures=0, disabled_reason=None)


def disable_webhook(database: Database, clock: Clock, webhook_id: UUID) -> Webhook:
    """Disable a webhook: no events are noted for it; what waits is kept, and sent if it is enabled again."""
    return _change(database, clock, webhook_id, enabled=False, disabled_reason=_BY_HAND)


def delete_webhook(database: Database, webhook_id: UUID) -> Webhook:
    """Delete a webhook with its deliveries; returns what it was."""
    with database.write() as connection:
        found = _found(connection, webhook_id)
        table.remove(connection, webhook_id)
        return found


def get_webhook(database: Database, webhook_id: UUID) -> Webhook:
    """One webhook; raises `NotFound`."""
    with database.read() as connection:
        return _found(connection, webhook_id)


def list_webhooks(database: Database, *, enabled: bool | None = None) -> list[Webhook]:
    """All webhooks, the oldest first."""
    with database.read() as connection:
        return table.listed(connection, enabled=enabled, limit=MOST_WEBHOOKS)


def add_test_delivery(database: Database, clock: Clock, webhook_id: UUID) -> UUID:
    """Add a delivery that says nothing but that it is a test; `WebhookSender.send_one` makes the call."""
    with database.write() as connection:
        _found(connection, webhook_id)
        payload = {"message": "This is a test of the webhook."}
        return table.add_test(connection, webhook_id, payload, _now(connection, database, clock))


def delivery_counts(database: Database) -> dict[str, int]:
    """How many deliveries of the log have each status."""
    with database.read() as connection:
        found = table.count_by_status(connection)
    return {str(status): found.get(str(status), 0) for status in DeliveryStatus}


def send_again(database: Database, clock: Clock, delivery_id: UUID) -> WebhookDelivery:
    """Have a delivery that has ended made again, with the same id, and again up to its last attempt if it fails."""
    with database.write() as connection:
        is_due = table.send_again(connection, delivery_id, _now(connection, database, clock))
    found = get_delivery(database, delivery_id)
    if not is_due and found.is_test:
        raise ComityError("a test cannot be resent: send a new one")
    if not is_due:
        raise ComityError("the delivery has not ended: it is sent or retried automatically")
    return found


def get_delivery(database: Database, delivery_id: UUID) -> WebhookDelivery:
    """One delivery; raises `NotFound`."""
    with database.read() as connection:
        rows = table.deliveries(connection, PageOf("created_at", True, 1), id=delivery_id)
    if not rows:
        raise NotFound(f"there is no delivery {delivery_id}")
    values = dict(rows[0]._mapping)
    return WebhookDelivery(**values | {"status": DeliveryStatus(values["status"])})


def _change(database: Database, clock: Clock, webhook_id: UUID, **values: Any) -> Webhook:
    with database.write() as connection:
        table.change(connection, webhook_id, values, _now(connection, database, clock))
        return _found(connection, webhook_id)


def _found(connection: Connection, webhook_id: UUID) -> Webhook:
    found = table.get(connection, webhook_id)
    if found is None:
        raise NotFound(f"there is no webhook {webhook_id}", remedy=_REMEDY)
    return found


def _new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)


def _note(text: str | None) -> str | None:
    text = (text or "").strip()
    if len(text) > LONGEST_NOTE or not text.isprintable():
        raise BadInput("note", f"must be one line of at most {LONGEST_NOTE:,} characters")
    return text or None


def _now(connection: Connection, database: Database, clock: Clock) -> datetime:
    found = from_seconds(time_of(connection, database, clock))
    assert found is not None
    return found
