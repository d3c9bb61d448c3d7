"""The pages, one module per noun. `PAGE_ROUTERS` lists those that are served; they stand before the JSON routes."""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.console import assets
from comity.doors.web.console.pages import activity, dashboard, gallery, login, settings, start, streams, takedowns

PAGE_ROUTERS: Final[tuple[APIRouter, ...]] = (
    dashboard.root_router,
    dashboard.router,
    gallery.router,
    assets.router,
    streams.router,
    login.login_router,
    login.router,
    start.router,
    activity.router,
    settings.router,
    takedowns.router,
)
