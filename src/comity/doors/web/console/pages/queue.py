"""/admin/queue: the crawl service at a glance, and what its pages share: tabs, badges, the search box, bulk reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.schemas import iso_time
from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import FormValues
from comity.doors.web.console.live import view
from comity.doors.web.console.page import PageRouter, fragment, redirect, render
from comity.doors.web.console.tables import TableQuery, choice
from comity.doors.web.figures import finished_hours, queue_at_a_glance
from comity.doors.web.notices import Offer
from comity.doors.web.services import Services, WebServices
from comity.model.bot import BOT_ID_PATTERN, BotStatus
from comity.model.errors import BadInput
from comity.model.queue import JobStatus
from comity.model.webhook import DeliveryStatus
from comity.operate.queue import MOST_BULK, ActionReport
from comity.reports.queue import identity_of
from comity.rules import job_transitions
from comity.rules.canonical import canonical_host, resolve_link

router = PageRouter("/admin/queue")
_PARTS: Final = (
    ("Overview", "/queue"),
    ("Policies", "/crawl_policies"),
    ("Jobs", "/crawl_jobs"),
    ("Results", "/crawl_results"),
    ("Bots", "/bots"),
    ("Webhooks", "/webhooks"),
)
_JOB_TONES: Final = {
    JobStatus.PENDING: "wait",
    JobStatus.LOCKED: "busy",
    JobStatus.DONE: "good",
    JobStatus.FAILED: "bad",
    JobStatus.EXPIRED: "warn",
}
_BOT_TONES: Final = {BotStatus.ACTIVE: "good", BotStatus.QUARANTINED: "warn", BotStatus.REVOKED: "off"}
_DELIVERY_TONES: Final = {
    DeliveryStatus.PENDING: "wait",
    DeliveryStatus.DELIVERED: "good",
    DeliveryStatus.FAILED: "bad",
}
_REASONS_SHOWN: Final = 3
CREATED: Final = choice(
    "created",
    "Created",
    [
        ("1", "in the last hour"),
        ("24", "in the last day"),
        ("168", "in the last 7 days"),
        ("720", "in the last 30 days"),
    ],
)


@router.get("")
def overview(request: Request, services: Services) -> HTMLResponse:
    """Show how the queue stands."""
    hours = finished_hours(services)
    series = [
        plots.Series("done", [each.done for each in hours], "good"),
        plots.Series("failed", [each.failed for each in hours], "bad"),
    ]
    return render_queue(
        request,
        "queue/overview.html",
        title="Queue",
        part="/queue",
        plot=plots.stacked("Finished jobs per hour", [each.at for each in hours], series),
        states=plots.state_diagram(job_transitions.MOVES, first=job_transitions.FIRST, title="Lifecycle of a job"),
    )


@view("queue")
def queue_figures(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """The figures of the queue."""
    return fragment("queue/figures.html", glance=queue_at_a_glance(services), now=services.state.clock.now())


def render_queue(request: Request, template: str, *, title: str, part: str, **context: Any) -> HTMLResponse:
    """Render a page of the queue with its tabs; `part` is the path of the tab that it belongs to."""
    tabs = [(label, path, path == part) for label, path in _PARTS]
    label = next(label for label, path in _PARTS if path == part)
    context.setdefault("trail", () if label == title or part == "/queue" else ((label, part),))
    return render(request, template, title=title, section="queue", queue_tabs=tabs, **context)


def job_badge(status: JobStatus) -> Markup:
    """The status of a job."""
    return components.badge(_JOB_TONES[status], status)


def bot_badge(status: BotStatus) -> Markup:
    """The status of a bot."""
    return components.badge(_BOT_TONES[status], status)


def delivery_badge(status: DeliveryStatus) -> Markup:
    """The status of a delivery."""
    return components.badge(_DELIVERY_TONES[status], status)


def countdown(until: datetime | None, now: datetime) -> Markup:
    """How long a lock still lasts; the script counts it down."""
    if until is None:
        return components.NOTHING
    left_s = ceil((until - now).total_seconds())  # as the script does
    text = f"{left_s // 60}:{left_s % 60:02}" if left_s > 0 else "ran out"
    return Markup('<time class="countdown" data-countdown datetime="{}" title="{} UTC">{}</time>').format(
        iso_time(until), f"{until:%Y-%m-%d %H:%M:%S}", text
    )


def searched(query: TableQuery) -> dict[str, Any]:
    """What the search box of a list asks for: an id, a URL or a host. All three have an index."""
    text = query.get("q")
    if text is None:
        return {}
    identity = identity_of(text)
    if identity is not None:
        return {"id": identity}
    if "://" in text:
        address = resolve_link(text, text)
        return {"url": text if address is None else address.url}
    try:
        return {"domain": canonical_host(text).authority}
    except BadInput:
        return {"domain": text[:260]}


def created_after(services: WebServices, query: TableQuery) -> datetime | None:
    """The time since when rows were created that the filter lets through."""
    hours = query.get(CREATED.name)
    return None if hours is None else services.state.clock.now() - timedelta(hours=int(hours))


def ticked(entered: FormValues) -> list[UUID]:
    """The rows of a bulk action; `BadInput` if there is none."""
    found = [identity for each in entered.all("id")[: MOST_BULK + 1] if (identity := identity_of(each)) is not None]
    if not found:
        raise BadInput("select at least one row")
    return found


def report_on(
    request: Request, report: ActionReport, done: str, one: str, many: str, path: str, undo: Offer | None = None
) -> Response:
    """Answer a bulk action: how many rows were changed, and why others were not."""
    sentence = f"{done} {components.plural(report.changed, one, many)}."
    reasons = Counter(item.reason for item in report.items if item.reason)
    for reason, count in reasons.most_common(_REASONS_SHOWN):
        sentence += f" {count:,} not changed: {reason}."
    return redirect(
        request,
        path,
        notice=sentence,
        kind="good" if report.changed else "warn",
        offer=undo if report.changed else None,
    )


def confirmation(
    request: Request,
    part: str,
    *,
    question: str,
    path: str,
    submit: str,
    fields: Sequence[tuple[str, object]] = (),
    consequence: str = "",
    asks_priority: bool = False,
    back: str = "",
    error: str = "",
) -> HTMLResponse:
    """Ask before an action is carried out, with what it is about as hidden fields. Works without scripts."""
    return render_queue(
        request,
        "queue/confirm.html",
        title=question,
        part=part,
        status=422 if error else 200,
        question=question,
        post_path=path,
        submit=submit,
        fields=fields,
        consequence=consequence,
        asks_priority=asks_priority,
        back=back or part,
        error=error,
    )


def priority_of(entered: FormValues) -> int | None:
    """The priority that was entered; None if it is no number."""
    text = entered.get("priority")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None


RowId = Annotated[UUID, Path()]
BotName = Annotated[str, Path(pattern=BOT_ID_PATTERN)]
