"""A crawl in several processes: one run, one budget, one progress, one summary.

The parent does everything that comes before and after. Its processes lease different hosts from the same state and
crawl them. A process that dies is replaced: its leases are freed, and nothing that it committed is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

from comity.model.dataclass import dataclass
from comity.model.errors import StateUnavailable
from comity.model.run import Budget, BudgetReason, BudgetWarning, EndReason, Exhausted, HostLoad, Spent
from comity.reports.runs import is_stop_requested
from comity.rules.budget import check, limit_reached
from comity.run.child_process import ChildProcess
from comity.run.crawl.child import COUNTED, FinishedHosts, PageBudget
from comity.run.crawl.view import CrawlObserver, HostWait, Visit
from comity.run.remedies import ChildFailed
from comity.run.signals import INTERRUPTED, stop_on_signals
from comity.walk.crawl.progress import Fault, HostSummary, Progress, RunEnd, RunSummary, later
from comity.walk.crawl.terms import Duty
from comity.walk.session.database_thread import DatabaseThread

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.run.crawl.sites import Sites
    from comity.walk.crawl.run_record import RunRecord

_CHECK_EVERY_S: Final = 0.2
_MOST_RESTARTS: Final = 5
_ENDS_WITHIN_S: Final = 27.5  # a child waits less than this for requests in flight, and then commits what it has
_KILLED_WITHIN_S: Final = 1.0
_SITE_HOSTS_MOST: Final = 64  # open in one process, for a site whose hosts are discovered during the crawl
_LOST_WITH_A_PROCESS: Final = ("hosts_active", "hosts_waiting", "hosts_blocked", "queued", "held")
_LOOK_EVERY_S: Final = 1.0


def supervised(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored with a run whose hosts are leased by child processes, not by the process that started it."""
    return {**recorded, "is_supervised": True}


def _new_run(state: State) -> tuple[UUID, RunRecord]:
    run_id = uuid4()
    return run_id, state.run_record(run_id)


@dataclass(slots=True)
class _Part:
    """What one child process has reported; `ended` is its last message."""

    child: ChildProcess = field(init=False)
    progress: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    loads: list[HostLoad] = field(default_factory=list)
    left_out_by: dict[str, int] = field(default_factory=dict)
    ended: tuple[str, str] | None = None


