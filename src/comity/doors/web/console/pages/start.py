"""The first page of an empty state: what to do next, and the demonstration with one click."""

from __future__ import annotations

from fastapi import Request, Response

from comity.doors.web.console.page import PageRouter, redirect, render
from comity.doors.web.routes.demonstration import worker_of
from comity.doors.web.services import Services, WebServices
from comity.operate.demonstration import is_empty

router = PageRouter("/admin/demonstration")


def start_page(request: Request, services: WebServices) -> Response | None:
    """The page of an empty state; None if the state has anything."""
    worker = services.worker
    is_loading = worker is not None and worker.is_showing_demonstration
    if not is_empty(services.state.database):
        return None
    return render(
        request,
        "start/page.html",
        title="Welcome",
        section="dashboard",
        offers_demonstration=worker is not None and worker.may_show_demonstration(services.state),
        is_loading=is_loading,
        has_worker=worker is not None,
    )


@router.post("")
def load(request: Request, services: Services) -> Response:
    """Load the demonstration web."""
    worker_of(services).show_demonstration(services.state)
    return redirect(request, "/", notice="The demonstration is being crawled; it takes about half a minute.")
