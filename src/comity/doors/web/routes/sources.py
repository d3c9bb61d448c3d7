"""/admin/sources: list, add, change, run and try out sources."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Query, Request

from comity.doors.schemas.sources import (
    BulkItemView,
    BulkReportView,
    HeadView,
    HintCheckView,
    NextRunView,
    RunQueued,
    SavedSourceView,
    SimulationView,
    SourceImportView,
    SourceList,
    SourceView,
)
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.errors import ApiError, error_responses, refused_list
from comity.doors.web.requests import (
    HintRequest,
    Limit,
    Offset,
    SimulationRequest,
    SourceActions,
    SourceChanges,
    SourceId,
    SourceRequest,
    SourceTypeName,
    StatusName,
    Text,
)
from comity.doors.web.routes.crawl import queue_run
from comity.doors.web.services import Services, WebServices
from comity.model.errors import ComityError
from comity.model.source import Source
from comity.model.source_import import MOST_ROWS, SourceFormat, SourceImport
from comity.operate.import_sources import ImportTerms, import_sources
from comity.operate.sources import (
    SourceActionResult,
    act_on_sources,
    add_source,
    approve_source,
    check_hint,
    delete_source,
    edit_source,
    ignored_settings,
    pause_source,
    resume_source,
    simulate_extract,
    source_to_try,
    test_fetch,
)
from comity.reports.sources import list_sources, next_run
from comity.rules.row_list import read_source_list

router = Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin/sources", tags=["sources"])
_LIST_BODY_BYTES: Final = 8_000_000
_LIST_FORMATS: Final = {
    "text/csv": SourceFormat.CSV,
    "text/tab-separated-values": SourceFormat.TSV,
    "application/json": SourceFormat.JSON,
    "application/x-ndjson": SourceFormat.JSON_LINES,
}
ResultName = Literal["ok", "warn", "fail"]
SortName = Literal["next_run_at", "-next_run_at", "last_crawled_at", "-last_crawled_at", "org_name", "-org_name"]
list_router = Router(
    Audience.ADMIN,
    max_body_bytes=_LIST_BODY_BYTES,
    content_types=tuple(_LIST_FORMATS),
    prefix="/admin/sources",
    tags=["sources"],
)
_LIST_BODY: Final[dict[str, Any]] = {
    "required": True,
    "description": "A list of sources. The first line of CSV and TSV names the columns.",
    "content": {
        "application/json": {
            "schema": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_ROWS,
                "items": {"description": "An object with the columns of a source; any other row alone is refused."},
                "examples": [[{"careers_url": "https://example.org/careers", "org_name": "Example Aid"}]],
            }
        },
        "text/csv": {"schema": {"type": "string"}},
        "text/tab-separated-values": {"schema": {"type": "string"}},
        "application/x-ndjson": {"schema": {"type": "string"}},
    },
}


@router.get("", operation_id="list_sources", response_model=SourceList)
def list_all(
    services: Services,
    status: Annotated[StatusName | None, Query(description="By default, all except deleted ones.")] = None,
    source_type: SourceTypeName | None = None,
    org_type: Annotated[Text | None, Query(max_length=40)] = None,
    last_crawl_status: Annotated[ResultName | None, Query(description="How the last run ended.")] = None,
    search: Annotated[Text | None, Query(description="Part of the name or the address.", max_length=300)] = None,
    sort: Annotated[SortName, Query(description="A leading - reverses the order.")] = "next_run_at",
    limit: Limit = 100,
    offset: Offset = 0,
) -> SourceList:
    """List sources, by default in the order in which they are due."""
    found, total = list_sources(
        services.state.database,
        status=status,
        source_type=source_type,
        org_type=org_type,
        result=last_crawl_status,
        containing=search or None,
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        limit=limit,
        offset=offset,
    )
    return SourceList(sources=SourceView.list_of(found), total=total, limit=limit, offset=offset)


@router.post(
    "",
    operation_id="add_source",
    status_code=201,
    response_model=SavedSourceView,
    responses=error_responses(409, 413, 415),
)
def add(services: Services, body: SourceRequest) -> SavedSourceView:
    """Add a source. Its first run is due now."""
    state = services.state
    source = add_source(state.database, state.clock, body.careers_url, approved=body.approved, **body.columns())
    services.look_for_due()
    return _saved(services, source)


@list_router.post(
    "/import",
    operation_id="import_sources",
    response_model=SourceImportView,
    responses=error_responses(413, 415),
    openapi_extra={"requestBody": _LIST_BODY},
)
async def import_list(
    services: Services,
    request: Request,
    update: Annotated[bool, Query(description="Update existing sources that differ from the list.")] = False,
    skip_bad: Annotated[
        bool, Query(description="Add the other rows if some are refused; by default, add none.")
    ] = False,
    dry_run: Annotated[bool, Query(description="Report what would happen; change nothing.")] = False,
    approved: Annotated[bool, Query(description="false: new sources are paused until they are approved.")] = True,
) -> SourceImportView:
    """Add the sources of a list, and report what became of each row. If a row is refused, nothing is added."""
    kind = _LIST_FORMATS.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
    content = await request.body()
    if kind is None or not content:
        raise ApiError(422, "bad_input", "send a list of sources, as CSV or as a JSON array")
    terms = ImportTerms(update=update, skip_bad=skip_bad, dry_run=dry_run, approved=approved)

    def act() -> SourceImport:
        return import_sources(services.state.database, services.state.clock, read_source_list(content, kind), terms)

    report = await asyncio.to_thread(act)
    if report.refused and not (skip_bad or dry_run):
        raise refused_list(report.refused, len(report.rows))
    services.look_for_due()
    return SourceImportView.model_validate(report)


@router.post(
    "/actions", operation_id="act_on_sources", response_model=BulkReportView, responses=error_responses(413, 415)
)
async def act(services: Services, body: SourceActions) -> BulkReportView:
    """Run, pause, resume, approve or delete several sources, with a report on each."""
    done = await act_on_many(services, body.action, body.ids)
    return BulkReportView(done=sum(item.is_done for item in done), sources=BulkItemView.list_of(done))


@router.post(
    "/check-hint", operation_id="check_hint", response_model=HintCheckView, responses=error_responses(413, 415)
)
def check(body: HintRequest) -> HintCheckView:
    """Check a parser hint without saving it."""
    problem = check_hint(body.parser_hint)
    return HintCheckView(is_valid=problem is None, problem=problem)


async def act_on_many(services: WebServices, action: str, ids: list[UUID]) -> list[SourceActionResult]:
    """Do the same with several sources; runs are queued, everything else is done."""
    if action != "run":
        state = services.state
        done = await asyncio.to_thread(act_on_sources, state.database, state.clock, action, ids)
        if action == "delete":
            services.notify_search()
        services.look_for_due()
        return done
    queued: list[SourceActionResult] = []
    for source_id in dict.fromkeys(ids):
        try:
            await queue_run(services, source_id)
            queued.append(SourceActionResult(source_id, True))
        except (ComityError, ApiError) as error:
            queued.append(SourceActionResult(source_id, False, str(error)))
    return queued


@router.get("/{source_id}", operation_id="get_source", response_model=SourceView, responses=error_responses(404))
def show(services: Services, source_id: SourceId) -> SourceView:
    """Show one source. Deleted sources are only listed, with status=deleted."""
    return SourceView.model_validate(services.source(source_id))


@router.get(
    "/{source_id}/next_run",
    operation_id="explain_next_run",
    response_model=NextRunView,
    responses=error_responses(404),
)
def why_next_run(services: Services, source_id: SourceId) -> NextRunView:
    """Explain when a source runs next, and why then."""
    source = services.source(source_id, allow_deleted=True)
    return NextRunView.model_validate(next_run(services.state.database, services.state.clock, source))


@router.patch(
    "/{source_id}",
    operation_id="edit_source",
    response_model=SavedSourceView,
    responses=error_responses(404, 409, 413, 415),
)
def edit(services: Services, source_id: SourceId, body: SourceChanges) -> SavedSourceView:
    """Change the fields that are sent. null removes a value."""
    changes = body.model_dump(exclude_unset=True)
    return _saved(services, edit_source(services.state.database, services.state.clock, source_id, **changes))


@router.delete("/{source_id}", operation_id="delete_source", response_model=SourceView, responses=error_responses(404))
def delete(services: Services, source_id: SourceId) -> SourceView:
    """Delete a source. Postings that only it lists are closed; its log is kept."""
    source = delete_source(services.state.database, services.state.clock, source_id)
    services.notify_search()
    return SourceView.model_validate(source)


@router.post(
    "/{source_id}/pause", operation_id="pause_source", response_model=SourceView, responses=error_responses(404)
)
def pause(services: Services, source_id: SourceId) -> SourceView:
    """Pause a source until it is resumed."""
    return SourceView.model_validate(pause_source(services.state.database, services.state.clock, source_id))


@router.post(
    "/{source_id}/resume", operation_id="resume_source", response_model=SourceView, responses=error_responses(404)
)
def resume(services: Services, source_id: SourceId) -> SourceView:
    """Resume a source. It is due now, and its failure count is reset."""
    source = resume_source(services.state.database, services.state.clock, source_id)
    services.look_for_due()
    return SourceView.model_validate(source)


@router.post(
    "/{source_id}/approve", operation_id="approve_source", response_model=SourceView, responses=error_responses(404)
)
def approve(services: Services, source_id: SourceId) -> SourceView:
    """Approve a proposed source. It is due now."""
    source = approve_source(services.state.database, services.state.clock, source_id)
    services.look_for_due()
    return SourceView.model_validate(source)


@router.post(
    "/{source_id}/run",
    operation_id="run_source",
    status_code=202,
    response_model=RunQueued,
    responses=error_responses(404, 409, 429),
)
async def run(services: Services, source_id: SourceId) -> RunQueued:
    """Run a source now, whether or not it is due. The response does not wait for the run."""
    return await queue_run(services, source_id)


@router.post(
    "/{source_id}/test-fetch",
    operation_id="test_fetch_source",
    response_model=HeadView,
    responses=error_responses(404, 409, 429),
)
async def fetch_head(services: Services, source_id: SourceId) -> HeadView:
    """Fetch only the headers of the page, under the usual politeness rules."""
    source = await asyncio.to_thread(services.source, source_id)
    async with services.trial() as runner:
        try:
            return HeadView.model_validate(await test_fetch(runner, source.careers_url))
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
async def simulate(services: Services, source_id: SourceId, body: SimulationRequest | None = None) -> SimulationView:
    """Fetch the first page and show its first three postings. Nothing is stored."""
    await asyncio.to_thread(services.source, source_id)
    columns = body.model_dump(exclude_none=True) if body is not None else {}
    source = await asyncio.to_thread(source_to_try, services.state.database, str(source_id), **columns)
    async with services.trial() as runner:
        return SimulationView.model_validate(await simulate_extract(runner, source))


def _saved(services: WebServices, source: Source) -> SavedSourceView:
    notes = ignored_settings(services.state.database, source)
    return SavedSourceView(**SourceView.model_validate(source).model_dump(), notes=notes)
