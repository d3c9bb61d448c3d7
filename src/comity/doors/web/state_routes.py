"""/admin/hosts, /admin/claims, /admin/status: what is known of hosts, who holds them, and how everything stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from comity.doors.shapes.hosts import (
    ClaimsShown,
    HostShown,
    HostsShown,
    StateShown,
    claims_shape,
    host_listed,
    host_shape,
    state_of_worker,
    state_shape,
)
from comity.doors.web.given import HostName, Limit, Line, Offset
from comity.doors.web.office import OfficeHere
from comity.doors.web.refusals import documented
from comity.model.host import HostStatus
from comity.reports.hosts import holders, host_in_full, list_hosts, status_counts
from comity.reports.status import status_of
from comity.rules.canonical import canonical_host

router = APIRouter(prefix="/admin", tags=["hosts"])


@router.get("/hosts", operation_id="list_hosts", response_model=HostsShown)
def list_all(
    office: OfficeHere,
    status: Annotated[HostStatus | None, Query(description="Only hosts of this status.")] = None,
    contains: Annotated[Line | None, Query(description="Only hosts whose name contains this.", max_length=260)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> HostsShown:
    """List hosts with their status and progress, those crawled last first."""
    # One more than asked for tells whether there are more.
    lines = list_hosts(
        office.state.database,
        status=status,
        contains=contains.lower() if contains else None,
        limit=limit + 1,
        offset=offset,
    )
    hosts = [host_listed(line) for line in lines[:limit]]
    return HostsShown(hosts=hosts, limit=limit, offset=offset, has_more=len(lines) > limit)


@router.get("/hosts/{host}", operation_id="get_host", response_model=HostShown, responses=documented(404))
def show(office: OfficeHere, host: HostName) -> HostShown:
    """Show everything that is known of one host: its columns, its URLs by state, and its policy."""
    state = office.state
    name = canonical_host(host, collapse=state.settings.collapse_subdomains).authority
    return host_shape(host_in_full(state.database, name, state.frontier.states))


@router.get("/claims", operation_id="get_claims", response_model=ClaimsShown)
def claims(office: OfficeHere) -> ClaimsShown:
    """Show who holds leases, which of them ran out, and which hosts wait for a worker."""
    state = office.state
    return claims_shape(holders(state.database, state.clock), status_counts(state.database, state.clock))


@router.get("/status", operation_id="get_status", response_model=StateShown)
def status(office: OfficeHere) -> StateShown:
    """Show who works, what waits, how fast it goes and what went wrong; what is estimated says so."""
    state = office.state
    found = status_of(
        state.database,
        state.clock,
        lease_s=state.settings.lease_minutes * 60,
        heartbeat_s=state.settings.heartbeat_minutes * 60,
    )
    return state_shape(found, state_of_worker)
