"""Routes are prepared once for all applications of a test process, not once for each.

Nearly every test here has a server of its own, and FastAPI works out each route's parameters and models anew for every
application: a sixth of a second of processor time for ours. What it works out depends on the router and on the names of
the security schemes only.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from comity.doors.web import application

# By the identity of their router, which is kept with them: no other gets it meanwhile.
_prepared: dict[tuple[Any, ...], tuple[APIRouter, BaseRoute]] = {}
_described: dict[tuple[int, ...], dict[str, Any]] = {}


class _Prepared(FastAPI):
    """An application that includes a router as an earlier one did."""

    def include_router(self, router: APIRouter, **options: Any) -> None:
        schemes = tuple(each.dependency.model.model_dump_json() for each in options["dependencies"])
        key = (id(router), len(router.routes), schemes, tuple(options["responses"]))
        if key in _prepared:
            self.router.routes.append(_prepared[key][1])
            return
        super().include_router(router, **options)
        _prepared[key] = (router, self.router.routes[-1])

    def openapi(self) -> dict[str, Any]:
        """The description of the same routes, which takes half a second to make, is the same."""
        key = tuple(map(id, self.router.routes))
        if key not in _described:
            _described[key] = super().openapi()
        return _described[key]


def share_prepared_routes() -> None:
    """Let every application that this process builds from now on use what the first ones worked out."""
    application.FastAPI = _Prepared  # type: ignore[misc]
