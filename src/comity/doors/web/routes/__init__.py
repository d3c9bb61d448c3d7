"""The routes, one module per noun. Every router declares its audience; `ROUTERS` lists those that are served."""

from typing import Final

from fastapi import APIRouter

from comity.doors.web.routes import crawl, decisions, docs, grants, health, hosts, search, seeds, session, sources

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
)
