"""/admin/crawl: run sources and list their runs. /admin/crawl/runs: list, start, follow, stop and continue crawls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Path, Query

from comity.doors.schemas.runs import RunDetailView, RunHostView, RunList, RunProgressView, RunStarted, RunView
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
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.requests import CrawlRequest, Limit, ResumeRequest, RunRequest, Text
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, HostBusy
from comity.operate.runs import request_stop
from comity.reports.runs import find_run, hosts_of_run, list_crawl_runs
from comity.reports.sources import list_due, list_runs, sources_status
from comity.rules.budget import seconds_for
from comity.rules.page_cursor import LONGEST_CURSOR, read_cursor, write_cursor
from comity.run.crawl.service import CrawlOrder, order_to_resume

router = Router(Audience.ADMIN, prefix="/admin/crawl", tags=["crawl"])
runs_router = Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin/crawl/runs", tags=["crawl"])
RunId = Annotated[UUID, Path(description="The id of a run.", examples=["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"])]
_BY_TIME: Final = "time"
DoorName = Literal["crawl", "sources", "audit", "sql"]
RunStatusName = Literal["running", "finished", "stopped", "failed"]
_FINISHING_CHECKS: Final = 100
_FINISHING_PAUSE_S: Final = 0.05


@runs_router.get("", operation_id="list_runs", response_model=RunList)
def list_all(
    services: Services,
    door: Annotated[DoorName | None, Query(description="Only runs of this kind.")] = None,
    status: Annotated[RunStatusName | None, Query(description="Only runs in this status.")] = None,
    cursor: Annotated[
        Text | None, Query(description="The `next` of the previous page.", max_length=LONGEST_CURSOR)
    ] = None,
    limit: Limit = 50,
) -> RunList:
    """List runs, newest first."""
    before = read_place(cursor) if cursor is not None else None
    found = list_crawl_runs(services.state.database, door=door, status=status, after=before, limit=limit + 1)
    following = place_after(found[limit - 1].started_at, found[limit - 1].id) if len(found) > limit else None
    return RunList(runs=RunView.list_of(found[:limit]), next=following)


@runs_router.post(
    "",
    operation_id="start_crawl",
    status_code=202,
    response_model=RunStarted,
    responses=error_responses(413, 415, 429),
)
async def start(services: Services, body: CrawlRequest) -> RunStarted:
    """Start a crawl of whole sites on this server. The response does not wait for it."""
    order = CrawlOrder(tuple(body.seeds), body.choices(), body.under, body.refresh)
    return RunStarted(run_id=await started(services.crawls.start(order)))


@runs_router.get("/{run_id}", operation_id="get_run", response_model=RunDetailView, responses=error_responses(404))
async def show(services: Services, run_id: RunId) -> RunDetailView:
    """Show one run, with its hosts and, on the server that runs it, its progress."""
    return await asyncio.to_thread(run_detail, services, run_id)


@runs_router.post(
    "/{run_id}/stop",
    operation_id="stop_run",
    status_code=202,
    response_model=RunView,
    responses=error_responses(404, 409),
)
async def stop(services: Services, run_id: RunId) -> RunView:
    """Stop a crawl cleanly: requests in flight are finished, and the crawl can be continued."""
    return RunView.model_validate(await stop_run(services, run_id))


@runs_router.post(
    "/{run_id}/resume",
    operation_id="resume_run",
    status_code=202,
    response_model=RunStarted,
    responses=error_responses(404, 409, 413, 415, 429),
)
async def resume(services: Services, run_id: RunId, body: ResumeRequest | None = None) -> RunStarted:
    """Continue a crawl that ended exactly where it stopped, as a new run with the same settings."""
    return RunStarted(run_id=await resume_run(services, run_id, refresh=body is not None and body.refresh))


async def stop_run(services: WebServices, run_id: UUID) -> Any:
    """Ask for the stop in the state, for whichever process has the run; if this one has it, stop it at once."""
    run = await asyncio.to_thread(request_stop, services.state.database, services.state.clock, run_id)
    services.crawls.stop(run_id)
    return run


async def resume_run(services: WebServices, run_id: UUID, *, refresh: bool) -> UUID:
    """Continue a run; returns the id of the new one."""
    run = await asyncio.to_thread(find_run, services.state.database, run_id)
    if run.status == "running":
        raise HostBusy("the run has not ended")
    try:
        order = order_to_resume(run, services.state.settings, refresh=refresh)
    except BadInput as error:
        raise HostBusy(str(error)) from None
    return await started(services.crawls.start(order))


async def started(starting: Awaitable[UUID]) -> UUID:
    """The id of a crawl that is being started; raises `ApiError` 429 if too many run."""
    try:
        return await starting
    except HostBusy as error:
        raise ApiError(429, "too_many_runs", str(error), {"Retry-After": "30"}) from None


def run_detail(services: WebServices, run_id: UUID) -> RunDetailView:
    """Everything about a run."""
    database = services.state.database
    run = find_run(database, run_id)
    view = RunView.model_validate(run).model_dump()
    hosts = RunHostView.list_of(hosts_of_run(database, run))
    progress = run_progress(services, run_id) if run.status == "running" else None
    return RunDetailView(**view, hosts=hosts, settings=run.settings, progress=progress)


def run_progress(services: WebServices, run_id: UUID) -> RunProgressView | None:
    """The progress of a run of this server."""
    progress = services.crawls.progress(run_id)
    if progress is None:
        return None
    names = set(RunProgressView.model_fields) - {"warnings", "faults", "hosts"}
    loads = sorted(progress.loads(), key=seconds_for, reverse=True)[:100]
    faults = sorted(progress.faults.values(), key=lambda fault: -fault.count)
    return RunProgressView.model_validate(
        {name: getattr(progress, name) for name in names}
        | {
            "warnings": list(progress.warnings),
            "faults": [{"code": fault.code, "count": fault.count, "urls": list(fault.urls)} for fault in faults],
            "hosts": [load._asdict() for load in loads],
        }
    )


def place_after(at: datetime, identity: UUID) -> str:
    """Where a list in the order of time continues."""
    return write_cursor(_BY_TIME, at, identity)


def read_place(text: str) -> tuple[datetime, UUID]:
    """The time and the id of the last row of the previous page; `BadInput` if it is no cursor."""
    at, identity = read_cursor(text, _BY_TIME, datetime, UUID, name="cursor")
    if at is None or identity is None:
        raise BadInput("cursor", "is not a cursor of this list")
    return at, identity


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
