"""Statements on `webhooks` and `webhook_deliveries`: calls that events cause, claims of due calls, and their results.

A claim moves `next_attempt_at` to when the claim runs out and counts the attempt, so no other process makes the same
call meanwhile, and one whose process died is made again. The result of an attempt is written only while the row still
has the number of that attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from comity.database.bulk import Decoding, Encoding, asked, insert_rows
from comity.database.queue.listing import equal
from comity.database.queue.paging import FoundRows, PageOf, Sorts, by, page_of
from comity.database.queue.tables import webhook_deliveries, webhooks
from comity.model.queue import WebhookEvent
from comity.model.webhook import TEST_EVENT, DueDelivery, Webhook
from comity.rules.queue.webhook import is_disabled_after

_DELIVERY: Final = ("webhook_id", "event", "payload", "next_attempt_at", "created_at")
_DUE: Final = webhook_deliveries.c.status == "pending"
_PUBLIC: Final = [column for column in webhooks.c if column.name != "secret"]
DELIVERY_SORTS: Final[Sorts] = {"created_at": by(webhook_deliveries.c.created_at)}


def enqueue(connection: Connection, events: Mapping[WebhookEvent, dict[str, Any]], now: float) -> int:
    """Queue calls of the enabled webhooks for the events that they want; returns how many.

    Read in the same transaction, and on PostgreSQL locked against deletion until it ends: a webhook that is deleted at
    the same time must not make a submit fail.
    """
    return begin_enqueue(connection, events, now)()


def begin_enqueue(
    connection: Connection, events: Mapping[WebhookEvent, dict[str, Any]], now: float
) -> Callable[[], int]:
    """The same, without waiting for the webhooks: the function that it returns waits, and adds the calls."""
    if not events:
        return lambda: 0
    wanted = asked(connection, _wanted_text(connection.dialect.name))
    return lambda: _add_calls(connection, wanted(), events, now)


def _add_calls(
    connection: Connection, found: Sequence[Any], events: Mapping[WebhookEvent, dict[str, Any]], now: float
) -> int:
    decode, encode = Decoding(connection), Encoding(connection)
    moment = encode.time(now)
    rows = [
        (key, str(event), encode.json(payload), moment, moment)
        for key, wanted in found
        for event, payload in events.items()
        if str(event) in (decode.json(wanted) or ())
    ]
    insert_rows(connection, webhook_deliveries, _DELIVERY, rows)
    return len(rows)


@lru_cache(maxsize=2)
def _wanted_text(dialect: str) -> str:
    keeping = " FOR KEY SHARE" if dialect == "postgresql" else ""
    return f"SELECT id, events FROM webhooks WHERE enabled{keeping}"  # noqa: S608  # our own words


def add(connection: Connection, values: Mapping[str, Any], now: datetime) -> UUID:
    """Add a webhook."""
    statement = insert(webhooks).values(created_at=now, updated_at=now, **values).returning(webhooks.c.id)
    found: UUID = connection.execute(statement).scalar_one()
    return found


def count(connection: Connection) -> int:
    """How many webhooks there are."""
    return int(connection.execute(select(func.count()).select_from(webhooks)).scalar_one())


def get(connection: Connection, webhook_id: UUID) -> Webhook | None:
    """One webhook, without its secret."""
    row = connection.execute(select(*_PUBLIC).where(webhooks.c.id == webhook_id)).first()
    return None if row is None else _webhook(row)


def listed(connection: Connection, *, enabled: bool | None, limit: int) -> list[Webhook]:
    """Webhooks, the oldest first; there are few."""
    statement = select(*_PUBLIC).where(*equal({"enabled": enabled}, {"enabled": webhooks.c.enabled}))
    ordered = statement.order_by(webhooks.c.created_at, webhooks.c.id).limit(limit)
    return [_webhook(row) for row in connection.execute(ordered)]


def change(connection: Connection, webhook_id: UUID, values: Mapping[str, Any], now: datetime) -> bool:
    """Change some columns; False if there is no such webhook."""
    statement = update(webhooks).where(webhooks.c.id == webhook_id).values(updated_at=now, **values)
    return connection.execute(statement).rowcount > 0


def remove(connection: Connection, webhook_id: UUID) -> bool:
    """Delete a webhook with its deliveries; False if it does not exist."""
    return connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id)).rowcount > 0


def _webhook(row: Row[Any]) -> Webhook:
    values = dict(row._mapping)
    return Webhook(**values | {"events": tuple(values["events"])})


def deliveries(connection: Connection, page: PageOf, **wanted: Any) -> FoundRows:
    """A page of the log of deliveries."""
    table = webhook_deliveries
    columns = {name: table.c[name] for name in ("id", "webhook_id", "event", "status", "is_test")}
    return page_of(connection, select(table), table, DELIVERY_SORTS, page, equal(wanted, columns))


def add_test(connection: Connection, webhook_id: UUID, payload: Mapping[str, Any], now: datetime) -> UUID:
    """Add a test delivery. It has no time, so only the process that claims it by its id makes it."""
    values = {"webhook_id": webhook_id, "event": TEST_EVENT, "payload": payload, "is_test": True, "created_at": now}
    statement = insert(webhook_deliveries).values(**values).returning(webhook_deliveries.c.id)
    found: UUID = connection.execute(statement).scalar_one()
    return found


def send_again(connection: Connection, delivery_id: UUID, now: datetime) -> bool:
    """Have a call made again that has ended, with all its attempts; False if it has not, is a test, or is gone."""
    table = webhook_deliveries
    again = {"status": "pending", "attempts": 0, "next_attempt_at": now, "delivered_at": None}
    ended = (table.c.id == delivery_id, table.c.status != "pending", table.c.is_test.is_(False))
    return connection.execute(update(table).where(*ended).values(**again)).rowcount > 0


def count_by_status(connection: Connection) -> dict[str, int]:
    """How many deliveries of the log have each status."""
    counted = select(webhook_deliveries.c.status, func.count()).group_by(webhook_deliveries.c.status)
    return {row[0]: row[1] for row in connection.execute(counted)}


def is_any_due(connection: Connection, now: datetime) -> bool:
    """Whether a call of an enabled webhook is due."""
    return connection.execute(_due_webhooks(now, 1)).first() is not None


def claim(connection: Connection, now: datetime, until: datetime, *, most: int, most_each: int) -> list[DueDelivery]:
    """Claim due calls until a time, at most a few of each webhook, so that a slow receiver does not hold up others."""
    claimed: list[DueDelivery] = []
    for (webhook_id,) in connection.execute(_due_webhooks(now, most)).all():
        due = _calls().where(
            webhook_deliveries.c.webhook_id == webhook_id, _DUE, webhook_deliveries.c.next_attempt_at <= now
        )
        ordered = due.order_by(webhook_deliveries.c.next_attempt_at, webhook_deliveries.c.id)
        claimed += _claim(connection, ordered.limit(min(most_each, most - len(claimed))), now, until)
        if len(claimed) >= most:
            break
    return claimed


def claim_one(connection: Connection, delivery_id: UUID, now: datetime, until: datetime) -> DueDelivery | None:
    """Claim one call, whether its webhook is enabled or not; None if it has ended or is gone."""
    statement = _calls().where(webhook_deliveries.c.id == delivery_id, _DUE)
    return next(iter(_claim(connection, statement, now, until)), None)


def _due_webhooks(now: datetime, limit: int) -> Select[Any]:
    """The enabled webhooks with a due call, the longest overdue first; reads the front of an index for each."""
    table = webhook_deliveries
    earliest = (
        select(func.min(table.c.next_attempt_at))
        .where(table.c.webhook_id == webhooks.c.id, _DUE)
        .correlate(webhooks)
        .scalar_subquery()
    )
    return select(webhooks.c.id).where(webhooks.c.enabled, earliest <= now).order_by(earliest).limit(limit)


def _calls() -> Select[Any]:
    table = webhook_deliveries
    columns = (table.c.id, table.c.webhook_id, table.c.event, table.c.payload, table.c.created_at, table.c.is_test)
    attempt = (table.c.attempts + 1).label("attempt")
    joined = select(*columns, attempt, webhooks.c.url, webhooks.c.secret).join(webhooks)
    return joined.with_for_update(of=table, skip_locked=True)


def _claim(connection: Connection, statement: Select[Any], now: datetime, until: datetime) -> list[DueDelivery]:
    table = webhook_deliveries
    found = [DueDelivery(**row._mapping) for row in connection.execute(statement)]
    if found:
        claimed = {"attempts": table.c.attempts + 1, "next_attempt_at": until, "last_attempt_at": now}
        ids = [each.id for each in found]
        connection.execute(update(table).where(table.c.id.in_(ids)).values(**claimed))
    return found


def settle(connection: Connection, call: DueDelivery, values: Mapping[str, Any]) -> bool:
    """Write the result of an attempt; False if the call was claimed again meanwhile, or is gone."""
    table = webhook_deliveries
    is_ours = (table.c.id == call.id, _DUE, table.c.attempts == call.attempt)
    return connection.execute(update(table).where(*is_ours).values(**values)).rowcount > 0


def note_success(connection: Connection, webhook_id: UUID) -> None:
    """A receiver accepted a call: its failures are over."""
    is_failing = (webhooks.c.id == webhook_id, webhooks.c.consecutive_failures > 0)
    connection.execute(update(webhooks).where(*is_failing).values(consecutive_failures=0))


def note_failure(connection: Connection, webhook_id: UUID, reason: str, now: datetime) -> bool:
    """An attempt failed: count it, and disable a webhook that fails too often; returns whether that was now."""
    counted = (
        update(webhooks)
        .where(webhooks.c.id == webhook_id)
        .values(consecutive_failures=webhooks.c.consecutive_failures + 1)
        .returning(webhooks.c.consecutive_failures)
    )
    failures = connection.execute(counted).scalar()
    if failures is None or not is_disabled_after(failures):
        return False
    values = {"enabled": False, "updated_at": now, "disabled_reason": f"{failures} failures in a row; {reason}"}
    disabled = update(webhooks).where(webhooks.c.id == webhook_id, webhooks.c.enabled).values(**values)
    return connection.execute(disabled).rowcount > 0


def is_any_before(connection: Connection, before: datetime) -> bool:
    """Whether there is a delivery that was made before a time."""
    old = select(webhook_deliveries.c.id).where(webhook_deliveries.c.created_at < before).limit(1)
    return connection.execute(old).first() is not None


def forget(connection: Connection, before: datetime, limit: int) -> int:
    """Delete deliveries that were made before a time; returns how many."""
    table = webhook_deliveries
    old = select(table.c.id).where(table.c.created_at < before).order_by(table.c.created_at).limit(limit)
    return connection.execute(delete(table).where(table.c.id.in_(old.scalar_subquery()))).rowcount
