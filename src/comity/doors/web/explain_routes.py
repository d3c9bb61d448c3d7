"""/admin/why, /admin/evidence, /admin/robots_verdict: every decision about a URL; nothing is asked of its site."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from comity.doors.schemas.decisions import (
    EvidenceList,
    EvidenceView,
    RobotsVerdictView,
    WhyView,
    robots_verdict_view,
    why_view,
)
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import Limit, Line, Offset, PageUrl
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput
from comity.model.robots import RobotsUnreachable
from comity.operate.robots import cached_robots
from comity.reports.evidence import evidence_of_host, evidence_of_url
from comity.rules.canonical import WebAddress, canonical_host, web_address

router = APIRouter(prefix="/admin", tags=["decisions"])


@router.get("/why", operation_id="explain_url", response_model=WhyView)
def why(office: Services, url: PageUrl) -> WhyView:
    """Explain every decision about a URL: takedown, robots.txt, policy, cooldown, block, lease, duplicate."""
    return why_view(office.state, _address(office, url))


@router.get("/evidence", operation_id="list_evidence", response_model=EvidenceList, responses=error_responses(404))
def evidence(
    office: Services,
    url: Annotated[str | None, Query(description="Of this page.", max_length=2000)] = None,
    host: Annotated[str | None, Query(description="Of every page of this host.", max_length=300)] = None,
    type: Annotated[Line | None, Query(description="Only of this type.", max_length=40)] = None,  # noqa: A002  # the column's name
    limit: Limit = 50,
    offset: Offset = 0,
) -> EvidenceList:
    """List stored decisions about a URL or a host, newest first: name one of the two."""
    if (url is None) == (host is None):
        raise BadInput("name either url or host")
    database, more = office.state.database, limit + 1
    if url is not None:
        found = evidence_of_url(database, _address(office, url).key, kind=type, limit=more, offset=offset)
    else:
        assert host is not None
        name = canonical_host(host, collapse=office.state.settings.collapse_subdomains).authority
        found = evidence_of_host(database, name, kind=type, limit=more, offset=offset)
    shown = [EvidenceView.model_validate(each) for each in found[:limit]]
    return EvidenceList(evidence=shown, limit=limit, offset=offset, has_more=len(found) > limit)


@router.get(
    "/robots_verdict",
    operation_id="get_robots_verdict",
    response_model=RobotsVerdictView,
    responses=error_responses(404),
)
def robots_verdict(
    office: Services,
    url: PageUrl,
    agent: Annotated[
        Line | None, Query(description="Decide for another crawler than ours.", min_length=1, max_length=300)
    ] = None,
) -> RobotsVerdictView:
    """Show what the robots.txt that was last read means for a page, with the line that decides."""
    settings = office.state.settings
    who, address = agent or settings.identity, _address(office, url)
    found = cached_robots(office.state.database, address, who, RobotsUnreachable(settings.robots_unreachable))
    return robots_verdict_view(found, address, who)


def _address(office: WebServices, text: str) -> WebAddress:
    return web_address(text, collapse=office.state.settings.collapse_subdomains)
