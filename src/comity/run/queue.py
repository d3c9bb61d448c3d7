"""The upkeep of the crawl service, beside whatever else a process does: due policies, locks that ran out, retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from comity.run.sources import keep_running
from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State


@asynccontextmanager
async def queue_upkeep(
    state: State,
    on_trouble: Callable[[str], None],
    on_fault: Callable[[str, Exception], None] | None,
    *,
    schedules: bool,
) -> AsyncIterator[None]:
    """Keep the queue in order while the block lasts; without `schedules`, no jobs are made of policies here."""
    stopping = asyncio.Event()
    sweeper = state.queue_sweeper(makes_jobs=schedules)
    serve = partial(sweeper.serve, stopping, on_trouble)
    task = asyncio.create_task(keep_running("upkeep of the queue", serve, stopping, on_fault))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait([task], timeout=STOP_WITHIN_S)
        task.cancel()
