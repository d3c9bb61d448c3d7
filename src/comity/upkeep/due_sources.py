"""Run the sources that are due: found every five minutes, locked one by one, run a few at once.

Any number of processes may share a state: the one that inserts a source's lock runs it, and a lock left by a crash
expires.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import field
from typing import Final, Protocol
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.sources import rows as sources_table
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError, HostBusy, StateUnavailable
from comity.model.source import NotRun, SourceReport, SourceSkipped
from comity.rules.canonical import resolve_link
from comity.telemetry.loops import pause

STOP_WITHIN_S: Final = 30.0  # runs under way may end by themselves; what does not is due again
_MOST_PENDING: Final = 200

Result = SourceReport | SourceSkipped
MOST_WAITING: Final = 200


class RunsSources(Protocol):
    """Runs a source: the runner itself, or a pool in front of it."""

    async def run(self, source_id: UUID, *, due_only: bool = False) -> Result:
        """Run one source from lock to log."""
        ...


@dataclass(frozen=True, slots=True)
class DueTerms:
    """How often to look, how many sources to take up at a look, and how many to run at once."""

    every_s: float = 300.0
    limit: int = 20
    at_once: int = 3


@dataclass(slots=True)
class PassReport:
    """The result of one pass over the due sources."""

    reports: list[SourceReport] = field(default_factory=list)
    skipped: list[SourceSkipped] = field(default_factory=list)

    @property
    def queued(self) -> int:
        """How many sources were started."""
        return len(self.reports) + len(self.skipped)


@dataclass(slots=True)
class _Pass:
    """A pass in progress."""

    most: int | None
    pending: dict[UUID, str] = field(default_factory=dict)  # with their hosts, in the order of their turns
    running: dict[asyncio.Task[Result], tuple[UUID, str]] = field(default_factory=dict)
    left_alone: set[UUID] = field(default_factory=set)
    taken: int = 0
    is_exhausted: bool = False
    report: PassReport = field(default_factory=PassReport)


class DueSources:
    """Runs what is due: once, or until stopped."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        runner: RunsSources,
        terms: DueTerms | None = None,
        on_result: Callable[[Result], None] = lambda _result: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._runner = runner
        self._terms = terms or DueTerms()
        self._on_result = on_result
        self._stopping = asyncio.Event()
        self._looking = asyncio.Event()
        self._broken: set[UUID] = set()

    def stop(self) -> None:
        """Start no more runs; those in progress may finish."""
        self._stopping.set()
        self._looking.set()

    def look(self) -> None:
        """Look now, or as soon as the present pass has ended: something became due."""
        self._looking.set()

    @property
    def is_stopping(self) -> bool:
        """Whether a stop was requested."""
        return self._stopping.is_set()

    async def serve(self, on_trouble: Callable[[str], None] = lambda _sentence: None) -> None:
        """Look every few minutes until stopped; a pass continues while more is due than one look takes up."""
        while not self.is_stopping:
            self._looking.clear()
            try:
                await self.run_due(None)
            except StateUnavailable as error:  # the next look may find it again
                on_trouble(str(error))
            await pause(self._looking, self._terms.every_s)

    async def run_due(self, most: int | None) -> PassReport:
        """Run what is due now: all sources, or a limited number of them."""
        work = _Pass(most)
        try:
            while True:
                await self._begin_some(work)
                if not work.running:
                    return work.report
                await self._wait_for_one(work)
        except BaseException:
            await _end(work.running)
            raise

    async def _begin_some(self, work: _Pass) -> None:
        """Fill the pool, with sources of different hosts as far as there are any."""
        while len(work.running) < self._terms.at_once and not self.is_stopping:
            hosts = {host for _, host in work.running.values()}
            chosen = next((each for each, host in work.pending.items() if host not in hosts), None)
            if chosen is None and not await self._find_due(work):
                if not work.pending:
                    return
                if work.running:
                    return  # all that wait are of hosts that are being asked
                chosen = next(iter(work.pending))
            if chosen is not None:
                host = work.pending.pop(chosen)
                work.running[asyncio.create_task(self._runner.run(chosen, due_only=True))] = (chosen, host)

    async def _find_due(self, work: _Pass) -> bool:
        """Find more sources that are due; returns whether there were any."""
        room = self._terms.limit if work.most is None else min(self._terms.limit, work.most - work.taken)
        if work.is_exhausted or room <= 0 or len(work.pending) >= _MOST_PENDING:
            return False
        but = {*work.pending, *work.left_alone, *self._broken, *(each for each, _ in work.running.values())}
        found = await asyncio.to_thread(due_now, self._database, self._clock, room, but)
        work.is_exhausted = not found
        work.pending |= found
        work.taken += len(found)
        return bool(found)

    async def _wait_for_one(self, work: _Pass) -> None:
        """Wait until a run ends; once stopped, for all of them, but not for long."""
        if self.is_stopping:
            await asyncio.wait(work.running, timeout=STOP_WITHIN_S)
            await _end([task for task in work.running if not task.done()])
        else:
            stopped = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait([*work.running, stopped], return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopped.cancel()
        for task in [task for task in work.running if task.done()]:
            source_id, _ = work.running.pop(task)
            if not task.cancelled():
                self._note(work, source_id, self._result(task, source_id))

    def _result(self, task: asyncio.Task[Result], source_id: UUID) -> Result:
        """The result of a run. One that cannot even be written must not end all others, nor be asked for at every look.

        A row or a policy that was written by hand, against the rules of its table, is such a case.
        """
        try:
            return task.result()
        except ComityError:
            raise
        except Exception as error:
            self._broken.add(source_id)
            reason = (
                f"its run could not be written ({type(error).__name__}); it will not run again until the next start"
            )
            return SourceSkipped(source_id, NotRun.BROKEN, reason)

    def _note(self, work: _Pass, source_id: UUID, result: Result) -> None:
        if isinstance(result, SourceReport):
            work.report.reports.append(result)
        else:
            if result.why is not NotRun.BUSY:  # that one has another time now
                work.left_alone.add(source_id)
            work.report.skipped.append(result)
        self._on_result(result)


def due_now(database: Database, clock: Clock, limit: int, but: Collection[UUID] = ()) -> dict[UUID, str]:
    """Sources that are due and not being run, in the order of their turns, with their hosts."""
    now = database.now(clock)
    with database.read() as connection:
        rows = sources_table.due(connection, now, limit, but)
    return {row.id: _host(row.careers_url) for row in rows}


async def _end(running: Collection[asyncio.Task[Result]]) -> None:
    """Stop runs; their locks are taken away, and they are due again."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _host(url: str) -> str:
    address = resolve_link(url, url)
    return address.host if address is not None else url


class SourcePool:
    """Runs sources a few at once; `close` ends it.

    The scheduler and the operator share one pool, so at most so many runs are under way at once. What is asked for
    waits its turn here, bounded in number; a source asked for twice waits once.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        runner: RunsSources,
        at_once: int,
        on_result: Callable[[Result], None] = lambda _result: None,
        on_trouble: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self.at_once = at_once
        self._database = database
        self._clock = clock
        self._runner = runner
        self._on_result = on_result
        self._on_trouble = on_trouble
        self._turns = asyncio.Semaphore(at_once)
        self._asked: dict[UUID, asyncio.Task[None]] = {}
        self._begun: set[UUID] = set()
        self._in_flight = 0
        self._is_closed = False

    @property
    def in_flight(self) -> int:
        """How many runs are under way here."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """How many requested runs are queued."""
        return len(self._asked) - len(self._begun)

    def has_begun(self, source_id: UUID) -> bool:
        """Whether a requested run is under way here, or has just ended."""
        return source_id in self._begun

    async def run(self, source_id: UUID, *, due_only: bool = False) -> Result:
        """Queue a source, run it, and wait for the end."""
        async with self._turns:
            self._in_flight += 1
            try:
                return await self._runner.run(source_id, due_only=due_only)
            finally:
                self._in_flight -= 1

    def ask(self, source_id: UUID, *, due_only: bool = False) -> bool:
        """Have a source run without waiting for it; False if that was asked before. `HostBusy` if too much waits."""
        if source_id in self._asked:
            return False
        if self._is_closed or len(self._asked) >= MOST_WAITING:
            raise HostBusy("too many runs are queued; try again later")
        task = asyncio.create_task(self._run_asked(source_id, due_only))
        self._asked[source_id] = task
        task.add_done_callback(lambda _task: self._forget(source_id))
        return True

    async def ask_for_due(self, limit: int) -> int:
        """Queue the sources that are due, those of different hosts first; returns how many."""
        room = min(limit, MOST_WAITING - len(self._asked))
        if room <= 0:
            return 0
        found = await asyncio.to_thread(due_now, self._database, self._clock, room, set(self._asked))
        before: Counter[str] = Counter()
        turns: list[tuple[int, UUID]] = []
        for source_id, host in found.items():
            turns.append((before[host], source_id))
            before[host] += 1
        turns.sort(key=lambda turn: turn[0])
        asked = 0
        for _, source_id in turns:
            if self._is_closed or len(self._asked) >= MOST_WAITING:  # others asked while we looked
                break
            asked += self.ask(source_id, due_only=True)
        return asked

    async def close(self, within_s: float = STOP_WITHIN_S) -> None:
        """Start no more runs; those in progress may finish within some seconds, and are due again otherwise."""
        self._is_closed = True
        for source_id, task in list(self._asked.items()):
            if source_id not in self._begun:
                task.cancel()
        tasks = list(self._asked.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=within_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _run_asked(self, source_id: UUID, due_only: bool) -> None:
        async with self._turns:
            self._begun.add(source_id)
            self._in_flight += 1
            try:
                self._on_result(await self._runner.run(source_id, due_only=due_only))
            except ComityError as error:  # the state is away: the source stays due
                self._on_trouble(str(error))
            except Exception as error:
                self._on_trouble(f"a run ended: unexpected {type(error).__name__}")
            finally:
                self._in_flight -= 1

    def _forget(self, source_id: UUID) -> None:
        self._asked.pop(source_id, None)
        self._begun.discard(source_id)
