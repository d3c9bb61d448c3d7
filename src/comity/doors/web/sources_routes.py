"""/admin/sources: the table, one source, and what an operator may do with it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from comity.doors.web.crawl_routes import queue_run
from comity.doors.web.given import (
    Limit,
    Offset,
    SourceChanges,
    SourceGiven,
    SourceId,
    StatusName,
    Text,
    TryGiven,
)
from comity.doors.web.office import Office, OfficeHere
from comity.doors.web.refusals import Refused, documented
from comity.doors.web.shown import (
    HeadShown,
    RunQueued,
    SimulationShown,
    SourceKept,
    SourceShown,
    SourcesShown,
    shown_list,
)
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


@router.get("", operation_id="list_sources", response_model=SourcesShown)
def list_all(
    office: OfficeHere,
    status: Annotated[StatusName | None, Query(description="By default all but deleted ones.")] = None,
    org_type: Annotated[Text | None, Query(max_length=40)] = None,
    search: Annotated[Text | None, Query(description="A part of the name or address.", max_length=300)] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> SourcesShown:
    """List sources, the next to run first."""
    found, total = list_sources(
        office.state.database, status=status, org_type=org_type, containing=search or None, limit=limit, offset=offset
    )
    return SourcesShown(sources=shown_list(SourceShown, found), total=total, limit=limit, offset=offset)


@router.post(
    "", operation_id="add_source", status_code=201, response_model=SourceKept, responses=documented(409, 413, 415)
)
def add(office: OfficeHere, given: SourceGiven) -> SourceKept:
    """Add a source; its first run is due now."""
    state = office.state
    source = add_source(state.database, state.clock, given.careers_url, approved=given.approved, **given.columns())
    return _kept(office, source)


@router.get("/{source_id}", operation_id="get_source", response_model=SourceShown, responses=documented(404))
def show(office: OfficeHere, source_id: SourceId) -> SourceShown:
    """Show one source; deleted ones are only in the list of those."""
    return SourceShown.model_validate(office.source(source_id, is_there=True))


@router.patch(
    "/{source_id}",
    operation_id="edit_source",
    response_model=SourceKept,
    responses=documented(404, 409, 413, 415),
)
def edit(office: OfficeHere, source_id: SourceId, given: SourceChanges) -> SourceKept:
    """Change what is named; null takes a value away."""
    changes = given.model_dump(exclude_unset=True)
    return _kept(office, edit_source(office.state.database, office.state.clock, source_id, **changes))


@router.delete("/{source_id}", operation_id="delete_source", response_model=SourceShown, responses=documented(404))
def delete(office: OfficeHere, source_id: SourceId) -> SourceShown:
    """Delete a source: what only it lists is closed, its log stays."""
    source = delete_source(office.state.database, office.state.clock, source_id)
    office.tell_search()
    return SourceShown.model_validate(source)


@router.post("/{source_id}/pause", operation_id="pause_source", response_model=SourceShown, responses=documented(404))
def pause(office: OfficeHere, source_id: SourceId) -> SourceShown:
    """Read a source no more until it is resumed."""
    return SourceShown.model_validate(pause_source(office.state.database, office.state.clock, source_id))


@router.post("/{source_id}/resume", operation_id="resume_source", response_model=SourceShown, responses=documented(404))
def resume(office: OfficeHere, source_id: SourceId) -> SourceShown:
    """Read a source again, beginning now; its failures are forgotten."""
    return SourceShown.model_validate(resume_source(office.state.database, office.state.clock, source_id))


@router.post(
    "/{source_id}/approve", operation_id="approve_source", response_model=SourceShown, responses=documented(404)
)
def approve(office: OfficeHere, source_id: SourceId) -> SourceShown:
    """Have a proposed source read, beginning now."""
    return SourceShown.model_validate(approve_source(office.state.database, office.state.clock, source_id))


@router.post(
    "/{source_id}/run",
    operation_id="run_source",
    status_code=202,
    response_model=RunQueued,
    responses=documented(404, 409, 429),
)
async def run(office: OfficeHere, source_id: SourceId) -> RunQueued:
    """Run a source now, due or not; the answer does not wait for it."""
    return await queue_run(office, source_id)


@router.post(
    "/{source_id}/test-fetch",
    operation_id="test_fetch_source",
    response_model=HeadShown,
    responses=documented(404, 409, 429),
)
async def fetch_head(office: OfficeHere, source_id: SourceId) -> HeadShown:
    """Ask for the head of the page only, as politely as for anything else."""
    source = await asyncio.to_thread(office.source, source_id, is_there=True)
    async with office.trying() as desk:
        try:
            return HeadShown.model_validate(await test_fetch(desk, source.careers_url))
        except HostBusy:
            raise
        except ComityError as error:
            if type(error) is not ComityError:
                raise
            raise Refused(409, "not_fetched", str(error)) from None


@router.post(
    "/{source_id}/simulate-extract",
    operation_id="simulate_extract_source",
    response_model=SimulationShown,
    responses=documented(404, 409, 413, 415, 429),
)
async def simulate(office: OfficeHere, source_id: SourceId, given: TryGiven | None = None) -> SimulationShown:
    """Read the first page and show its first three jobs; nothing is stored."""
    await asyncio.to_thread(office.source, source_id, is_there=True)
    columns = given.model_dump(exclude_none=True) if given is not None else {}
    source = await asyncio.to_thread(source_to_try, office.state.database, str(source_id), **columns)
    async with office.trying() as desk:
        return SimulationShown.model_validate(await simulate_extract(desk, source))


def _kept(office: Office, source: Source) -> SourceKept:
    notes = ignored_settings(office.state.database, source)
    return SourceKept(**SourceShown.model_validate(source).model_dump(), notes=notes)
