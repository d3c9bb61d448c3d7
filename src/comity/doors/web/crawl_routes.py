"""/admin/crawl: running sources, and how busy the crawl is."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query

from comity.doors.web.given import Limit, RunGiven
from comity.doors.web.office import Office, OfficeHere
from comity.doors.web.refusals import Refused, documented
from comity.doors.web.shown import (
    DueQueued,
    LockShown,
    LogShown,
    LogsShown,
    PoolShown,
    RunQueued,
    StatusShown,
    shown_list,
)
from comity.model.errors import HostBusy
from comity.reports.sources import list_runs, sources_status

_ENDING_LOOKS: Final = 100
_ENDING_PAUSE_S: Final = 0.05

router = APIRouter(prefix="/admin/crawl", tags=["crawl"])


@router.post(
    "/run",
    operation_id="run_crawl",
    status_code=202,
    response_model=RunQueued,
    responses=documented(404, 409, 413, 415, 429),
)
async def run(office: OfficeHere, given: RunGiven) -> RunQueued:
    """Run a source now, due or not; the answer does not wait for it."""
    return await queue_run(office, given.source_id)


@router.post("/run_due", operation_id="run_due", status_code=202, response_model=DueQueued)
async def run_due(office: OfficeHere) -> DueQueued:
    """Run what is due, once, without waiting for the scheduler; the answer does not wait for it."""
    return DueQueued(queued=await office.pool.ask_for_due(office.state.settings.sources_limit))


@router.get("/status", operation_id="crawl_status", response_model=StatusShown)
def status(office: OfficeHere) -> StatusShown:
    """Show how much is due and what is being run."""
    found = sources_status(office.state.database, office.state.clock)
    return StatusShown(
        running=office.is_running,
        scheduler=not office.state.settings.disable_scheduler,
        pool=PoolShown(at_once=office.pool.at_once),
        due_count=found.due_count,
        locked=found.locked,
        in_flight=office.pool.in_flight,
        queued=office.pool.waiting,
        locks=shown_list(LockShown, found.locks),
    )


@router.get("/logs", operation_id="crawl_logs", response_model=LogsShown, responses=documented(404))
def logs(
    office: OfficeHere,
    source_id: Annotated[UUID | None, Query(description="Only of this source.")] = None,
    limit: Limit = 20,
) -> LogsShown:
    """Show the latest runs, newest first."""
    if source_id is not None:
        office.source(source_id)
    return LogsShown(logs=shown_list(LogShown, list_runs(office.state.database, source_id, limit)))


async def queue_run(office: Office, source_id: UUID) -> RunQueued:
    """Have a source run that exists and that nobody runs; where its last run is just ending, after that."""
    for _ in range(_ENDING_LOOKS):
        is_locked = await asyncio.to_thread(_look, office, source_id)
        if is_locked:
            raise HostBusy("the source is being run already; see /admin/crawl/status")
        try:
            is_new = office.pool.ask(source_id)
        except HostBusy as error:
            raise Refused(429, "too_many_runs", str(error), {"Retry-After": "30"}) from None
        if is_new or not office.pool.has_begun(source_id):
            return RunQueued(source_id=source_id, queued=is_new)
        await asyncio.sleep(_ENDING_PAUSE_S)  # not locked: it begins in this moment, or its log is there already
    raise HostBusy("the last run of the source is still ending; try again")


def _look(office: Office, source_id: UUID) -> bool:
    office.source(source_id, is_there=True)
    locks = sources_status(office.state.database, office.state.clock).locks
    return any(lock.source_id == source_id for lock in locks)
