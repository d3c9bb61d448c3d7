"""/admin/crawl_policies, /admin/crawl_jobs, /admin/crawl_results: the crawl service for operators."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response

from comity.doors.schemas.queue import (
    BulkReport,
    CrawlJobDetails,
    CrawlJobList,
    CrawlJobView,
    CrawlPolicyList,
    CrawlPolicyView,
    CrawlResultList,
    CrawlResultView,
    FinishedHourView,
    JobMoveView,
    LateSubmissionList,
    LateSubmissionView,
    PolicyImportView,
    PriceHistory,
    PricePointView,
    QueueGlanceView,
    QueueStatsView,
)
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.errors import ApiError, error_responses, refused_list
from comity.doors.web.exports import EXPORTED, ExactJsonResponse, ExportFormat, stream
from comity.doors.web.figures import finished_hours, queue_at_a_glance, queue_in_full
from comity.doors.web.queue_requests import JobsAction, PoliciesAction, PolicyChangesBody, PolicyRequest
from comity.doors.web.requests import Limit, Text
from comity.doors.web.services import Services
from comity.model.queue import JobStatus
from comity.model.source_import import MOST_ROWS, SourceFormat
from comity.operate.queue import (
    JobAction,
    PolicyAction,
    PolicyImport,
    PolicyImportTerms,
    act_on_jobs,
    act_on_policies,
    add_policy,
    edit_policy,
    import_policies,
)
from comity.reports.queue import (
    JOBS,
    LATE,
    MOST_PRICES,
    POLICIES,
    RESULTS,
    age_s,
    find_job,
    find_late,
    find_policy,
    find_result,
    moves_of,
    price_history,
    raw_html_of,
    result_of_job,
)
from comity.rules.row_list import read_policy_list

_LIST_BODY_BYTES: Final = 8_000_000
_LIST_FORMATS: Final = {
    "text/csv": SourceFormat.CSV,
    "text/tab-separated-values": SourceFormat.TSV,
    "application/json": SourceFormat.JSON,
    "application/x-ndjson": SourceFormat.JSON_LINES,
}
_LIST_BODY: Final[dict[str, Any]] = {
    "required": True,
    "description": "A list of policies. The first line of CSV and TSV names the columns.",
    "content": {
        "application/json": {
            "schema": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_ROWS,
                "items": {"description": "An object with the columns of a policy; any other row alone is refused."},
                "examples": [[{"url": "https://example.com/product/1", "frequency_hours": 24}]],
            }
        },
        "text/csv": {"schema": {"type": "string"}},
        "text/tab-separated-values": {"schema": {"type": "string"}},
        "application/x-ndjson": {"schema": {"type": "string"}},
    },
}
policies_router = Router(
    Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin/crawl_policies", tags=["crawl policies"]
)
import_router = Router(
    Audience.ADMIN,
    max_body_bytes=_LIST_BODY_BYTES,
    content_types=tuple(_LIST_FORMATS),
    prefix="/admin/crawl_policies",
    tags=["crawl policies"],
)
glance_router = Router(Audience.ADMIN, prefix="/admin/queue", tags=["crawl jobs"])
jobs_router = Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin/crawl_jobs", tags=["crawl jobs"])
results_router = Router(Audience.ADMIN, prefix="/admin/crawl_results", tags=["crawl results"])

_ID_EXAMPLE: Final = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"
PolicyId = Annotated[UUID, Path(description="The id of a policy.", examples=[_ID_EXAMPLE])]
JobId = Annotated[UUID, Path(description="The id of a job.", examples=[_ID_EXAMPLE])]
ResultId = Annotated[UUID, Path(description="The id of a result, or of its job.", examples=[_ID_EXAMPLE])]
LateId = Annotated[UUID, Path(description="The id of a late submission.", examples=[_ID_EXAMPLE])]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the previous page.", max_length=5000)]
Sort = Annotated[
    str, Query(description="A column; - in front of it reverses the order.", max_length=40, examples=["-created_at"])
]
Format = Annotated[ExportFormat, Query(description="csv, json or jsonl.")]
Domain = Annotated[Text | None, Query(description="Only this host.", max_length=300)]
Containing = Annotated[Text | None, Query(description="Part of the URL.", max_length=300)]
Since = Annotated[datetime | None, Query(description="Only what was created at this time or later.")]
Before = Annotated[datetime | None, Query(description="Only what was created before this time.")]
NextRunSince = Annotated[datetime | None, Query(description="Only what runs next at this time or later.")]
NextRunBefore = Annotated[datetime | None, Query(description="Only what runs next before this time.")]
OfPolicy = Annotated[UUID | None, Query(description="Only those of this policy.")]
OfBot = Annotated[Text | None, Query(description="Only those of this bot.", max_length=100)]
Enabled = Annotated[bool | None, Query(description="Only enabled ones, or only disabled ones.")]
Priority = Annotated[int | None, Query(ge=0, le=1000)]
Due = Annotated[bool, Query(description="Only enabled ones that are due now.")]
Failing = Annotated[bool, Query(description="Only those whose last job failed.")]
Schedule = Annotated[Literal["fixed", "adaptive"] | None, Query()]
Status = Annotated[JobStatus | None, Query()]
Currency = Annotated[str | None, Query(pattern="^[A-Za-z]{3}$", max_length=3)]
InStock = Annotated[bool | None, Query()]


def _aware(value: datetime | None) -> datetime | None:
    """A time of a query; one without a zone is in UTC. `ApiError` if it is out of range."""
    if value is None:
        return None
    if not 1970 <= value.year <= 9998:
        raise ApiError(422, "bad_input", "a time must be between the years 1970 and 9998")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


# What a list can be narrowed down by, once for each noun: its list and its export take the same.


async def _policy_filters(
    services: Services,
    enabled: Enabled = None,
    domain: Domain = None,
    priority: Priority = None,
    schedule: Schedule = None,
    due: Due = False,
    failing: Failing = False,
    created_after: Since = None,
    created_before: Before = None,
    next_run_after: NextRunSince = None,
    next_run_before: NextRunBefore = None,
    search: Containing = None,
) -> dict[str, Any]:
    return {
        "enabled": enabled,
        "domain": domain or None,
        "priority": priority,
        "schedule": schedule,
        "due_by": services.state.clock.now() if due else None,
        "failing": failing,
        "created_after": _aware(created_after),
        "created_before": _aware(created_before),
        "next_run_after": _aware(next_run_after),
        "next_run_before": _aware(next_run_before),
        "containing": search or None,
    }


async def _job_filters(
    status: Status = None,
    bot_id: OfBot = None,
    policy_id: OfPolicy = None,
    domain: Domain = None,
    priority: Priority = None,
    created_after: Since = None,
    created_before: Before = None,
    search: Containing = None,
) -> dict[str, Any]:
    return {
        "status": status,
        "bot_id": bot_id or None,
        "policy_id": policy_id,
        "domain": domain or None,
        "priority": priority,
        "created_after": _aware(created_after),
        "created_before": _aware(created_before),
        "containing": search or None,
    }


async def _result_filters(
    policy_id: OfPolicy = None,
    currency: Currency = None,
    in_stock: InStock = None,
    bot_id: OfBot = None,
    created_after: Since = None,
    created_before: Before = None,
    search: Containing = None,
) -> dict[str, Any]:
    return {
        "policy_id": policy_id,
        "currency": currency.upper() if currency else None,
        "in_stock": in_stock,
        "bot_id": bot_id or None,
        "created_after": _aware(created_after),
        "created_before": _aware(created_before),
        "containing": search or None,
    }


PolicyFilters = Annotated[dict[str, Any], Depends(_policy_filters)]
JobFilters = Annotated[dict[str, Any], Depends(_job_filters)]
ResultFilters = Annotated[dict[str, Any], Depends(_result_filters)]


@policies_router.get("", operation_id="list_crawl_policies", response_model=CrawlPolicyList)
def list_policies(
    services: Services,
    filters: PolicyFilters,
    sort: Sort = "next_run_at",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List policies, the next to run first. `sort`: created_at, url, priority, next_run_at, failure_count, …"""
    page = POLICIES.page(services.state.database, sort=sort, limit=limit, cursor=cursor, **filters)
    found = CrawlPolicyView.list_of(page.items)
    return ExactJsonResponse(CrawlPolicyList(policies=found, limit=limit, next_cursor=page.cursor))


