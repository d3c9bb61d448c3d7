"""Visits without a task for each: all that can continue in a turn of the loop continue in one call.

A task, its future, and what the loop calls for them cost a visit more than its request does. So a visit is a coroutine
that is run from one wait to the next here, together with all others that can continue. It may wait for the answer to
its request, and once for the others of its turn. A visit that waits for anything else continues as a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any


class Stepped:
    """One visit that runs step by step; its request sets the answer as on a future."""

    __slots__ = ("_answer", "_steps", "has_let_others_go", "work")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._answer: tuple[int, str] | None = None
        self.has_let_others_go = False
        self.work: Coroutine[Any, Any, None] | None = None

    def done(self) -> bool:
        """Whether its request has ended."""
        return self._answer is not None

    def set_result(self, answer: tuple[int, str]) -> None:
        """Its request has ended."""
        self._answer = answer
        self._steps.put(self)

    def __await__(self) -> Generator[Stepped, None, tuple[int, str]]:
        """Wait for the end of its request."""
        yield self
        assert self._answer is not None
        return self._answer


class Steps:
    """All visits that are taken on step by step."""

    def __init__(
        self, spawn: Callable[[Coroutine[Any, Any, None]], None], on_failure: Callable[[Exception], None]
    ) -> None:
        self._spawn = spawn
        self._on_failure = on_failure
        self._ready: list[Stepped] = []
        self._under_way: set[Stepped] = set()

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, visit: Stepped, work: Coroutine[Any, Any, None]) -> None:
        """Begin a visit at the loop's next turn, with all others that begin now."""
        visit.work = work
        self._under_way.add(visit)
        self.put(visit)

    def put(self, visit: Stepped) -> None:
        """A visit can go on."""
        if not self._ready:
            # Never at once: this may be called by a task, for which the visit's waits would then be taken.
            asyncio.get_running_loop().call_soon(self._go_on)
        self._ready.append(visit)

    def cancel(self) -> None:
        """End every visit, which tidies up behind itself as a task does."""
        for visit in tuple(self._under_way):
            self._under_way.discard(visit)
            if visit.work is not None:
                try:
                    visit.work.throw(asyncio.CancelledError())
                except (StopIteration, asyncio.CancelledError):
                    continue
                except Exception as error:
                    self._on_failure(error)

    def _go_on(self) -> None:
        """Run every visit that can continue to its next wait."""
        ready, self._ready = self._ready, []
        under_way, others = self._under_way, []
        for visit in ready:
            if visit not in under_way:
                continue  # it was cancelled
            work = visit.work
            assert work is not None
            try:
                awaited = work.send(None)
            except StopIteration:
                under_way.discard(visit)
                continue
            except Exception as error:
                under_way.discard(visit)
                self._on_failure(error)
                continue
            if awaited is None and not visit.has_let_others_go:
                visit.has_let_others_go = True
                others.append(visit)
            elif awaited is not visit:  # else the end of its request brings it back
                under_way.discard(visit)
                self._spawn(rest_of(work, awaited))
        if others:
            if not self._ready:
                asyncio.get_running_loop().call_soon(self._go_on)
            self._ready += others


async def rest_of(work: Coroutine[Any, Any, None], awaited: Any) -> None:
    """The rest of a coroutine whose first steps were taken."""
    await _resume(work, awaited)


@coroutine
def _resume(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    while True:
        try:
            answer = yield awaited
        except BaseException as error:
            raised: BaseException | None = error
        else:
            raised = None
        try:
            awaited = work.send(answer) if raised is None else work.throw(raised)
        except StopIteration:
            return
