"""The pages, one module per noun. `PAGE_ROUTERS` lists those that are served; they stand before the JSON routes."""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.console import assets
from comity.doors.web.console.pages import (
    bots,
    crawl_jobs,
    crawl_policies,
    crawl_results,
    dashboard,
    gallery,
    queue,
    streams,
    webhooks,
)
from comity.doors.web.console.pages import activity, dashboard, gallery, login, settings, start, streams, takedowns
    activity,
    crawl,
    dashboard,
    gallery,
    login,
    postings,
    settings,
    sources,
    start,
    streams,
    takedowns,
)

PAGE_ROUTERS: Final[tuple[APIRouter, ...]] = (
    dashboard.root_router,
    dashboard.router,
    sources.router,
    crawl.router,
    postings.router,
    gallery.router,
    assets.router,
    streams.router,
    queue.router,
    crawl_policies.router,
    crawl_jobs.router,
    crawl_results.router,
    bots.router,
    webhooks.router,
    login.login_router,
    login.router,
    start.router,
    activity.router,
    settings.router,
    takedowns.router,
)
