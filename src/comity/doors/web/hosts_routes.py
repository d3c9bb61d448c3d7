"""/admin/robots and /admin/domain_policies: what a host says, and what an operator allows it to be asked for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from comity.doors.schemas.hosts import PolicyView, policy_view
from comity.doors.schemas.sources import RobotsView
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import HostName, PolicyChanges
from comity.doors.web.services import Services, WebServices
from comity.model.errors import NotFound
from comity.operate.policy import get_policy, set_policy
from comity.reports.hosts import known_robots
from comity.rules.canonical import canonical_host

router = APIRouter(prefix="/admin", tags=["hosts"])


@router.get("/robots/{host}", operation_id="get_robots", response_model=RobotsView, responses=error_responses(404))
def robots(
    office: Services,
    host: HostName,
    scheme: Annotated[Literal["http", "https"] | None, Query(description="By default what was read last.")] = None,
) -> RobotsView:
    """Show the robots.txt of a host as it was last read; the host is not asked for it."""
    name = _canonical(office, host)
    known = known_robots(office.state.database, name)
    entry = next((each for each in known if scheme is None or each.origin.startswith(f"{scheme}://")), None)
    if entry is None:
        raise NotFound(f"the robots.txt of {name} was not read yet")
    others = [each.origin for each in known if each is not entry]
    return RobotsView(**asdict(entry), other_origins=others)


@router.get("/domain_policies/{host}", operation_id="get_policy", response_model=PolicyView)
def show_policy(office: Services, host: HostName) -> PolicyView:
    """Show the limits of a host; one without its own has those that a first setting starts from."""
    name = _canonical(office, host)
    policy = get_policy(office.state.database, name)
    return policy_view(policy, name)


@router.post(
    "/domain_policies/{host}", operation_id="set_policy", response_model=PolicyView, responses=error_responses(413, 415)
)
def change_policy(office: Services, host: HostName, given: PolicyChanges) -> PolicyView:
    """Set limits of a host; they hold from the next request to it on."""
    limits = given.model_dump(exclude_unset=True)
    policy = set_policy(office.state.database, office.state.clock, _canonical(office, host), **limits)
    return policy_view(policy, policy.host)


def _canonical(office: WebServices, text: str) -> str:
    return canonical_host(text, collapse=office.state.settings.collapse_subdomains).authority
