"""One request to a leased host: wait for its gate, send it, record it in the ledger. Every request passes here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from math import inf
from typing import NamedTuple

from comity.model.dataclass import dataclass
from comity.model.fetch import (
    FailureKind,
    Fetcher,
    FetchFailure,
    FetchRequest,
    OnSent,
    Response,
    Send,
    Waiter,
    page_of_one_request,
)
from comity.model.gate import AnswerKind, DelayInForce, Observation, Reservation, SlotTimeout, Wait
from comity.model.ledger import LedgerRow, Purpose
from comity.model.named_tuple import fast_new
from comity.model.robots import RobotsVerdict
from comity.rules.politeness.backoff import parse_retry_after
from comity.rules.politeness.pace import observed, reached_within
from comity.walk.session.held_hosts import Capacity
from comity.walk.session.identity import HostIdentity
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A request that the gate did not let start: a block, an ended lease, a slot that never came free.

    Without a reason, the request was withdrawn: it was allowed when it began to wait, and no longer is.
    """

    why: Wait | SlotTimeout | None


@fast_new
class Exchange(NamedTuple):
    """A request that was made, its answer, how long the host asked Comity to wait, and the row for the ledger."""

    result: Response | FetchFailure
    retry_after_s: float | None
    row: LedgerRow


GetFor = Callable[[FetchRequest, OnSent | None, Waiter], Awaitable[Response | FetchFailure]]
OnWait = Callable[[str, Wait, float, DelayInForce], None]
"""Called when a request to a host must wait: with the host, the wait, the present time, and the delay in force."""
OnRequest = Callable[[LedgerRow, "Response | FetchFailure | None"], None]
"""Called when a request has ended: with its row of the ledger and its answer, None if it was cancelled."""


