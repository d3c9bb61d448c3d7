"""Sources, run as they become due or when asked for: the scheduler of the command line and of the web server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from comity.assemble import open_state
from comity.model.dataclass import dataclass
from comity.run.runtime import event_loop_runner
from comity.run.signals import INTERRUPTED, stop_on_signals
from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.upkeep.due_sources import DueSources, Result, SourcePool
    from comity.walk.request import OnWait
    from comity.walk.sources.runner import SourceRunner

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class SourceObserver:
    """What a front door wants to know of sources while they are run."""

    on_result: Callable[[Result], None] = lambda _result: None
    on_trouble: Callable[[str], None] = lambda _sentence: None
    """Called with each temporary problem, such as a store that does not answer."""
    on_wait: OnWait | None = None
    is_ended_by_faults: bool = True
    """Whether an unexpected error of a loop ends the service; otherwise the loop is reported and starts again."""


@dataclass(slots=True)
class SourceService:
    """What runs sources; `scheduler` is None if they are run only when asked for."""

    runner: SourceRunner
    pool: SourcePool
    scheduler: asyncio.Task[None] | None
    updating: asyncio.Task[None]
    """Keeps search up to date."""
    notify_search: Callable[[], object]
    """Update search soon, because postings changed; may be called from any thread."""
    look_for_due: Callable[[], object]
    """Run soon what has become due, if the scheduler runs here; may be called from any thread."""
    _due: DueSources

    @property
    def is_running(self) -> bool:
        """Whether the scheduler runs here."""
        return self.scheduler is not None and not self.scheduler.done()

    def stop(self) -> None:
        """Start no more runs."""
        self._due.stop()


@asynccontextmanager
async def source_service(state: State, observer: SourceObserver, *, schedules: bool) -> AsyncIterator[SourceService]:
    """Run the scheduler and update search while the block lasts; end both within a bound."""
    has_news, stopping = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_result(result: Result) -> None:
        has_news.set()
        observer.on_result(result)

    def keep(name: str, serve: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        kept = _run(serve) if observer.is_ended_by_faults else state.loops.keep(name, serve, stopping)
        return loop.create_task(kept)

    async with state.fetcher() as fetcher, state.source_runner(fetcher) as runner:
        runner.log_waits(observer.on_wait)
        pool = state.source_pool(runner, on_result, observer.on_trouble)
        due = state.due_sources(pool, on_result)
        scheduler = keep("scheduler", partial(due.serve, on_trouble=observer.on_trouble)) if schedules else None
        update = partial(state.outbox_drain().serve, stopping, has_news=has_news, on_trouble=observer.on_trouble)
        updating = keep("search update", update)
        try:
            notify_search = partial(loop.call_soon_threadsafe, has_news.set)
            look_for_due = partial(loop.call_soon_threadsafe, due.look)
            yield SourceService(runner, pool, scheduler, updating, notify_search, look_for_due, due)
        finally:
            stopping.set()
            due.stop()
            try:
                await pool.close()
                if scheduler is not None:
                    await scheduler
            finally:
                has_news.set()
                await asyncio.wait([updating], timeout=STOP_WITHIN_S)
                updating.cancel()


def serve_sources(settings: Settings, observer: SourceObserver, on_start: Callable[[], None] = lambda: None) -> int:
    """Run sources as they become due until a signal comes; returns the exit code."""
    codes: list[int] = []

    async def serve(state: State) -> None:
        stopped = asyncio.Event()

        def on_signal(number: int) -> None:
            codes.append(INTERRUPTED if number == signal.SIGINT else 0)
            stopped.set()

        stop_on_signals(on_signal)
        on_start()
        async with source_service(state, observer, schedules=True) as service:
            assert service.scheduler is not None
            signalled = asyncio.create_task(stopped.wait())
            tasks = {signalled, service.scheduler, service.updating}
            done, _running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            service.stop()
            signalled.cancel()
            await asyncio.wait([service.scheduler])  # runs in progress may finish
            for task in done - {signalled}:
                task.result()  # it ends only if it fails, and then so does the command

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


async def _run(serve: Callable[[], Awaitable[None]]) -> None:
    await serve()
