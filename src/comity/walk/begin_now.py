"""Begin a coroutine at once instead of at the loop's next turn, so that a start which a gate grants is used now.

What it does up to its first wait happens here; the rest is an ordinary task.
"""

from __future__ import annotations

import sys
from asyncio import AbstractEventLoop, Task
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any


def begin_now(loop: AbstractEventLoop, work: Coroutine[Any, Any, None]) -> Task[None] | None:
    """Run `work` to its first wait and give the task that goes on from there; None if it has ended already."""
    if sys.version_info >= (3, 12):
        task = Task(work, loop=loop, eager_start=True)
        return None if task.done() and not task.cancelled() and task.exception() is None else task
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    return loop.create_task(_go_on(work, awaited))


@coroutine
def _go_on(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """The rest of a coroutine whose first step has been taken."""
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
