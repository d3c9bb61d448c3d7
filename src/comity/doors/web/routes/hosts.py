"""Routes of hosts: seeds and takedowns, details, robots.txt, limits and leases, and the status of the whole state."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Final, Literal

from fastapi import Query

from comity.doors.schemas.decisions import (
    EvidenceView,
    SeedsAdded,
    TakedownList,
    TakedownRemoved,
    TakedownsAdded,
    seeds_added,
    takedown_added,
    takedown_view,
)
from comity.doors.schemas.host_lists import (
    CooldownView,
    EvidencePage,
    FetchList,
    FetchView,
    MoveList,
    MoveView,
    RequestList,
    RequestView,
    ResetView,
    UrlList,
    UrlView,
)
from comity.doors.schemas.hosts import (
    ClaimsView,
    HostList,
    HostView,
    PolicyView,
    RobotsView,
    StatusView,
    claims_view,
    host_summary,
    host_view,
    policy_view,
    status_view,
    worker_state,
)
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.figures import hosts_and_leases
from comity.doors.web.requests import (
    After,
    CooldownRequest,
    HostName,
    Limit,
    Line,
    Offset,
    PolicyChanges,
    ResetRequest,
    SeedsRequest,
    TakedownsRequest,
)
from comity.doors.web.services import Services, WebServices
from comity.model.errors import NotFound
from comity.model.evidence import EvidenceType
from comity.model.host import HostStatus
from comity.operate.hosts import cool_down_host, reset_host, resume_host
from comity.operate.policy import get_policy, set_policy
from comity.operate.seeds import add_seeds
from comity.operate.takedown import add_takedowns, page_of_takedowns, remove_takedowns
from comity.reports.host_lists import (
    HostUrl,
    ListPage,
    host_evidence,
    host_fetches,
    host_moves,
    host_requests,
    host_urls,
    hosts_page,
)
from comity.reports.hosts import holders, host_in_full, known_robots
from comity.reports.status import status_of
from comity.rules.canonical import canonical_host
from comity.rules.seed_list import read_seed

router = Router(Audience.ADMIN, prefix="/admin", tags=["hosts"])
_MOST_URLS_COUNTED: Final = 20_000
HostSort = Literal[
    "domain",
    "-domain",
    "last_crawled_at",
    "-last_crawled_at",
    "priority_score",
    "-priority_score",
    "next_crawl_after",
    "-next_crawl_after",
]
seeds_router = Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES, prefix="/admin", tags=["hosts"])


@router.get("/hosts", operation_id="list_hosts", response_model=HostList)
def list_all(
    services: Services,
    status: Annotated[HostStatus | None, Query(description="Only hosts with this status.")] = None,
    contains: Annotated[
        Line | None,
        Query(description="Only hosts whose name contains this; names that begin with it come first.", max_length=260),
    ] = None,
    sort: Annotated[
        HostSort, Query(description="The order; ignored with `contains`, which sorts by name.")
    ] = "-last_crawled_at",
    limit: Limit = 50,
    after: After = None,
) -> HostList:
    """List hosts with their status and progress, most recently crawled first by default."""
    page = hosts_page(services.state.database, status=status, text=contains or "", sort=sort, after=after, limit=limit)
    hosts = [host_summary(line) for line in page.items]
    return HostList(hosts=hosts, limit=limit, next=page.next, is_whole=page.is_whole)


@router.get("/hosts/{host}", operation_id="get_host", response_model=HostView, responses=error_responses(404))
def show(services: Services, host: HostName) -> HostView:
    """Show everything known about a host: its columns, its URL counts and its policy."""
    state = services.state
    states_of = state.frontier.states if state.settings.redis_url else None
    return host_view(host_in_full(state.database, canonical_name(services, host), states_of, most=_MOST_URLS_COUNTED))


@router.get(
    "/hosts/{host}/requests",
    operation_id="list_requests",
    response_model=RequestList,
    responses=error_responses(404),
)
def requests(services: Services, host: HostName, limit: Limit = 100, after: After = None) -> RequestList:
    """List the requests to a host, newest first, each with the earliest moment at which it was allowed to start."""
    page = host_requests(services.state.database, canonical_name(services, host), after=after, limit=limit)
    return RequestList(requests=RequestView.list_of(page.items), limit=limit, next=page.next)


@router.get(
    "/hosts/{host}/fetches", operation_id="list_fetches", response_model=FetchList, responses=error_responses(404)
)
def fetches(
    services: Services,
    host: HostName,
    outcome: Annotated[Line | None, Query(description="Only visits with this outcome.", max_length=30)] = None,
    errors: Annotated[bool, Query(description="Only visits that failed.")] = False,
    limit: Limit = 50,
    after: After = None,
) -> FetchList:
    """List the visits of a host's pages, newest first."""
    name = canonical_name(services, host)
    page = host_fetches(services.state.database, name, after=after, limit=limit, outcome=outcome, only_errors=errors)
    return FetchList(fetches=FetchView.list_of(page.items), limit=limit, next=page.next, is_whole=page.is_whole)


