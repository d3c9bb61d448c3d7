"""A crawl in several processes: one run, one budget, one progress, one summary.

Whoever began the run does everything that comes before and after; the processes lease hosts from the same state, each
different ones, and crawl them. One that dies is replaced: what it held is freed, and nothing it did is lost.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from comity.doors.cli.crawl.progress import obey_signals, watched
from comity.doors.cli.crawl.rendering import write_visits
from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.model.end_reason import EndReason
from comity.rules.budget import check, reached
from comity.run.child_process import ChildFailed, ChildProcess
from comity.run.crawl.child import COUNTED
from comity.run.crawl.shared import HostsLeft, PagesLeft
from comity.run.event_loop import event_loop_runner
from comity.walk.database_thread import DatabaseThread
from comity.walk.progress import Fault, HostLineInSummary, Progress, RunSummary
from comity.walk.run_end import RunEnd, later

if TYPE_CHECKING:
    from comity.assemble import State

_LOOK_EVERY_S: Final = 0.2
_MOST_RESTARTS: Final = 5
_ENDS_WITHIN_S: Final = 27.5  # each waits less than this for what is in flight, and then writes what it has
_GONE_WITHIN_S: Final = 1.0
_OF_NOW: Final = ("hosts_active", "hosts_waiting", "hosts_blocked", "queued", "held")  # what dies with a process


def run_processes(
    state: State, hosts: Collection[str], processes: int, *, quiet: bool, verbose: bool = False
) -> RunSummary:
    """Crawl in this many processes until the end, or until somebody stops it."""
    with event_loop_runner() as runner:
        return runner.run(_SharedRun(state, hosts, processes, quiet=quiet, verbose=verbose).run())


class _SharedRun:
    def __init__(
        self, state: State, hosts: Collection[str], processes: int, *, quiet: bool, verbose: bool = False
    ) -> None:
        self._state = state
        self._hosts = sorted(hosts)
        self._processes = processes
        self._quiet = quiet
        self._verbose = verbose
        self._run_id = uuid4()
        self._clock = state.clock.seconds
        self._progress = Progress(self._clock())
        self._desk = state.run_desk(self._run_id)
        self._thread = DatabaseThread()
        most_pages = state.settings.max_pages
        self._pages_left = PagesLeft(most_pages) if most_pages else None
        self._near: dict[BudgetReason, str] = {}  # warnings of limits that are near
        self._pages_kept = -1  # when the pages that were taken were last compared with those that are kept
        self._hosts_left = HostsLeft()
        self._children: dict[asyncio.Task[int], ChildProcess] = {}
        self._gone: list[ChildProcess] = []
        self._lines: dict[str, HostLineInSummary] = {}
        self._warnings: list[str] = []
        self._died = 0
        self._ending: RunEnd | None = None
        self._ends_at: float | None = None
        self._failure: ChildFailed | None = None

    async def run(self) -> RunSummary:
        """Begin the run, have it done, and end it."""
        try:
            await self._thread.run(self._desk.open, self._state.settings_shown)
            end = RunEnd("failed", EndReason.FAILED)
            try:
                async with watched(self._progress, self._state, quiet=self._quiet, verbose=self._verbose):
                    await self._conduct()
                await self._thread.run(self._desk.take_over)  # pages that wait to be joined to one file
                end = self._ending or RunEnd("finished", None)
            except BaseException as error:
                said = str(error) if isinstance(error, ChildFailed) else f"{type(error).__name__}: {error}"
                end = RunEnd("failed", EndReason.FAILED, said)
                raise
            finally:
                await self._kill_all()
                summary = await self._close(end)
        finally:
            self._thread.close()
            self._hosts_left.close()
            if self._pages_left is not None:
                self._pages_left.close()
        return summary

    async def _close(self, end: RunEnd) -> RunSummary:
        """Note how the run ended, by what all processes said of its hosts."""
        if self._died and end.status != "failed":
            await self._thread.run(self._count_what_is_kept)
        return await self._thread.run(self._desk.end, end, self._progress, self._lines.values(), self._hosts)

    async def _conduct(self) -> None:
        obey_signals(self._stop, self._leave, self._hold)
        for number in range(self._processes):
            await self._start(number)
        while self._children:
            done, _rest = await asyncio.wait(self._children, timeout=_LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await self._after(self._children.pop(task), task.result())
            await self._look()
        if self._failure is not None:
            if self._failure.details:
                print(self._failure.details, file=sys.stderr, flush=True)
            raise self._failure

    async def _start(self, number: int) -> None:
        """Begin one process, with its share of what may be under way at once."""
        settings = self._state.settings
        share = settings.concurrency // self._processes + (number < settings.concurrency % self._processes)
        # Time is kept here alone.
        given = settings.model_dump(mode="json") | {"concurrency": max(1, share), "max_minutes": 0}
        # Without claims there is no telling who has a host, other than by name.
        hosts = self._hosts if settings.enable_claim_protocol else self._hosts[number :: self._processes]
        pages = [self._pages_left.descriptor, self._pages_left.end] if self._pages_left is not None else None
        child = ChildProcess(number)
        await child.start(
            {
                "settings": given,
                "run_id": str(self._run_id),
                "number": number,
                "hosts": hosts,
                "most_hosts": -(-len(self._hosts) // self._processes),
                "hosts_left": self._hosts_left.descriptor,
                "pages_left": pages,
                "is_verbose": self._verbose,
            },
            [self._hosts_left.descriptor, *(pages or ())],
        )
        self._children[asyncio.create_task(child.listen(self._on_news))] = child
        if self._ending is not None:  # while it was being started
            child.tell({"stop": str(self._ending.reason or EndReason.STOPPED)})

    def _on_news(self, child: ChildProcess, news: dict[str, Any]) -> None:
        match news:
            case {"progress": counts, "warnings": warnings, "faults": faults}:
                child.progress, child.warnings, child.faults = counts, warnings, faults
            case {"host": said}:
                line, known = HostLineInSummary(**said), self._lines.get(said["host"])
                self._lines[line.host] = line if known is None else later(known, line)
            case {"visited": lines}:
                write_visits(lines)
            case {"ended": [status, reason]}:
                child.ended = (status, reason)
            case {"failed": told}:
                child.failure = ChildFailed(told)

    async def _after(self, child: ChildProcess, code: int) -> None:
        """A process is gone: it had nothing left to do, it failed, or it died."""
        self._gone.append(child)
        if child.failure is not None:
            self._failure = self._failure or child.failure
            self._end(RunEnd("failed", EndReason.FAILED, str(child.failure)))
        elif child.ended is None:
            await self._replace(child, code)
        elif child.ended[0] == "stopped" and self._ending is None:
            self._stop()  # somebody stopped this one alone; its hosts wait for the next run

    async def _replace(self, child: ChildProcess, code: int) -> None:
        """Free what a dead process held and have another go on with it; after a few, somebody should look why."""
        self._died += 1
        await self._thread.run(self._desk.take_over)
        for host in self._hosts_left.left_by(child.number):
            if host not in self._lines:  # it died while it gave the host back
                self._hosts_left.take_back(host)
        child.progress |= dict.fromkeys(_OF_NOW, 0)
        what = f"A process of this crawl {child.why_it_died(code)}"
        if self._ending is not None:
            self._warn(f"{what} before it had finished; the same command goes on with what it had under way.")
        elif self._died <= _MOST_RESTARTS:
            self._warn(f"{what}; another went on with its hosts, and nothing that was done is lost.")
            await self._start(child.number)
        else:
            self._warn(f"{what}, and so did {self._died - 1} before it: this crawl was given up.")
            self._end(RunEnd("failed", EndReason.PROCESSES_DIED))

    def _warn(self, sentence: str) -> None:
        self._warnings.append(sentence)
        if not self._quiet:
            print(f"comity: {sentence}", file=sys.stderr, flush=True)

    def _stop(self) -> None:
        self._end(RunEnd("stopped", EndReason.STOPPED))

    def _end(self, end: RunEnd) -> None:
        """Have everybody finish what is under way, and begin nothing more."""
        self._tell_all({"stop": str(end.reason or EndReason.STOPPED)})
        self._set_ending(end)

    def _spend(self, spent: Exhausted) -> None:
        """A budget of the whole run is spent: the hosts of all processes are left for that reason."""
        if self._ending is None:
            self._tell_all({"spent": [str(spent.reason), spent.sentence]})
            self._near.pop(spent.reason, None)
            self._set_ending(RunEnd("finished", EndReason(str(spent.reason)), spent.detail))

    def _set_ending(self, end: RunEnd) -> None:
        if self._ending is None:
            self._ending = end
            self._ends_at = self._clock() + _ENDS_WITHIN_S

    def _hold(self, hold_up: bool) -> None:
        self._tell_all({"hold": hold_up})

    def _tell_all(self, order: dict[str, Any]) -> None:
        for child in self._children.values():
            child.tell(order)

    async def _look(self) -> None:
        """What has to be looked after every now and then: the sum of all progress, and the budgets."""
        self._sum_up()
        now, settings, progress = self._clock(), self._state.settings, self._progress
        budget = Budget(pages_per_run=settings.max_pages, minutes_per_run=settings.max_minutes)
        # What a process that died had said of its pages is not what it had written: then the state is asked instead.
        pages = progress.pages if not self._died else 0
        spent = Spent(progress.started_at, pages, visits=progress.begun, warned=frozenset(self._near))
        verdict = check(budget, spent, now)
        if isinstance(verdict, BudgetWarning):
            self._near[verdict.reason] = verdict.sentence
        elif isinstance(verdict, Exhausted):
            self._spend(verdict)
        if self._pages_left is not None and self._ending is None:
            self._pages_left.fill()
            if self._pages_left.is_empty and not progress.held:
                await self._replace_lost_pages(self._pages_left)
        if self._ends_at is not None and now >= self._ends_at:
            self._ends_at = None
            for child in self._children.values():
                child.kill()

    async def _replace_lost_pages(self, pages_left: PagesLeft) -> None:
        """Every page is taken, and none is under way: those that a process took with it when it died may begin again.

        A process may have taken one since it last said what it has: the next look tells.
        """
        if not self._died:
            return
        limit = self._state.settings.max_pages
        kept = (await self._thread.run(self._desk.totals)).pages
        if kept >= limit:
            self._spend(reached(BudgetReason.PAGE_LIMIT, limit))
        elif kept == self._pages_kept:
            pages_left.put_in(limit - kept)
            self._pages_kept = -1
        else:
            self._pages_kept = kept

    def _sum_up(self) -> None:
        progress, children = self._progress, [*self._gone, *self._children.values()]
        for name in COUNTED:
            setattr(progress, name, sum(child.progress.get(name, 0) for child in children))
        said = (warning for child in children for warning in child.warnings)
        progress.warnings[:] = [*self._warnings, *self._near.values(), *said]
        progress.faults.clear()
        for child in children:
            for each in child.faults:
                fault = progress.faults.setdefault(each["code"], Fault(each["code"]))
                fault.count += each["count"]
                fault.urls[:] = [*fault.urls, *each["urls"]][:3]

    def _count_what_is_kept(self) -> None:
        """What a process that died had counted is not what it had written: the state knows."""
        totals, progress = self._desk.totals(), self._progress
        progress.pages, progress.errors = totals.pages, totals.errors
        progress.bytes_received = totals.bytes_received
        for host, line in self._lines.items():
            self._lines[host] = replace(line, pages=totals.pages_of_hosts.get(host, 0))

    async def _kill_all(self) -> None:
        """After a failure of our own, nobody may go on."""
        for child in self._children.values():
            child.kill()
        await asyncio.gather(*self._children, return_exceptions=True)

    def _leave(self) -> None:
        """Leave at once, with everybody."""
        for child in self._children.values():
            child.kill()
        ends_at = monotonic() + _GONE_WITHIN_S
        for child in self._children.values():
            with suppress(ChildProcessError):
                while os.waitpid(child.pid, os.WNOHANG) == (0, 0) and monotonic() < ends_at:
                    sleep(0.005)
