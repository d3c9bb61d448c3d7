"""/admin/why: what was decided about a URL, from the stored state alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from comity.doors.schemas.decisions import why_view
from comity.doors.web.console.forms import sentence
from comity.doors.web.console.page import PageRouter, render
from comity.doors.web.services import Services
from comity.model.errors import BadInput
from comity.reports.host_lists import is_known_host
from comity.rules.canonical import web_address

router = PageRouter("/admin/why")


@router.get("")
def why(
    request: Request, services: Services, address: Annotated[str, Query(alias="url", max_length=2000)] = ""
) -> Response:
    """Explain every decision about a URL."""
    found, problem = None, ""
    if address.strip():
        try:
            place = web_address(address.strip(), collapse=services.state.settings.collapse_subdomains)
            found = why_view(services.state, place)
        except BadInput as error:
            problem = str(error)
    return render(
        request,
        "why/page.html",
        title="Why?",
        status=422 if problem else 200,
        asked=address,
        found=found,
        decision=sentence(found.decision) if found is not None else "",
        is_known=found is not None and is_known_host(services.state.database, found.host),
        problem=problem,
    )
