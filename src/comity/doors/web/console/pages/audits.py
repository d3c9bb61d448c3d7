"""/admin/audits: audits of sites, started, watched, shown and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import Response

from comity.doors.schemas import iso_time
from comity.doors.schemas.audits import counts_by_severity
from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.live import view
from comity.doors.web.console.page import PageRouter, fragment, redirect, render, url
from comity.doors.web.console.tables import Column, Table, search
from comity.doors.web.requests import AuditRequest
from comity.doors.web.routes.audits import AuditId, two_audits
from comity.doors.web.services import Services, WebServices
from comity.model.audit import AuditInfo, Severity
from comity.model.errors import BadInput, NotFound
from comity.model.run import EndReason
from comity.reports.audit.build import compare_stored, report_of
from comity.reports.audit.stored_audits import stored_audits
from comity.run.audit.audit import advice_for
from comity.run.audit.service import TooManyAudits

router = PageRouter("/admin/audits")
TONES: Final = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.NOTICE: "plain"}
_MOST_PAGES: Final = 25  # of one finding; the report has more


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _ended(row: AuditInfo) -> object:
    if row.ended_at is None:
        return components.badge("busy", "not ended")
    if row.ended_by == EndReason.STOPPED:
        return components.badge("off", "stopped")
    if not row.pages:
        return components.badge("bad", "no page read")
    return components.badge("good" if row.is_complete else "plain", "complete" if row.is_complete else row.ended_by)


AUDITS: Final = Table(
    "audits",
    [
        Column(
            "site",
            "Site",
            lambda row: components.shortened(row.site, 70),
            lambda row: row.site,
            sorts=True,
            is_wide=True,
        ),
        Column("audit_id", "Name", in_page=False),
        Column("ended_by", "End", _ended),
        Column("pages", "Pages", sorts=True, is_number=True),
        Column("left", "Left", sorts=True, is_number=True, is_minor=True),
        Column("requests", "Requests", sorts=True, is_number=True, is_minor=True),
        Column("started_at", "Started", lambda row: _at(row.started_at), lambda row: _at(row.started_at), sorts=True),
        Column(
            "ended_at",
            "Took",
            lambda row: components.duration(None if row.ended_at is None else row.ended_at - row.started_at),
            lambda row: _at(row.ended_at),
            is_number=True,
            is_minor=True,
        ),
    ],
    [search("Search by site")],
    default_sort="-started_at",
    key=lambda row: row.audit_id,
    row_href=lambda row: url("/audits", row.audit_id),
    empty="No audit is stored yet. An operator can start one here, or run `comity audit example.org`.",
)
FORM: Final = Form(
    (
        Field("site", "Site", required=True, placeholder="example.org", attributes={"maxlength": 2000}),
        Field("max_pages", "Maximum pages", "number", required=True, attributes={"min": 1, "max": 100_000}),
        Field("max_minutes", "Maximum minutes", "number", required=True, attributes={"min": 1, "max": 1440}),
    ),
    {"max_pages": "200", "max_minutes": "60"},
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List audits."""
    return _list_page(request, services, FORM)


def _list_page(request: Request, services: WebServices, form: Form, status: int = 200) -> Response:
    query = AUDITS.read(request)
    stored = stored_audits(services.audits.folder)
    found = AUDITS.arranged(query, stored)
    if query.wants_csv:
        return AUDITS.csv(found)
    rows = found[query.offset : query.offset + query.limit + 1]
    return render(
        request,
        "audits/list.html",
        title="Audits",
        section="audits",
        status=status,
        audits=AUDITS.listing(query, rows, total=len(found)),
        form=form,
        stored=[each.audit_id for each in stored if each.ended_at is not None][:100],
    )


@view("audits")
def audits_now(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """Audits under way."""
    return fragment("audits/running.html", running=services.audits.running(), phase="")


@view("audit")
def audit_now(services: WebServices, parameters: Mapping[str, str]) -> str:
    """One audit, while it runs: its page is loaded again when it has ended."""
    running = [each for each in services.audits.running() if each.info.audit_id == parameters.get("id")]
    return fragment("audits/running.html", running=running, phase="running" if running else "ended")


@router.post("")
def start(request: Request, services: Services, entered: PostedForm) -> Response:
    """Start an audit."""
    try:
        body = entered.parse(AuditRequest)
        info = services.audits.start(body.site, max_pages=body.max_pages, max_minutes=body.max_minutes)
    except (FormInvalid, BadInput) as error:
        return _list_page(request, services, FORM.refused(entered, error), status=422)
    except TooManyAudits as error:
        return _list_page(request, services, FORM.refused(entered, BadInput(str(error))), status=429)
    return redirect(
        request, f"/audits/{quote(info.audit_id, safe='')}", notice=f"The audit of {info.site} has started."
    )


@router.get("/compare")
def compare(
    request: Request,
    services: Services,
    before: Annotated[str, Query(max_length=2000)] = "",
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """Show what changed between two audits."""
    comparison, problem = None, ""
    found = [each for each in stored_audits(services.audits.folder) if each.ended_at is not None][:200]
    if before and after:
        try:
            comparison = compare_stored(*two_audits(services, before, after))
        except (NotFound, BadInput) as error:
            problem = str(error)
    else:
        before, after = _offered(found, before, after)
    return render(
        request,
        "audits/compare.html",
        title="Compare audits",
        section="audits",
        trail=[("Audits", "/audits")],
        status=404 if problem else 200,
        choices=[(each.audit_id, _at(each.started_at), each.site) for each in found],
        iso_time=iso_time,
        before=before,
        after=after,
        comparison=comparison,
        problem=problem,
        tones=TONES,
        most=_MOST_PAGES,
    )


def _offered(found: Sequence[AuditInfo], before: str, after: str) -> tuple[str, str]:
    """What the form offers to compare: an audit with the one before it of the same site. The newest come first."""
    later = next((each for each in found if each.audit_id == after), found[0] if found else None)
    if later is None:
        return before, after
    older = [each for each in found if each.started_at < later.started_at]
    earlier = next((each for each in older if each.site == later.site), older[0] if older else later)
    return before or earlier.audit_id, later.audit_id


@router.get("/{audit_id}")
def show(request: Request, services: Services, audit_id: AuditId) -> Response:
    """Show an audit: its findings and figures, or its progress."""
    running = {each.info.audit_id: each.info for each in services.audits.running()}
    context: dict[str, Any] = {"is_running": audit_id in running, "audit_id": audit_id, "report": None}
    if audit_id in running:
        info = running[audit_id]
    else:
        stored = services.audits.stored(audit_id)
        info = stored.info
        report = report_of(stored)
        context |= {
            "report": report,
            "counts": counts_by_severity(report),
            "advice": advice_for(info),
            "statuses": plots.bars("Pages by status", [(bar.label, bar.pages) for bar in report.statuses]),
            "depths": plots.bars("Pages by depth", [(bar.label, bar.pages) for bar in report.depths]),
            "times": plots.bars("Response times", [(bar.label, bar.pages) for bar in report.times]),
            "sizes": plots.bars("Page sizes", [(bar.label, bar.pages) for bar in report.sizes]),
        }
    return render(
        request,
        "audits/detail.html",
        title=info.site,
        section="audits",
        trail=[("Audits", "/audits")],
        info=info,
        at=_at,
        tones=TONES,
        most=_MOST_PAGES,
        **context,
    )


@router.post("/{audit_id}/stop")
def stop(request: Request, services: Services, audit_id: AuditId) -> Response:
    """Stop a running audit."""
    services.audits.stop(audit_id)
    return redirect(request, "/audits", notice="Stopping: requests in flight are finished and kept.")
