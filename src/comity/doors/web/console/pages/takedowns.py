"""/admin/takedowns: hosts and URLs that are never requested, queued or served."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse

from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.page import FOR_OPERATORS, PageRouter, redirect, render
from comity.doors.web.console.tables import Column, Table, search
from comity.doors.web.notices import Offer
from comity.doors.web.requests import TakedownsRequest
from comity.doors.web.services import Services
from comity.model.errors import BadInput, NotFound
from comity.operate.takedown import add_takedowns, list_takedowns, page_of_takedowns, remove_takedowns

router = PageRouter("/admin/takedowns")
_TRAIL: Final = (("Takedowns", "/takedowns"),)
Entry = Annotated[str, Query(max_length=2000)]
TABLE: Final = Table(
    "takedowns",
    [
        Column("entry", "Host or URL", sorts=True, is_wide=True),
        Column("reason", "Reason", sorts=True, is_wide=True),
        Column("created_at", "Since", sorts=True),
    ],
    [search("Search by host, URL or reason")],
    default_sort="created_at",
    key=lambda row: row.entry,
    empty="Nothing is taken down. A host or a URL that is added here is never requested, queued or shown, by any part "
    "of Comity, and its queued URLs are dropped.",
    empty_lead=("Add a takedown", "/takedowns/new"),
)
FORM: Final = Form(
    (
        Field(
            "entries",
            "Hosts or URLs",
            "area",
            required=True,
            help="One per line: a host with its subdomains (example.org), or a part of it (example.org/private).",
            placeholder="example.org\nexample.net/private",
            is_code=True,
        ),
        Field("reason", "Reason", help="Who asked, and why.", attributes={"maxlength": 1000}),
    )
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """Show all takedowns, oldest first."""
    query, database = TABLE.read(request), services.state.database
    is_plain = not query.is_filtered and query.sort_text == TABLE.default_sort
    if is_plain and not query.wants_csv:
        rows, total = page_of_takedowns(database, query.limit + 1, query.offset)
    else:
        found = TABLE.arranged(query, list_takedowns(database))
        if query.wants_csv:
            return TABLE.csv(found)
        rows, total = found[query.offset : query.offset + query.limit + 1], len(found)
    listing = TABLE.listing(query, rows, total=total)
    return render(request, "takedowns/list.html", title="Takedowns", section="takedowns", takedowns=listing)


@router.get("/new", dependencies=FOR_OPERATORS)
def new(request: Request) -> Response:
    """Show the form of a new takedown."""
    return _form(request, FORM)


@router.post("")
def add(request: Request, services: Services, entered: PostedForm) -> Response:
    """Take hosts or URLs down."""
    state = services.state
    try:
        body = entered.parse(TakedownsRequest, lists=["entries"])
        reports = add_takedowns(state.database, body.entries, reason=body.reason or None, frontier=state.frontier)
    except (FormInvalid, BadInput) as error:
        return _form(request, FORM.refused(entered, error, at="entries"), 422)
    services.notify_search()
    added = list(dict.fromkeys(report.entry for report in reports))
    names = ", ".join(added[:3]) + (" …" if len(added) > 3 else "")
    undo = Offer("/takedowns/remove", (("entry", added[0]),)) if len(added) == 1 else None
    return redirect(request, "/takedowns", notice=f"Taken down: {names}.", offer=undo)


@router.get("/remove", dependencies=FOR_OPERATORS)
def ask(request: Request, services: Services, entry: Entry) -> Response:
    """Ask before a takedown is removed."""
    if all(each.entry != entry for each in list_takedowns(services.state.database)):
        raise NotFound(f"there is no takedown of {entry[:200]}")
    return render(
        request, "takedowns/remove.html", title="Remove a takedown", section="takedowns", trail=_TRAIL, entry=entry
    )


@router.post("/remove")
def remove(request: Request, services: Services, entered: PostedForm) -> Response:
    """Remove a takedown, and queue the URLs again that it dropped."""
    (removed,) = remove_takedowns(services.state.database, [entered.get("entry")], frontier=services.state.frontier)
    services.notify_search()
    undo = Offer("/takedowns", (("entries", removed),))
    return redirect(request, "/takedowns", notice=f"{removed} may be crawled again.", offer=undo)


def _form(request: Request, form: Form, status: int = 200) -> HTMLResponse:
    return render(
        request,
        "takedowns/new.html",
        title="New takedown",
        section="takedowns",
        trail=_TRAIL,
        form=form,
        status=status,
    )
