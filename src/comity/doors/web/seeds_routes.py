"""/admin/seeds and /admin/takedowns: which hosts are to be crawled, and what is to be left alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from comity.doors.shapes.decisions import (
    SeedsAdded,
    TakedownRemoved,
    TakedownsAdded,
    TakedownsShown,
    seeds_shape,
    takedown_added,
    takedown_shape,
)
from comity.doors.web.given import Limit, Line, Offset, SeedsGiven, TakedownsGiven
from comity.doors.web.office import OfficeHere
from comity.doors.web.refusals import documented
from comity.operate.seeds import add_seeds
from comity.operate.takedown import add_takedowns, page_of_takedowns, remove_takedowns
from comity.rules.seed_list import read_seed

router = APIRouter(prefix="/admin", tags=["hosts"])


@router.post(
    "/seeds", operation_id="add_seeds", status_code=201, response_model=SeedsAdded, responses=documented(413, 415)
)
def add(office: OfficeHere, given: SeedsGiven) -> SeedsAdded:
    """Add hosts, or URLs to begin with; a host that is known keeps its status and its cooldown."""
    state = office.state
    read = [read_seed(text, collapse=state.settings.collapse_subdomains) for text in given.seeds]
    source = given.source.strip() or None if given.source else None
    report = add_seeds(
        state.database, state.clock, read, source=source, weights=state.settings.weights, frontier=state.frontier
    )
    return seeds_shape(report, seeds_read=len(read))


@router.get("/takedowns", operation_id="list_takedowns", response_model=TakedownsShown)
def list_all(office: OfficeHere, limit: Limit = 50, offset: Offset = 0) -> TakedownsShown:
    """List what is taken down, oldest first."""
    found, total = page_of_takedowns(office.state.database, limit, offset)
    return TakedownsShown(takedowns=[takedown_shape(each) for each in found], total=total, limit=limit, offset=offset)


@router.post(
    "/takedowns",
    operation_id="add_takedowns",
    status_code=201,
    response_model=TakedownsAdded,
    responses=documented(413, 415),
)
def take_down(office: OfficeHere, given: TakedownsGiven) -> TakedownsAdded:
    """Take hosts or URLs down, and drop what is queued of them."""
    state = office.state
    reason = given.reason.strip() or None if given.reason else None
    reports = add_takedowns(state.database, given.entries, reason=reason, frontier=state.frontier)
    office.tell_search()
    return TakedownsAdded(takedowns=[takedown_added(report) for report in reports])


@router.delete("/takedowns", operation_id="remove_takedown", response_model=TakedownRemoved, responses=documented(404))
def allow_again(
    office: OfficeHere,
    entry: Annotated[
        Line, Query(description="The host or URL, as listed.", min_length=1, max_length=2000, examples=["example.org"])
    ],
) -> TakedownRemoved:
    """Allow a host or URL again; what was dropped from its queue waits there again."""
    (removed,) = remove_takedowns(office.state.database, [entry], frontier=office.state.frontier)
    office.tell_search()
    return TakedownRemoved(domain_or_url=removed)
