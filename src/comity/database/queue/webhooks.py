"""Statements on `webhooks` and `webhook_deliveries` that a finished job runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, insert_rows
from comity.database.queue.tables import webhook_deliveries
from comity.model.queue import WebhookEvent

_DELIVERY: Final = ("webhook_id", "event", "payload", "next_attempt_at", "created_at")


WantedEvents = tuple[tuple[Any, frozenset[str]], ...]
"""The enabled webhooks, each with the events that it is called for."""


def wanted(connection: Connection) -> WantedEvents:
    """What the enabled webhooks want to be called for."""
    decode = Decoding(connection)
    rows = connection.exec_driver_sql("SELECT id, events FROM webhooks WHERE enabled")
    return tuple((key, frozenset(decode.json(events) or ())) for key, events in rows)


def enqueue(
    connection: Connection, events: Mapping[WebhookEvent, dict[str, Any]], wanted_by: WantedEvents, now: float
) -> int:
    """Have webhooks called for the events that they want; gives how many calls."""
    encode = Encoding(connection)
    moment = encode.time(now)
    rows = [
        (key, str(event), encode.json(payload), moment, moment)
        for key, names in wanted_by
        for event, payload in events.items()
        if str(event) in names
    ]
    insert_rows(connection, webhook_deliveries, _DELIVERY, rows)
    return len(rows)
