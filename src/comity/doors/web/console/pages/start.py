"""The welcome of an empty state: what to do next, and the demonstration with one click."""

from __future__ import annotations

from fastapi import Request, Response

from comity.doors.web.console.page import PageRouter, redirect
from comity.doors.web.routes.console import worker_of
from comity.doors.web.services import Services, WebServices
from comity.model.dataclass import dataclass

router = PageRouter("/admin/demonstration")


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the welcome offers."""

    offers_demonstration: bool
    is_loading: bool


def start_of(services: WebServices) -> Welcome:
    """What the welcome of an empty state offers."""
    worker = services.worker
    if worker is None:
        return Welcome(offers_demonstration=False, is_loading=False)
    return Welcome(worker.may_show_demonstration(services.state), worker.is_showing_demonstration)


@router.post("")
def load(request: Request, services: Services) -> Response:
    """Load the demonstration web."""
    worker_of(services).show_demonstration(services.state)
    return redirect(request, "/", notice="The demonstration is being crawled; it takes about half a minute.")