@policies_router.post(
    "",
    operation_id="add_crawl_policy",
    status_code=201,
    response_model=CrawlPolicyView,
    responses=error_responses(409, 413, 415),
)
def add(services: Services, body: PolicyRequest) -> Response:
    """Add a policy. Its first job is due now, unless it is disabled."""
    state = services.state
    columns = body.model_dump(exclude={"url"}, exclude_none=True)
    added = add_policy(state.database, state.clock, body.url, collapse=state.settings.collapse_subdomains, **columns)
    response = ExactJsonResponse(CrawlPolicyView.model_validate(find_policy(state.database, str(added))))
    response.status_code = 201
    return response


@policies_router.post(
    "/actions",
    operation_id="act_on_crawl_policies",
    response_model=BulkReport,
    responses=error_responses(413, 415),
)
def act_on_some_policies(services: Services, body: PoliciesAction) -> BulkReport:
    """Enable, disable, run or delete policies or set their priority, and report on each.

    `run_now` makes the next job due now.
    """
    state = services.state
    action = PolicyAction(body.action)
    report = act_on_policies(state.database, state.clock, action, body.ids, priority=body.priority)
    return BulkReport.model_validate(report)


@policies_router.get("/export", operation_id="export_crawl_policies", response_class=Response, responses=EXPORTED)
def export_policies(
    services: Services,
    filters: PolicyFilters,
    format: Format = "csv",  # noqa: A002  # the parameter's name
    sort: Sort = "url",
) -> Response:
    """Export policies. The file can be imported again."""
    POLICIES.order(sort)
    rows = POLICIES.export(services.state.database, sort=sort, **filters)
    return stream("crawl_policies", format, CrawlPolicyView, rows)


