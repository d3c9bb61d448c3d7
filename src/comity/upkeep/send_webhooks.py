"""Call webhooks: claim the deliveries that are due, post each to its URL, and store the result.

Any number of processes may send for one state. A claim lasts longer than an attempt can take, so two processes never
make one call at the same time; a call whose process died is made again when the claim runs out. Receivers therefore get
each delivery at least once, always with the same id.

Calls go through the fetcher of crawls: its address guard refuses private addresses, it follows no redirect and its
limits bound every answer. A receiver is the operator's own, so neither robots.txt nor a host's gate applies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import webhooks
from comity.database.types import from_seconds
from comity.model.dataclass import dataclass
from comity.model.errors import StateUnavailable
from comity.model.fetch import FailureKind, Fetcher, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.webhook import DeliveryStatus, DueDelivery
from comity.rules.queue.webhook import body_of, is_delivered, next_attempt_after_s, secret_in_force, signature
from comity.telemetry.loops import pause
from comity.walk.bots.threads import time_of

AT_ONCE: Final = 16
AT_ONCE_EACH: Final = 4
"""Calls of one webhook at once."""
TIMEOUT_S: Final = 10.0
CLAIM_S: Final = 60.0
_GRACE_S: Final = 2.0  # for calls under way when the process is to stop
_MOST_BATCHES: Final = 50
_LARGEST_ANSWER: Final = 65_536
_LONGEST_ERROR: Final = 500
_KEPT_DAYS: Final = 30
_FORGET_EVERY_S: Final = 3600.0
_FORGET_BATCH: Final = 5000
_DISABLED: Final = "a webhook failed too often in a row and was disabled; its row has the reason"
LIMITS: Final = FetchLimits(
    max_body_bytes=_LARGEST_ANSWER,
    max_wire_bytes=_LARGEST_ANSWER,
    connect_timeout_s=TIMEOUT_S,
    first_byte_timeout_s=TIMEOUT_S,
    idle_timeout_s=TIMEOUT_S,
    total_timeout_s=TIMEOUT_S,
)
OpenFetcher = Callable[[], AbstractAsyncContextManager[Fetcher]]


@dataclass(slots=True)
class Sent:
    """The result of one pass, by attempts."""

    delivered: int = 0
    failed: int = 0
    disabled: int = 0
    """Webhooks that failed too often in a row."""


class WebhookSender:
    """Makes the calls of webhooks: once, or until stopped. Opens a fetcher only when there is something to send."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        open_fetcher: OpenFetcher,
        environment: Mapping[str, str],
        *,
        every_s: float = 2.0,
    ) -> None:
        self._database = database
        self._clock = clock
        self._open_fetcher = open_fetcher
        self._environment = environment
        self._every_s = every_s
        self._forgot_at: float | None = None

    async def serve(
        self,
        stopping: asyncio.Event,
        on_trouble: Callable[[str], None] = lambda _sentence: None,
        on_sent: Callable[[Sent], None] = lambda _sent: None,
    ) -> None:
        """Send every few seconds until stopped; `on_sent` gets the result of each pass."""
        while not stopping.is_set():
            try:
                sent = await self.send_due(stopping)
                on_sent(sent)
                if sent.disabled:
                    on_trouble(_DISABLED)
            except StateUnavailable as error:  # the next pass may find it again
                on_trouble(str(error))
            await pause(stopping, self._every_s)

    async def send_due(self, stopping: asyncio.Event | None = None, *, batches: int = _MOST_BATCHES) -> Sent:
        """Make the calls that are due, in a limited number of batches; a state without any costs one query."""
        sent = Sent()
        await asyncio.to_thread(self._forget_old)
        if not await asyncio.to_thread(self._is_any_due):
            return sent
        async with self._open_fetcher() as fetcher:
            for _ in range(batches):
                claimed = await asyncio.to_thread(self._claim)
                if not claimed:
                    break
                await _finish(asyncio.gather(*(self._send(fetcher, call, sent) for call in claimed)))
                if stopping is not None and stopping.is_set():
                    break
        return sent

    async def send_one(self, delivery_id: UUID) -> Sent:
        """Make one call now, whether its webhook is enabled or not: a test."""
        sent = Sent()
        call = await asyncio.to_thread(self._claim_one, delivery_id)
        if call is not None:
            async with self._open_fetcher() as fetcher:
                await self._send(fetcher, call, sent)
        return sent

    async def _send(self, fetcher: Fetcher, call: DueDelivery, sent: Sent) -> None:
        try:
            secret = secret_in_force(call.secret, self._environment)
        except ValueError as error:  # nothing is sent without a signature
            await asyncio.to_thread(self._settle, call, None, str(error), sent, is_ours=True)
            return
        answer = await fetcher.get(request_of(call, secret, self._clock.seconds()))
        if isinstance(answer, FetchFailure) and answer.kind is FailureKind.CANCELLED:
            return  # not the receiver's fault: the call is made again when the claim runs out
        failed = None if is_delivered(answer.status) else error_of(answer)
        await asyncio.to_thread(self._settle, call, answer.status, failed, sent)

    def _settle(
        self, call: DueDelivery, status: int | None, error: str | None, sent: Sent, *, is_ours: bool = False
    ) -> None:
        """Store the result of a call; a failure on this side is no reason to disable the webhook."""
        delivered = error is None
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            values = _result(call, status, error, now)
            if not webhooks.settle(connection, call, values):
                return  # claimed again, or deleted: another attempt decides
            sent.delivered += delivered
            sent.failed += not delivered
            if call.is_test:
                return
            if error is None:
                webhooks.note_success(connection, call.webhook_id)
            elif not is_ours:
                sent.disabled += webhooks.note_failure(connection, call.webhook_id, error, _moment(now))

    def _is_any_due(self) -> bool:
        with self._database.read() as connection:
            return webhooks.is_any_due(connection, _moment(time_of(connection, self._database, self._clock)))

    def _claim(self) -> list[DueDelivery]:
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            until = _moment(now + CLAIM_S)
            return webhooks.claim(connection, _moment(now), until, most=AT_ONCE, most_each=AT_ONCE_EACH)

    def _claim_one(self, delivery_id: UUID) -> DueDelivery | None:
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            return webhooks.claim_one(connection, delivery_id, _moment(now), _moment(now + CLAIM_S))

    def _forget_old(self) -> None:
        """Delete old deliveries now and then: the log is for recent problems."""
        now = self._clock.seconds()
        if self._forgot_at is not None and now - self._forgot_at < _FORGET_EVERY_S:
            return
        self._forgot_at = now
        with self._database.read() as connection:
            if not webhooks.is_any_before(connection, _moment(now) - timedelta(days=_KEPT_DAYS)):
                return
        for _ in range(_MOST_BATCHES):
            with self._database.write() as connection:
                before = _moment(time_of(connection, self._database, self._clock)) - timedelta(days=_KEPT_DAYS)
                if webhooks.forget(connection, before, _FORGET_BATCH) < _FORGET_BATCH:
                    return


