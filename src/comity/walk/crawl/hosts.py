"""The hosts that a run has under way: how each is taken, kept in URLs and given back."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import replace
from math import inf
from typing import Any, Final

from comity.clock import Clock
from comity.fetch.fetcher import Fetcher
from comity.frontier.store import FrontierUnavailable
from comity.model.budget import Exhausted
from comity.model.end_reason import EndReason
from comity.model.host import HostStatus
from comity.model.traps import TrapCode
from comity.walk.crawl.dispatcher import Dispatcher
from comity.walk.crawl.hooks import HostShare
from comity.walk.crawl.host_lifecycle import WINDOW, HostLifecycle
from comity.walk.crawl.progress import HostLineInSummary, Progress
from comity.walk.crawl.retrying_thread import RetryingThread
from comity.walk.crawl.settling import Settling
from comity.walk.crawl.summary import LEASE_LOST
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost

_AT_ONCE: Final = 64  # hosts that are opened or given back in one transaction
_WARNINGS_MOST: Final = 100
_IN_STEP_MOST: Final = 8  # hosts that may begin in the same moment
_LOOK_EVERY_S: Final = 0.02
# What bounds a run that takes whatever the table offers, and may last.
_LINES_KEPT: Final = 1000  # how so many hosts were left is told, the last ones
_LEFT_FOR_S: Final = 60.0  # a host that was left may be taken again after this time
_LOOK_FOR_MORE_S: Final = 5.0  # how often the table is looked at while there is room
_PASSED_MOST: Final = 2000  # hosts that were left and are in the way of others, given back in one look
_PAUSE_FOR_PASSED_S: Final = 0.02  # for each of these, before the next look
_OPEN: Final = (HostStatus.PENDING, HostStatus.ACTIVE)
_RETAKEN_MOST: Final = 20  # times that a host is taken again after its lease was lost, without a page in between


class OpenHosts:
    """Leases hosts from the table, reads on in their frontiers when they run dry, and closes each once."""

    def __init__(
        self,
        board: HeldHosts,
        desk: HostLifecycle,
        thread: RetryingThread,
        settling: Settling,
        fetcher: Fetcher,
        clock: Clock,
        terms: CrawlTerms,
        progress: Progress,
        hosts: Collection[str] | None,
        on_change: Callable[[], None],
        share: HostShare | None = None,
    ) -> None:
        self._board = board
        self._desk = desk
        self._thread = thread
        self._settling = settling
        self._fetcher = fetcher
        self._clock = clock
        self._terms = terms
        self._progress = progress
        self._remaining = set(hosts) if hosts is not None else None
        self._on_change = on_change
        self._share = share
        # A host that waits for its delay holds no connection, so more hosts than connections can be under way.
        self._most = terms.most_hosts
        if share is not None:
            self._most = min(self._most, share.most)
        self._open: dict[LeasedHost, int] = {}  # pages that each had before this run
        self._busy: dict[LeasedHost, asyncio.Task[None]] = {}  # being read on, or given back
        self._opened_at: dict[LeasedHost, float] = {}
        # Visits that this run began, and pages that it has, of hosts that it gave back.
        self._spent: dict[str, tuple[int, int]] = {}
        self._retaken: dict[str, int] = {}  # how often in a row the lease of a host was lost
        self._left: dict[str, float] = {}  # hosts that this run will not take again, until when
        self._swept_at = clock.seconds()
        self._claims_again_at = -inf
        self._later: asyncio.TimerHandle | None = None
        self._leaving: list[tuple[LeasedHost, int, asyncio.Future[HostLineInSummary]]] = []
        self._leaving_turn = asyncio.Lock()
        self.ended_by: EndReason | None = None  # what ended the run
        self.spent_budget: Exhausted | None = None  # what ended the run, if a budget did
        self.forgotten: Counter[EndReason] = Counter()  # how hosts were left whose lines are not kept
        self.lines: deque[HostLineInSummary] = deque(maxlen=_LINES_KEPT if hosts is None else None)
        self.dispatcher: Dispatcher
        self.on_close: Callable[[LeasedHost], None] = lambda _host: None  # told that nothing more begins on a host

    def __iter__(self) -> Iterator[LeasedHost]:
        return iter(list(self._open))

    def __contains__(self, host: LeasedHost) -> bool:
        return host in self._open

    def __bool__(self) -> bool:
        """Whether any host is still under way."""
        return bool(self._open or self._busy)

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is to begin."""
        return self.ended_by is not None

    async def take_more(self) -> None:
        """Lease more hosts while there is room for them."""
        free = self._most - len(self._open) - len(self._busy)
        while free > 0 and not self.is_ending and (self._remaining is None or self._remaining):
            claimed = await self._claim(free)
            if not claimed:
                if not await self._board.release_guests(idle_only=bool(self._open or self._busy)):
                    self._look_later()
                    return
                continue  # a host that is to be crawled may have been a guest until now
            for first in range(0, len(claimed), _AT_ONCE):
                await self._begin(claimed[first : first + _AT_ONCE])
            free -= len(claimed)

    def _look_later(self) -> None:
        """Hosts may be seeded or become due while others are under way."""
        if self._remaining is None and self._later is None and not self.is_ending:
            self._later = asyncio.get_running_loop().call_later(_LOOK_FOR_MORE_S, self._look_for_more)

    def _look_for_more(self) -> None:
        self._later = None
        self._on_change()

    async def _begin(self, hosts: list[LeasedHost]) -> None:
        """Open hosts that were leased just now; a run that was ended meanwhile begins nothing with them."""
        for host in hosts:
            if self._remaining is not None:
                self._remaining.discard(host.name)
            host.tally.begun, host.tally.earlier_pages = self._spent.get(host.name, (0, 0))
        try:
            opened = await self._thread.run(self._desk.open_some, hosts)
        except FrontierUnavailable:
            if not self.is_ending:
                raise
            for host in hosts:  # nothing was begun with them
                await self._board.give_back(host)
            return
        # Hosts with one delay that begin together would come in step, and wait for each other ever after.
        spread_s = (self._terms.profile.interval_s or 0.0) / 2 if len(hosts) > _IN_STEP_MOST else 0.0
        now = self._clock.seconds()
        for number, (host, found) in enumerate(zip(hosts, opened, strict=True)):
            if found is None:
                self._board.drop(host.name)
                lost = EndReason.HELD_ELSEWHERE
                self._note(HostLineInSummary(host.name, LEASE_LOST, 0, 0, 0, lost.sentence, code=lost))
                self._take_again(host)
                continue
            before, queued = found
            self._open[host] = before
            self._opened_at[host] = now
            self._progress.queued += queued
            if self.is_ending:
                host.spent_budget = self.spent_budget
                host.close()
            if spread_s and not self.is_ending:
                self.dispatcher.ready_at(host, now + spread_s * number / len(hosts))
            else:
                self.dispatcher.ready(host)
        self._progress.hosts_active = len(self._open)
        self.dispatcher.serve()

    async def _claim(self, limit: int) -> list[LeasedHost]:
        """Candidates from the table; or, with claims turned off, the named hosts that are open."""
        if self._remaining is None:
            return await self._claim_of_all(limit)
        if self._share is not None:
            self._remaining.difference_update(self._share.left())
        if self._terms.claims:
            claimed = await self._board.claim(limit, self._remaining, smart=self._terms.smart)
        else:
            named = sorted(self._remaining)[:limit]
            self._remaining.difference_update(named)
            claimed = await self._board.take(named)
        left = self._left if self._share is None else {*self._left, *self._share.left()}
        fresh = [host for host in claimed if host.name not in left and host.lease.status in _OPEN]
        for host in claimed:
            if host not in fresh:
                await self._board.give_back(host)
        return fresh

    async def _claim_of_all(self, limit: int) -> list[LeasedHost]:
        """The best of the whole table; hosts that were left and would come first again keep nobody out."""
        now = self._clock.seconds()
        if now < self._claims_again_at and (self._open or self._busy):
            return []
        if now - self._swept_at >= _LEFT_FOR_S:
            self._swept_at = now
            self._left = {name: until for name, until in self._left.items() if until > now}
        fresh: list[LeasedHost] = []
        passed: list[LeasedHost] = []
        is_last = False
        while not is_last and len(fresh) < limit and len(passed) < _PASSED_MOST:
            wanted = limit - len(fresh) + len(passed)
            claimed = await self._board.claim(wanted, None, smart=self._terms.smart)
            is_last = len(claimed) < wanted
            for host in claimed:
                is_left = self._left.get(host.name, -inf) > now or host.lease.status not in _OPEN
                (passed if is_left or len(fresh) >= limit else fresh).append(host)
        for host in passed:
            await self._board.give_back(host)
        self._claims_again_at = now + len(passed) * _PAUSE_FOR_PASSED_S
        return fresh

    def on_dry(self, host: LeasedHost) -> None:
        """A host has nothing at hand: read on, wait for what is put off, or close it."""
        if host not in self._open or host in self._busy:
            return
        if host.is_stopped or self.is_ending:
            self.close(host)
        elif self._settling.is_waiting(host):
            return  # its links may be on their way; settling brings it back
        elif host.work.turn_to_images():
            self._begin_task(host, self._read_on(host))
        else:
            at = host.work.next_at()
            if at is None or at - self._clock.seconds() > MAX_HOST_WAIT_S:
                self.close(host)
            else:
                self.dispatcher.ready_at(host, at)

    async def _read_on(self, host: LeasedHost) -> None:
        """Bring the next URLs of a host to hand."""
        rows, later = await self._thread.run(self._desk.read_on, host)
        # From here on it may be served, also by somebody who comes between the end of this task and `_after`.
        del self._busy[host]
        if not host.work.read(rows, is_whole=len(rows) < WINDOW and later is None):
            put_off = [at for at in (host.work.next_at(), later.timestamp() if later else None) if at is not None]
            if put_off and min(put_off) - self._clock.seconds() <= MAX_HOST_WAIT_S and not host.is_stopped:
                self.dispatcher.ready_at(host, min(put_off))
                return
            host.work.has_more = False  # what is left is put off for longer than we wait
        self.dispatcher.ready(host)

    def close(self, host: LeasedHost) -> None:
        """Give a host back, once."""
        if host in self._open and host not in self._busy:
            self._begin_task(host, self._give_back(host))

    async def _give_back(self, host: LeasedHost) -> None:
        before = self._open[host]
        self.dispatcher.forget(host)
        host.close()
        self.on_close(host)
        while host.gate.in_flight:  # noqa: ASYNC110  # rare: somebody was redirected here, and the gate has no event
            await asyncio.sleep(_LOOK_EVERY_S)
        await self._settling.flush(host)
        if self._share is not None:
            self._share.leave(host.name)
        line = await self._left_with(host, before)
        line = replace(line, seconds=round(self._clock.seconds() - self._opened_at.pop(host), 3))
        del self._open[host]
        self._remember(host, line)
        self._board.drop(host.name)
        self._fetcher.forget_host(host.name)  # its connections were ours for as long as its lease
        self._note(line)
        self._warn_of_what_was_left(host)
        self._progress.hosts_active = len(self._open)
        self._progress.hosts_done += 1

    def _remember(self, host: LeasedHost, line: HostLineInSummary) -> None:
        """What has to be known of a host that was given back, should the table offer it again."""
        is_to_go_on = host.came_again and line.status == HostStatus.ACTIVE and host.spent_budget is None
        spent = host.tally.begun, host.tally.pages_in_run
        # The database's clock may give a lease a little longer than ours does.
        if line.status == LEASE_LOST or (host.is_lost and line.status == HostStatus.ACTIVE):
            self._spent[host.name] = spent
            self._take_again(host)
            return
        if self._remaining is not None:
            self._spent[host.name] = spent
            if is_to_go_on:
                self._remaining.add(host.name)
            elif host.waits_until is None:
                self._left[host.name] = inf
            return
        self._spent.pop(host.name, None)
        if host.spent_budget is not None:  # its part of this run is over
            self._left[host.name] = inf
            return
        if line.status == HostStatus.ACTIVE:
            self._spent[host.name] = spent
        if host.waits_until is None and not is_to_go_on:
            self._left[host.name] = self._clock.seconds() + _LEFT_FOR_S

    def _take_again(self, host: LeasedHost) -> None:
        """A lease was lost: the process slept, or its disk did. Unless another worker has the host, go on with it.

        A host whose lease is lost again and again, without a page in between, is left.
        """
        name = host.name
        times = self._retaken[name] = 1 if host.tally.pages else self._retaken.get(name, 0) + 1
        if self.is_ending or host.spent_budget is not None or times > _RETAKEN_MOST:
            self._left[name] = inf
            return
        if self._remaining is not None:
            self._remaining.add(name)
        if self._share is not None:
            self._share.take_back(name)

    def _note(self, line: HostLineInSummary) -> None:
        """Keep how a host was left; of very many hosts the first are only counted."""
        if len(self.lines) == self.lines.maxlen:
            self.forgotten[EndReason(self.lines[0].code)] += 1
        self.lines.append(line)
        if self._share is not None:
            self._share.told(line)

    def _warn_of_what_was_left(self, host: LeasedHost) -> None:
        """Whoever knows the site better than we do is told what was left of it, and how to have it all the same."""
        count, told = host.tally.refused_as_trap, []
        if count:
            told.append(
                f"{host.name}: {count:,} links were not followed because they look endless (calendars, sessions, "
                "filters, copies); comity why URL says why, COMITY_AVOID_TRAPS=false follows them."
            )
        if host.traps is not None and (names := host.traps.folded):
            copies = host.traps.refusals[TrapCode.VOLATILE_PARAMETER]
            told.append(
                f"{host.name}: the parameter {' and '.join(names)} changes on every link and the pages stay the same. "
                f"Each page was visited once, {copies:,} copies were left out; COMITY_AVOID_TRAPS=false visits them."
            )
        if host.tally.moved_to is not None and host.tally.pages <= 1:
            told.append(f"{host.name} leads to another host; comity crawl {host.tally.moved_to} crawls that one.")
        self._progress.warnings += told[: max(0, _WARNINGS_MOST - len(self._progress.warnings))]

    async def _left_with(self, host: LeasedHost, before: int) -> HostLineInSummary:
        """Give a lease back, together with those of other hosts that are done at the same time."""
        told: asyncio.Future[HostLineInSummary] = asyncio.get_running_loop().create_future()
        self._leaving.append((host, before, told))
        async with self._leaving_turn:
            while not told.done():
                some, self._leaving = self._leaving[:_AT_ONCE], self._leaving[_AT_ONCE:]
                try:
                    left = [(each, page) for each, page, _told in some]
                    lines = await self._thread.run(self._desk.close_some, left, self.ended_by)
                except Exception as error:
                    for _host, _before, waiter in some:
                        if waiter is not told and not waiter.done():
                            waiter.set_exception(error)
                    raise
                for (_host, _before, waiter), line in zip(some, lines, strict=True):
                    if not waiter.done():
                        waiter.set_result(line)
        return told.result()

    async def finish(self) -> None:
        """Wait for whatever is being read on or given back."""
        if self._later is not None:
            self._later.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def _begin_task(self, host: LeasedHost, work: Coroutine[Any, Any, None]) -> None:
        task = self._busy[host] = asyncio.create_task(work)
        task.add_done_callback(lambda ended: self._after(host, ended))

    def _after(self, host: LeasedHost, task: asyncio.Task[None]) -> None:
        """A host was read on or given back."""
        if self._busy.get(host) is task:
            del self._busy[host]
        if not task.cancelled() and task.exception() is not None:
            self.dispatcher.failure = self.dispatcher.failure or task.exception()
        self._on_change()
        self.dispatcher.serve()