class Requests:
    """Makes requests, each with a start that the host's gate has granted."""

    def __init__(
        self, fetcher: Fetcher, capacity: Capacity, clock: Callable[[], float], on_wait: OnWait | None = None
    ) -> None:
        self.fetcher = fetcher
        # Whether each page takes one request, as with nearly all fetchers.
        self.takes_one_for_page = type(fetcher).get_page is page_of_one_request
        # For a visit that waits for its request without a task; the fetcher must be able to notify it.
        get_for: GetFor | None = getattr(fetcher, "get_for", None) if getattr(fetcher, "takes_waiters", False) else None
        self._get_for = get_for if self.takes_one_for_page else None
        self.on_end: Callable[[LeasedHost], None] = lambda _host: (
            None
        )  # called after requests that were not a visit's first
        self.on_wait = on_wait
        self.on_request: OnRequest | None = None
        self._capacity = capacity
        self._clock = clock

    @property
    def takes_steps(self) -> bool:
        """Whether visits need no tasks for their requests."""
        return self._get_for is not None

    def sender_for(self, waiter: Waiter) -> Send:
        """Sends the request of a visit that has no task: its waiter is notified."""
        get_for = self._get_for
        assert get_for is not None

        def send(request: FetchRequest, on_sent: OnSent | None) -> Awaitable[Response | FetchFailure]:
            return get_for(request, on_sent, waiter)

        return send

    async def ask(
        self,
        host: LeasedHost,
        request: FetchRequest,
        purpose: Purpose,
        *,
        verdict: RobotsVerdict | None = None,
        robots_version: str | None = None,
        may_go: Callable[[], bool] | None = None,
        send: Send | None = None,
        answers_challenge: bool = True,
        rows: list[LedgerRow] | None = None,
    ) -> Exchange | NotStarted:
        """Wait for the host's next start, make the request, and report the answer to the gate.

        It waits for the host's delay, and for a block up to the limit. `may_go` is checked again at the start. The row
        of the request is added to `rows`, if given.
        """
        self.report_wait(host)
        slot = await host.gate.reserve(min(host.gate.limits.slot_timeout_s, MAX_HOST_WAIT_S))
        if not isinstance(slot, Reservation):
            return NotStarted(slot)
        if may_go is not None and not may_go():
            host.gate.finish(slot)
            return NotStarted(None)
        try:
            return await self.send(
                host,
                slot,
                request,
                purpose,
                verdict=verdict,
                robots_version=robots_version,
                send=send,
                may_go=may_go,
                answers_challenge=answers_challenge,
                rows=rows,
            )
        finally:
            self.on_end(host)

    def report_wait(self, host: LeasedHost) -> None:
        """Report to `on_wait` that the next request to a host must wait."""
        if self.on_wait is not None and (wait := host.gate.wait_now()) is not None and wait.until < inf:
            self.on_wait(host.name, wait, self._clock(), host.gate.delay)

    async def send(
        self,
        host: LeasedHost,
        slot: Reservation,
        request: FetchRequest,
        purpose: Purpose,
        *,
        verdict: RobotsVerdict | None = None,
        robots_version: str | None = None,
        send: Send | None = None,
        may_go: Callable[[], bool] | None = None,
        answers_challenge: bool = True,
        rows: list[LedgerRow] | None = None,
    ) -> Exchange | NotStarted:
        """Use a start that the gate has granted just now; `send` makes the request, by default the fetcher's `get`.

        A challenge for a user name and a password is answered by a second request, with a start and a row of its own.
        """
        self._capacity.take()
        # The limits in force at the start: a later edit does not apply to this request.
        lease, policy, gate = host.lease, host.policy, host.gate
        number, max_concurrency = host.next_request_number(), gate.limits.max_concurrency
        seen, status, retry_after_s, is_over, is_challenged = _NOTHING, None, None, False, False
        try:
            on_sent = partial(self._note_sent, host, slot) if gate.needs_sent_time(slot) else None
            if host.identity is None:
                result = await (send or self.fetcher.get)(request, on_sent)
            else:
                result, is_challenged = await self._send_as(host.identity, request, send or self.fetcher.get, on_sent)
            status = result.status
            if status == 429 or status == 503:
                retry_after_s = _retry_after_s(result, self._clock())
            seen = _observed(result, retry_after_s, slot, gate.usual_latency_s)
            is_over = True
        finally:
            self._capacity.release()
            # The gate counts a block from the same moment: the ledger must not show a longer block than it does.
            ended_at = gate.finish(slot, seen)
            blocked = seen.answer is AnswerKind.RATE_LIMITED or seen.answer is AnswerKind.UNAVAILABLE
            row = LedgerRow(
                lease.host_id,
                lease.host,
                lease.token,
                number,
                request.url,
                purpose,
                slot.started_at,
                ended_at if ended_at > slot.started_at else slot.started_at,
                slot.delay,
                max_concurrency,
                policy.min_request_interval_ms if policy else None,
                policy.max_concurrency if policy else None,
                robots_version,
                verdict.line_number if verdict else None,
                verdict.rule if verdict else None,
                status,
                retry_after_s,
                gate.memory().blocked_until if blocked else None,
            )
            is_challenged = is_challenged and answers_challenge and not host.is_closed
            if not is_over or is_challenged:  # cancelled, or our own code failed: the request was still made
                host.unsettled.requests.append(row)
            if self.on_request is not None:
                self.on_request(row, result if is_over else None)
        if is_challenged:
            again = partial(self.ask, host, request, purpose, verdict=verdict, robots_version=robots_version)
            return await again(may_go=may_go, send=send, answers_challenge=False, rows=rows)
        if rows is not None:
            rows.append(row)
        return Exchange(result, retry_after_s, row)

    async def _send_as(
        self, identity: HostIdentity, request: FetchRequest, send: Send, on_sent: OnSent | None
    ) -> tuple[Response | FetchFailure, bool]:
        """Send a request with the headers and cookies of its host; returns whether it must be repeated."""
        problem = identity.terms.problem
        if problem is not None:
            return FetchFailure(request.url, FailureKind.CREDENTIALS_MISSING, problem, self._clock(), 0.0), False
        filled = identity.fill(request, self._clock())
        result = await send(filled, on_sent)
        is_challenged = identity.is_challenged(filled, result)
        return identity.received(result, self._clock()) if isinstance(result, Response) else result, is_challenged

    def poll(self) -> None:
        """Send requests and note answers before the next page is read: hosts' delays count from these."""
        self.fetcher.poll()

    def _note_sent(self, host: LeasedHost, slot: Reservation) -> None:
        host.gate.note_sent(slot)
        self.on_end(host)  # its next URL may have waited for this


_NOTHING = Observation(AnswerKind.FAILED)


def _retry_after_s(result: Response | FetchFailure, now: float) -> float | None:
    """How long an answer asks Comity to wait."""
    server_date = result.server_date if isinstance(result, Response) else None
    said = ", ".join(result.headers.get_all("retry-after"))
    return parse_retry_after(said or None, now, server_date)


def _observed(
    result: Response | FetchFailure, retry_after_s: float | None, slot: Reservation, usual_latency_s: float | None
) -> Observation:
    """What the gate learns from an answer: the latency, a requested wait, and when the host was reached."""
    waited_s = max(0.0, result.started_at - slot.started_at)
    if isinstance(result, Response):
        latency_s = result.first_byte_s - result.sent_s
        arrived_s = waited_s + result.sent_s + reached_within(latency_s, usual_latency_s, slot.delay.seconds)
    else:
        latency_s = result.elapsed_s
        arrived_s = waited_s + latency_s
    return observed(result.status, latency_s, retry_after_s, arrived_s)
