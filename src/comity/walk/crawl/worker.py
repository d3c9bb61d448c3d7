"""The loop of a worker: one bounded run after another while the table offers hosts, until it is stopped.

A `Shift` is the work on one open state; what happened is reported as `News`. A state that does not answer ends the
shift; the next one is opened after a growing pause and goes on where the last one stopped. So does a disk of pages that
was full for longer than a run waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from comity.model.errors import StateUnavailable
from comity.model.run import EndReason
from comity.store.sink import is_full
from comity.walk.crawl.progress import RunSummary

LEAST_PAUSE_S: Final = 1.0
MOST_PAUSE_S: Final = 60.0


class Shift(Protocol):
    """Work on one open state; `StateUnavailable` ends it."""

    async def find_work(self) -> bool:
        """Do what is due between runs; say whether there is a host to crawl."""
        ...

    async def crawl(self, minutes: float) -> RunSummary:
        """Crawl for so many minutes at most."""
        ...

    def stop(self) -> None:
        """Stop the run under way, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """How long a worker works, and how it waits. Without `max_minutes` it ends when it is stopped."""

    stint_minutes: float = 30.0
    poll_s: float = 5.0
    max_minutes: float = 0.0
    is_to_exit_when_idle: bool = False


@dataclass(frozen=True, slots=True)
class StateLost:
    """The state did not answer; the worker tries again after a pause."""

    reason: str
    pause_s: float


@dataclass(frozen=True, slots=True)
class Idle:
    """There is nothing to crawl now."""


News = RunSummary | StateLost | Idle


class Worker:
    """Opens shifts and lets them crawl. `clock` gives seconds that never go back, `chance` a number in 0..1."""

    def __init__(
        self,
        open_shift: Callable[[], AbstractAsyncContextManager[Shift]],
        terms: WorkerTerms,
        clock: Callable[[], float],
        chance: Callable[[], float],
        report: Callable[[News], None],
    ) -> None:
        self._open_shift = open_shift
        self._terms = terms
        self._clock = clock
        self._chance = chance
        self._report = report
        self._stopped = asyncio.Event()
        self._shift: Shift | None = None
        self._ends_at = clock() + terms.max_minutes * 60 if terms.max_minutes else inf
        self._failures = 0  # shifts in a row in which the state did not answer
        self._fruitless = 0  # runs in a row that got nothing done
        self._is_idle = False

    def stop(self) -> None:
        """Finish what is under way and begin nothing more."""
        self._stopped.set()
        if self._shift is not None:
            self._shift.stop()

    async def run(self) -> None:
        """Work until stopped, until the time is up, or, if the terms say so, until nothing is left.

        A state that cannot be opened at the start is an error for the operator: that is raised.
        """
        has_worked = False
        while not self._is_over():
            try:
                async with self._open_shift() as shift:
                    has_worked = True
                    self._shift = shift
                    await self._work(shift)
                    return
            except (StateUnavailable, OSError) as error:
                if not has_worked or (isinstance(error, OSError) and not is_full(error)):
                    raise
                await self._outlast(error)
            finally:
                self._shift = None

    async def _work(self, shift: Shift) -> None:
        while not self._is_over():
            has_host = await shift.find_work()
            if self._is_over():
                return
            if not has_host:
                self._failures = 0
                if self._terms.is_to_exit_when_idle:
                    return
                if not self._is_idle:
                    self._report(Idle())
                self._is_idle = True
                await self._rest(self._terms.poll_s)
                continue
            self._is_idle = False
            # One store may answer while the other does not: only a run that ends shows that both do.
            summary = await shift.crawl(min(self._terms.stint_minutes, self._left_s() / 60))
            self._failures = 0
            self._report(summary)
            if self._terms.is_to_exit_when_idle and is_fruitless(summary):
                return  # without tracking, hosts that are done stay in the table
            await self._slow_down(summary)

    async def _slow_down(self, summary: RunSummary) -> None:
        """Pause before hosts that brought nothing are leased again."""
        if not is_fruitless(summary):
            self._fruitless = 0
            return
        self._fruitless += 1
        await self._rest(min(self._terms.poll_s * 2 ** min(self._fruitless - 1, 10), MOST_PAUSE_S))

    async def _outlast(self, error: StateUnavailable | OSError) -> None:
        self._failures += 1
        pause_s = min(LEAST_PAUSE_S * 2 ** min(self._failures - 1, 10), MOST_PAUSE_S)
        self._report(StateLost(str(error), pause_s))
        await self._rest(pause_s)

    async def _rest(self, seconds: float) -> None:
        """Wait, a little more or less so that workers do not fall into step; `stop` ends it."""
        wanted = min(seconds * (0.75 + self._chance() / 2), max(self._left_s(), 0.0))
        try:
            async with asyncio.timeout(wanted):
                await self._stopped.wait()
        except TimeoutError:
            pass

    def _left_s(self) -> float:
        return self._ends_at - self._clock()

    def _is_over(self) -> bool:
        return self._stopped.is_set() or self._left_s() <= 0


def is_fruitless(summary: RunSummary) -> bool:
    """Whether a run ended without a single request for a page."""
    return not (summary.pages or summary.errors or summary.refused) and summary.code != EndReason.TIME_LIMIT
