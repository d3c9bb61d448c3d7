"""/admin/why, /admin/evidence, /admin/robots_verdict: decisions about URLs, from stored state alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from comity.doors.schemas.decisions import (
    EvidenceList,
    EvidenceView,
    RobotsVerdictView,
    WhyView,
    robots_verdict_view,
    why_view,
)
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import Limit, Line, Offset, PageUrl
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput
from comity.model.evidence import EvidenceType
from comity.model.robots import RobotsUnreachable
from comity.reports.hosts import evidence_of_host, evidence_of_url
from comity.rules.canonical import WebAddress, canonical_host, web_address
from comity.walk.robots.record import cached_robots

router = Router(Audience.ADMIN, prefix="/admin", tags=["decisions"])


@router.get("/why", operation_id="explain_url", response_model=WhyView)
def why(services: Services, url: PageUrl) -> WhyView:
    """Explain every decision about a URL: takedown, robots.txt, policy, cooldown, block, lease, duplicate."""
    return why_view(services.state, _address(services, url))


@router.get("/evidence", operation_id="list_evidence", response_model=EvidenceList, responses=error_responses(404))
def evidence(
    services: Services,
    url: Annotated[str | None, Query(description="The page.", max_length=2000)] = None,
    host: Annotated[str | None, Query(description="The host, for all its pages.", max_length=300)] = None,
    type: Annotated[EvidenceType | None, Query(description="Only evidence of this type.")] = None,  # noqa: A002  # the column's name
    limit: Limit = 50,
    offset: Offset = 0,
) -> EvidenceList:
    """List stored decisions about a URL or about a host, newest first. Send one of the two."""
    if (url is None) == (host is None):
        raise BadInput("send either url or host")
    database, more = services.state.database, limit + 1
    if url is not None:
        found = evidence_of_url(database, _address(services, url).key, kind=type, limit=more, offset=offset)
    else:
        assert host is not None
        name = canonical_host(host, collapse=services.state.settings.collapse_subdomains).authority
        found = evidence_of_host(database, name, kind=type, limit=more, offset=offset)
    return EvidenceList(
        evidence=EvidenceView.list_of(found[:limit]), limit=limit, offset=offset, has_more=len(found) > limit
    )


@router.get(
    "/robots_verdict",
    operation_id="get_robots_verdict",
    response_model=RobotsVerdictView,
    responses=error_responses(404),
)
def robots_verdict(
    services: Services,
    url: PageUrl,
    agent: Annotated[
        Line | None, Query(description="Answer for this crawler instead of Comity.", min_length=1, max_length=300)
    ] = None,
) -> RobotsVerdictView:
    """Judge a page by the robots.txt that was fetched last, with the deciding line."""
    settings = services.state.settings
    who, address = agent or settings.identity, _address(services, url)
    found = cached_robots(services.state.database, address, who, RobotsUnreachable(settings.robots_unreachable))
    return robots_verdict_view(found, address, who)


def _address(services: WebServices, text: str) -> WebAddress:
    return web_address(text, collapse=services.state.settings.collapse_subdomains)
