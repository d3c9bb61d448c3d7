"""A worker on one open state: its runs, and the upkeep between them.

Upkeep is due before a run and every minute while there is nothing to crawl; priorities are computed every hour.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final
from uuid import UUID

from comity.assemble import REREAD_EVERY_S
from comity.model.errors import StateUnavailable
from comity.model.run import EndReason
from comity.upkeep.rescore import rescore, rescore_run
from comity.upkeep.wake_hosts import end_cooldowns, follow_left_out, go_deeper, lift_refusals

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.walk.crawl.crawl import Crawl
    from comity.walk.crawl.hooks import CrawlHooks
    from comity.walk.crawl.progress import Progress, RunSummary

_RESCORE_EVERY_S: Final = 3600.0
_UPKEEP_EVERY_S: Final = 60.0  # while there is nothing to crawl
_WEBHOOKS_EVERY_S: Final = 5.0


@dataclass(slots=True)
class WorkerMemory:
    """What a worker remembers from one shift to the next."""

    unfinished: list[tuple[str, UUID]] = field(default_factory=list)  # holders and runs left open by a lost state
    rescored_at: float = field(default_factory=monotonic)
    upkeep_at: float = -inf
    reread_at: float = -inf  # robots.txt of hosts that it closed, while there was nothing to crawl
    webhooks_at: float = -inf
    runs: int = 0
    pages: int = 0
    brought_nothing: bool = False  # whether a run tried to get pages and got none


class WorkerShift:
    """Runs on one open state."""

    def __init__(
        self,
        state: State,
        hooks: CrawlHooks,
        memory: WorkerMemory,
        watch: Callable[[Progress, State], AbstractAsyncContextManager[None]],
    ) -> None:
        self._state = state
        self._leases = state.leases()
        self._hooks = hooks
        self._memory = memory
        self._webhooks = state.webhook_sender()
        self._watch = watch
        self._running: Crawl | None = None
        self._is_stopped = False

    async def find_work(self) -> bool:
        """Do the upkeep that is due; gives whether there is a host to crawl."""
        memory, now = self._memory, monotonic()
        if await asyncio.to_thread(self._keep_up):
            return True
        if now - memory.webhooks_at >= _WEBHOOKS_EVERY_S:  # a run does it itself
            memory.webhooks_at = now
            await self._webhooks.send_due(batches=1)
        if now - memory.reread_at < REREAD_EVERY_S:
            return False
        memory.reread_at = now
        async with self._state.fetcher() as fetcher:
            await self._state.reread_robots(fetcher)
        return await asyncio.to_thread(self._leases.has_candidate)

    def stop(self) -> None:
        """End the current run, and start no other."""
        self._is_stopped = True
        if self._running is not None:
            self._running.stop()

    async def crawl(self, minutes: float) -> RunSummary:
        """One run, of at most so many minutes."""
        settings = self._state.settings.model_copy(update={"max_minutes": minutes})
        leases = self._state.leases()
        state = replace(self._state, settings=settings)
        without_limit = replace(self._state, settings=settings.model_copy(update={"max_minutes": 0.0}))
        async with state.fetcher() as fetcher:
            crawl = self._running = state.crawl(fetcher, None, self._hooks, leases=leases)
            if self._is_stopped:
                crawl.stop()
            try:
                async with self._watch(crawl.progress, without_limit):
                    summary = await crawl.run()
            except BaseException:
                self._memory.unfinished.append((leases.holder, crawl.run_id))
                raise
            finally:
                self._running = None
        with suppress(StateUnavailable):  # the next look reports it; what was crawled is settled
            await asyncio.to_thread(rescore_run, state.database, state.clock, summary.run_id, settings.weights)
        self._memory.upkeep_at = -inf  # before the next run
        return summary

    def _keep_up(self) -> bool:
        state, memory, now = self._state, self._memory, monotonic()
        self._close_unfinished_runs()
        if now - memory.upkeep_at >= _UPKEEP_EVERY_S:
            self._leases.release_dead()
            if memory.upkeep_at == -inf:  # the setting cannot change while the worker runs
                lift_refusals(state.database, state.settings.allow_networks)
            state.queue_sweeper().sweep()
            end_cooldowns(state.database, state.clock, refresh=state.settings.enable_refresh_mode)
            go_deeper(state.database, state.clock, state.frontier, state.settings.max_depth)
            follow_left_out(state.database, state.clock, state.frontier, state.left_out_terms())
            if now - memory.rescored_at >= _RESCORE_EVERY_S:
                rescore(state.database, state.clock, state.settings.weights)
                memory.rescored_at = now
            memory.upkeep_at = now
        return self._leases.has_candidate()

    def _close_unfinished_runs(self) -> None:
        """The state is back: free the hosts of runs that lost it, and record how those ended."""
        unfinished = self._memory.unfinished
        while unfinished:
            holder, run_id = unfinished[0]
            self._leases.free_former([holder])
            record, lost = self._state.run_record(run_id), EndReason.STATE_LOST
            record.take_over()  # also pages for which there was no disk space
            record.close("failed", lost, lost.sentence)
            del unfinished[0]