@router.get("/hosts/{host}/urls", operation_id="list_urls", response_model=UrlList, responses=error_responses(404))
def urls(
    services: Services,
    host: HostName,
    state: Annotated[
        Literal["queued", "done", "dropped", "too_deep"], Query(description="The state of the URLs.")
    ] = "queued",
    limit: Limit = 50,
    after: After = None,
) -> UrlList:
    """List URLs of a host's frontier: queued ones in the order of their turn (one page), others in no order."""
    page = urls_of_host(services, canonical_name(services, host), state, after=after, limit=limit)
    return UrlList(urls=UrlView.list_of(page.items), limit=limit, next=page.next, is_whole=page.is_whole)


@router.get("/hosts/{host}/moves", operation_id="list_moves", response_model=MoveList, responses=error_responses(404))
def moves(services: Services, host: HostName, limit: Limit = 50, after: After = None) -> MoveList:
    """List the changes of a host's status, newest first."""
    page = host_moves(services.state.database, canonical_name(services, host), after=after, limit=limit)
    return MoveList(moves=MoveView.list_of(page.items), limit=limit, next=page.next)


@router.get(
    "/hosts/{host}/evidence",
    operation_id="list_evidence_of_host",
    response_model=EvidencePage,
    responses=error_responses(404),
)
def evidence(
    services: Services,
    host: HostName,
    type: Annotated[EvidenceType | None, Query(description="Only evidence of this type.")] = None,  # noqa: A002  # the column's name
    limit: Limit = 50,
    after: After = None,
) -> EvidencePage:
    """List stored decisions about the URLs of a host, newest first."""
    page = host_evidence(services.state.database, canonical_name(services, host), kind=type, after=after, limit=limit)
    return EvidencePage(evidence=EvidenceView.list_of(page.items), limit=limit, next=page.next, is_whole=page.is_whole)


@router.post(
    "/hosts/{host}/reset",
    operation_id="reset_host",
    response_model=ResetView,
    responses=error_responses(404, 409, 413, 415),
)
def reset(services: Services, host: HostName, body: ResetRequest) -> ResetView:
    """Make a host ready to be crawled from the start. Limits set by the site stay in force."""
    state = services.state
    found = reset_host(
        state.database, state.clock, canonical_name(services, host), reason=body.reason, frontier=state.frontier
    )
    return ResetView.model_validate(found)


@router.post(
    "/hosts/{host}/cooldown",
    operation_id="cool_down_host",
    response_model=CooldownView,
    responses=error_responses(404, 409, 413, 415),
)
def cooldown(services: Services, host: HostName, body: CooldownRequest) -> CooldownView:
    """Do not crawl a host for a while. No worker takes it before the end; a reset ends the cooldown."""
    state, name = services.state, canonical_name(services, host)
    until = cool_down_host(state.database, state.clock, name, timedelta(hours=body.hours), reason=body.reason)
    return CooldownView(host=name, until=until)


@router.post(
    "/hosts/{host}/resume",
    operation_id="resume_host",
    status_code=204,
    responses=error_responses(404),
)
def resume(services: Services, host: HostName) -> None:
    """Let workers crawl a host again after a crawl that had limits or was stopped."""
    resume_host(services.state.database, canonical_name(services, host))


@router.get("/robots/{host}", operation_id="get_robots", response_model=RobotsView, responses=error_responses(404))
def robots(
    services: Services,
    host: HostName,
    scheme: Annotated[
        Literal["http", "https"] | None, Query(description="By default, the one that was fetched last.")
    ] = None,
) -> RobotsView:
    """Show the robots.txt of a host as last fetched. No request goes to the host."""
    name = canonical_name(services, host)
    known = known_robots(services.state.database, name)
    entry = next((each for each in known if scheme is None or each.origin.startswith(f"{scheme}://")), None)
    if entry is None:
        raise NotFound(f"the robots.txt of {name} has not been fetched yet")
    others = [each.origin for each in known if each is not entry]
    return RobotsView(**asdict(entry), other_origins=others)


