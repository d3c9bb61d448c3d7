"""Every page of the console, found by its route, so that a page that is added is looked at, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fastapi.routing import iter_route_contexts

from comity.assemble import State
from comity.doors.web.audiences import Audience, DeclaredRoute
from comity.doors.web.console.page import PREFIX
from comity.doors.web.console.pages import PAGE_ROUTERS
from comity.reports.audit.stored_audits import stored_audits
from tests.console.queue_seeding import queue_paths
from tests.console.seed_hosts import paths_of_hosts
from tests.console.seeding_sources import paths_of_sources
from tests.doors.web.served import Served, until
from tests.walk.site import Answer, Web, page

_LEAD_ON = frozenset({"/login"})  # without a login it leads to the dashboard
_NEED_QUERY = frozenset({"/pages/view", "/takedowns/remove"})


def page_routes(method: str = "GET") -> Iterator[str]:
    """The routes of pages, below the prefix."""
    for router in PAGE_ROUTERS:
        for context in iter_route_contexts(router.routes):
            route = context.original_route
            is_page = isinstance(route, DeclaredRoute) and route.rules.serves_pages
            if is_page and route.rules.audience is Audience.ADMIN and method in (context.methods or ()):
                yield (context.path or "").removeprefix(PREFIX) or "/"


def paths_of_audits(state: State) -> list[str]:
    """The pages of the audits that are stored."""
    found = [each.audit_id for each in stored_audits(Path(state.settings.audits)) if each.ended_at is not None]
    if len(found) < 2:
        return []
    return [f"/audits/{found[0]}", f"/audits/compare?before={found[1]}&after={found[0]}"]


SEEDED: tuple[Callable[[State], list[str]], ...] = (paths_of_sources, paths_of_hosts, queue_paths, paths_of_audits)


def page_paths(state: State) -> list[str]:
    """The paths of all pages of a state with demonstration data: those of routes, and those with parameters."""
    fixed = [path for path in page_routes() if "{" not in path and path not in _LEAD_ON | _NEED_QUERY]
    return list(dict.fromkeys([*fixed, *(path for find in SEEDED for path in find(state))]))


def routes_without_path(paths: list[str]) -> list[str]:
    """The routes that none of these paths reaches."""
    known = [path.partition("?")[0] for path in paths]

    def is_reached(route: str) -> bool:
        pattern = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", route))
        return any(pattern.fullmatch(path) for path in known)

    return [route for route in page_routes() if route not in _LEAD_ON and not is_reached(route)]


def seed_audits(console: Served) -> None:
    """Audit a small site with faults twice, as the page does."""
    start = "<title>Harbour</title><h1>Harbour</h1>" + "".join(f"<a href='/{name}'>{name}</a>" for name in "abc")
    with Web() as web, console.client() as client:
        site = web.site({"/": Answer(body=start), "/a": page("/"), "/b": page("/a", "/gone"), "/c": page("/")})
        for _ in range(2):
            answer = client.post("/admin/audits", json={"site": site.url("/"), "max_pages": 5, "max_minutes": 5})
            assert answer.status_code == 202, answer.text
            until(lambda: not client.get("/admin/audits").json()["running"])
