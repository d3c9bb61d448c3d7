"""The pages, one module per noun. `PAGE_ROUTERS` lists those that are served; they stand before the JSON routes."""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.console import page
from comity.doors.web.console.pages import (
    activity,
    audits,
    bots,
    crawl,
    crawl_jobs,
    crawl_policies,
    crawl_results,
    dashboard,
    gallery,
    host_lists,
    host_rules,
    hosts,
    login,
    postings,
    queue,
    sources,
    stored_pages,
    streams,
    takedowns,
    webhooks,
    why,
)

PAGE_ROUTERS: Final[tuple[APIRouter, ...]] = (
    dashboard.root_router,
    dashboard.router,
    sources.router,
    crawl.router,
    postings.router,
    gallery.router,
    page.assets_router,
    streams.router,
    queue.router,
    crawl_policies.router,
    crawl_jobs.router,
    crawl_results.router,
    bots.router,
    webhooks.router,
    login.login_router,
    login.router,
    dashboard.demonstration_router,
    activity.router,
    activity.settings_router,
    takedowns.router,
    hosts.router,
    host_lists.router,
    host_rules.robots_router,
    host_rules.policy_router,
    why.router,
    stored_pages.router,
    audits.router,
)
