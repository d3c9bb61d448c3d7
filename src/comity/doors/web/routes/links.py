"""Where everything is (/ and /admin, for programs), and whether the process can serve (/healthz and /readyz).

A browser gets the console at / and /admin.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from fastapi import Request
from fastapi.routing import iter_route_contexts
from pydantic import Field

from comity.doors.schemas.base import Schema
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.services import Services
from comity.model.errors import SchemaMismatch
from comity.operate.schema import schema_age

public_router = Router(Audience.PUBLIC, tags=["links"])
router = Router(Audience.ADMIN, prefix="/admin", tags=["links"])
_PREFIX: Final = "/admin"
health_router = Router(Audience.PUBLIC, any_host=True, tags=["health"])


class LinksView(Schema):
    """Paths by name."""

    links: dict[str, str] = Field(examples=[{"docs": "/docs", "search": "/search"}])


@public_router.get("/", operation_id="list_links", response_model=LinksView, responses=error_responses(422, 500))
async def list_links(services: Services) -> LinksView:
    """List the paths that every client may use, and where the console and the admin API are."""
    return LinksView(
        links={
            "admin": services.access.settings.prefix,
            "docs": "/docs",
            "healthz": "/healthz",
            "openapi": "/openapi.json",
            "readyz": "/readyz",
            "search": "/search",
        }
    )


@router.get("", operation_id="list_admin_links", response_model=LinksView)
async def list_admin_links(request: Request, services: Services) -> LinksView:
    """List the operations of the admin API that read and need no parameter in their path."""
    prefix = services.access.settings.prefix
    found = {}
    for context in iter_route_contexts(request.app.routes):
        operation, path = getattr(context.original_route, "operation_id", None), context.path or ""
        is_read = "GET" in (context.methods or ()) and path.startswith(f"{_PREFIX}/") and "{" not in path
        if operation and is_read:
            found[str(operation)] = prefix + path.removeprefix(_PREFIX)
    return LinksView(links=dict(sorted(found.items())))


class HealthView(Schema):
    """The health of the server."""

    status: Literal["ok", "ready"]
    failing: list[str] = Field(
        default_factory=list,
        description="Background loops, such as the upkeep of the queue, that failed unexpectedly and are "
        "waiting to restart; the log has the reason.",
    )


@health_router.get("/healthz", operation_id="healthz", response_model=HealthView, responses=error_responses(422, 500))
async def healthz(services: Services) -> HealthView:
    """Check that the process is alive."""
    return HealthView(status="ok", failing=sorted(services.state.loops.failing))


@health_router.get(
    "/readyz", operation_id="readyz", response_model=HealthView, responses=error_responses(422, 500, 503)
)
async def readyz(services: Services) -> HealthView:
    """Check that the database answers and has the tables of this version."""
    age = await services.run_public(partial(schema_age, services.state.database))
    if not age.is_current:
        raise SchemaMismatch(f"the state has schema revision {age.revision}, but this version needs {age.head}")
    return HealthView(status="ready", failing=sorted(services.state.loops.failing))
