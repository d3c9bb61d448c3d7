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

from comity.doors.cli.crawl_child import Child, PartFailed
from comity.doors.cli.crawl_part import COUNTED
from comity.doors.cli.crawl_run import obey_signals, watched
from comity.doors.cli.crawl_shares import HostsLeft, PagesLeft
from comity.doors.event_loop import runner_of_loops
from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import check, first_warned_page, is_near, reached
from comity.walk.database_thread import DatabaseThread
from comity.walk.progress import HostLineInSummary, Progress, RunSummary, summary_of

if TYPE_CHECKING:
    from comity.assemble import State

_LOOK_EVERY_S: Final = 0.2
_MOST_RESTARTS: Final = 5
_ENDS_WITHIN_S: Final = 27.5  # each waits less than this for what is in flight, and then writes what it has
_GONE_WITHIN_S: Final = 1.0
_OF_NOW: Final = ("hosts_active", "hosts_waiting", "hosts_blocked", "queued")  # what dies with a process


def run_processes(state: State, hosts: Collection[str], processes: int, *, quiet: bool) -> RunSummary:
    """Crawl in this many processes until the end, or until somebody stops it."""
    with runner_of_loops() as runner:
        return runner.run(_SharedRun(state, hosts, processes, quiet=quiet).run())


class _SharedRun:
    def __init__(self, state: State, hosts: Collection[str], processes: int, *, quiet: bool) -> None:
        self._state = state
        self._hosts = sorted(hosts)
        self._processes = processes
        self._quiet = quiet
        self._run_id = uuid4()
        self._clock = state.clock.seconds
        self._progress = Progress(self._clock())
        self._desk = state.run_desk(self._run_id)
        self._thread = DatabaseThread()
        most_pages = state.settings.max_pages
        self._pages_left = PagesLeft(most_pages) if most_pages else None
        self._pages_warned = first_warned_page(most_pages)
        self._hosts_left = HostsLeft()
        self._children: dict[asyncio.Task[int], Child] = {}
        self._gone: list[Child] = []
        self._lines: dict[str, HostLineInSummary] = {}
        self._warnings: list[str] = []
        self._warned: frozenset[BudgetReason] = frozenset()
        self._died = 0
        self._ending: tuple[str, str] | None = None
        self._ends_at: float | None = None
        self._failure: PartFailed | None = None

    async def run(self) -> RunSummary:
        """Begin the run, have it done, and end it."""
        try:
            await self._thread.run(self._desk.open, self._state.settings_shown)
            status, reason = "failed", "ended by an error"
            try:
                async with watched(self._progress, self._state, quiet=self._quiet):
                    await self._conduct()
                await self._thread.run(self._desk.take_over)  # pages that wait to be joined to one file
                status, reason = self._ending or ("finished", "nothing left to visit")
            except BaseException as error:
                reason = str(error) if isinstance(error, PartFailed) else f"{type(error).__name__}: {error}"
                raise
            finally:
                await self._kill_all()
                await self._thread.run(self._desk.close, status, reason)
            if self._died:
                await self._thread.run(self._count_what_is_kept)
        finally:
            self._thread.close()
            self._hosts_left.close()
            if self._pages_left is not None:
                self._pages_left.close()
        return summary_of(self._progress, str(self._run_id), status, reason, self._lines.values(), self._clock())

    async def _conduct(self) -> None:
        obey_signals(self._stop, self._leave, self._hold)
        for number in range(self._processes):
            await self._start(number)
        while self._children:
            done, _rest = await asyncio.wait(self._children, timeout=_LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await self._after(self._children.pop(task), task.result())
            self._look()
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
        pages = self._pages_left.descriptor if self._pages_left is not None else None
        child = Child(number)
        await child.start(
            {
                "settings": given,
                "run_id": str(self._run_id),
                "number": number,
                "hosts": hosts,
                "most_hosts": -(-len(self._hosts) // self._processes),
                "hosts_left": self._hosts_left.descriptor,
                "pages_left": pages,
            },
            [self._hosts_left.descriptor] if pages is None else [self._hosts_left.descriptor, pages],
        )
        self._children[asyncio.create_task(child.listen(self._on_news))] = child
        if self._ending is not None:  # while it was being started
            child.tell({"stop": True})

    def _on_news(self, child: Child, news: dict[str, Any]) -> None:
        match news:
            case {"progress": counts, "warnings": warnings}:
                child.progress, child.warnings = counts, warnings
            case {"host": line}:
                known = self._lines.get(line["host"])
                if known is None or line["status"] != "lease lost":
                    self._lines[line["host"]] = HostLineInSummary(**line)
            case {"spent": True}:
                self._spend(reached(BudgetReason.PAGE_LIMIT, self._state.settings.max_pages))
            case {"ended": [status, reason]}:
                child.ended = (status, reason)
            case {"failed": told}:
                child.failure = PartFailed(told)

    async def _after(self, child: Child, code: int) -> None:
        """A process is gone: it had nothing left to do, it failed, or it died."""
        self._gone.append(child)
        if child.failure is not None:
            self._failure = self._failure or child.failure
            self._end("failed", str(child.failure))
        elif child.ended is None:
            await self._replace(child, code)
        elif child.ended[0] == "stopped" and self._ending is None:
            self._stop()  # somebody stopped this one alone; its hosts wait for the next run

    async def _replace(self, child: Child, code: int) -> None:
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
            self._end("failed", "its processes died again and again")

    def _warn(self, sentence: str) -> None:
        self._warnings.append(sentence)
        if not self._quiet:
            print(f"comity: {sentence}", file=sys.stderr, flush=True)

    def _stop(self) -> None:
        self._end("stopped", "stopped by the operator")

    def _end(self, status: str, reason: str) -> None:
        """Have everybody finish what is under way, and begin nothing more."""
        self._tell_all({"stop": True})
        self._set_ending(status, reason)

    def _spend(self, spent: Exhausted) -> None:
        """A budget of the whole run is spent: the hosts of all processes are left for that reason."""
        if self._ending is None:
            self._tell_all({"spent": [str(spent.reason), spent.sentence]})
            self._set_ending("finished", str(spent.reason))

    def _set_ending(self, status: str, reason: str) -> None:
        if self._ending is None:
            self._ending = (status, reason)
            self._ends_at = self._clock() + _ENDS_WITHIN_S

    def _hold(self, hold_up: bool) -> None:
        self._tell_all({"hold": hold_up})

    def _tell_all(self, order: dict[str, Any]) -> None:
        for child in self._children.values():
            child.tell(order)

    def _look(self) -> None:
        """What has to be looked after every now and then: the sum of all progress, and the budgets."""
        now, settings = self._clock(), self._state.settings
        if self._pages_left is not None:
            self._pages_left.fill()
            begun = self._pages_left.begun
            if self._pages_warned is not None and begun > self._pages_warned:
                near = is_near(BudgetReason.PAGE_LIMIT, self._pages_warned, settings.max_pages)
                self._warnings.append(near.sentence)
                self._pages_warned = None
        time = Budget(minutes_per_run=settings.max_minutes)
        verdict = check(time, Spent(self._progress.started_at, warned=self._warned), now)
        if isinstance(verdict, BudgetWarning):
            self._warned |= {verdict.reason}
            self._warnings.append(verdict.sentence)
        elif isinstance(verdict, Exhausted):
            self._spend(verdict)
        if self._ends_at is not None and now >= self._ends_at:
            self._ends_at = None
            for child in self._children.values():
                child.kill()
        self._sum_up()

    def _sum_up(self) -> None:
        progress, children = self._progress, [*self._gone, *self._children.values()]
        for name in COUNTED:
            setattr(progress, name, sum(child.progress.get(name, 0) for child in children))
        if self._pages_left is not None:
            progress.begun = self._pages_left.begun
        progress.warnings[:] = [*self._warnings, *(warning for child in children for warning in child.warnings)]

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
