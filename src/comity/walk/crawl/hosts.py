"""The hosts that a run has open: how each is leased, supplied with URLs and released.

Loading more URLs of a host or releasing it is a task here. What may happen to it in the meantime depends on its phase:
see `session.leased_host`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

from comity.frontier.store import FrontierUnavailable
from comity.model.host import HostStatus
from comity.model.run import EndReason, Exhausted
from comity.model.traps import TrapCode
from comity.model.wording import counted
from comity.walk.crawl.budget import RunBudget
from comity.walk.crawl.dispatcher import Dispatcher
from comity.walk.crawl.events import Emit, HostsChanged, WorkFailed
from comity.walk.crawl.host_closing import HostCloser
from comity.walk.crawl.host_opening import HostOpener
from comity.walk.crawl.progress import LEASE_LOST, HostSummary, Progress
from comity.walk.crawl.settling import RetryingThread, Settling
from comity.walk.crawl.terms import CrawlTerms, HostShare
from comity.walk.login import LoginFailed, LoginPutOff, log_in, log_in_again
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost
from comity.walk.session.session import Session
from comity.walk.visit.context import VisitContext

_AT_ONCE: Final = 64  # hosts that are opened or released in one transaction
_WARNINGS_MOST: Final = 100
_IN_STEP_MOST: Final = 8  # hosts that may begin at the same moment
_LOOK_EVERY_S: Final = 0.02
# Limits of a run that crawls whatever the table offers, and may last long.
_LINES_KEPT: Final = 1000  # the last hosts, whose ends the summary lists
_LEFT_FOR_S: Final = 60.0  # before a host that was released may be leased again
_LOOK_FOR_MORE_S: Final = 5.0  # between two looks at the table while more hosts could be open
_PASSED_MOST: Final = 2000  # hosts that were released just now and come first again, passed over in one look
_PAUSE_FOR_PASSED_S: Final = 0.02  # for each of these, before the next look
_OPEN: Final = (HostStatus.PENDING, HostStatus.ACTIVE)
_RETAKEN_MOST: Final = 20  # times that a host is leased again after its lease was lost, without a page in between


class _Spent(NamedTuple):
    """What a run has spent on a host that it released and may lease again."""

    begun: int  # visits
    pages: int
    queued: int
    """URLs that were left, which the run still counts."""


_NOTHING_SPENT: Final = _Spent(0, 0, 0)


class OpenHosts:
    """Leases hosts from the table, loads more of their URLs when they run out, and releases each once."""

    def __init__(
        self,
        session: Session,
        opener: HostOpener,
        closer: HostCloser,
        thread: RetryingThread,
        settling: Settling,
        budget: RunBudget,
        dispatcher: Dispatcher,
        terms: CrawlTerms,
        progress: Progress,
        hosts: Collection[str] | None,
        share: HostShare | None,
        most: int,
        emit: Emit,
        context: VisitContext,
    ) -> None:
        self._session = session
        self._held = session.held
        self._opener = opener
        self._closer = closer
        self._thread = thread
        self._settling = settling
        self._budget = budget
        self._dispatcher = dispatcher
        self._clock = clock = session.clock
        self._terms = terms
        self._progress = progress
        self._remaining = set(hosts) if hosts is not None else None
        self._emit = emit
        self._context = context
        self._share = share
        self._most = most
        self._open: dict[LeasedHost, int] = {}  # pages that each had before this run
        self._busy: dict[LeasedHost, asyncio.Task[None]] = {}  # tasks that load URLs or release the host
        self._opened_at: dict[LeasedHost, float] = {}
        self._spent: dict[str, _Spent] = {}  # of hosts that this run released
        self._retaken: dict[str, int] = {}  # how often in a row the lease of a host was lost
        self._left: dict[str, float] = {}  # hosts that this run will not lease again, and until when
        self._over_budget: set[str] = set()  # hosts whose part of this run is over
        self._swept_at = clock.seconds()
        self._claims_again_at = -inf
        self._later: asyncio.TimerHandle | None = None
        self._releasing: list[tuple[LeasedHost, int, asyncio.Future[HostSummary]]] = []
        self._release_turn = asyncio.Lock()
        self.on_host: Callable[[HostSummary], None] | None = None  # called with how a host ended
        self.ended_by: EndReason | None = None  # what ended the run
        self.spent_budget: Exhausted | None = None  # the budget that ended the run, if one did
        self.forgotten: Counter[EndReason] = Counter()  # ends of hosts whose lines are not stored
        self.lines: deque[HostSummary] = deque(maxlen=_LINES_KEPT if hosts is None else None)

    def __iter__(self) -> Iterator[LeasedHost]:
        return iter(list(self._open))

    def __contains__(self, host: LeasedHost) -> bool:
        return host in self._open

    def __bool__(self) -> bool:
        """Whether any host is still open, or being released."""
        return bool(self._open or self._busy)

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is to begin."""
        return self.ended_by is not None

    async def take_more(self) -> None:
        """Lease more hosts, up to the limit."""
        free = self._most - len(self._open) - len(self._busy)
        while free > 0 and not self.is_ending and (self._remaining is None or self._remaining):
            claimed = await self._claim(free)
            if not claimed:
                held = self._held
                release = held.release_idle if self._open or self._busy else held.release_on_demand
                if not await release():
                    self._look_later()
                    return
                continue  # a host to crawl may have been leased on demand until now
            for first in range(0, len(claimed), _AT_ONCE):
                await self._begin(claimed[first : first + _AT_ONCE])
            free -= len(claimed)

    def _look_later(self) -> None:
        """Hosts may be seeded or become due while others are open."""
        if self._remaining is None and self._later is None and not self.is_ending:
            self._later = asyncio.get_running_loop().call_later(_LOOK_FOR_MORE_S, self._look_for_more)

    def _look_for_more(self) -> None:
        self._later = None
        self._emit(HostsChanged())

    async def _begin(self, hosts: list[LeasedHost]) -> None:
        """Open hosts that were leased just now, unless the run has ended in the meantime."""
        for host in hosts:
            if self._remaining is not None:
                self._remaining.discard(host.name)
            host.tally.begun, host.tally.earlier_pages, _queued = self._spent.get(host.name, _NOTHING_SPENT)
        try:
            opened = await self._thread.run(self._opener.open_some, hosts)
        except FrontierUnavailable:
            if not self.is_ending:
                raise
            for host in hosts:  # no visit of them had begun
                await self._held.release(host)
            return
        # Hosts with one delay that begin together would stay in step, and wait for each other all the time.
        spread_s = (self._terms.profile.interval_s or 0.0) / 2 if len(hosts) > _IN_STEP_MOST else 0.0
        now = self._clock.seconds()
        for number, (host, found) in enumerate(zip(hosts, opened, strict=True)):
            if found is None:
                host.lose_lease()
                self._held.forget(host)
                lost = EndReason.HELD_ELSEWHERE
                self._record(HostSummary(host.name, LEASE_LOST, 0, 0, 0, lost.sentence, code=lost))
                self._lease_again(host)
                continue
            before, queued = found
            self._open[host] = before
            self._opened_at[host] = now
            self._progress.queued += queued - self._spent.get(host.name, _NOTHING_SPENT).queued
            if self.is_ending:
                host.spent_budget = self.spent_budget
                host.close()
            elif host.identity is not None and host.identity.terms.needs_a_step and not host.is_closed:
                self._begin_task(host, self._log_in(host))
                continue
            elif not host.is_closed:  # its lease may have been lost while its URLs were read
                host.open()
            if spread_s and not self.is_ending:
                self._dispatcher.ready_at(host, now + spread_s * number / len(hosts))
            else:
                self._dispatcher.ready(host)
        self._progress.hosts_active = len(self._open)
        self._dispatcher.serve()

    async def _log_in(self, host: LeasedHost) -> None:
        """Log in to a host, and open it; one whose login does not work is released, with its URLs queued."""
        assert host.identity is not None
        problem = await log_in(host, self._context) if host.identity.terms.problem is None else None
        host.identity.log_in = partial(log_in_again, host, self._context)
        del self._busy[host]
        if host.unsettled:
            self._settling.put_news(host)
        if not host.is_closed:
            host.open()
            if host.identity.terms.problem is not None:
                host.stopped_by = (EndReason.CREDENTIALS_MISSING, host.identity.terms.problem)
            elif isinstance(problem, LoginFailed) and host.stopped_by is None:
                host.stopped_by = (EndReason.LOGIN_FAILED, problem.reason)
            if isinstance(problem, LoginPutOff) and problem.until is not None:
                host.drain_until(problem.until)
            elif host.stopped_by is not None or problem is not None:
                host.drain()
        self._dispatcher.ready(host)

    async def _claim(self, limit: int) -> list[LeasedHost]:
        """Candidates from the table; or, with claims turned off, the named hosts that are open."""
        if self._remaining is None:
            return await self._claim_of_all(limit)
        if self._share is not None:
            self._remaining.difference_update(self._share.left())
        if self._terms.claims and not self._terms.has_own_list:
            claimed = await self._held.claim(limit, self._remaining, smart=self._terms.smart)
        else:
            named = sorted(self._remaining)[:limit]
            self._remaining.difference_update(named)
            claimed = await self._held.claim_named(named)
        left = self._left if self._share is None else {*self._left, *self._share.left()}
        fresh = [host for host in claimed if host.name not in left and self._is_open(host)]
        for host in claimed:
            if host not in fresh:
                await self._held.release(host)
        return fresh

    def _is_open(self, host: LeasedHost) -> bool:
        """Whether a host is to be crawled; a list of visits does not ask what became of other crawls."""
        return self._terms.has_own_list or host.lease.status in _OPEN

    async def _claim_of_all(self, limit: int) -> list[LeasedHost]:
        """The best of the whole table, past hosts that were released just now and would come first again."""
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
            claimed = await self._held.claim(wanted, None, smart=self._terms.smart)
            is_last = len(claimed) < wanted
            for host in claimed:
                is_left = self._left.get(host.name, -inf) > now or host.lease.status not in _OPEN
                (passed if is_left or len(fresh) >= limit else fresh).append(host)
        for host in passed:
            await self._held.release(host)
        self._claims_again_at = now + len(passed) * _PAUSE_FOR_PASSED_S
        return fresh

    def join(self, names: Iterable[str]) -> None:
        """Hosts of the same site got new URLs: those that are open read on, the others are leased in their turn."""
        open_hosts = {host.name: host for host in self._open}
        for name in names:
            host = open_hosts.get(name)
            if host is not None and host not in self._busy:
                host.work.has_more = True
                self._dispatcher.ready(host)
            elif self._remaining is not None:
                self._take_again(name)
        self._emit(HostsChanged())

    def _take_again(self, name: str) -> None:
        """Lease a host although the run was done with it."""
        if name in self._over_budget:
            return
        self._left.pop(name, None)
        if self._remaining is not None:
            self._remaining.add(name)
        if self._share is not None and name in self._share.left():
            self._share.take_back(name)

    def supply(self, host: LeasedHost) -> None:
        """A host has no URLs in memory: load more, wait for postponed ones, or release it."""
        if host not in self._open or host in self._busy:
            return
        if host.is_stopped or self.is_ending:
            self.release(host)
        elif self._settling.is_waiting(host):
            # Its links may still come; settling brings it back. A request for robots.txt alone puts nothing there.
            if host.unsettled:
                self._settling.put_news(host)
        elif host.work.turn_to_images():
            self._begin_task(host, self._read_on(host))
        else:
            at = host.work.next_at()
            if at is None or at - self._clock.seconds() > MAX_HOST_WAIT_S:
                self.release(host)
            else:
                self._dispatcher.ready_at(host, at)

    async def _read_on(self, host: LeasedHost) -> None:
        """Load the next URLs of a host."""
        rows, later = await self._thread.run(self._opener.read_on, host)
        # From here on it may run dry again, also between the end of this task and `_after`.
        del self._busy[host]
        if not host.work.read(rows, is_whole=len(rows) < self._opener.window and later is None):
            postponed = [at for at in (host.work.next_at(), later.timestamp() if later else None) if at is not None]
            if postponed and min(postponed) - self._clock.seconds() <= MAX_HOST_WAIT_S and not host.is_stopped:
                self._dispatcher.ready_at(host, min(postponed))
                return
            host.work.has_more = False  # the rest is postponed for longer than we wait
        self._dispatcher.ready(host)

    def release(self, host: LeasedHost) -> None:
        """Release a host, once."""
        if host in self._open and host not in self._busy:
            self._begin_task(host, self._release(host))

    async def _release(self, host: LeasedHost) -> None:
        before = self._open[host]
        has_run_dry = not (host.is_stopped or self.is_ending)
        self._dispatcher.forget(host)
        host.close()
        self._budget.release(host)
        while host.gate.in_flight:  # noqa: ASYNC110  # rare: a redirect led here, and the gate has no event
            await asyncio.sleep(_LOOK_EVERY_S)
        await self._settling.flush(host)
        if self._share is not None:
            self._share.leave(host.name)
        if self._terms.site is not None and host.spent_budget is not None:
            self._over_budget.add(host.name)
        line = await self._close_with_others(host, before)
        if line.status == LEASE_LOST:
            host.lose_lease()
        line = replace(line, seconds=round(self._clock.seconds() - self._opened_at.pop(host), 3))
        del self._open[host]
        self._remember(host, line)
        self._session.forget(host)
        self._record(line)
        self._warn_of_what_was_skipped(host)
        self._progress.hosts_active = len(self._open)
        self._progress.hosts_done += 1
        may_go_on = line.status in (HostStatus.EXHAUSTED, *_OPEN) and not self.is_ending
        if self._terms.site is not None and has_run_dry and may_go_on:
            await self._check_for_site_links(host)

    async def _check_for_site_links(self, host: LeasedHost) -> None:
        """Pages of other hosts may have named URLs of a host while it was released, before or after it was closed."""
        if await self._thread.run(self._opener.still_queued, host):
            self._take_again(host.name)

    def _remember(self, host: LeasedHost, line: HostSummary) -> None:
        """Remember what a released host has spent, in case the table offers it again."""
        is_to_go_on = host.was_requeued_late and line.status == HostStatus.ACTIVE and host.spent_budget is None
        spent = _Spent(host.tally.begun, host.tally.pages_in_run, line.queued)
        # By the database's clock a lease may last a little longer than by ours.
        if line.status == LEASE_LOST or (host.is_lost and line.status == HostStatus.ACTIVE):
            self._spent[host.name] = spent
            self._lease_again(host)
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

    def _lease_again(self, host: LeasedHost) -> None:
        """Lease a host again whose lease was lost (the process or its disk hung), unless another worker has it.

        A host whose lease is lost several times in a row, without a page in between, is given up.
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

    def _record(self, line: HostSummary) -> None:
        """Store how a host ended; of very many hosts the first are only counted."""
        if len(self.lines) == self.lines.maxlen:
            self.forgotten[EndReason(self.lines[0].code)] += 1
        self.lines.append(line)
        if self._share is not None:
            self._share.report(line)
        if self.on_host is not None:
            self.on_host(line)

    def _warn_of_what_was_skipped(self, host: LeasedHost) -> None:
        """Report what was skipped and how to include it: the operator may know the site better than we do."""
        count, warnings = host.tally.refused_as_trap, []
        if count:
            links = counted(count, "link was", "links were")
            look = "it looks" if count == 1 else "they look"
            warnings.append(
                f"{host.name}: {links} not followed because {look} endless (calendars, sessions, filters, "
                f"copies){self._terms.advice.endless_links}."
            )
        if host.traps is not None and (names := host.traps.folded):
            copies = host.traps.refusals[TrapCode.VOLATILE_PARAMETER]
            warnings.append(
                f"{host.name}: the parameter {' and '.join(names)} changes on every link and the pages stay the same. "
                f"Each page was visited once, {copies:,} copies were skipped; COMITY_AVOID_TRAPS=false visits them."
            )
        if host.tally.moved_to is not None and host.tally.pages <= 1:
            warnings.append(
                f"{host.name} redirects to another host{self._terms.advice.moved.format(host.tally.moved_to)}."
            )
        if host.tally.unread_sitemaps:
            files = counted(host.tally.unread_sitemaps, "sitemap was", "sitemaps were")
            warnings.append(
                f"{host.name}: {files} not read in full; pages that can be found only there are missing. "
                f"The first is {host.tally.unread_sitemap}."
            )
        if host.tally.unread_pages:
            pages = counted(host.tally.unread_pages, "page was", "pages were")
            warnings.append(
                f"{host.name}: {pages} not read in full (too large or too complex); pages that nothing else names are "
                f"missing. The first is {host.tally.unread_page}."
            )
        self._progress.warnings += warnings[: max(0, _WARNINGS_MOST - len(self._progress.warnings))]

    async def _close_with_others(self, host: LeasedHost, before: int) -> HostSummary:
        """Release a lease, together with those of other hosts that end at the same time."""
        own: asyncio.Future[HostSummary] = asyncio.get_running_loop().create_future()
        self._releasing.append((host, before, own))
        async with self._release_turn:
            while not own.done():
                some, self._releasing = self._releasing[:_AT_ONCE], self._releasing[_AT_ONCE:]
                try:
                    ended = [(each, pages) for each, pages, _waiter in some]
                    lines = await self._thread.run(self._closer.close_some, ended, self.ended_by)
                except Exception as error:
                    for _host, _before, waiter in some:
                        if waiter is not own and not waiter.done():
                            waiter.set_exception(error)
                    raise
                for (_host, _before, waiter), line in zip(some, lines, strict=True):
                    if not waiter.done():
                        waiter.set_result(line)
        return own.result()

    async def finish(self) -> None:
        """Wait until loading and releasing are done."""
        if self._later is not None:
            self._later.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def _begin_task(self, host: LeasedHost, work: Coroutine[Any, Any, None]) -> None:
        task = self._busy[host] = asyncio.create_task(work)
        task.add_done_callback(lambda ended: self._after(host, ended))

    def _after(self, host: LeasedHost, task: asyncio.Task[None]) -> None:
        """URLs of a host were loaded, or it was released."""
        if self._busy.get(host) is task:
            del self._busy[host]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._emit(WorkFailed(error))
        self._emit(HostsChanged())
        self._dispatcher.serve()
