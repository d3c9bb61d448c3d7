"""/admin/seeds and /admin/takedowns: which hosts to crawl, and which hosts and URLs never to touch."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from comity.doors.schemas.decisions import (
    SeedsAdded,
    TakedownList,
    TakedownRemoved,
    TakedownsAdded,
    seeds_added,
    takedown_added,
    takedown_view,
)
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import Limit, Line, Offset, SeedsRequest, TakedownsRequest
from comity.doors.web.services import Services
from comity.operate.seeds import add_seeds
from comity.operate.takedown import add_takedowns, page_of_takedowns, remove_takedowns
from comity.rules.seed_list import read_seed

router = Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin", tags=["hosts"])


@router.post(
    "/seeds", operation_id="add_seeds", status_code=201, response_model=SeedsAdded, responses=error_responses(413, 415)
)
def add(services: Services, body: SeedsRequest) -> SeedsAdded:
    """Add hosts, or URLs to start from. A known host keeps its status and its cooldown."""
    state = services.state
    read = [read_seed(text, collapse=state.settings.collapse_subdomains) for text in body.seeds]
    source = body.source.strip() or None if body.source else None
    report = add_seeds(
        state.database, state.clock, read, source=source, weights=state.settings.weights, frontier=state.frontier
    )
    return seeds_added(report, seeds_read=len(read))


@router.get("/takedowns", operation_id="list_takedowns", response_model=TakedownList)
def list_all(services: Services, limit: Limit = 50, offset: Offset = 0) -> TakedownList:
    """List takedowns, oldest first."""
    found, total = page_of_takedowns(services.state.database, limit, offset)
    return TakedownList(takedowns=[takedown_view(each) for each in found], total=total, limit=limit, offset=offset)


@router.post(
    "/takedowns",
    operation_id="add_takedowns",
    status_code=201,
    response_model=TakedownsAdded,
    responses=error_responses(413, 415),
)
def take_down(services: Services, body: TakedownsRequest) -> TakedownsAdded:
    """Take down hosts or URLs, and drop their queued URLs."""
    state = services.state
    reason = body.reason.strip() or None if body.reason else None
    reports = add_takedowns(state.database, body.entries, reason=reason, frontier=state.frontier)
    services.notify_search()
    return TakedownsAdded(takedowns=[takedown_added(report) for report in reports])


@router.delete(
    "/takedowns", operation_id="remove_takedown", response_model=TakedownRemoved, responses=error_responses(404)
)
def remove(
    services: Services,
    entry: Annotated[
        Line, Query(description="The host or URL, as listed.", min_length=1, max_length=2000, examples=["example.org"])
    ],
) -> TakedownRemoved:
    """Remove a takedown, and queue the URLs again that it dropped."""
    (removed,) = remove_takedowns(services.state.database, [entry], frontier=services.state.frontier)
    services.notify_search()
    return TakedownRemoved(domain_or_url=removed)
