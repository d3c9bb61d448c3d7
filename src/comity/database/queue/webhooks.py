"""Statements on `webhooks` and `webhook_deliveries` that a finished job runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, insert_rows
from comity.database.queue.tables import webhook_deliveries
from comity.model.queue import WebhookEvent

_DELIVERY: Final = ("webhook_id", "event", "payload", "next_attempt_at", "created_at")


def enqueue(connection: Connection, events: Mapping[WebhookEvent, dict[str, Any]], now: float) -> int:
    """Have every enabled webhook called for the events that it wants; gives how many calls."""
    if not events:
        return 0
    encode, decode = Encoding(connection), Decoding(connection)
    wanted = connection.exec_driver_sql("SELECT id, events FROM webhooks WHERE enabled").all()
    moment = encode.time(now)
    rows = [
        (key, str(event), encode.json(payload), moment, moment)
        for key, listed in wanted
        for event, payload in events.items()
        if str(event) in (decode.json(listed) or ())
    ]
    insert_rows(connection, webhook_deliveries, _DELIVERY, rows)
    return len(rows)
