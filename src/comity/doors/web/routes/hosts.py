"""Routes of hosts: their details, robots.txt, limits and leases, and the status of the whole state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import Query

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
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import HostName, Limit, Line, Offset, PolicyChanges
from comity.doors.web.services import Services, WebServices
from comity.model.errors import NotFound
from comity.model.host import HostStatus
from comity.operate.policy import get_policy, set_policy
from comity.reports.hosts import holders, host_in_full, known_robots, list_hosts, status_counts
from comity.reports.status import status_of
from comity.rules.canonical import canonical_host

router = Router(Audience.ADMIN, prefix="/admin", tags=["hosts"])


@router.get("/hosts", operation_id="list_hosts", response_model=HostList)
def list_all(
    services: Services,
    status: Annotated[HostStatus | None, Query(description="Only hosts with this status.")] = None,
    contains: Annotated[Line | None, Query(description="Only hosts whose name contains this.", max_length=260)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> HostList:
    """List hosts with their status and progress, most recently crawled first."""
    lines = list_hosts(
        services.state.database,
        status=status,
        contains=contains.lower() if contains else None,
        limit=limit + 1,  # the extra one tells whether there are more
        offset=offset,
    )
    hosts = [host_summary(line) for line in lines[:limit]]
    return HostList(hosts=hosts, limit=limit, offset=offset, has_more=len(lines) > limit)


@router.get("/hosts/{host}", operation_id="get_host", response_model=HostView, responses=error_responses(404))
def show(services: Services, host: HostName) -> HostView:
    """Show everything known about a host: its columns, its URL counts and its policy."""
    state = services.state
    return host_view(host_in_full(state.database, _canonical(services, host), state.frontier.states))


@router.get("/robots/{host}", operation_id="get_robots", response_model=RobotsView, responses=error_responses(404))
def robots(
    services: Services,
    host: HostName,
    scheme: Annotated[
        Literal["http", "https"] | None, Query(description="By default, the one that was fetched last.")
    ] = None,
) -> RobotsView:
    """Show the robots.txt of a host as last fetched. No request goes to the host."""
    name = _canonical(services, host)
    known = known_robots(services.state.database, name)
    entry = next((each for each in known if scheme is None or each.origin.startswith(f"{scheme}://")), None)
    if entry is None:
        raise NotFound(f"the robots.txt of {name} has not been fetched yet")
    others = [each.origin for each in known if each is not entry]
    return RobotsView(**asdict(entry), other_origins=others)


@router.get("/domain_policies/{host}", operation_id="get_policy", response_model=PolicyView)
def show_policy(services: Services, host: HostName) -> PolicyView:
    """Show the limits of a host, or the defaults if none are set."""
    name = _canonical(services, host)
    return policy_view(get_policy(services.state.database, name), name)


@router.post(
    "/domain_policies/{host}", operation_id="set_policy", response_model=PolicyView, responses=error_responses(413, 415)
)
def change_policy(services: Services, host: HostName, body: PolicyChanges) -> PolicyView:
    """Set limits of a host. They apply from its next request."""
    state = services.state
    policy = set_policy(state.database, state.clock, _canonical(services, host), **body.model_dump(exclude_unset=True))
    return policy_view(policy, policy.host)


@router.get("/claims", operation_id="get_claims", response_model=ClaimsView)
def claims(services: Services) -> ClaimsView:
    """Show lease holders, expired leases, and hosts waiting for a worker."""
    state = services.state
    return claims_view(holders(state.database, state.clock), status_counts(state.database, state.clock))


@router.get("/status", operation_id="get_status", response_model=StatusView)
def status(services: Services) -> StatusView:
    """Show workers, queues, throughput and errors. Estimated figures are marked as such."""
    state = services.state
    found = status_of(
        state.database,
        state.clock,
        lease_s=state.settings.lease_minutes * 60,
        heartbeat_s=state.settings.heartbeat_minutes * 60,
    )
    return status_view(found, worker_state)


def _canonical(services: WebServices, text: str) -> str:
    return canonical_host(text, collapse=services.state.settings.collapse_subdomains).authority
