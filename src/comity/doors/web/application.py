"""The application as a whole: routes behind the guard, the scheduler with its life.

State and terms of access enter; an ASGI application leaves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Security
from fastapi.security import APIKeyCookie, HTTPBearer

from comity import __version__
from comity.doors.web import (
    crawl_routes,
    docs_routes,
    explain_routes,
    health_routes,
    hosts_routes,
    search_routes,
    seeds_routes,
    session_routes,
    sources_routes,
    state_routes,
)
from comity.doors.web.access import Access, AccessTerms
from comity.doors.web.guard import Guard
from comity.doors.web.office import open_office
from comity.doors.web.parameters import only_known_parameters
from comity.doors.web.refusals import documented, register_refusals

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.upkeep.due_sources import Result
    from comity.walk.request import OnWait

_THREADS: Final = 8  # that wait for the state at once
_ABOUT: Final = (
    "Hosts that are crawled politely, decisions about their URLs, sources of job postings and their runs; and public "
    "search. "
    "Changes that are made with a session's cookie need its CSRF token in X-CSRF-Token."
)
_EVERY_ADMIN_ROUTE: Final = (401, 403, 422, 500, 503)


def access_terms(settings: Settings, *, is_dev: bool) -> AccessTerms:
    """How the settings have the admin kept."""
    return AccessTerms(
        is_dev=is_dev,
        password_hash=settings.admin_password_hash,
        token_hashes=settings.admin_token_hash,
        allowed_hosts=settings.allowed_hosts,
        session_s=settings.admin_session_hours * 3600,
    )


def build_application(
    state: State,
    terms: AccessTerms,
    *,
    schedules: bool,
    tell: Callable[[Result], None] = lambda _result: None,
    on_wait: OnWait | None = None,
) -> FastAPI:
    """Build the application on an open state."""
    access = Access(terms)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        async with open_office(state, access, schedules=schedules, tell=tell, on_wait=on_wait) as office:
            app.state.office = office
            yield

    app = FastAPI(
        title="Comity",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # the framework's pages load scripts from elsewhere; ours is in `docs_routes`
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(only_known_parameters)],
        responses=documented(400),
    )
    register_refusals(app, is_dev=terms.is_dev)
    app.include_router(health_routes.router)
    app.include_router(docs_routes.router)
    app.include_router(search_routes.router)
    app.include_router(session_routes.login_router)
    app.include_router(_admin(terms))
    app.add_middleware(Guard, access=access, clock=state.clock)
    return app


def _admin(terms: AccessTerms) -> APIRouter:
    """Every admin route. The guard decides; what is said of security here is for those who read the OpenAPI."""
    security: list[Any] = [
        Security(HTTPBearer(auto_error=False, scheme_name="token", description="A token; its hash is configured.")),
        Security(APIKeyCookie(name=terms.cookie_name, auto_error=False, scheme_name="session")),
    ]
    admin = APIRouter(dependencies=security, responses=documented(*_EVERY_ADMIN_ROUTE))
    for routes in (
        sources_routes,
        crawl_routes,
        state_routes,
        seeds_routes,
        explain_routes,
        hosts_routes,
        session_routes,
    ):
        admin.include_router(routes.router)
    return admin
