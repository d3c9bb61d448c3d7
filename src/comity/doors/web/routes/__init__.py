"""The routes, one module per noun. Every router declares its audience; `API_ROUTERS` lists them.

Pages have their own routers, in `console.pages`, and use what stands here; `application` has both.
"""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.routes import (
    audits,
    bot_admin,
    bots,
    console,
    crawl,
    decisions,
    docs,
    grants,
    hosts,
    links,
    queue,
    search,
    session,
    sources,
    stored_pages,
    webhooks,
)

API_ROUTERS: Final[tuple[APIRouter, ...]] = (
    links.health_router,
    links.public_router,
    links.router,
    docs.router,
    search.router,
    session.login_router,
    sources.list_router,
    sources.router,
    crawl.router,
    crawl.runs_router,
    grants.router,
    hosts.router,
    hosts.seeds_router,
    decisions.router,
    session.router,
    console.activity_router,
    console.settings_router,
    console.demonstration_router,
    bots.router,
    bots.ids_router,
    bots.submit_router,
    queue.import_router,
    queue.glance_router,
    queue.policies_router,
    queue.jobs_router,
    queue.results_router,
    bot_admin.router,
    bot_admin.metrics_router,
    webhooks.router,
    stored_pages.router,
    audits.router,
)
