"""What the routes work with: the open state, the desk at which sources are tried out, and the pool that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeVar, cast
from uuid import UUID

import anyio
import anyio.to_thread
from fastapi import Depends, Request

from comity.doors.web.access import Access, Caller
from comity.doors.web.errors import LOG, ApiError
from comity.doors.web.sessions import LoginThrottle
from comity.model.errors import NotFound, StateUnavailable
from comity.model.search import SearchPage, SearchQuery
from comity.model.source import Source, SourceStatus
from comity.reports.sources import find_source
from comity.upkeep.drain_outbox import EVERY_S
from comity.upkeep.due_sources import STOP_WITHIN_S

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.search.job_search import JobSearch
    from comity.upkeep.drain_outbox import OutboxDrain
    from comity.upkeep.due_sources import Result
    from comity.upkeep.source_pool import SourcePool
    from comity.walk.request import OnWait
    from comity.walk.sources.runner import SourceRunner

TRIES_AT_ONCE: Final = 4
LOGINS_AT_ONCE: Final = 2
SEARCHES_AT_ONCE: Final = 4
SEARCHES_WAITING: Final = 64
TRY_WITHIN_S: Final = 120.0
PAUSE_AFTER_A_FAULT_S: Final = 60.0

Given = TypeVar("Given")


@dataclass(slots=True)
class Office:
    """One application's tools; `scheduler` is None where it is turned off."""

    state: State
    access: Access
    desk: SourceRunner
    pool: SourcePool
    search: JobSearch
    scheduler: asyncio.Task[None] | None
    tell_search: Callable[[], None]
    """Have search hear now of what changed; may be called from any thread."""
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    tries: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TRIES_AT_ONCE))
    logins: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOGINS_AT_ONCE))

    searches: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(SEARCHES_AT_ONCE))

    @property
    def is_running(self) -> bool:
        """Whether the scheduler is at work here."""
        return self.scheduler is not None and not self.scheduler.done()

    def source(self, source_id: UUID, *, is_there: bool = False) -> Source:
        """A source by its id; `NotFound` if there is none, or if it must be there and was deleted."""
        source = find_source(self.state.database, str(source_id))
        if is_there and source.status is SourceStatus.DELETED:
            raise NotFound(f"there is no source {source_id}")
        return source

    @asynccontextmanager
    async def trying(self) -> AsyncIterator[SourceRunner]:
        """The desk, for something that is tried out: a few at once, each bounded in time."""
        if self.tries.locked():
            raise ApiError(429, "too_many_tries", "too much is being tried out; try again later", {"Retry-After": "10"})
        async with self.tries:
            try:
                async with asyncio.timeout(TRY_WITHIN_S):
                    yield self.desk
            except TimeoutError:
                raise ApiError(409, "not_fetched", f"it took longer than {TRY_WITHIN_S:g} seconds") from None

    async def found(self, query: SearchQuery) -> SearchPage:
        """Answer the public: a few at once, and not at the expense of the admin."""
        if self.searches.statistics().tasks_waiting >= SEARCHES_WAITING:
            raise ApiError(429, "too_many_searches", "too many searches at once; try again", {"Retry-After": "2"})
        return await self.for_public(partial(self.search.query, query))

    async def for_public(self, act: Callable[[], Given]) -> Given:
        """Do something that blocks for whoever may ask: a few at once."""
        return await anyio.to_thread.run_sync(act, limiter=self.searches)


@asynccontextmanager
async def open_office(
    state: State, access: Access, *, schedules: bool, tell: Callable[[Result], None], on_wait: OnWait | None = None
) -> AsyncIterator[Office]:
    """Open the desk and the pool, start the scheduler, and end all of it within a bound."""
    has_news, stopping = asyncio.Event(), asyncio.Event()

    def on_result(result: Result) -> None:
        has_news.set()
        tell(result)

    async with state.fetcher() as fetcher, state.source_desk(fetcher) as desk:
        desk.log_waits(on_wait)
        pool = state.source_pool(desk, on_result, _warn)
        due = state.due_sources(pool, on_result)
        scheduler = None
        if schedules:
            scheduler = asyncio.create_task(_keep("scheduler", partial(due.serve, on_trouble=_warn), stopping))
        drain = state.outbox_drain()
        telling = asyncio.create_task(_keep("index", partial(_tell_search, drain, has_news, stopping), stopping))
        try:
            loop = asyncio.get_running_loop()

            def tell_search() -> None:
                loop.call_soon_threadsafe(has_news.set)

            yield Office(state, access, desk, pool, state.search(), scheduler, tell_search)
        finally:
            stopping.set()
            due.stop()
            await pool.close()
            if scheduler is not None:
                await scheduler
            has_news.set()
            await asyncio.wait([telling], timeout=STOP_WITHIN_S)
            telling.cancel()


def _warn(sentence: str) -> None:
    LOG.warning("%s", sentence)


async def _tell_search(drain: OutboxDrain, has_news: asyncio.Event, stopping: asyncio.Event) -> None:
    """Tell search of what changed, as soon as there is news and every few seconds; the same trouble is told once."""
    said: str | None = None
    while not stopping.is_set():
        has_news.clear()
        try:
            trouble = (await asyncio.to_thread(drain.drain)).error
        except StateUnavailable as error:
            trouble = str(error)
        if trouble is not None and trouble != said:
            _warn(trouble)
        said = trouble
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await has_news.wait()


async def _keep(name: str, serve: Callable[[], Awaitable[None]], stopping: asyncio.Event) -> None:
    """Keep a loop going: a fault of ours is told, and costs a minute rather than the loop."""
    while not stopping.is_set():
        try:
            await serve()
        except Exception as error:
            LOG.error("the %s stumbled: unexpected %s", name, type(error).__name__, exc_info=error)
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_AFTER_A_FAULT_S):
                    await stopping.wait()


def _office(request: Request) -> Office:
    return cast(Office, request.app.state.office)


def _admitted(request: Request) -> Caller:
    return cast(Caller, request.state.admitted)


OfficeHere = Annotated[Office, Depends(_office)]
AdmittedHere = Annotated[Caller, Depends(_admitted)]
