"""The routes, one module per noun. Every router declares its audience; `ROUTERS` lists those that are served.

Pages have routers of their own, in `console.pages`, and use what stands here; `application` has both.
"""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.routes import (
    activity,
    bot_admin,
    bots,
    crawl,
    decisions,
    demonstration,
    docs,
    grants,
    health,
    hosts,
    queue,
    search,
    seeds,
    session,
    settings,
    sources,
    webhooks,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    docs.router,
    search.router,
    session.login_router,
    sources.list_router,
    sources.router,
    crawl.router,
    grants.router,
    hosts.router,
    seeds.router,
    decisions.router,
    session.router,
    activity.router,
    settings.router,
    demonstration.router,
    bots.router,
    bots.ids_router,
    bots.submit_router,
    queue.import_router,
    queue.policies_router,
    queue.jobs_router,
    queue.results_router,
    bot_admin.router,
    bot_admin.metrics_router,
    webhooks.router,
)
