"""/admin/activity, /admin/settings and /admin/demonstration: what belongs to the console itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from fastapi import Query

from comity.doors.schemas.console import ActivityList, ActivityView, DemonstrationView, SettingList, SettingView
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.requests import Limit, Line
from comity.doors.web.services import Services, WebServices
from comity.operate.console import list_activity
from comity.run.settings_in_force import settings_in_force

if TYPE_CHECKING:
    from comity.run.serve import ServedWorker

activity_router = Router(Audience.ADMIN, prefix="/admin/activity", tags=["session"])
settings_router = Router(Audience.ADMIN, prefix="/admin/settings", tags=["settings"])
demonstration_router = Router(Audience.ADMIN, prefix="/admin/demonstration", tags=["settings"])


@activity_router.get("", operation_id="list_activity", response_model=ActivityList)
def list_changes(
    services: Services,
    user: Annotated[Line | None, Query(description="Only what this user did.", max_length=64)] = None,
    action: Annotated[Line | None, Query(description="Only this operation.", max_length=200)] = None,
    before: Annotated[int | None, Query(description="Only records before this number.", ge=1, le=2**53)] = None,
    limit: Limit = 50,
) -> ActivityList:
    """List changes and attempts at them, newest first."""
    found = list_activity(services.state.database, user=user, action=action, before=before, limit=limit + 1)
    return ActivityList(activity=ActivityView.list_of(found[:limit]), limit=limit, has_more=len(found) > limit)


@settings_router.get("", operation_id="list_settings", response_model=SettingList)
def list_settings(services: Services) -> SettingList:
    """List every setting with its value and where that comes from. Secrets are masked."""
    return SettingList(settings=SettingView.list_of(settings_in_force(services.state.settings, os.environ)))


@demonstration_router.get("", operation_id="get_demonstration", response_model=DemonstrationView)
def show_demonstration(services: Services) -> DemonstrationView:
    """Show whether the demonstration can be loaded, or is being crawled."""
    worker = services.worker
    if worker is None:
        return DemonstrationView(is_offered=False, is_loading=False)
    is_offered = worker.may_show_demonstration(services.state)
    return DemonstrationView(is_offered=is_offered, is_loading=worker.is_showing_demonstration)


@demonstration_router.post(
    "",
    operation_id="load_demonstration",
    status_code=202,
    response_model=DemonstrationView,
    responses=error_responses(409),
)
def load_demonstration(services: Services) -> DemonstrationView:
    """Crawl three small sites that this machine serves itself; only into an empty state, by `comity serve`."""
    worker_of(services).show_demonstration(services.state)
    return DemonstrationView(is_offered=False, is_loading=True)


def worker_of(services: WebServices) -> ServedWorker:
    """The worker of this process; `ApiError` if it has none."""
    if services.worker is None:
        raise ApiError(409, "no_worker", "this process does not crawl; comity serve does")
    return services.worker
