"""The gate of one leased host: a clock, a random source and a queue of waiting tasks around the politeness rules.

It belongs to one event loop. There is no `await` between the check and the reservation, so two tasks can never get
starts within one delay.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import field
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from typing import Final, Protocol

from comity.model.dataclass import dataclass
from comity.model.gate import (
    AnswerKind,
    DelayInForce,
    GateLimits,
    GateMemory,
    Observation,
    Reservation,
    SlotTimeout,
    Start,
    Wait,
    WaitReason,
)
from comity.rules.politeness import pace
from comity.rules.politeness.pace import START, finished, may_start, started

LINE_MOST: Final = 10_000
TIMER_LEAST_S: Final = 0.0005
TIMER_MOST_S: Final = 60.0  # checks again now and then, in case the injected clock was moved
UNSENT: Final = Observation(AnswerKind.UNSENT)


class Timer(Protocol):
    """The result of `call_later`."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class HostGate:
    """Grants starts for one host, one by one. `clock` gives UNIX seconds, `chance` a number in 0..1."""

    def __init__(
        self,
        limits: GateLimits,
        memory: GateMemory,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        lease_ends_at: float = inf,
        call_later: CallLater | None = None,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._call_later = call_later
        self._state = pace.opened(memory, limits, clock(), chance(), lease_ends_at)
        self._under_way: set[int] = set()
        self._unsent: set[int] = set()  # granted, but not sent yet
        self._late_s: dict[int, float] = {}  # how long after its grant a request was sent
        self._line = WaitingLine()
        self._timer: Timer | None = None
        self._timer_at = inf

    def __repr__(self) -> str:
        state = self._state
        return f"<HostGate {state.in_flight} in flight, {len(self._line)} in line, next at {state.next_fetch_at}>"

    @property
    def in_flight(self) -> int:
        """Requests in flight."""
        return self._state.in_flight

    @property
    def is_at_limit(self) -> bool:
        """Whether as many requests are in flight as allowed."""
        state = self._state
        return state.in_flight >= state.limits.max_concurrency

    @property
    def limits(self) -> GateLimits:
        """The limits in force."""
        return self._state.limits

    @property
    def delay(self) -> DelayInForce:
        """The delay between the last start and the next, and what set it."""
        return self._state.delay

    @property
    def usual_latency_s(self) -> float | None:
        """The host's response time under normal conditions; None until it is known."""
        return self._state.pace.latency_baseline_s

    @property
    def is_over(self) -> bool:
        """Whether the lease is over."""
        return self._clock() >= self._state.lease_ends_at

    @property
    def blocked_until(self) -> float:
        """Until when the host asked Comity to wait; -inf if it did not."""
        return self._state.block.until

    def memory(self) -> GateMemory:
        """What the host's row should remember."""
        return pace.to_memory(self._state)

    def next_start_at(self) -> float:
        """When to ask again; infinite while only a finished request can free a slot."""
        self._now()
        if self._is_one_unsent():
            return inf
        return pace.next_start_at(self._state)

    def wait_now(self) -> Wait | None:
        """What a request would wait for now; None if it may start at once."""
        verdict = self._verdict(self._now())
        return verdict if isinstance(verdict, Wait) else None

    def is_closed_at(self, now: float) -> bool:
        """Whether no request may start now: a cheap check before preparing one."""
        state = self._state
        return now < state.next_fetch_at or state.in_flight >= state.limits.max_concurrency

    def try_reserve(self) -> Reservation | Wait:
        """Take a start if one is allowed now; waiting tasks go first."""
        now = self._clock()
        if now < self._state.seen_at:
            now = self._now()
        if self._line.waiters:
            return self._behind_the_line(now)
        return self._take(now)

    def finish(self, reservation: Reservation, observation: Observation = UNSENT) -> float:
        """Return the slot with what was observed, and the time of that; every reservation must end here, once."""
        number = reservation.number
        if number not in self._under_way:
            raise ValueError(f"start number {number} is not in progress")
        self._under_way.remove(number)
        self._unsent.discard(number)
        late_s = self._late_s.pop(number, 0.0)
        if late_s:  # it was counted when it was sent
            observation = observation._replace(arrived_s=max(0.0, observation.arrived_s - late_s))
        now = self._clock()
        self._state = finished(self._state, number, observation, now)
        if self._line.waiters:
            self._serve_queue()
        return now

    def needs_sent_time(self, reservation: Reservation) -> bool:
        """Whether the next start counts from when this request is sent; then no other is granted before `note_sent`.

        With one request at a time, or without a delay, it makes no difference.
        """
        state = self._state
        if state.limits.max_concurrency <= 1 or state.delay.seconds <= 0.0:
            return False
        self._unsent.add(reservation.number)
        return True

    def note_sent(self, reservation: Reservation) -> None:
        """A request is sent now: the host counts from here, and so do we."""
        number = reservation.number
        if number in self._unsent:
            self._unsent.discard(number)
            now = self._now()
            if number == self._state.starts:
                self._late_s[number] = max(0.0, now - reservation.started_at)
            self._state = pace.sent(self._state, number, now)
            self._serve_queue()

    def update_limits(self, limits: GateLimits) -> None:
        """Put new limits in force, also for tasks that are waiting."""
        self._state = pace.with_limits(self._state, limits)
        self._serve_queue()

    def extend_lease(self, lease_ends_at: float) -> None:
        """The lease holds until then."""
        self._state = pace.with_lease(self._state, lease_ends_at)
        self._serve_queue()

    def close(self) -> None:
        """The lease was released or lost: nothing starts any longer, and no task waits for a start."""
        self.extend_lease(-inf)

    async def reserve(self, timeout_s: float | None = None) -> Reservation | SlotTimeout | Wait:
        """Wait in line for a start.

        Returns SlotTimeout if no slot was free for `timeout_s` (default: that of the limits), and Wait if the host is
        blocked for longer than that, or the lease is over. In both cases, and if the task is cancelled, nothing is
        reserved. The host's plain delay never times out.
        """
        now = self._now()
        if not self._line.waiters:
            answer = self._take(now)
            if isinstance(answer, Reservation):
                return answer
        if len(self._line) >= LINE_MOST:
            return SlotTimeout(0.0)
        max_wait_s = self._state.limits.slot_timeout_s if timeout_s is None else timeout_s
        loop = asyncio.get_running_loop()
        waiter = Waiter(now, now + max_wait_s, loop.create_future())
        self._line.join(waiter)
        try:
            while True:
                self._serve_queue()
                refusal = await waiter.turn
                if refusal is not None:
                    return refusal
                answer = self._take(self._now())
                if isinstance(answer, Reservation):
                    return answer
                # Between the wake-up and now, a block or a longer delay took effect.
                waiter.turn = loop.create_future()
        finally:
            self._line.leave(waiter)
            self._serve_queue()

    def _now(self) -> float:
        now = self._clock()
        if now < self._state.seen_at:
            self._state = pace.rebased(self._state, now)
        return now

    def _is_one_unsent(self) -> bool:
        """Whether a granted request is not sent yet, so that the time to count from is unknown."""
        return bool(self._unsent) and self._state.delay.seconds > 0.0

    def _verdict(self, now: float) -> Start | Wait:
        verdict = may_start(self._state, now)
        if self._unsent and verdict is START and self._is_one_unsent():
            return Wait(inf, WaitReason.CONCURRENCY)
        return verdict

    def _take(self, now: float) -> Reservation | Wait:
        state = self._state
        verdict = may_start(state, now) if not self._unsent else self._verdict(now)
        if verdict is not START:
            assert isinstance(verdict, Wait)
            return verdict
        jitter = 0.0 if state.limits.random_delay_s is None else self._chance()
        number = state.starts + 1
        self._state = started(state, now, jitter)
        self._under_way.add(number)
        return Reservation(number, now, state.delay)

    def _behind_the_line(self, now: float) -> Wait:
        verdict = self._verdict(now)
        if isinstance(verdict, Wait) and verdict.until == inf:
            return verdict
        until = max(now, pace.next_start_at(self._state))
        return Wait(until + max(self._state.delay.seconds, TIMER_LEAST_S), WaitReason.DELAY)

    def _serve_queue(self) -> None:
        """Wake the first in line if it may start, dismiss those that time out, and set one timer for the rest."""
        line = self._line
        if not line:
            self._set_timer(inf, 0.0)
            return
        now = self._now()
        state = self._state
        verdict = self._verdict(now)
        if isinstance(verdict, Wait):
            if verdict.reason is WaitReason.LEASE_OVER:
                self._send_away(list(line), verdict)
            elif verdict.reason is WaitReason.BLOCK:
                self._send_away(line.impatient(verdict.until), verdict)
        for waiter in line.overdue(now, max(0, state.limits.max_concurrency - state.in_flight)):
            self._send_away([waiter], SlotTimeout(now - waiter.since))
        first = line.first()
        if first is None:
            self._set_timer(inf, now)
        elif isinstance(verdict, Wait):
            self._set_timer(min(verdict.until, line.next_deadline()), now)
        else:
            # It stays first until it runs, and no task overtakes it; then it wakes the next.
            if not first.turn.done():
                first.turn.set_result(None)
            self._set_timer(line.next_deadline(), now)

    def _send_away(self, waiters: list[Waiter], answer: SlotTimeout | Wait) -> None:
        for waiter in waiters:
            # A task that was woken checks again, and comes back here if it may not start.
            if not waiter.turn.done():
                self._line.leave(waiter)
                waiter.turn.set_result(answer)

    def _set_timer(self, at: float, now: float) -> None:
        if self._timer is not None:
            if self._timer_at <= at < inf:
                return  # fires early and sets itself again
            self._timer.cancel()
            self._timer = None
        if at < inf:
            delay_s = min(max(at - now, TIMER_LEAST_S), TIMER_MOST_S)
            call_later = self._call_later or asyncio.get_running_loop().call_later
            self._timer_at = now + delay_s
            self._timer = call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._serve_queue()


@dataclass(slots=True, eq=False)
class Waiter:
    """One task in line: `turn` gets None ("check again") or the reason why it cannot start."""

    since: float
    deadline: float
    turn: asyncio.Future[SlotTimeout | Wait | None] = field(repr=False)


class WaitingLine:
    """Waiting tasks in order of arrival; joining, leaving and reading the first are cheap."""

    def __init__(self) -> None:
        self.waiters: OrderedDict[Waiter, None] = OrderedDict()
        self._deadlines: list[tuple[float, int, Waiter]] = []
        self._joined = 0

    def __len__(self) -> int:
        return len(self.waiters)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(self.waiters)

    def join(self, waiter: Waiter) -> None:
        """Go to the end of the line."""
        self.waiters[waiter] = None
        if waiter.deadline < inf:
            self._joined += 1
            heappush(self._deadlines, (waiter.deadline, self._joined, waiter))

    def leave(self, waiter: Waiter) -> None:
        """Leave the line from any position; harmless if already left."""
        self.waiters.pop(waiter, None)
        if len(self._deadlines) > 2 * len(self.waiters) + 64:
            self._deadlines = [entry for entry in self._deadlines if entry[2] in self.waiters]
            heapify(self._deadlines)

    def first(self) -> Waiter | None:
        """The next task."""
        return next(iter(self.waiters), None)

    def next_deadline(self) -> float:
        """When the first waiting task times out; infinite if none will."""
        while self._deadlines and self._deadlines[0][2] not in self.waiters:
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else inf

    def overdue(self, now: float, slots_free: int) -> list[Waiter]:
        """Tasks that waited too long for a slot.

        The first `slots_free` in line have a slot and only wait out the host's delay: they no longer time out.
        """
        late: list[Waiter] = []
        with_slot: set[Waiter] | None = None
        while self.next_deadline() <= now:
            if with_slot is None:
                with_slot = set(islice(self.waiters, slots_free))
            _, _, waiter = heappop(self._deadlines)
            if waiter not in with_slot:
                late.append(waiter)
        return late

    def impatient(self, until: float) -> list[Waiter]:
        """Tasks that would time out before `until`."""
        return [waiter for waiter in self.waiters if waiter.deadline < until]