class SharedCrawl:
    """A crawl of some hosts in a number of processes."""

    def __init__(
        self,
        state: State,
        sites: Sites,
        processes: int,
        view: CrawlObserver,
        *,
        begun: tuple[UUID, RunRecord] | None = None,
        handles_signals: bool = True,
    ) -> None:
        """`started` is a run that is recorded already. A server handles its signals itself, and calls `stop`."""
        self._seeds = sites.seeds
        self._recorded = sites.recorded
        self._pauses_hosts = sites.pauses_hosts
        self._state = state
        self._hosts = sorted(sites.hosts)
        self._handles_signals = handles_signals
        self._processes = processes
        self._view = view
        self._is_begun = begun is not None
        self._run_id, self._record = begun or _new_run(state)
        self._clock = state.clock.seconds
        self.progress = self._progress = Progress(self._clock(), loads=self._loads)
        self._thread = DatabaseThread()
        most_pages = state.settings.max_pages
        self._page_budget = PageBudget(most_pages) if most_pages else None
        self._near: dict[BudgetReason, str] = {}  # warnings about limits that are near
        self._pages_kept = -1  # as of the last comparison of pages taken with pages stored
        self._finished_hosts = FinishedHosts()
        self._parts: dict[asyncio.Task[int], _Part] = {}
        self._gone: list[_Part] = []
        self._lines: dict[str, HostSummary] = {}
        self._warnings: list[str] = []
        self._died = 0
        self._ending: RunEnd | None = None
        self._ends_at: float | None = None
        self._failure: ChildFailed | None = None

    async def run(self) -> RunSummary:
        """Begin the run, supervise its processes, and end it."""
        try:
            if not self._is_begun:
                settings = self._state.recorded_settings | supervised(self._recorded)
                await self._thread.run(self._record.open, settings)
            end = RunEnd("failed", EndReason.FAILED)
            try:
                async with self._view.watch(self._progress, self._state):
                    await self._supervise()
                await self._thread.run(self._record.take_over)  # pages that wait to be joined to one file
                end = self._ending or RunEnd("finished", None)
            except BaseException as error:
                sentence = str(error) if isinstance(error, ChildFailed) else f"{type(error).__name__}: {error}"
                end = RunEnd("failed", EndReason.FAILED, sentence)
                raise
            finally:
                await self._kill_all()
                summary = await self._close(end)
        finally:
            self._thread.close()
            self._finished_hosts.close()
            if self._page_budget is not None:
                self._page_budget.close()
        return summary

    async def _close(self, end: RunEnd) -> RunSummary:
        """Record how the run ended, from the reports of all processes."""
        if self._died and end.status != "failed":
            await self._thread.run(self._count_stored_pages)
        return await self._thread.run(self._record.end, end, self._progress, self._lines.values(), self._hosts)

    async def _supervise(self) -> None:
        if self._handles_signals:
            stop_on_signals(
                self._on_signal,
                self._view.on_exit,
                timeout_code=INTERRUPTED,
                before_exit=self._kill_before_exit,
                hold=self._hold,
            )
        self._view.on_start(self.stop)
        requests = asyncio.create_task(stop_on_request(self._state, lambda: self._run_id, self.stop).repeat())
        try:
            for number in range(self._processes):
                await self._start(number)
            while self._parts:
                done, _ = await asyncio.wait(self._parts, timeout=_CHECK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    await self._after(self._parts.pop(task), task.result())
                await self._check()
        finally:
            requests.cancel()
        if self._failure is not None:
            raise self._failure

    def _on_signal(self, _number: int) -> None:
        self._view.on_stop()
        self.stop()

    async def _start(self, number: int) -> None:
        """Start one process, with its share of the concurrent requests."""
        settings = self._state.settings
        share = settings.concurrency // self._processes + (number < settings.concurrency % self._processes)
        # The time limit is checked here alone.
        own = settings.model_copy(update={"concurrency": max(1, share), "max_minutes": 0.0})
        # Without claims no lease keeps two processes apart, so the hosts are divided beforehand.
        hosts = self._hosts if settings.enable_claim_protocol else self._hosts[number :: self._processes]
        budget = self._page_budget
        pages = [budget.descriptor, budget.end] if budget is not None else None
        part = _Part()
        part.child = ChildProcess(number, partial(self._on_message, part))
        await part.child.start(
            "crawl",
            own,
            {
                "run_id": str(self._run_id),
                "number": number,
                "hosts": hosts,
                "most_hosts": self._most_hosts(),
                "finished_hosts": self._finished_hosts.descriptor,
                "page_budget": pages,
                "seeds": sorted(self._seeds) if self._seeds is not None else None,
                "reports_visits": self._view.on_visits is not None,
                "reports_waits": self._view.on_wait is not None,
                "reports_hosts": self._view.shows_hosts,
                "pauses_hosts": self._pauses_hosts,
                "explains_links": self._view.explains_links,
            },
            descriptors=[self._finished_hosts.descriptor, *(pages or ())],
            captures_stderr=True,
        )
        self._parts[asyncio.create_task(part.child.wait())] = part
        if self._ending is not None:  # it arrived while the process was being started
            part.child.send({"stop": str(self._ending.reason or EndReason.STOPPED)})

    def _most_hosts(self) -> int:
        """How many hosts one process may have open; of a site that grows more than its share of those known now."""
        share = -(-len(self._hosts) // self._processes)
        return share if self._state.site() is None else max(share, _SITE_HOSTS_MOST)

    def _on_message(self, part: _Part, message: dict[str, Any]) -> None:
        match message:
            case {"progress": counts, "warnings": warnings, "faults": faults, "left_out_by": left_out_by}:
                part.progress, part.warnings, part.faults = counts, warnings, faults
                part.loads = [HostLoad(*load) for load in message.get("loads", ())]
                part.left_out_by = left_out_by
            case {"host": values}:
                line, known = HostSummary(**values), self._lines.get(values["host"])
                self._lines[line.host] = line if known is None else later(known, line)
                if self._view.on_host is not None:
                    self._view.on_host(line)
            case {"wait": values}:
                if self._view.on_wait is not None:
                    self._view.on_wait(HostWait(**values))
            case {"visits": visits}:
                if self._view.on_visits is not None:
                    self._view.on_visits([Visit(**visit) for visit in visits])
            case {"ended": [status, reason]}:
                part.ended = (status, reason)

    async def _after(self, part: _Part, code: int) -> None:
        """Handle the end of a process: it had nothing left to do, it failed, or it died."""
        self._gone.append(part)
        if part.child.failure is not None:
            self._failure = self._failure or ChildFailed(part.child.failure)
            self._end(RunEnd("failed", EndReason.FAILED, part.child.failure.message))
        elif part.ended is None:
            await self._replace(part, code)
        elif part.ended[0] == "stopped" and self._ending is None:
            self.stop()  # a signal stopped this process alone; its hosts wait for the next run

    async def _replace(self, part: _Part, code: int) -> None:
        """Free the leases of a dead process, and start another; give up after a few."""
        self._died += 1
        await self._thread.run(self._record.take_over)
        for host in self._finished_hosts.by(part.child.number):
            if host not in self._lines:  # it died while it released the host
                self._finished_hosts.remove(host)
        part.progress |= dict.fromkeys(_LOST_WITH_A_PROCESS, 0)
        what = f"A process of this crawl {part.child.describe_exit(code)}"
        if self._ending is not None:
            self._warn(f"{what} before it finished; the same command continues with its hosts.")
        elif self._died <= _MOST_RESTARTS:
            self._warn(f"{what}; another process took over its hosts, and nothing is lost.")
            await self._start(part.child.number)
        else:
            self._warn(f"{what}, after {self._died - 1} others had ended the same way: the crawl was stopped.")
            self._end(RunEnd("failed", EndReason.PROCESSES_DIED))

    def _warn(self, sentence: str) -> None:
        self._warnings.append(sentence)
        self._view.on_warning(f"comity: {sentence}")

    def stop(self, detail: str | None = None) -> None:
        """Have every process finish what is in flight, and end the run."""
        self._end(RunEnd("stopped", EndReason.STOPPED, detail))

    def _end(self, end: RunEnd) -> None:
        """Have every process finish what is in flight, and start nothing more."""
        self._send_all({"stop": str(end.reason or EndReason.STOPPED)})
        self._set_ending(end)

    def _spend(self, spent: Exhausted) -> None:
        """End the run because its budget is spent; that is the reason for the hosts of every process."""
        if self._ending is None:
            self._send_all({"spent": [str(spent.reason), spent.sentence]})
            self._near.pop(spent.reason, None)
            self._set_ending(RunEnd("finished", EndReason(str(spent.reason)), spent.detail))

    def _set_ending(self, end: RunEnd) -> None:
        if self._ending is None:
            self._ending = end
            self._ends_at = self._clock() + _ENDS_WITHIN_S

    def _hold(self, holds: bool) -> None:
        self._send_all({"hold": holds})

    def _send_all(self, order: dict[str, Any]) -> None:
        for part in self._parts.values():
            part.child.send(order)

    async def _check(self) -> None:
        """Sum up the progress, and check the budgets."""
        self._sum_up()
        now, settings, progress = self._clock(), self._state.settings, self._progress
        budget = Budget(pages_per_run=settings.max_pages, minutes_per_run=settings.max_minutes)
        # A process that died had not stored every page that it reported: the state knows.
        pages = progress.pages if not self._died else 0
        spent = Spent(progress.started_at, pages, visits=progress.begun, warned=frozenset(self._near))
        verdict = check(budget, spent, now)
        if isinstance(verdict, BudgetWarning):
            self._near[verdict.reason] = verdict.sentence
        elif isinstance(verdict, Exhausted):
            self._spend(verdict)
        if self._page_budget is not None and self._ending is None:
            self._page_budget.fill()
            if self._page_budget.is_empty and not progress.held:
                await self._replace_lost_pages(self._page_budget)
        if self._ends_at is not None and now >= self._ends_at:
            self._ends_at = None
            for part in self._parts.values():
                part.child.kill()

    async def _replace_lost_pages(self, page_budget: PageBudget) -> None:
        """Every page is taken and none is in flight: those that a dead process had taken may begin again.

        A process may have taken one since its last report: so this waits until two checks agree.
        """
        if not self._died:
            return
        limit = self._state.settings.max_pages
        kept = (await self._thread.run(self._record.totals)).pages
        if kept >= limit:
            self._spend(limit_reached(BudgetReason.PAGE_LIMIT, limit))
        elif kept == self._pages_kept:
            page_budget.add(limit - kept)
            self._pages_kept = -1
        else:
            self._pages_kept = kept

    def _sum_up(self) -> None:
        progress, parts = self._progress, [*self._gone, *self._parts.values()]
        for name in COUNTED:
            setattr(progress, name, sum(part.progress.get(name, 0) for part in parts))
        reported = (warning for part in parts for warning in part.warnings)
        progress.warnings[:] = [*self._warnings, *self._near.values(), *reported]
        progress.faults.clear()
        for part in parts:
            for each in part.faults:
                fault = progress.faults.setdefault(each["code"], Fault(each["code"]))
                fault.count += each["count"]
                fault.urls[:] = [*fault.urls, *each["urls"]][:3]
        progress.left_out_by.clear()
        for part in parts:
            for pattern, count in part.left_out_by.items():
                progress.left_out_by[pattern] = progress.left_out_by.get(pattern, 0) + count

    def _loads(self) -> list[HostLoad]:
        """What the open hosts of every process still have to do."""
        return [load for part in self._parts.values() for load in part.loads]

    def _count_stored_pages(self) -> None:
        """Count what is in the state: a process that died had not stored everything that it counted."""
        totals, progress = self._record.totals(), self._progress
        progress.pages, progress.errors = totals.pages, totals.errors
        progress.bytes_received = totals.bytes_received
        for host, line in self._lines.items():
            self._lines[host] = replace(line, pages=totals.pages_of_hosts.get(host, 0))

    async def _kill_all(self) -> None:
        """End every process, also after a failure in this one."""
        for part in self._parts.values():
            part.child.kill()
        await asyncio.gather(*self._parts, return_exceptions=True)

    def _kill_before_exit(self) -> None:
        """End every process at once; the event loop no longer runs."""
        for part in self._parts.values():
            part.child.kill()
        ends_at = monotonic() + _KILLED_WITHIN_S
        for part in self._parts.values():
            while not part.child.is_gone() and monotonic() < ends_at:
                sleep(0.005)


def stop_on_request(state: State, run_id: Callable[[], UUID], stop: Callable[[], None]) -> Duty:
    """What stops a run cleanly once an operator has asked for it.

    The operator asks in another process; a run looks for such a request every second.
    """

    async def look() -> None:
        with suppress(StateUnavailable):  # the run itself reports a state that does not answer
            if await asyncio.to_thread(is_stop_requested, state.database, run_id()):
                stop()

    return Duty(_LOOK_EVERY_S, look)
