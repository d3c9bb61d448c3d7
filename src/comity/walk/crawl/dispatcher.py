"""The dispatcher: begins visits when a host's gate, its URLs in memory and our capacity allow it.

No task waits for each host or URL. Hosts that may have something to do now are in a queue; those that have something to
do later are in a heap by time (`ReadyHeap`), with one timer for the earliest. A host whose visit ends joins the queue
again.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import AbstractEventLoop, Task
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, Final, Generic, TypeVar

from comity.model.fetch import Waiter
from comity.model.frontier import IMAGE_PRIORITY
from comity.model.gate import Reservation, SlotTimeout, Wait, WaitReason
from comity.model.outcome import Fetched, NotModified, Outcome, Postponed, Refused, Trail
from comity.walk.crawl.budget import RunBudget
from comity.walk.crawl.events import Emit, HostDry, VisitEnded, WorkFailed
from comity.walk.crawl.steps import Stepped, Steps, rest_of
from comity.walk.robots.keeper import RobotsPostponed
from comity.walk.session.held_hosts import Capacity
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost, Phase
from comity.walk.visit.context import VisitContext
from comity.walk.visit.refusals import slot_timed_out
from comity.walk.visit.visit import Cleared, RobotsWanted, clear, visit

_TICK_LEAST_S: Final = 0.0005
# Tuples: `A | B` makes an object each time it is evaluated, which is for every page.
_NOT_VISITED: Final = (Refused, Postponed)
_CAME: Final = (Fetched, NotModified)
# Visits of one host in a row, where no host waits for a delay: what is remembered of its links is then in the
# processor's caches for all of them, and fewer hosts have a part in each batch that is settled.
_BEGUN_AT_ONCE: Final = 4
_UNREAD_MOST: Final = 8  # pages of one host that wait to be read in a child process
_Host = TypeVar("_Host", bound=Hashable)


class Dispatcher:
    """Gives hosts their turns. It does not decide about the end of a visit or a host: it emits an event."""

    def __init__(
        self,
        context: VisitContext,
        capacity: Capacity,
        clock: Callable[[], float],
        *,
        budget: RunBudget,
        is_full: Callable[[], bool],
        read_sitemaps: Callable[[LeasedHost, str], Awaitable[None]],
        emit: Emit,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = context
        self._capacity = capacity
        self._clock = clock
        self._budget = budget
        self._is_full = is_full
        self._read_sitemaps = read_sitemaps
        self._emit = emit
        self._on_idle = on_idle  # called when nothing is in progress and no host has anything to do
        self._line: deque[LeasedHost] = deque()
        self._in_line: set[LeasedHost] = set()
        self._later: ReadyHeap[LeasedHost] = ReadyHeap()
        self._preparing: set[LeasedHost] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._steps = Steps(self._spawn, self._fail)  # the visits that need no task
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._is_serving = False
        self._is_due = False  # whether the loop serves at its next turn
        self.waits: dict[WaitReason, int] = {}  # how often a host had to wait for its gate, and for what

    def ready(self, host: LeasedHost) -> None:
        """A host may have something to do now."""
        if host not in self._in_line:
            self._in_line.add(host)
            self._line.append(host)

    def ready_at(self, host: LeasedHost, at: float) -> None:
        """A host has something to do at a time."""
        self._later.push(host, at)

    def serve(self) -> None:
        """Begin everything that may begin."""
        if self._is_serving:
            return
        self._is_serving = True
        try:
            now = self._clock()
            for host in self._later.pop_due(now):
                self.ready(host)
            while self._line and self._capacity.free > 0 and not self._is_full():
                host = self._line.popleft()
                self._in_line.discard(host)
                self._serve_one(host)
        finally:
            self._is_serving = False
        if self._later.places:  # where no host waits for a delay, it is cheaper to let the loop do all of it at once
            self._context.requests.poll()
        self._set_timer()

    def forget(self, host: LeasedHost) -> None:
        """A host is released."""
        self._later.remove(host)
        if host in self._in_line:
            self._in_line.discard(host)
            self._line.remove(host)

    async def cancel(self) -> None:
        """Cancel every visit in progress."""
        self._steps.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _serve_one(self, host: LeasedHost) -> None:
        """Give one host its turn: begin visits, or note what it waits for."""
        if host in self._preparing:
            return
        # If some hosts wait for a delay, each host begins one visit per turn.
        begun, begins_most = 0, 1 if self._later.places else _BEGUN_AT_ONCE
        while host.phase is Phase.READY:
            if host.visits_under_way and host.gate.is_at_limit:
                if host.gate.limits.slot_timeout_s < inf and self._times_out(host):
                    continue
                return  # the end of a visit brings it back
            pages_under_way = host.visits_under_way - host.is_reading_sitemaps
            if host.unread >= _UNREAD_MOST or (pages_under_way and self._context.html_pool.is_behind):
                return  # the end of a page's visit brings it back; that of the sitemaps may be far away
            now = self._clock()
            entry = host.work.peek(now)
            if entry is None:
                break
            is_page = entry.priority > IMAGE_PRIORITY  # an image is not a page of the budget
            # First: a run whose budget is spent waits for no delay, and reserves no start that it will not use.
            if is_page and self._budget.is_spent(host):
                break
            if host.gate.is_closed_at(now):
                if self._is_too_long(host, host.gate.blocked_until):
                    continue
                self._context.requests.report_wait(host)
                # Where a request must end first, its end brings the host back.
                self._later.push(host, host.gate.next_start_at())
                return
            cleared = clear(host, entry, self._context)
            if isinstance(cleared, _NOT_VISITED):
                host.work.take()
                self._emit(VisitEnded(host, cleared))
                continue
            if isinstance(cleared, RobotsWanted):
                self._preparing.add(host)
                self._spawn(self._prepare(host, cleared.origin))
                return
            if host.sitemaps is not None:
                self._begin_sitemaps(host, cleared.address.origin)
            if is_page and not self._budget.may_begin(host):
                return  # pages in progress may be the last of the budget: their ends bring it back
            slot = host.gate.try_reserve()
            if isinstance(slot, Wait):
                if not self._releases(host, slot):
                    self._wait(host, slot)
                    return
                continue
            self._start(host, cleared, slot)
            begun += 1
            if begun >= begins_most or self._capacity.free <= 0 or self._is_full():
                self.ready(host)
                return
        if self._looks_into_sitemaps(host):
            return
        pages_under_way = host.visits_under_way - host.is_reading_sitemaps
        # A host whose sitemaps are being read is not done, but its queued URLs can be read on.
        is_open = host.work.has_more and not host.is_stopped
        if not pages_under_way and (is_open or not host.is_reading_sitemaps):
            self._emit(HostDry(host))
        elif (at := host.work.next_at()) is not None and not host.is_stopped:
            self._later.push(host, at)  # postponed URLs do not wait for the sitemaps

    def _start(self, host: LeasedHost, cleared: Cleared, slot: Reservation) -> None:
        """Begin a visit with the start that its host's gate granted."""
        if not cleared.is_image:
            self._budget.begun(host)
        host.work.take()
        host.visits_under_way += 1
        self._capacity.take()  # until the visit takes a place itself: it may begin only at the loop's next turn
        if self._later.places:
            self._begin(self._visit(host, cleared, slot))
        elif host.identity is None and self._context.requests.takes_steps:
            stepped = Stepped(self._steps)
            self._steps.begin(stepped, self._visit(host, cleared, slot, stepped))
        else:
            self._spawn(self._visit(host, cleared, slot))

    def _times_out(self, host: LeasedHost) -> bool:
        """Whether the next URL of a host waited for a slot for too long: then it is refused. Budgets come first.

        A URL waits from when it is the next. Otherwise the host has a turn again when its time is up.
        """
        now = self._clock()
        entry = host.work.peek(now)
        if entry is None or self._budget.is_spent(host):
            return False
        if host.waits_for_slot is None or host.waits_for_slot[0] != entry.key:
            host.waits_for_slot = (entry.key, now)
        until = host.waits_for_slot[1] + host.gate.limits.slot_timeout_s
        if now < until:
            self._later.push(host, until)
            return False
        host.waits_for_slot = None
        host.work.take()
        outcome = clear(host, entry, self._context)
        if not isinstance(outcome, _NOT_VISITED):
            outcome = slot_timed_out(host, entry, Trail(), self._context)
        self._emit(VisitEnded(host, outcome))
        return True

    def _looks_into_sitemaps(self, host: LeasedHost) -> bool:
        """Begin with a host's sitemaps although none of its pages is in memory: all may be refused, or done."""
        if host.sitemaps is None or host.home is None or host.is_stopped or host.work.has_more:
            return False
        if host.is_reading_sitemaps or host.home in host.refused:
            return False
        if self._context.robots.known(host, host.home) is not None:
            self._begin_sitemaps(host, host.home)
        else:
            self._preparing.add(host)
            self._spawn(self._prepare(host, host.home))
        return True

    def _begin_sitemaps(self, host: LeasedHost, origin: str) -> None:
        """Read a host's sitemaps while its pages are visited, now that robots.txt of its first origin is known."""
        if host.is_reading_sitemaps:
            return
        host.is_reading_sitemaps = True
        host.visits_under_way += 1

        async def read() -> None:
            try:
                await self._read_sitemaps(host, origin)
            finally:
                host.visits_under_way -= 1
                host.is_reading_sitemaps = False
                host.sitemaps = [] if host.has_sitemaps_again else None
                host.has_sitemaps_again = False
            self.ready(host)
            self.serve()

        self._spawn(read())

    def _releases(self, host: LeasedHost, wait: Wait) -> bool:
        """Whether a host is released because of a wait: its lease is over, or it asked us to wait for long."""
        if wait.reason is WaitReason.LEASE_OVER and host.gate.is_over:  # not that of a host that a redirect led to
            host.lose_lease()
            return True
        return wait.reason is WaitReason.BLOCK and self._is_too_long(host, wait.until)

    def _is_too_long(self, host: LeasedHost, blocked_until: float) -> bool:
        """Whether a host is blocked for longer than we wait: then it is released at once, and leased again when due.

        In the meantime others can use its place and its lease.
        """
        if blocked_until - self._clock() <= MAX_HOST_WAIT_S:
            return False
        host.drain_until(blocked_until)
        return True

    def _wait(self, host: LeasedHost, wait: Wait) -> None:
        self.waits[wait.reason] = self.waits.get(wait.reason, 0) + 1
        self._context.requests.report_wait(host)
        if wait.until < inf:  # else a request must end first, and its end brings the host back
            self._later.push(host, wait.until)

    async def _visit(self, host: LeasedHost, cleared: Cleared, slot: Reservation, waiter: Waiter | None = None) -> None:
        outcome: Outcome | None = None
        self._capacity.release()  # its request takes the place, before anything else runs
        try:
            outcome = await visit(host, cleared, slot, self._context, waiter)
        finally:
            host.visits_under_way -= 1
            if not cleared.is_image:
                self._budget.ended(host, came=isinstance(outcome, _CAME))
        self._emit(VisitEnded(host, outcome))
        self.ready(host)
        if self._later.places:  # where hosts wait for a delay, the next request goes out as soon as it may
            self.serve()
        elif not self._is_due:
            # Visits that end in one turn of the loop are followed by others in one go: the same code for one page
            # after the other is what the processor's caches like.
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._serve_due)

    def _serve_due(self) -> None:
        self._is_due = False
        self.serve()
        self._look_whether_idle()

    async def _prepare(self, host: LeasedHost, origin: str) -> None:
        """Read robots.txt; no page of the host is visited until then."""
        try:
            found = await self._context.robots.in_force(host, origin, self._context.host_of)
        finally:
            self._preparing.discard(host)
        if isinstance(found, RobotsPostponed) and not host.is_stopped:
            why = found.why
            if isinstance(why, SlotTimeout):
                self._later.push(host, self._clock() + 1.0)
            elif not self._releases(host, why):
                self._later.push(host, why.until if why.until < inf else self._clock() + 1.0)
        if host.is_stopped or not isinstance(found, RobotsPostponed):
            self.ready(host)
        self.serve()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Send a visit's request before anything else is done: its host's delay counts from now."""
        try:
            task = start_eagerly(asyncio.get_running_loop(), work)
        except Exception as error:
            self._emit(WorkFailed(error))
        else:
            if task is not None:
                self._track(task)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._track(asyncio.get_running_loop().create_task(work))

    def _track(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._emit(WorkFailed(error))
        self._look_whether_idle()

    def _fail(self, error: Exception) -> None:
        self._emit(WorkFailed(error))

    def _look_whether_idle(self) -> None:
        if not self._tasks and not self._steps and not self._line and not self._later:
            self._on_idle()

    def _set_timer(self) -> None:
        at = self._later.next_at()
        if at == self._timer_at and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at
        if at < inf:
            delay_s = max(at - self._clock(), _TICK_LEAST_S)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.serve()


def start_eagerly(loop: AbstractEventLoop, work: Coroutine[Any, Any, None]) -> Task[None] | None:
    """Run `work` to its first wait now, not at the loop's next turn; returns the task for the rest, if there is one.

    A start that a gate grants is used at once that way.
    """
    if sys.version_info >= (3, 12):
        task = Task(work, loop=loop, eager_start=True)
        return None if task.done() and not task.cancelled() and task.exception() is None else task
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    return loop.create_task(rest_of(work, awaited))


class ReadyHeap(Generic[_Host]):
    """A heap of hosts, each in it once; equal times come out in the order in which they went in.

    Hosts go in with the time of their next allowed request; hosts that are due come out.
    """

    def __init__(self, capacity: int = 1_000_000) -> None:
        self._capacity = capacity
        self._heap: list[tuple[float, int, _Host]] = []
        self.places: dict[_Host, tuple[float, int]] = {}
        self._pushes = 0

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, host: _Host) -> bool:
        return host in self.places

    def push(self, host: _Host, at: float) -> bool:
        """Set when the host is due, replacing any earlier time; infinite parks it. False when full."""
        if at != at:
            raise ValueError("the time at which a host is due is not a number")
        if host not in self.places and len(self.places) >= self._capacity:
            return False
        self._pushes += 1
        self.places[host] = (at, self._pushes)
        if at < inf:
            heappush(self._heap, (at, self._pushes, host))
            self._shed()
        return True

    def remove(self, host: _Host) -> bool:
        """Forget the host; False if it was not there."""
        if self.places.pop(host, None) is None:
            return False
        self._shed()
        return True

    def pop_due(self, now: float, limit: int = 1_000) -> list[_Host]:
        """Take out at most `limit` hosts whose time has come, the longest due first."""
        due: list[_Host] = []
        heap, place = self._heap, self.places
        while heap and heap[0][0] <= now and len(due) < limit:
            _, push, host = heappop(heap)
            current = place.get(host)
            if current is not None and current[1] == push:
                del place[host]
                due.append(host)
        return due

    def next_at(self) -> float:
        """When the next host is due; infinite if none is."""
        heap, place = self._heap, self.places
        while heap:
            at, push, host = heap[0]
            current = place.get(host)
            if current is not None and current[1] == push:
                return at
            heappop(heap)
        return inf

    def _shed(self) -> None:
        """Drop entries that a later one replaced, before they pile up."""
        if len(self._heap) > 2 * len(self.places) + 64:
            self._heap = [(at, push, host) for host, (at, push) in self.places.items() if at < inf]
            heapify(self._heap)