@import_router.post(
    "/import",
    operation_id="import_crawl_policies",
    response_model=PolicyImportView,
    responses=error_responses(413, 415),
    openapi_extra={"requestBody": _LIST_BODY},
)
async def import_list(
    services: Services,
    request: Request,
    update: Annotated[bool, Query(description="Update existing policies that differ from the list.")] = False,
    skip_bad: Annotated[
        bool, Query(description="Add the other rows if some are refused; by default, add none.")
    ] = False,
    dry_run: Annotated[bool, Query(description="Report what would happen; change nothing.")] = False,
) -> PolicyImportView:
    """Add the policies of a list, and report what became of each row. If a row is refused, nothing is added."""
    kind = _LIST_FORMATS.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
    content = await request.body()
    if kind is None or not content:
        raise ApiError(422, "bad_input", "send a list of policies, as CSV or as a JSON array")
    state = services.state
    terms = PolicyImportTerms(update, skip_bad, dry_run, state.settings.collapse_subdomains)

    def act() -> PolicyImport:
        return import_policies(state.database, state.clock, read_policy_list(content, kind), terms)

    report = await asyncio.to_thread(act)
    if report.refused and not (skip_bad or dry_run):
        raise refused_list(report.refused, len(report.rows))
    return PolicyImportView.model_validate(report)


@policies_router.get(
    "/{policy_id}", operation_id="get_crawl_policy", response_model=CrawlPolicyView, responses=error_responses(404)
)
def show_policy(services: Services, policy_id: PolicyId) -> Response:
    """Show one policy."""
    return ExactJsonResponse(CrawlPolicyView.model_validate(find_policy(services.state.database, str(policy_id))))


