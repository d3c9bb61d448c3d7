"""One pool of source runs for the scheduler and the operator: at most so many are under way at once.

What is asked for waits its turn here, bounded in number; a source asked for twice waits once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.model.errors import ComityError, HostBusy
from comity.upkeep.due_sources import STOP_WITHIN_S, Result, RunsSources, due_now

MOST_WAITING: Final = 200


class SourcePool:
    """Runs sources a few at once; `close` ends it."""

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
        """How many requested runs wait for their turn."""
        return len(self._asked) - len(self._begun)

    def has_begun(self, source_id: UUID) -> bool:
        """Whether a requested run is under way here, or has just ended."""
        return source_id in self._begun

    async def run(self, source_id: UUID, *, due_only: bool = False) -> Result:
        """Run a source when it is its turn, and wait for the end."""
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
        """Have what is due run, those of different hosts first; gives how many that are."""
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
        """Begin nothing more; what is under way may end within some seconds, and is due again otherwise."""
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