@router.get("/domain_policies/{host}", operation_id="get_policy", response_model=PolicyView)
def show_policy(services: Services, host: HostName) -> PolicyView:
    """Show the limits of a host, or the defaults if none are set."""
    name = canonical_name(services, host)
    return policy_view(get_policy(services.state.database, name), name)


@router.post(
    "/domain_policies/{host}", operation_id="set_policy", response_model=PolicyView, responses=error_responses(413, 415)
)
def change_policy(services: Services, host: HostName, body: PolicyChanges) -> PolicyView:
    """Set limits of a host. They apply from its next request."""
    state = services.state
    policy = set_policy(
        state.database, state.clock, canonical_name(services, host), **body.model_dump(exclude_unset=True)
    )
    return policy_view(policy, policy.host)


@router.get("/claims", operation_id="get_claims", response_model=ClaimsView)
def claims(services: Services) -> ClaimsView:
    """Show lease holders, expired leases, and hosts waiting for a worker."""
    state = services.state
    return claims_view(holders(state.database, state.clock), hosts_and_leases(services).hosts)


@router.get("/status", operation_id="get_status", response_model=StatusView)
def status(services: Services) -> StatusView:
    """Show workers, queues, throughput and errors. Estimated figures are marked as such."""
    state = services.state
    lease_s, heartbeat_s = state.settings.lease_minutes * 60, state.settings.heartbeat_minutes * 60
    figures = hosts_and_leases(services)
    found = status_of(state.database, state.clock, lease_s=lease_s, heartbeat_s=heartbeat_s, figures=figures)
    return status_view(found, worker_state)


def urls_of_host(services: WebServices, host: str, state: str, *, after: str | None, limit: int) -> ListPage[HostUrl]:
    """URLs of a host, wherever its frontier is."""
    database = services.state.database
    if not services.state.settings.redis_url:  # a state named by an option clears it to ""
        return host_urls(database, host, state, after=after, limit=limit)
    with services.state.frontier.reading() as reads:
        return host_urls(database, host, state, after=after, limit=limit, elsewhere=reads.urls)


def canonical_name(services: WebServices, text: str) -> str:
    """The name under which a host is stored."""
    return canonical_host(text, collapse=services.state.settings.collapse_subdomains).authority


@seeds_router.post(
    "/seeds", operation_id="add_seeds", status_code=201, response_model=SeedsAdded, responses=error_responses(413, 415)
)
def add_seeds_to_state(services: Services, body: SeedsRequest) -> SeedsAdded:
    """Add hosts, or URLs to start from. A known host keeps its status and its cooldown."""
    state = services.state
    read = [read_seed(text, collapse=state.settings.collapse_subdomains) for text in body.seeds]
    source = body.source.strip() or None if body.source else None
    report = add_seeds(
        state.database, state.clock, read, source=source, weights=state.settings.weights, frontier=state.frontier
    )
    return seeds_added(report, seeds_read=len(read))


@seeds_router.get("/takedowns", operation_id="list_takedowns", response_model=TakedownList)
def list_takedowns(services: Services, limit: Limit = 50, offset: Offset = 0) -> TakedownList:
    """List takedowns, oldest first."""
    found, total = page_of_takedowns(services.state.database, limit, offset)
    return TakedownList(takedowns=[takedown_view(each) for each in found], total=total, limit=limit, offset=offset)


@seeds_router.post(
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


@seeds_router.delete(
    "/takedowns", operation_id="remove_takedown", response_model=TakedownRemoved, responses=error_responses(404)
)
def remove_takedown(
    services: Services,
    entry: Annotated[
        Line, Query(description="The host or URL, as listed.", min_length=1, max_length=2000, examples=["example.org"])
    ],
) -> TakedownRemoved:
    """Remove a takedown, and queue the URLs again that it dropped."""
    (removed,) = remove_takedowns(services.state.database, [entry], frontier=services.state.frontier)
    services.notify_search()
    return TakedownRemoved(domain_or_url=removed)
