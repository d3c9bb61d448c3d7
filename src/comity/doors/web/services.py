"""What the routes work with: the open state, the source runner, the pool of source runs, search, and their limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeVar, cast
from uuid import UUID

import anyio
import anyio.to_thread
from fastapi import Depends, Request

from comity.doors.web.access import Access, Caller
from comity.doors.web.console.live import LiveHub
from comity.doors.web.errors import LOG, ApiError
from comity.doors.web.figures import FigureCache, count_ahead, keep_counted
from comity.doors.web.logins import LoginThrottle
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound
from comity.model.search import SearchPage, SearchQuery
from comity.model.source import Source, SourceStatus
from comity.operate.takedown import list_takedowns
from comity.reports.dashboard import FetchHistory
from comity.reports.sources import find_source
from comity.run.audit.service import AuditService
from comity.run.crawl.service import HostedCrawls
from comity.run.queue import queue_upkeep
from comity.run.sources import SourceObserver, source_service
from comity.run.stored_pages.client import StoredPages
from comity.telemetry.meter import Meter
from comity.telemetry.metrics import WEB_FAULTS, WEBHOOK_ATTEMPTS, WEBHOOKS_DISABLED, Origin

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.operate.console import ConsoleSessions
    from comity.run.serve import ServedWorker
    from comity.search_engine.job_search import JobSearch
    from comity.upkeep.due_sources import Result, SourcePool
    from comity.upkeep.send_webhooks import Sent, WebhookSender
    from comity.walk.bots.grants import Granter
    from comity.walk.bots.locks import Locks
    from comity.walk.bots.pull import Puller
    from comity.walk.bots.submit import Submitter
    from comity.walk.request import OnWait
    from comity.walk.sources.runner import SourceRunner

MAX_TRIALS: Final = 4
MAX_LOGINS: Final = 2
MAX_SEARCHES: Final = 4
MAX_SUBMITS: Final = 8  # pages of bots that are compressed and stored at once
MAX_WAITING_SEARCHES: Final = 64
TRIAL_TIMEOUT_S: Final = 120.0

Value = TypeVar("Value")


@dataclass(slots=True)
class QueueServices:
    """What bot routes work with."""

    puller: Puller
    submitter: Submitter
    locks: Locks


@dataclass(slots=True)
class WebServices:
    """The services of one application; `scheduler` is None if it is turned off."""

    state: State
    access: Access
    sessions: ConsoleSessions
    source_runner: SourceRunner
    pool: SourcePool
    search: JobSearch
    scheduler: asyncio.Task[None] | None
    notify_search: Callable[[], object]
    """Have the search index updated now; may be called from any thread."""
    look_for_due: Callable[[], object]
    """Have sources that have become due run soon, if the scheduler runs here; may be called from any thread."""
    queue: QueueServices
    granter: Granter
    webhooks: WebhookSender
    stored_pages: StoredPages
    audits: AuditService
    crawls: HostedCrawls
    worker: ServedWorker | None = None
    """The crawl worker of this process, if it has one."""
    live: LiveHub = field(default_factory=LiveHub)
    figures: FigureCache = field(default_factory=FigureCache)
    past: FetchHistory = field(default_factory=FetchHistory)
    meter: Meter = field(default_factory=lambda: Meter(Origin.WEB))
    submits: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_SUBMITS))
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    trials: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TRIALS))
    logins: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_LOGINS))
    searches: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(MAX_SEARCHES))

    @property
    def is_running(self) -> bool:
        """Whether the scheduler is running in this process."""
        return self.scheduler is not None and not self.scheduler.done()

    def source(self, source_id: UUID, *, allow_deleted: bool = False) -> Source:
        """A source by its id; raises `NotFound` if there is none."""
        source = find_source(self.state.database, str(source_id))
        if source.status is SourceStatus.DELETED and not allow_deleted:
            raise NotFound(f"there is no source {source_id}")
        return source

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[SourceRunner]:
        """The source runner, for a trial: a few at once, each bounded in time."""
        if self.trials.locked():
            raise ApiError(429, "too_many_tries", "too many trials at once; try again later", {"Retry-After": "10"})
        async with self.trials:
            try:
                async with asyncio.timeout(TRIAL_TIMEOUT_S):
                    yield self.source_runner
            except TimeoutError:
                raise ApiError(409, "not_fetched", f"no result within {TRIAL_TIMEOUT_S:g} seconds") from None

    async def find_postings(self, query: SearchQuery) -> SearchPage:
        """Search for the public: a bounded number at once, so that the admin API stays responsive."""
        if self.searches.statistics().tasks_waiting >= MAX_WAITING_SEARCHES:
            raise ApiError(429, "too_many_searches", "too many searches at once; try again", {"Retry-After": "2"})
        return await self.run_public(partial(self.search.query, query))

    async def run_public(self, act: Callable[[], Value]) -> Value:
        """Run a blocking call for a public route, in one of the threads reserved for those."""
        return await anyio.to_thread.run_sync(act, limiter=self.searches)


@asynccontextmanager
async def open_services(
    state: State,
    access: Access,
    sessions: ConsoleSessions,
    *,
    schedules: bool,
    on_result: Callable[[Result], None],
    on_wait: OnWait | None = None,
) -> AsyncIterator[WebServices]:
    """Start the pool, the scheduler and the updates of the search index; stop them all within a time limit."""
    observer, meter = SourceObserver(on_result, _warn, on_wait, is_ended_by_faults=False), Meter(Origin.WEB)
    state.loops.on_fault = partial(_note_fault, meter)
    async with (
        source_service(state, observer, schedules=schedules) as service,
        state.fetcher() as fetcher,
        state.robots_reader(fetcher) as reader,
        state.granter(reader) as granter,
        queue_upkeep(state, _warn, schedules=schedules, on_sent=partial(_count_calls, meter)),
        _open_pages(state) as stored_pages,
        _open_audits(state) as audits,
        _hosted_crawls(state, meter) as crawls,
    ):
        services = WebServices(
            state,
            access,
            sessions,
            service.runner,
            service.pool,
            state.search(),
            service.scheduler,
            service.notify_search,
            service.look_for_due,
            QueueServices(state.puller(reader, makes_jobs=schedules), state.submitter(), state.locks()),
            granter,
            state.webhook_sender(),
            stored_pages,
            audits,
            crawls,
            meter=meter,
        )
        count_ahead(services)
        counting = asyncio.create_task(state.loops.keep("counting of figures", partial(keep_counted, services)))
        try:
            yield services
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
            await asyncio.to_thread(services.figures.close)


@asynccontextmanager
async def _open_pages(state: State) -> AsyncIterator[StoredPages]:
    def takedowns() -> list[str]:
        return [stored.entry for stored in list_takedowns(state.database)]

    pages = StoredPages.at(str(state.settings.pages), takedowns)
    pages.prepare()
    try:
        yield pages
    finally:
        await pages.close()


@asynccontextmanager
async def _open_audits(state: State) -> AsyncIterator[AuditService]:
    service = AuditService(state.settings, _log_audit)
    try:
        yield service
    finally:
        await asyncio.to_thread(service.close)


def _log_audit(audit_id: str, problem: BaseException) -> None:
    LOG.warning("the audit %s ended with an error: %s", audit_id, problem)


@asynccontextmanager
async def _hosted_crawls(state: State, meter: Meter) -> AsyncIterator[HostedCrawls]:
    """The crawls of this server; they are stopped with it."""
    crawls = HostedCrawls(state, partial(_note_fault, meter))
    await crawls.open()
    try:
        yield crawls
    finally:
        await crawls.close()


def _count_calls(meter: Meter, sent: Sent) -> None:
    meter.add(WEBHOOK_ATTEMPTS, sent.delivered, "delivered")
    meter.add(WEBHOOK_ATTEMPTS, sent.failed, "failed")
    meter.add(WEBHOOKS_DISABLED, sent.disabled)


def _warn(sentence: str) -> None:
    LOG.warning("%s", sentence)


def _note_fault(meter: Meter, name: str, error: Exception) -> None:
    LOG.error("the %s failed and starts again: unexpected %s", name, type(error).__name__, exc_info=error)
    meter.add(WEB_FAULTS, 1, name)


async def _services(request: Request) -> WebServices:
    return cast(WebServices, request.app.state.services)


async def _caller(request: Request) -> Caller:
    return cast(Caller, request.state.caller)


Services = Annotated[WebServices, Depends(_services)]
CurrentCaller = Annotated[Caller, Depends(_caller)]
