"""/healthz and /readyz: whether the process is alive, and whether it can serve."""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import Field

from comity.doors.schemas.base import Schema
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.services import Services
from comity.model.errors import SchemaMismatch
from comity.operate.schema import schema_age

router = Router(Audience.PUBLIC, any_host=True, tags=["health"])


class HealthView(Schema):
    """The health of the server."""

    status: Literal["ok", "ready"]
    failing: list[str] = Field(
        default_factory=list,
        description="Background loops, such as the upkeep of the queue, that failed unexpectedly and are "
        "waiting to restart; the log has the reason.",
    )


@router.get("/healthz", operation_id="healthz", response_model=HealthView, responses=error_responses(422, 500))
async def healthz(services: Services) -> HealthView:
    """Check that the process is alive."""
    return HealthView(status="ok", failing=sorted(services.state.loops.failing))


@router.get("/readyz", operation_id="readyz", response_model=HealthView, responses=error_responses(422, 500, 503))
async def readyz(services: Services) -> HealthView:
    """Check that the database answers and has the tables of this version."""
    age = await services.run_public(partial(schema_age, services.state.database))
    if not age.is_current:
        raise SchemaMismatch(f"the state has schema revision {age.revision}, but this version needs {age.head}")
    return HealthView(status="ready", failing=sorted(services.state.loops.failing))
