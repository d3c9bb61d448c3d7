"""What a process does for the crawl service: upkeep (policies, locks, retries, webhooks), and jobs of its own.

`comity work --policies` does jobs itself, with its own state, session and leases beside those of the crawl: only one of
the two requests a host at a time.

"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from comity.assemble import open_state
from comity.model.errors import StateUnavailable
from comity.telemetry import events, metrics
from comity.telemetry.events import Level
from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.telemetry.logs import Log
    from comity.telemetry.metrics import Metric
    from comity.upkeep.send_webhooks import Sent
    from comity.walk.bots.own_work import JobDone, OwnWorker

QUEUE_UPKEEP: Final = "upkeep of the queue"
WEBHOOKS: Final = "sending of webhooks"
_CONNECTIONS: Final = 3
_ENDED: Final = ("done", "pending")


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


class PolicyWork:
    """Does the jobs of policies, until it is stopped."""

    def __init__(
        self,
        settings: Settings,
        log: Log,
        count: Callable[[Metric, str], None],
        *,
        exits_when_idle: bool = False,
        max_minutes: float = 0.0,
    ) -> None:
        self._settings = settings
        self._log = log
        self._count = count
        self._exits_when_idle = exits_when_idle
        self._max_minutes = max_minutes
        self._worker: OwnWorker | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """Take no more jobs; those in progress are finished."""
        self._is_stopped = True
        if self._worker is not None:
            self._worker.stop()

    async def run(self) -> None:
        """Work until stopped, until the time is up, or until nothing is left if the worker exits then."""
        if self._max_minutes:
            asyncio.get_running_loop().call_later(self._max_minutes * 60, self.stop)
        # Opening and closing wait for a server, so a thread does them.
        opened = open_state(self._settings, connections=_CONNECTIONS)
        state = await asyncio.to_thread(opened.__enter__)
        state.loops.on_fault = self._on_fault
        try:
            if self._exits_when_idle:
                await asyncio.to_thread(state.queue_sweeper().sweep)
            async with (
                state.fetcher() as fetcher,
                state.own_worker(fetcher, self._on_done) as worker,
                queue_upkeep(state, self._on_trouble, schedules=True),
            ):
                self._worker = worker
                if self._is_stopped:
                    return
                await (worker.run_due() if self._exits_when_idle else worker.serve(self._on_trouble))
        finally:
            self._worker = None
            await asyncio.to_thread(opened.__exit__, None, None, None)

    def _on_done(self, done: JobDone) -> None:
        price = f" {done.price} {done.currency or ''}".rstrip() if done.price is not None else ""
        said = f": {done.message}" if done.message else price
        level = None if done.status == "done" else Level.WARNING if done.status not in _ENDED else Level.INFO
        self._log.emit(
            events.POLICY_JOB,
            f"{done.url or done.host} {done.status}{said}",
            level,
            job_id=str(done.job_id),
            url=done.url,
            host=done.host,
            status=done.status,
            reason=done.message,
            price=done.price,
            currency=done.currency,
            in_stock=done.in_stock,
        )

    def _on_trouble(self, sentence: str) -> None:
        self._log.emit(events.STATE_LOST, sentence, error=StateUnavailable.code, pause_s=1.0)

    def _on_fault(self, name: str, error: Exception) -> None:
        message = f"the {name} failed and starts again: {type(error).__name__}: {str(error)[:200]}"
        self._log.emit(events.LOOP_FAILED, message, loop=name, error="unexpected")
        self._count(metrics.WORKER_FAULTS, name)
