"""Sources, run as they become due or when asked for: the scheduler of the command line and of the web server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from comity.assemble import open_state
from comity.model.errors import StateUnavailable
from comity.run.event_loop import event_loop_runner
from comity.run.signals import INTERRUPTED, stop_on_signals
from comity.upkeep.drain_outbox import EVERY_S
from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.upkeep.drain_outbox import OutboxDrain
    from comity.upkeep.due_sources import DueSources, Result
    from comity.upkeep.source_pool import SourcePool
    from comity.walk.request import OnWait
    from comity.walk.sources.runner import SourceRunner

Done = TypeVar("Done")

_PAUSE_AFTER_FAULT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class SourceObserver:
    """What a front door wants to know of sources while they are run."""

    on_result: Callable[[Result], None] = lambda _result: None
    on_trouble: Callable[[str], None] = lambda _sentence: None
    """Called with each problem that passes by itself, such as a store that does not answer."""
    on_wait: OnWait | None = None
    on_fault: Callable[[str, Exception], None] | None = None
    """Called with an unexpected error of a loop, which then starts again; None: the error ends the service."""


@dataclass(slots=True)
class SourceService:
    """What runs sources; `scheduler` is None if they are run only when asked for."""

    runner: SourceRunner
    pool: SourcePool
    scheduler: asyncio.Task[None] | None
    notify_search: Callable[[], object]
    """Update search soon, because postings changed; may be called from any thread."""
    _due: DueSources

    @property
    def is_running(self) -> bool:
        """Whether the scheduler runs here."""
        return self.scheduler is not None and not self.scheduler.done()

    def stop(self) -> None:
        """Start no more runs."""
        self._due.stop()


@asynccontextmanager
async def source_service(state: State, view: SourceObserver, *, schedules: bool) -> AsyncIterator[SourceService]:
    """Run the scheduler and update search while the block lasts; end both within a bound."""
    has_news, stopping = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_result(result: Result) -> None:
        has_news.set()
        view.on_result(result)

    def keep(name: str, serve: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return loop.create_task(_keep_running(name, serve, stopping, view.on_fault))

    async with state.fetcher() as fetcher, state.source_runner(fetcher) as runner:
        runner.log_waits(view.on_wait)
        pool = state.source_pool(runner, on_result, view.on_trouble)
        due = state.due_sources(pool, on_result)
        scheduler = keep("scheduler", partial(due.serve, on_trouble=view.on_trouble)) if schedules else None
        updating = keep("index", partial(_update_search, state.outbox_drain(), has_news, stopping, view.on_trouble))
        try:
            yield SourceService(runner, pool, scheduler, partial(loop.call_soon_threadsafe, has_news.set), due)
        finally:
            stopping.set()
            due.stop()
            await pool.close()
            if scheduler is not None:
                await scheduler
            has_news.set()
            await asyncio.wait([updating], timeout=STOP_WITHIN_S)
            updating.cancel()


def serve_sources(settings: Settings, view: SourceObserver) -> int:
    """Run sources as they become due until a signal comes; gives the exit code."""
    codes: list[int] = []

    async def serve(state: State) -> None:
        async with source_service(state, view, schedules=True) as service:

            def on_signal(number: int) -> None:
                codes.append(INTERRUPTED if number == signal.SIGINT else 0)
                service.stop()

            stop_on_signals(on_signal)
            assert service.scheduler is not None
            await asyncio.wait([service.scheduler])

    with open_state(settings, connections=4) as state, event_loop_runner() as runner:
        runner.run(serve(state))
    return codes[0] if codes else 0


def with_source_runner(state: State, act: Callable[[SourceRunner], Awaitable[Done]]) -> Done:
    """Do one thing with sources: run one, or try a page."""

    async def run() -> Done:
        async with state.fetcher() as fetcher, state.source_runner(fetcher) as runner:
            return await act(runner)

    with event_loop_runner() as loop_runner:
        return loop_runner.run(run())


async def _update_search(
    drain: OutboxDrain, has_news: asyncio.Event, stopping: asyncio.Event, on_trouble: Callable[[str], None]
) -> None:
    """Update search as soon as there is news, and every few seconds; the same problem is reported once."""
    reported: str | None = None
    while not stopping.is_set():
        has_news.clear()
        try:
            trouble = (await asyncio.to_thread(drain.drain)).error
        except StateUnavailable as error:
            trouble = str(error)
        if trouble is not None and trouble != reported:
            on_trouble(trouble)
        reported = trouble
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await has_news.wait()


async def _keep_running(
    name: str,
    serve: Callable[[], Awaitable[None]],
    stopping: asyncio.Event,
    on_fault: Callable[[str, Exception], None] | None,
) -> None:
    """Run a loop until the end; after an unexpected error it starts again in a minute."""
    while not stopping.is_set():
        try:
            await serve()
            return
        except Exception as error:
            if on_fault is None:
                raise
            on_fault(name, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_AFTER_FAULT_S):
                    await stopping.wait()
