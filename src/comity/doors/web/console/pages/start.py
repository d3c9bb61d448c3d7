"""The welcome of an empty state: what to do next, and the demonstration with one click."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response

from comity.doors.web.console.live import view
from comity.doors.web.console.page import PageRouter, fragment, redirect
from comity.doors.web.routes.console import worker_of
from comity.doors.web.services import Services, WebServices
from comity.model.dataclass import dataclass
from comity.operate.demonstration import is_empty

router = PageRouter("/admin/demonstration")


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the welcome offers."""

    offers_demonstration: bool
    is_loading: bool


def start_of(services: WebServices) -> Welcome | None:
    """The welcome of a state that is empty, or into which the demonstration is being loaded."""
    worker = services.worker
    is_loading = worker is not None and worker.is_showing_demonstration
    if not is_loading and not is_empty(services.state.database):
        return None
    return Welcome(worker is not None and worker.may_show_demonstration(services.state), is_loading)


@view("demonstration")
def progress(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """Whether the demonstration is still being crawled, and then what to look at."""
    worker = services.worker
    return fragment("start/progress.html", is_loading=worker is not None and worker.is_showing_demonstration)


@router.post("")
def load(request: Request, services: Services) -> Response:
    """Load the demonstration web."""
    worker_of(services).show_demonstration(services.state)
    return redirect(request, "/", notice="The crawl of the demonstration has started; it takes about half a minute.")
