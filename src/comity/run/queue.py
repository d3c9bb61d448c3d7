"""The upkeep of the crawl service, beside whatever else a process does: policies, locks, retries, webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.upkeep.send_webhooks import Sent

QUEUE_UPKEEP: Final = "upkeep of the queue"
WEBHOOKS: Final = "sending of webhooks"


@asynccontextmanager
async def queue_upkeep(
    state: State,
    on_trouble: Callable[[str], None],
    *,
    schedules: bool,
    on_sent: Callable[[Sent], None] = lambda _sent: None,
) -> AsyncIterator[None]:
    """Keep the queue in order while the block lasts; with `schedules`, also make jobs of policies and call webhooks."""
    stopping = asyncio.Event()
    sweeper = state.queue_sweeper(makes_jobs=schedules)
    loops = {QUEUE_UPKEEP: partial(sweeper.serve, stopping, on_trouble)}
    if schedules:
        loops[WEBHOOKS] = partial(state.webhook_sender().serve, stopping, on_trouble, on_sent)
    tasks = [asyncio.create_task(state.loops.keep(name, serve, stopping)) for name, serve in loops.items()]
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
        for task in tasks:
            task.cancel()