@policies_router.patch(
    "/{policy_id}",
    operation_id="edit_crawl_policy",
    response_model=CrawlPolicyView,
    responses=error_responses(404, 409, 413, 415),
)
def edit(services: Services, policy_id: PolicyId, body: PolicyChangesBody) -> Response:
    """Change the fields that are sent. `"crawl_config": null` removes it. A job that exists keeps its settings."""
    state = services.state
    changes = body.model_dump(exclude_unset=True)
    edit_policy(state.database, state.clock, policy_id, collapse=state.settings.collapse_subdomains, **changes)
    return show_policy(services, policy_id)


@policies_router.delete(
    "/{policy_id}", operation_id="delete_crawl_policy", response_model=BulkReport, responses=error_responses(404)
)
def delete(services: Services, policy_id: PolicyId) -> BulkReport:
    """Delete a policy with its jobs and results."""
    state = services.state
    find_policy(state.database, str(policy_id))
    report = act_on_policies(state.database, state.clock, PolicyAction.DELETE, [policy_id])
    return BulkReport.model_validate(report)


@policies_router.get(
    "/{policy_id}/prices",
    operation_id="get_price_history",
    response_model=PriceHistory,
    responses=error_responses(404),
)
def prices(
    services: Services,
    policy_id: PolicyId,
    limit: Annotated[int, Query(description="Show at most N, the latest first.", ge=1, le=MOST_PRICES)] = 1000,
) -> Response:
    """Show price and stock of a policy's URL over time, oldest first."""
    policy = find_policy(services.state.database, str(policy_id))
    points = PricePointView.list_of(price_history(services.state.database, policy_id, limit))
    return ExactJsonResponse(PriceHistory(policy_id=policy_id, url=policy.url, prices=points))


@jobs_router.get("", operation_id="list_crawl_jobs", response_model=CrawlJobList)
def list_jobs(
    services: Services, filters: JobFilters, sort: Sort = "-created_at", limit: Limit = 50, cursor: Cursor = None
) -> CrawlJobList:
    """List jobs, the newest first. `sort`: created_at, priority, url, locked_at, retry_count, not_before."""
    page = JOBS.page(services.state.database, sort=sort, limit=limit, cursor=cursor, **filters)
    return CrawlJobList(jobs=CrawlJobView.list_of(page.items), limit=limit, next_cursor=page.cursor)


@glance_router.get("", operation_id="get_queue", response_model=QueueGlanceView)
def glance(services: Services) -> QueueGlanceView:
    """Show a summary of the queue: jobs by status, policies, and what was finished in the last 24 hours."""
    found = asdict(queue_at_a_glance(services))
    hours = FinishedHourView.list_of(finished_hours(services))
    return QueueGlanceView.model_validate(found | {"hours": hours})


@jobs_router.get("/stats", operation_id="get_queue_stats", response_model=QueueStatsView)
def stats(services: Services) -> QueueStatsView:
    """Show jobs by status and host, what bots do, the oldest waiting job, and the throughput.

    Everything is counted. Where counting takes long, the answer may be older, mostly by less than a minute; see
    `counted_at`.
    """
    state = services.state
    found = queue_in_full(services)
    oldest_s = age_s(found.oldest_pending_at, state.clock.now())
    return QueueStatsView.model_validate(replace(found, oldest_pending_seconds=oldest_s))


@jobs_router.post(
    "/actions", operation_id="act_on_crawl_jobs", response_model=BulkReport, responses=error_responses(413, 415)
)
def act_on_some_jobs(services: Services, body: JobsAction) -> BulkReport:
    """Mark jobs pending or expired, reset their locks or set their priority, and report on each.

    A job that may not make the move stays as it is, and its reason is in the report.
    """
    state = services.state
    action = JobAction(body.action)
    report = act_on_jobs(state.database, state.clock, action, body.ids, body.reason, priority=body.priority)
    return BulkReport.model_validate(report)


@jobs_router.get("/export", operation_id="export_crawl_jobs", response_class=Response, responses=EXPORTED)
def export_jobs(
    services: Services,
    filters: JobFilters,
    format: Format = "csv",  # noqa: A002
    sort: Sort = "created_at",
) -> Response:
    """Export jobs."""
    JOBS.order(sort)
    return stream("crawl_jobs", format, CrawlJobView, JOBS.export(services.state.database, sort=sort, **filters))


