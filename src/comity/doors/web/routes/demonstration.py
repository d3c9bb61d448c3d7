"""/admin/demonstration: load the demonstration web into an empty state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from comity.doors.schemas.console import DemonstrationView
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.services import Services, WebServices

if TYPE_CHECKING:
    from comity.run.serve import CrawlThread

router = Router(Audience.ADMIN, prefix="/admin/demonstration", tags=["settings"])


@router.get("", operation_id="get_demonstration", response_model=DemonstrationView)
def show(services: Services) -> DemonstrationView:
    """Show whether the demonstration can be loaded, or is being crawled."""
    worker = services.worker
    if worker is None:
        return DemonstrationView(is_offered=False, is_loading=False)
    is_offered = worker.may_show_demonstration(services.state)
    return DemonstrationView(is_offered=is_offered, is_loading=worker.is_showing_demonstration)


@router.post(
    "",
    operation_id="load_demonstration",
    status_code=202,
    response_model=DemonstrationView,
    responses=error_responses(409),
)
def load(services: Services) -> DemonstrationView:
    """Crawl three small sites that this machine serves itself; only into an empty state, by `comity serve`."""
    worker_of(services).show_demonstration(services.state)
    return DemonstrationView(is_offered=False, is_loading=True)


def worker_of(services: WebServices) -> CrawlThread:
    """The worker of this process; `ApiError` if it has none."""
    if services.worker is None:
        raise ApiError(409, "no_worker", "this process does not crawl; comity serve does")
    return services.worker
