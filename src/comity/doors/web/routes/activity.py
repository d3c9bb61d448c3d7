"""/admin/activity: who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from comity.doors.schemas.console import ActivityList, ActivityView
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.requests import Limit, Line
from comity.doors.web.services import Services
from comity.reports.activity import list_activity

router = Router(Audience.ADMIN, prefix="/admin/activity", tags=["session"])


@router.get("", operation_id="list_activity", response_model=ActivityList)
def list_all(
    services: Services,
    user: Annotated[Line | None, Query(description="Only what this user did.", max_length=64)] = None,
    action: Annotated[Line | None, Query(description="Only this operation.", max_length=200)] = None,
    before: Annotated[int | None, Query(description="Only records before this number.", ge=1, le=2**53)] = None,
    limit: Limit = 50,
) -> ActivityList:
    """List changes and attempts at them, newest first."""
    found = list_activity(services.state.database, user=user, action=action, before=before, limit=limit + 1)
    return ActivityList(activity=ActivityView.list_of(found[:limit]), limit=limit, has_more=len(found) > limit)
