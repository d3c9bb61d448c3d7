"""/healthz and /readyz: whether the process lives, and whether it can work."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter

from comity.doors.web.office import OfficeHere
from comity.doors.web.refusals import documented
from comity.doors.web.shown import HealthShown
from comity.model.errors import SchemaMismatch
from comity.operate.schema import schema_age

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="healthz", response_model=HealthShown, responses=documented(422, 500))
async def healthz() -> HealthShown:
    """Say that the process lives."""
    return HealthShown(status="ok")


@router.get("/readyz", operation_id="readyz", response_model=HealthShown, responses=documented(422, 500, 503))
async def readyz(office: OfficeHere) -> HealthShown:
    """Say whether the state can be used: it answers, and its tables are of our age."""
    age = await office.for_public(partial(schema_age, office.state.database))
    if not age.is_current:
        raise SchemaMismatch(f"the state has revision {age.revision}, this code needs {age.head}")
    return HealthShown(status="ready")