@jobs_router.get(
    "/{job_id}", operation_id="get_crawl_job", response_model=CrawlJobDetails, responses=error_responses(404)
)
def show_job(services: Services, job_id: JobId) -> Response:
    """Show one job with its history and its result."""
    database = services.state.database
    job = CrawlJobView.model_validate(find_job(database, job_id))
    result = result_of_job(database, job_id)
    return ExactJsonResponse(
        CrawlJobDetails(
            **job.model_dump(),
            moves=JobMoveView.list_of(moves_of(database, job_id)),
            result=None if result is None else CrawlResultView.model_validate(result),
        )
    )


@results_router.get("", operation_id="list_crawl_results", response_model=CrawlResultList)
def list_results(
    services: Services, filters: ResultFilters, sort: Sort = "-created_at", limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List results, the newest first. Results are made by bots and cannot be changed."""
    page = RESULTS.page(services.state.database, sort=sort, limit=limit, cursor=cursor, **filters)
    found = CrawlResultView.list_of(page.items)
    return ExactJsonResponse(CrawlResultList(results=found, limit=limit, next_cursor=page.cursor))


@results_router.get("/export", operation_id="export_crawl_results", response_class=Response, responses=EXPORTED)
def export_results(
    services: Services,
    filters: ResultFilters,
    format: Format = "csv",  # noqa: A002
    sort: Sort = "created_at",
) -> Response:
    """Export results, without their HTML."""
    RESULTS.order(sort)
    rows = RESULTS.export(services.state.database, sort=sort, **filters)
    return stream("crawl_results", format, CrawlResultView, rows)


@results_router.get("/late", operation_id="list_late_submissions", response_model=LateSubmissionList)
def list_late(
    services: Services,
    bot_id: OfBot = None,
    job_id: Annotated[UUID | None, Query(description="Only those of this job.")] = None,
    sort: Sort = "-received_at",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> LateSubmissionList:
    """List submissions that arrived after their lock had run out, the newest first. They changed nothing."""
    database = services.state.database
    page = LATE.page(database, sort=sort, limit=limit, cursor=cursor, bot_id=bot_id or None, job_id=job_id)
    found = LateSubmissionView.list_of(page.items)
    return LateSubmissionList(late=found, limit=limit, next_cursor=page.cursor)


@results_router.get(
    "/late/{late_id}",
    operation_id="get_late_submission",
    response_model=LateSubmissionView,
    responses=error_responses(404),
)
def show_late(services: Services, late_id: LateId) -> LateSubmissionView:
    """Show one late submission."""
    return LateSubmissionView.model_validate(find_late(services.state.database, late_id))


_HTML: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The page as plain text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@results_router.get(
    "/late/{late_id}/raw_html",
    operation_id="get_late_html",
    response_class=Response,
    responses=_HTML | error_responses(404),
)
def late_html(services: Services, late_id: LateId) -> Response:
    """Download the page of a late submission, as plain text."""
    return _download(raw_html_of(services.state.database, late_id, late=True), late_id)


@results_router.get(
    "/{result_id}", operation_id="get_crawl_result", response_model=CrawlResultView, responses=error_responses(404)
)
def show_result(services: Services, result_id: ResultId) -> Response:
    """Show one result, without its HTML."""
    return ExactJsonResponse(CrawlResultView.model_validate(find_result(services.state.database, result_id)))


@results_router.get(
    "/{result_id}/raw_html",
    operation_id="get_result_html",
    response_class=Response,
    responses=_HTML | error_responses(404),
)
def result_html(services: Services, result_id: ResultId) -> Response:
    """Download the page of a result, as plain text: this server never renders a page from another site."""
    database = services.state.database
    found = find_result(database, result_id)
    return _download(raw_html_of(database, found.id), found.id)


def _download(html: bytes, of: UUID) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{of}.html.txt"'}
    return Response(html, media_type="text/plain; charset=utf-8", headers=headers)
