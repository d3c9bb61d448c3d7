"""/ and /admin for programs: where everything is. A browser gets the console under the same paths."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from fastapi.routing import iter_route_contexts
from pydantic import Field

from comity.doors.schemas.base import Schema
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.services import Services

public_router = Router(Audience.PUBLIC, tags=["links"])
router = Router(Audience.ADMIN, prefix="/admin", tags=["links"])
_PREFIX: Final = "/admin"


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
