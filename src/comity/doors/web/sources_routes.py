"""/admin/sources: the table, one source, and what an operator may do with it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from comity.doors.schemas.sources import (
    HeadView,
    RunQueued,
    SavedSourceView,
    SimulationView,
    SourceList,
    SourceView,
    view_list,
)
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.requests import (
    Limit,
    Offset,
    SimulationRequest,
    SourceChanges,
    SourceId,
    SourceRequest,
    StatusName,
    Text,
)
from comity.doors.web.routes.crawl import queue_run
from comity.doors.web.services import Services, WebServices
from comity.model.errors import ComityError, HostBusy
from comity.model.source import Source
from comity.operate.sources import (
    add_source,
    approve_source,
    delete_source,
    edit_source,
    ignored_settings,
    pause_source,
    resume_source,
    simulate_extract,
    source_to_try,
    test_fetch,
)
from comity.reports.sources import list_sources

router = APIRouter(prefix="/admin/sources", tags=["sources"])


@router.get("", operation_id="list_sources", response_model=SourceList)
def list_all(
    office: Services,
    status: Annotated[StatusName | None, Query(description="By default all but deleted ones.")] = None,
    org_type: Annotated[Text | None, Query(max_length=40)] = None,
    search: Annotated[Text | None, Query(description="A part of the name or address.", max_length=300)] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> SourceList:
    """List sources, the next to run first."""
    found, total = list_sources(
        office.state.database, status=status, org_type=org_type, containing=search or None, limit=limit, offset=offset
    )
    return SourceList(sources=view_list(SourceView, found), total=total, limit=limit, offset=offset)


@router.post(
    "",
    operation_id="add_source",
    status_code=201,
    response_model=SavedSourceView,
    responses=error_responses(409, 413, 415),
)
def add(office: Services, given: SourceRequest) -> SavedSourceView:
    """Add a source; its first run is due now."""
    state = office.state
    source = add_source(state.database, state.clock, given.careers_url, approved=given.approved, **given.columns())
    return _kept(office, source)


@router.get("/{source_id}", operation_id="get_source", response_model=SourceView, responses=error_responses(404))
def show(office: Services, source_id: SourceId) -> SourceView:
    """Show one source; deleted ones are only in the list of those."""
    return SourceView.model_validate(office.source(source_id, is_there=True))


@router.patch(
    "/{source_id}",
    operation_id="edit_source",
    response_model=SavedSourceView,
    responses=error_responses(404, 409, 413, 415),
)
def edit(office: Services, source_id: SourceId, given: SourceChanges) -> SavedSourceView:
    """Change what is named; null takes a value away."""
    changes = given.model_dump(exclude_unset=True)
    return _kept(office, edit_source(office.state.database, office.state.clock, source_id, **changes))


@router.delete("/{source_id}", operation_id="delete_source", response_model=SourceView, responses=error_responses(404))
def delete(office: Services, source_id: SourceId) -> SourceView:
    """Delete a source: what only it lists is closed, its log stays."""
    source = delete_source(office.state.database, office.state.clock, source_id)
    office.tell_search()
    return SourceView.model_validate(source)


@router.post(
    "/{source_id}/pause", operation_id="pause_source", response_model=SourceView, responses=error_responses(404)
)
def pause(office: Services, source_id: SourceId) -> SourceView:
    """Read a source no more until it is resumed."""
    return SourceView.model_validate(pause_source(office.state.database, office.state.clock, source_id))


@router.post(
    "/{source_id}/resume", operation_id="resume_source", response_model=SourceView, responses=error_responses(404)
)
def resume(office: Services, source_id: SourceId) -> SourceView:
    """Read a source again, beginning now; its failures are forgotten."""
    return SourceView.model_validate(resume_source(office.state.database, office.state.clock, source_id))


@router.post(
    "/{source_id}/approve", operation_id="approve_source", response_model=SourceView, responses=error_responses(404)
)
def approve(office: Services, source_id: SourceId) -> SourceView:
    """Have a proposed source read, beginning now."""
    return SourceView.model_validate(approve_source(office.state.database, office.state.clock, source_id))


@router.post(
    "/{source_id}/run",
    operation_id="run_source",
    status_code=202,
    response_model=RunQueued,
    responses=error_responses(404, 409, 429),
)
async def run(office: Services, source_id: SourceId) -> RunQueued:
    """Run a source now, due or not; the answer does not wait for it."""
    return await queue_run(office, source_id)


@router.post(
    "/{source_id}/test-fetch",
    operation_id="test_fetch_source",
    response_model=HeadView,
    responses=error_responses(404, 409, 429),
)
async def fetch_head(office: Services, source_id: SourceId) -> HeadView:
    """Ask for the head of the page only, as politely as for anything else."""
    source = await asyncio.to_thread(office.source, source_id, is_there=True)
    async with office.trying() as desk:
        try:
            return HeadView.model_validate(await test_fetch(desk, source.careers_url))
        except HostBusy:
            raise
        except ComityError as error:
            if type(error) is not ComityError:
                raise
            raise ApiError(409, "not_fetched", str(error)) from None


@router.post(
    "/{source_id}/simulate-extract",
    operation_id="simulate_extract_source",
    response_model=SimulationView,
    responses=error_responses(404, 409, 413, 415, 429),
)
async def simulate(office: Services, source_id: SourceId, given: SimulationRequest | None = None) -> SimulationView:
    """Read the first page and show its first three jobs; nothing is stored."""
    await asyncio.to_thread(office.source, source_id, is_there=True)
    columns = given.model_dump(exclude_none=True) if given is not None else {}
    source = await asyncio.to_thread(source_to_try, office.state.database, str(source_id), **columns)
    async with office.trying() as desk:
        return SimulationView.model_validate(await simulate_extract(desk, source))


def _kept(office: WebServices, source: Source) -> SavedSourceView:
    notes = ignored_settings(office.state.database, source)
    return SavedSourceView(**SourceView.model_validate(source).model_dump(), notes=notes)
