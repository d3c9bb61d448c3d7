"""/admin/crawl: run sources, and show the status and the log of their runs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import Query

from comity.doors.schemas.sources import (
    DueList,
    DueQueued,
    LockView,
    PoolView,
    RunQueued,
    SourceRunList,
    SourceRunView,
    SourcesStatusView,
    SourceView,
)
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.requests import Limit, RunRequest
from comity.doors.web.services import Services, WebServices
from comity.model.errors import HostBusy
from comity.reports.sources import list_due, list_runs, sources_status

_FINISHING_CHECKS: Final = 100
_FINISHING_PAUSE_S: Final = 0.05

router = Router(Audience.ADMIN, prefix="/admin/crawl", tags=["crawl"])


@router.post(
    "/run",
    operation_id="run_crawl",
    status_code=202,
    response_model=RunQueued,
    responses=error_responses(404, 409, 413, 415, 429),
)
async def run(services: Services, body: RunRequest) -> RunQueued:
    """Run a source now, whether or not it is due. The response does not wait for the run."""
    return await queue_run(services, body.source_id)


@router.post("/run_due", operation_id="run_due", status_code=202, response_model=DueQueued)
async def run_due(services: Services) -> DueQueued:
    """Run every due source once, without waiting for the scheduler. The response does not wait for the runs."""
    return DueQueued(queued=await services.pool.ask_for_due(services.state.settings.sources_limit))


@router.get("", include_in_schema=False, response_model=SourcesStatusView)  # the page has both paths, too
@router.get("/status", operation_id="crawl_status", response_model=SourcesStatusView)
def status(services: Services) -> SourcesStatusView:
    """Show how many sources are due, queued and running."""
    found = sources_status(services.state.database, services.state.clock)
    return SourcesStatusView(
        running=services.is_running,
        scheduler=not services.state.settings.disable_scheduler,
        pool=PoolView(at_once=services.pool.at_once),
        due_count=found.due_count,
        locked=found.locked,
        in_flight=services.pool.in_flight,
        queued=services.pool.waiting,
        locks=LockView.list_of(found.locks),
    )


@router.get("/logs", operation_id="crawl_logs", response_model=SourceRunList, responses=error_responses(404))
def logs(
    services: Services,
    source_id: Annotated[UUID | None, Query(description="Only runs of this source.")] = None,
    status: Annotated[Literal["ok", "warn", "fail"] | None, Query(description="Only runs with this result.")] = None,
    limit: Limit = 20,
) -> SourceRunList:
    """List the latest runs, newest first."""
    if source_id is not None:
        services.source(source_id, allow_deleted=True)
    found = list_runs(services.state.database, source_id, limit, status=status)
    return SourceRunList(logs=SourceRunView.list_of(found))


@router.get("/due", operation_id="list_due_sources", response_model=DueList)
def due(services: Services, limit: Limit = 20) -> DueList:
    """List sources that are due and not running, in the order in which they will run."""
    return DueList(sources=SourceView.list_of(list_due(services.state.database, services.state.clock, limit)))


async def queue_run(services: WebServices, source_id: UUID) -> RunQueued:
    """Queue a run of a source that is not running. If its last run is just finishing, wait for that first."""
    for _ in range(_FINISHING_CHECKS):
        if await asyncio.to_thread(_is_locked, services, source_id):
            raise HostBusy("the source is already running; see /admin/crawl/status")
        try:
            is_new = services.pool.ask(source_id)
        except HostBusy as error:
            raise ApiError(429, "too_many_runs", str(error), {"Retry-After": "30"}) from None
        if is_new or not services.pool.has_begun(source_id):
            return RunQueued(source_id=source_id, queued=is_new)
        # In the pool but not locked: the run is about to start, or has written its log and is finishing.
        await asyncio.sleep(_FINISHING_PAUSE_S)
    raise HostBusy("the last run of the source is still finishing; try again")


def _is_locked(services: WebServices, source_id: UUID) -> bool:
    services.source(source_id)
    locks = sources_status(services.state.database, services.state.clock).locks
    return any(lock.source_id == source_id for lock in locks)
