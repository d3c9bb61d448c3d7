"""/admin/audits: audits of sites, started, stopped, shown and compared."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path, Query
from fastapi.responses import FileResponse

from comity.doors.schemas.audits import (
    AuditComparisonView,
    AuditInfoView,
    AuditList,
    AuditView,
    RunningAuditView,
    audit_view,
)
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import AuditRequest, Limit, Line
from comity.doors.web.services import Services, WebServices
from comity.reports.audit.build import compare_stored, report_of
from comity.reports.audit.html import report_policy
from comity.reports.audit.stored_audits import StoredAudit, find_audit, stored_audits
from comity.run.audit.audit import advice_for

router = Router(Audience.ADMIN, prefix="/admin/audits", tags=["audits"])
AuditId = Annotated[str, Path(description="The name of an audit.", max_length=200)]
_HTML: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/html": {}}, "description": "The report, as one HTML page."}
}
REPORT_POLICY: Final = f"sandbox allow-scripts allow-popups; {report_policy()}; frame-ancestors 'self'"
"""A report is shown in its own origin: whatever it contains, it cannot reach the console's cookies or pages."""


@router.get("", operation_id="list_audits", response_model=AuditList)
def list_all(services: Services, limit: Limit = 50) -> AuditList:
    """List audits, the newest first, and those that run in this process."""
    found = stored_audits(services.audits.folder)
    return AuditList(
        audits=AuditInfoView.list_of(found[:limit]),
        running=RunningAuditView.list_of(services.audits.running()),
        limit=limit,
        total=len(found),
    )


@router.post(
    "",
    operation_id="start_audit",
    status_code=202,
    response_model=AuditInfoView,
    responses=error_responses(409, 413, 415, 429),
)
def start(services: Services, body: AuditRequest) -> AuditInfoView:
    """Start an audit of a site, or continue one that was stopped."""
    info = services.audits.start(body.site, max_pages=body.max_pages, max_minutes=body.max_minutes)
    return AuditInfoView.model_validate(info)


@router.get(
    "/compare", operation_id="compare_audits", response_model=AuditComparisonView, responses=error_responses(404)
)
def compare(
    services: Services,
    before: Annotated[Line, Query(description="The name of the earlier audit, or a site.", max_length=2000)],
    after: Annotated[Line, Query(description="The name of the later audit, or a site.", max_length=2000)],
) -> AuditComparisonView:
    """Compare two audits: what got better and worse, by finding and page."""
    earlier, later = two_audits(services, before, after)
    return AuditComparisonView.model_validate(compare_stored(earlier, later))


@router.get("/{audit_id}", operation_id="get_audit", response_model=AuditView, responses=error_responses(404))
def show(services: Services, audit_id: AuditId) -> AuditView:
    """Show an audit that has ended: its findings and figures."""
    report = report_of(services.audits.stored(audit_id))
    return audit_view(report, folder=audit_id, advice=advice_for(report.info))


@router.post(
    "/{audit_id}/stop",
    operation_id="stop_audit",
    status_code=202,
    response_model=AuditList,
    responses=error_responses(404, 413, 415),
)
def stop(services: Services, audit_id: AuditId) -> AuditList:
    """Stop a running audit; starting an audit of the same site continues it."""
    services.audits.stop(audit_id)
    return list_all(services)


@router.get(
    "/{audit_id}/report",
    operation_id="get_audit_report",
    response_class=FileResponse,
    responses=error_responses(404) | _HTML,
)
def report(services: Services, audit_id: AuditId) -> Any:
    """The report of an audit as one HTML page. It is served in a sandbox, apart from the console."""
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return FileResponse(services.audits.report(audit_id), media_type="text/html; charset=utf-8", headers=headers)


def two_audits(services: WebServices, before: str, after: str) -> tuple[StoredAudit, StoredAudit]:
    """Two audits to compare, by name or site; never by a path."""
    folder = services.audits.folder
    later = find_audit(folder, after, may_be_folder=False)
    return find_audit(folder, before, earlier_than=later.info, may_be_folder=False), later
