"""/admin/robots and /admin/domain_policies: the rules of a host, those of the site and those of the operator."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import Response

from comity.doors.web.console import components
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.page import PageRouter, redirect
from comity.doors.web.console.pages.hosts import host_page
from comity.doors.web.requests import HostName, PolicyChanges
from comity.doors.web.routes.hosts import canonical_name
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, NotFound
from comity.model.host import HostPolicy
from comity.model.robots import RobotsUnreachable
from comity.operate.policy import get_policy, set_policy
from comity.reports.hosts import known_robots
from comity.rules.canonical import web_address
from comity.rules.politeness.policy import reaches
from comity.walk.robots.record import cached_robots

robots_router = PageRouter("/admin/robots")
policy_router = PageRouter("/admin/domain_policies")
_MOST_LINES: Final = 2_000
_LONGEST_LINE: Final = 500


@robots_router.get("/{host}")
def robots(
    request: Request,
    services: Services,
    host: HostName,
    scheme: Annotated[str, Query(max_length=10)] = "",
    address: Annotated[str, Query(alias="url", max_length=2000)] = "",
    agent: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """Show the stored robots.txt with the lines that decide about a URL and a crawler. No request is made."""
    name = canonical_name(services, host)
    settings = services.state.settings
    known = known_robots(services.state.database, name)
    entry = next((each for each in known if not scheme or each.origin.startswith(f"{scheme}://")), None)
    who = agent.strip() or settings.identity
    verdict, problem, tried = None, "", ""
    if entry is not None:
        text = address.strip() or "/"
        tried = entry.origin + text if text.startswith("/") else text
        try:
            page = web_address(tried, collapse=settings.collapse_subdomains)
            unreachable = RobotsUnreachable(settings.robots_unreachable)
            found = cached_robots(services.state.database, page, who, unreachable)
            verdict = found.file.verdict(who, page.path) if found.file is not None else found.verdict(page.path)
        except (BadInput, NotFound) as error:
            problem = str(error)
    lines = _marked_lines(entry.robots_txt or "", verdict) if entry is not None else []
    return host_page(
        request,
        services,
        name,
        "robots",
        entry=entry,
        others=[each.origin for each in known if each is not entry],
        verdict=verdict,
        problem=problem,
        tried=tried,
        address=address,
        agent=agent,
        identity=settings.identity,
        lines=lines,
        lines_are_cut=len(lines) == _MOST_LINES,
    )


def _marked_lines(text: str, verdict: Any) -> list[tuple[int, str, str]]:
    """The lines of a file with their numbers and marks, split as the parser does: at CR, LF or both (RFC 9309 §2.2)."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    marks = {}
    if verdict is not None:
        marks[verdict.agent_line_number] = "is-agent"
        marks[verdict.line_number] = "is-allow" if verdict.allowed else "is-deny"
    return [
        (number, components.cut(line, _LONGEST_LINE), marks.get(number, ""))
        for number, line in enumerate(plain.split("\n")[:_MOST_LINES], 1)
    ]


def _limit(name: str, label: str, least: int, most: int, hint: str = "") -> Field:
    return Field(name, label, "number", help=hint, required=True, attributes={"min": least, "max": most})


# The page of a source has the same fields.
LIMITS: Final = (
    _limit(
        "min_request_interval_ms",
        "Milliseconds between requests",
        0,
        604_800_000,
        "For every kind of crawl. robots.txt can only lengthen it.",
    ),
    _limit("max_concurrency", "Requests at once", 1, 1000),
    _limit("max_pages", "Pages per source run", 0, 1_000_000_000),
    _limit("max_kb_per_page", "Kilobytes per page", 1, 1_000_000),
    Field("allow_js", "Run the scripts of pages", "check", help="Stored only: scripts are not run yet."),
)
POLICY: Final = Form(
    (
        *LIMITS,
        Field(
            "include",
            "Crawl only",
            "area",
            help="Patterns of URLs, one per line. Empty: all.",
            attributes={"rows": 3},
            is_code=True,
        ),
        Field(
            "exclude", "Leave out", "area", help="Patterns of URLs, one per line.", attributes={"rows": 3}, is_code=True
        ),
    )
)


@policy_router.get("/{host}")
def policy(request: Request, services: Services, host: HostName) -> Response:
    """Show the limits of a host, to be changed."""
    name = canonical_name(services, host)
    found = get_policy(services.state.database, name)
    return _policy_page(request, services, name, POLICY.filled(found or HostPolicy(name)))


def _policy_page(request: Request, services: WebServices, host: str, form: Form, status: int = 200) -> Response:
    found = get_policy(services.state.database, host)
    reach = reaches(is_page_size_set=found.is_page_size_set) if found is not None else {}
    binds = [(each.label, reach[each.name]) for each in POLICY.fields if each.name in reach]
    return host_page(request, services, host, "policy", form=form, policy=found, binds=binds, status=status)


@policy_router.post("/{host}")
def change_policy(request: Request, services: Services, host: HostName, entered: PostedForm) -> Response:
    """Set the limits of a host."""
    name, state = canonical_name(services, host), services.state
    try:
        POLICY.filled(get_policy(state.database, name) or HostPolicy(name)).require_same(entered)
        body = entered.parse(PolicyChanges, boxes=["allow_js"], lists=["include", "exclude"])
        set_policy(state.database, state.clock, name, **body.model_dump(exclude_unset=True))
    except (FormInvalid, BadInput) as error:
        return _policy_page(request, services, name, POLICY.refused(entered, error), status=422)
    path = f"/domain_policies/{quote(name, safe='')}"
    return redirect(request, path, notice="Saved. The limits apply from the next request.")
