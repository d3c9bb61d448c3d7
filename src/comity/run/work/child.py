"""One of several worker processes: what it does, and what it reports to its parent."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from comity.run.logs import log_for
from comity.run.work.worker import WorkerProcess, WorkLimits, WorkView

if TYPE_CHECKING:
    from comity.run.child_process import ParentChannel
    from comity.settings import Settings


async def work_part(
    settings: Settings, job: dict[str, Any], orders: AsyncIterator[dict[str, Any]], parent: ParentChannel
) -> None:
    """Work until the parent orders the end or is gone."""
    view = WorkView(on_run=(lambda figures: parent.send(run=figures)) if job["reports_runs"] else None)
    log = log_for(settings, as_json=job["logs_json"])
    worker = WorkerProcess(settings, WorkLimits(**job["limits"]), log, view, reports_to=job["reports_to"])
    for number in (signal.SIGINT, signal.SIGTERM):  # a service manager may signal every process
        asyncio.get_running_loop().add_signal_handler(number, worker.stop)
    obeying = asyncio.create_task(_obey(orders, worker))
    try:
        await worker.run()
    finally:
        obeying.cancel()
        await asyncio.gather(obeying, return_exceptions=True)
    parent.send(ended={"pages": worker.memory.pages, "brought_nothing": worker.memory.brought_nothing})


async def _obey(orders: AsyncIterator[dict[str, Any]], worker: WorkerProcess) -> None:
    async for order in orders:
        if "stop" in order:
            break
    worker.stop()