async def _finish(batch: asyncio.Future[Any]) -> None:
    """Wait for a batch; when cancelled, give calls under way a moment to end, so that they need not be made again."""
    try:
        await asyncio.shield(batch)
    except asyncio.CancelledError:
        await asyncio.wait([batch], timeout=_GRACE_S)
        batch.cancel()
        raise


def request_of(call: DueDelivery, secret: str, now: float) -> FetchRequest:
    """The signed request of one attempt."""
    created_at = call.created_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    body, timestamp = body_of(str(call.id), call.event, created_at, call.payload), int(now)
    headers = (
        ("Content-Type", "application/json"),
        ("X-Comity-Event", call.event),
        ("X-Comity-Delivery", str(call.id)),
        ("X-Comity-Timestamp", str(timestamp)),
        ("X-Comity-Signature", signature(secret, timestamp, body)),
    )
    return FetchRequest(call.url, method="POST", headers=headers, body=body, limits=LIMITS)


def error_of(answer: Response | FetchFailure) -> str:
    """Why an attempt failed, in one sentence."""
    if isinstance(answer, Response):
        redirects = "; redirects are not followed" if 300 <= answer.status < 400 else ""
        return f"the receiver answered {answer.status}{redirects}"
    sentence = f"{str(answer.kind).replace('_', ' ')}: {answer.detail}" if answer.detail else str(answer.kind)
    return sentence.replace("\0", "")[:_LONGEST_ERROR]


def _result(call: DueDelivery, status: int | None, error: str | None, now: float) -> dict[str, Any]:
    """The columns of a delivery after an attempt."""
    values: dict[str, Any] = {"last_status": status, "last_error": error}
    if error is None:
        ended = {"status": str(DeliveryStatus.DELIVERED), "delivered_at": _moment(now), "next_attempt_at": None}
        return values | ended
    wait_s = None if call.is_test else next_attempt_after_s(call.attempt)
    if wait_s is None:
        return values | {"status": str(DeliveryStatus.FAILED), "next_attempt_at": None}
    return values | {"next_attempt_at": _moment(now + wait_s)}


def _moment(seconds: float) -> datetime:
    found = from_seconds(seconds)
    assert found is not None
    return found
