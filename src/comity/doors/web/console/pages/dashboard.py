"""/admin: the dashboard. `/` leads a browser there."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from comity.doors.web.audiences import Audience
from comity.doors.web.console.live import view
from comity.doors.web.console.page import PageRouter, fragment, redirect, render
from comity.doors.web.services import WebServices
from comity.reports.status import figures_of

root_router = PageRouter("", audience=Audience.PUBLIC)
router = PageRouter()


@root_router.get("/")
def root(request: Request) -> RedirectResponse:
    """Lead a browser to the console."""
    return redirect(request, "/")


@router.get("")
def dashboard(request: Request) -> HTMLResponse:
    """Show how everything stands."""
    return render(request, "dashboard/page.html", title="Dashboard", section="dashboard")


@router.get("/help")
def help_page(request: Request) -> HTMLResponse:
    """Show the keyboard shortcuts, for those without scripts."""
    return render(request, "help.html", title="Keyboard and help")


@view("dashboard")
def dashboard_figures(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """The figures."""
    figures = figures_of(services.state.database, services.state.clock)
    return fragment("dashboard/figures.html", figures=figures)
