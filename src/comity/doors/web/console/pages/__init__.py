"""The pages, one module per noun. `PAGE_ROUTERS` lists those that are served; they stand before the JSON routes."""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.console import assets
from comity.doors.web.console.pages import (
    activity,
    audits,
    dashboard,
    gallery,
    host_lists,
    host_rules,
    hosts,
    login,
    settings,
    start,
    stored_pages,
    streams,
    takedowns,
    why,
)

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
    hosts.router,
    host_lists.router,
    host_rules.robots_router,
    host_rules.policy_router,
    why.router,
    stored_pages.router,
    audits.router,
)
