"""The tasks that wait for one host, first come, first served. Keeps order and deadlines; wakes nobody itself."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf

from comity.model.gate import SlotTimeout, Wait


@dataclass(slots=True, eq=False)
class Waiter:
    """One task in line: `turn` is answered with None ("go and see") or with why there is no going."""

    since: float
    deadline: float
    turn: asyncio.Future[SlotTimeout | Wait | None] = field(repr=False)


class WaitingLine:
    """Waiters in the order in which they came; joining, leaving and looking at the first are cheap."""

    def __init__(self) -> None:
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()
        self._deadlines: list[tuple[float, int, Waiter]] = []
        self._joined = 0

    def __len__(self) -> int:
        return len(self._waiters)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(self._waiters)

    def join(self, waiter: Waiter) -> None:
        """Go to the end of the line."""
        self._waiters[waiter] = None
        if waiter.deadline < inf:
            self._joined += 1
            heappush(self._deadlines, (waiter.deadline, self._joined, waiter))

    def leave(self, waiter: Waiter) -> None:
        """Leave from wherever one stands; harmless for who has left already."""
        self._waiters.pop(waiter, None)
        if len(self._deadlines) > 2 * len(self._waiters) + 64:
            self._deadlines = [entry for entry in self._deadlines if entry[2] in self._waiters]
            heapify(self._deadlines)

    def first(self) -> Waiter | None:
        """Who is next."""
        return next(iter(self._waiters), None)

    def next_deadline(self) -> float:
        """When somebody in line runs out of patience; infinite if nobody will."""
        while self._deadlines and self._deadlines[0][2] not in self._waiters:
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else inf

    def overdue(self, now: float, slots_free: int) -> list[Waiter]:
        """Those whose time is up without a slot.

        The first `slots_free` in line have a slot and only wait out the host's delay; their time-out has
        done its work.
        """
        late: list[Waiter] = []
        with_slot: set[Waiter] | None = None
        while self.next_deadline() <= now:
            if with_slot is None:
                with_slot = set(islice(self._waiters, slots_free))
            _, _, waiter = heappop(self._deadlines)
            if waiter not in with_slot:
                late.append(waiter)
        return late

    def impatient(self, until: float) -> list[Waiter]:
        """Those who would give up before `until`."""
        return [waiter for waiter in self._waiters if waiter.deadline < until]
