"""One request to a leased host: through its gate, out, and into the ledger. Nothing else calls the fetcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

from comity.fetch.fetcher import CurlFetcher
from comity.model.fetch import FetchFailure, FetchRequest, Response
from comity.model.gate import AnswerKind, Observation, Reservation, SlotTimeout, Wait
from comity.model.host import HostPolicy, Lease
from comity.model.ledger import LedgerRow, Purpose
from comity.model.robots import RobotsVerdict
from comity.rules.politeness.backoff import parse_retry_after
from comity.rules.politeness.pace import observed, reached_within
from comity.walk.session.capacity import Capacity
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost


@dataclass(frozen=True, slots=True)
class Unstarted:
    """The gate did not let the request go: a block, a lease that is over, a slot that never came free.

    Without a reason it was withdrawn: what was allowed when it began to wait is not allowed any more.
    """

    why: Wait | SlotTimeout | None


class Asked(NamedTuple):
    """A request that went out, with what came back and what the site said about patience."""

    result: Response | FetchFailure
    retry_after_s: float | None
    row: LedgerRow


OnWait = Callable[[str, Wait, float], None]
"""Told that a request to a host waits, for what, and at which moment that is."""


class Requests:
    """Lets requests go, each with a start that the host's gate has granted."""

    def __init__(
        self, fetcher: CurlFetcher, capacity: Capacity, clock: Callable[[], float], on_wait: OnWait | None = None
    ) -> None:
        self._fetcher = fetcher
        self.on_end: Callable[[LeasedHost], None] = lambda _host: None  # told of requests made on another's behalf
        self.on_wait = on_wait
        self._capacity = capacity
        self._clock = clock

    async def ask(
        self,
        host: LeasedHost,
        request: FetchRequest,
        purpose: Purpose,
        *,
        verdict: RobotsVerdict | None = None,
        robots_version: str | None = None,
        may_go: Callable[[], bool] | None = None,
    ) -> Asked | Unstarted:
        """Wait for the host's next start, make the request, and tell the gate what it showed.

        The host's delay is waited out, a block only as long as our patience lasts. `may_go` is asked once more when
        the start has come.
        """
        self.tell_of_wait(host)
        slot = await host.gate.reserve(min(host.gate.limits.slot_timeout_s, MAX_HOST_WAIT_S))
        if not isinstance(slot, Reservation):
            return Unstarted(slot)
        if may_go is not None and not may_go():
            host.gate.finish(slot)
            return Unstarted(None)
        try:
            return await self.send(host, slot, request, purpose, verdict=verdict, robots_version=robots_version)
        finally:
            self.on_end(host)

    def tell_of_wait(self, host: LeasedHost) -> None:
        """Tell of a host whose next request must wait for a time, if `on_wait` is set."""
        if self.on_wait is not None and (wait := host.gate.wait_now()) is not None and wait.until < inf:
            self.on_wait(host.name, wait, self._clock())

    async def send(
        self,
        host: LeasedHost,
        slot: Reservation,
        request: FetchRequest,
        purpose: Purpose,
        *,
        verdict: RobotsVerdict | None = None,
        robots_version: str | None = None,
    ) -> Asked:
        """Use a start that the gate has granted just now."""
        self._capacity.take()
        # The limits as they are now: an edit while the request is under way does not bind it.
        started = _Started(host.lease, host.next_request_number(), host.gate.limits.max_concurrency, host.policy)
        seen, status, retry_after_s, is_over = _NOTHING, None, None, False
        try:
            on_sent = partial(self._note_sent, host, slot) if host.gate.is_to_be_told_when_sent(slot) else None
            result = await self._fetcher.get(request, on_sent)
            status = result.status
            if status == 429 or status == 503:
                server_date = result.server_date if isinstance(result, Response) else None
                said = ", ".join(result.headers.get_all("retry-after"))
                retry_after_s = parse_retry_after(said or None, self._clock(), server_date)
            seen = _observed(result, retry_after_s, slot, host.gate.usual_latency_s)
            is_over = True
        finally:
            self._capacity.give_back()
            # Read before the gate sets a block: the ledger must not ask for a longer one than the gate keeps.
            ended_at = max(slot.started_at, self._clock())
            host.gate.finish(slot, seen)
            blocked = seen.answer is AnswerKind.RATE_LIMITED or seen.answer is AnswerKind.UNAVAILABLE
            policy = started.policy
            row = LedgerRow(
                started.lease.host_id,
                started.lease.host,
                started.lease.token,
                started.number,
                request.url,
                purpose,
                slot.started_at,
                ended_at,
                slot.delay,
                started.max_concurrency,
                policy.min_request_interval_ms if policy else None,
                policy.max_concurrency if policy else None,
                robots_version,
                verdict.line_number if verdict else None,
                verdict.rule if verdict else None,
                status,
                retry_after_s,
                host.gate.memory().blocked_until if blocked else None,
            )
            if not is_over:  # cancelled, or our own code failed: the host was asked all the same
                host.unsettled.requests.append(row)
        return Asked(result, retry_after_s, row)

    def look(self) -> None:
        """Have requests go out, and answers noted, before the next page is read: hosts' delays count from these."""
        self._fetcher.look()

    def _note_sent(self, host: LeasedHost, slot: Reservation) -> None:
        host.gate.note_sent(slot)
        self.on_end(host)  # its next URL may have waited for that


class _Started(NamedTuple):
    """What held for a request when it started."""

    lease: Lease
    number: int
    max_concurrency: int
    policy: HostPolicy | None


_NOTHING = Observation(AnswerKind.FAILED)


def _observed(
    result: Response | FetchFailure, retry_after_s: float | None, slot: Reservation, usual_latency_s: float | None
) -> Observation:
    """What the gate learns from an answer: its pace, its patience, and when the host was reached."""
    waited_s = max(0.0, result.started_at - slot.started_at)
    if isinstance(result, Response):
        latency_s = result.server_time_s
        arrived_s = waited_s + result.sent_s + reached_within(latency_s, usual_latency_s, slot.delay.seconds)
    else:
        latency_s = result.elapsed_s
        arrived_s = waited_s + latency_s
    return observed(result.status, latency_s, retry_after_s, arrived_s)
