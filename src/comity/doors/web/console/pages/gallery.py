"""/admin/components: every component of the console on one page, as a reference for those who write pages."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.page import PageRouter, redirect, render
from comity.doors.web.console.tables import Bulk, Column, Table, choice, search
from comity.model.dataclass import dataclass
from comity.rules import host_transitions, job_transitions

router = PageRouter("/admin/components")
_START: Final = datetime(2026, 3, 2, tzinfo=UTC)
_SIZES: Final = ("small", "medium", "large")


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    kind: str
    pages: int
    latency_s: float
    seen_at: datetime


_ROWS: Final = [
    _Row(
        f"host-{number:03}.example",
        _SIZES[number % 3],
        number * number * 13,
        0.08 * number,
        _START + timedelta(hours=number),
    )
    for number in range(1, 121)
]
_TONES: Final = {"small": "good", "medium": "busy", "large": "warn"}
TABLE: Final = Table(
    "samples",
    [
        Column("name", "Name", sorts=True, is_wide=True),
        Column("kind", "Size", lambda row: components.badge(_TONES[row.kind], row.kind)),
        Column("pages", "Pages", sorts=True, is_number=True),
        Column("latency_s", "Latency", lambda row: components.duration(row.latency_s), is_number=True, is_minor=True),
        Column("seen_at", "Seen", sorts=True, is_minor=True),
    ],
    [search("Search by name"), choice("kind", "Size", _SIZES)],
    default_sort="name",
    key=lambda row: row.name,
    bulk=(Bulk("reset", "Reset"), Bulk("drop", "Drop", confirm="Drop {count} rows?", is_dangerous=True)),
    bulk_path="/components/bulk",
    row_href=lambda row: f"?q={row.name}",
)
FORM: Final = Form(
    (
        Field("name", "Name", required=True, help="As people know it.", placeholder="Example Aid"),
        Field("address", "Address", "url", required=True, placeholder="https://example.org/careers"),
        Field("days", "Days between runs", "number", attributes={"min": 1, "max": 365}),
        Field("size", "Size", "select", choices=[(each, each) for each in _SIZES]),
        Field("hint", "Hint", "area", is_code=True, help="JSON."),
        Field("active", "Start at once", "check", help="Otherwise it waits for an approval."),
    ),
    {"size": "medium", "active": "on"},
)


@router.get("")
def gallery(request: Request) -> Response:
    """Show every component."""
    query = TABLE.read(request)
    rows = [row for row in _ROWS if (query.get("q") or "") in row.name and query.get("kind") in (None, row.kind)]
    rows.sort(key=lambda row: getattr(row, query.sort), reverse=query.descending)
    if query.wants_csv:
        return TABLE.csv(rows)
    listing = TABLE.listing(query, rows[query.offset : query.offset + query.limit + 1], total=len(rows))
    return _page(request, listing=listing)


@router.post("")
def submit(request: Request, entered: PostedForm) -> Response:
    """Check the sample form; nothing is written."""
    if not entered.get("name"):
        form = FORM.refused(entered, FormInvalid({"name": "Enter a name."}))
        return _page(request, form=form, status=422)
    return redirect(request, "/components", notice=f"{entered.get('name')} would have been saved.")


@router.post("/bulk")
def bulk(request: Request, entered: PostedForm) -> Response:
    """Say what would be done to the ticked rows."""
    rows = components.plural(len(entered.all("id")), "row")
    return redirect(request, "/components", notice=f"{entered.get('action')}: {rows}.")


def _page(request: Request, *, listing: object = None, form: Form = FORM, status: int = 200) -> HTMLResponse:
    hours = [_START + timedelta(hours=number) for number in range(48)]
    found = [round(40 + 30 * math.sin(number / 5) + number % 7) for number in range(48)]
    failed = [max(0, round(6 * math.sin(number / 3))) for number in range(48)]
    second = timedelta(seconds=1)
    lanes = [
        plots.Lane(
            "Allowed",
            [plots.Mark(_START + n * 3 * second, "a slot", "off", _START + (n * 3 + 1) * second) for n in range(20)],
        ),
        plots.Lane(
            "Requests",
            [plots.Mark(_START + n * 6 * second, f"GET /page/{n} · 200", "1" if n % 4 else "bad") for n in range(10)],
        ),
    ]
    return render(
        request,
        "gallery/page.html",
        title="Components",
        status=status,
        listing=listing if listing is not None else TABLE.listing(TABLE.query_of(()), _ROWS[:51], total=len(_ROWS)),
        form=form,
        moment=_START,
        icons=components.ICONS,
        line=plots.line_plot("Pages per hour", hours, [plots.Series("pages", found)]),
        lines=plots.line_plot(
            "Latency",
            hours,
            [plots.Series("p50", found), plots.Series("p95", [value * 1.8 for value in found], "3")],
            unit="ms",
        ),
        stack=plots.stacked(
            "Fetches by outcome", hours, [plots.Series("ok", found, "1"), plots.Series("failed", failed, "bad")]
        ),
        bars=plots.bars(
            "Errors by kind", [("timeout", 312), ("dns", 120), ("rate_limited", 45), ("tls", 3)], tone="bad"
        ),
        nothing_plot=plots.line_plot("Nothing yet", hours, [plots.Series("pages", [0] * 48)]),
        spark=plots.sparkline(found, "pages per hour over two days"),
        timeline=plots.timeline(
            "Requests against allowed slots", _START, _START + 60 * second, lanes, note="one request every 3 s"
        ),
        host_states=plots.state_diagram(host_transitions.MOVES, "active", first=host_transitions.FIRST, title="A host"),
        job_states=plots.state_diagram(job_transitions.MOVES, "locked", first=job_transitions.FIRST, title="A job"),
    )
