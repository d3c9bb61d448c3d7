"""The application: every router behind the access middleware, the scheduler started and stopped with it.

An open state and access settings enter; an ASGI application leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Security
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPBearer

from comity import __version__
from comity.doors.web.access import BOT_KEY_HEADER, Access, AccessSettings
from comity.doors.web.audiences import Audience, RouterRules, rules_of
from comity.doors.web.console.errors import error_page
from comity.doors.web.console.page import prepare
from comity.doors.web.console.pages import PAGE_ROUTERS
from comity.doors.web.console.pages.dashboard import count_ahead
from comity.doors.web.errors import error_responses, register_error_handlers
from comity.doors.web.middleware import OWN_PREFIX, protect
from comity.doors.web.requests import refuse_unknown_parameters
from comity.doors.web.routes import API_ROUTERS
from comity.doors.web.services import open_services
from comity.operate.console import ConsoleSessions, record_activity

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.run.serve import ServedWorker
    from comity.settings import Settings
    from comity.upkeep.due_sources import Result
    from comity.walk.request import OnWait

# A page stands before the JSON on its path, and matches only what wants a page.
# Tried in this order for each request: bots and crawlers send the most.
ROUTERS: Final[tuple[APIRouter, ...]] = tuple(
    sorted((*PAGE_ROUTERS, *API_ROUTERS), key=lambda router: rules_of(router).audience is not Audience.BOT)
)
_THREADS: Final = 8  # that wait for the database at once
_COUNTED_WITHIN_S: Final = 2.0  # figures of large tables, before the first request is answered
_DESCRIPTION: Final = (
    "Crawled hosts, decisions about their URLs, sources of job postings and their runs; and public search. "
    "Changes made with a session cookie need the session's CSRF token in X-CSRF-Token."
)
_ERRORS: Final = {
    Audience.PUBLIC: (),  # each route names its own
    Audience.ADMIN: (401, 403, 422, 500, 503),
    Audience.BOT: (),  # the same
}


def access_settings(settings: Settings, *, is_dev: bool) -> AccessSettings:
    """The part of the settings that decides who is admitted."""
    return AccessSettings(
        is_dev=is_dev,
        password_hash=settings.admin_password_hash,
        token_hashes=settings.admin_token_hash,
        allowed_hosts=settings.allowed_hosts,
        session_s=settings.admin_session_hours * 3600,
        prefix=settings.admin_prefix,
        # Escapes make JSON up to three times as large as its text; parsed_data and the rest need less than a megabyte.
        max_page_body_bytes=3 * settings.max_raw_html_bytes + 1_000_000,
    )


def build_application(
    state: State,
    settings: AccessSettings,
    *,
    schedules: bool,
    on_result: Callable[[Result], None] = lambda _result: None,
    on_wait: OnWait | None = None,
    worker: ServedWorker | None = None,
) -> FastAPI:
    """Build the application on an open state."""
    sessions = ConsoleSessions(state.database, state.clock, settings.session_s, settings.password_hash)
    access = Access(settings, state.bot_keys(), sessions)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        opened = open_services(state, access, sessions, schedules=schedules, on_result=on_result, on_wait=on_wait)
        async with opened as services:
            services.worker = services.crawls.worker = worker
            app.state.services = services
            count_ahead(services)
            await asyncio.gather(
                asyncio.to_thread(services.figures.wait_counted, _COUNTED_WITHIN_S), asyncio.to_thread(prepare)
            )
            yield

    app = FastAPI(
        title="Comity",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        # The framework's own pages have no audience, and load scripts from elsewhere; `routes.docs` has ours.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    register_error_handlers(app, is_dev=settings.is_dev, page=error_page)
    for router in ROUTERS:
        rules = rules_of(router)
        app.include_router(
            router,
            dependencies=_security(rules, settings),
            responses={} if rules.audience is Audience.BOT else error_responses(400, *_ERRORS[rules.audience]),
        )
    if settings.prefix != OWN_PREFIX:
        app.openapi = partial(_openapi, app.openapi, settings.prefix)  # type: ignore[method-assign]
    protect(app, access, state.clock, partial(record_activity, state.database, state.clock))
    return app


def _openapi(describe: Callable[[], dict[str, Any]], prefix: str) -> dict[str, Any]:
    """The description of the API, with the paths under which it is served."""
    described = describe()
    paths = {
        prefix + path.removeprefix(OWN_PREFIX) if f"{path}/".startswith(f"{OWN_PREFIX}/") else path: operations
        for path, operations in described["paths"].items()
    }
    return described | {"paths": paths}


def _security(rules: RouterRules, settings: AccessSettings) -> list[Any]:
    """The security schemes of a router, for OpenAPI only: the middleware decides."""
    if rules.before_login or rules.audience is Audience.PUBLIC:
        return []
    if rules.audience is Audience.BOT:
        return [Security(APIKeyHeader(name=BOT_KEY_HEADER, auto_error=False, scheme_name="key"))]
    token = HTTPBearer(auto_error=False, scheme_name="token", description="An admin token.")
    session = APIKeyCookie(name=settings.cookie_name, auto_error=False, scheme_name="session")
    return [Security(token), Security(session)]
