"""Figures of whole tables that programs ask for: each is counted once for all routes that show it (`FigureCache`).

In a small state every answer is counted again. In a large one that takes long, so that it is done when the server
starts, and then for a fortieth of the time.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from comity.model.search import SearchQuery
from comity.operate.webhooks import delivery_counts
from comity.reports.queue import (
    FinishedHour,
    QueueGlance,
    QueueStats,
    finished_by_hour,
    queue_figures,
    queue_glance,
    queue_stats,
)
from comity.reports.status import Figures, figures_of

if TYPE_CHECKING:
    from comity.doors.web.services import WebServices

_RECOUNT_EVERY_S: Final = 5.0
_HOURS_SHOWN: Final = 24
_HOSTS: Final = "hosts and leases"
_JOBS: Final = "jobs and deliveries"
_QUEUE: Final = "queue"
_POSTINGS: Final = "postings"

QueueRows = tuple[dict[str, int], datetime | None, dict[str, int]]
"""Jobs by status, since when the oldest waits, and deliveries of webhooks by status."""


def hosts_and_leases(services: WebServices) -> Figures:
    """Hosts by status, leases, and queued URLs."""
    return services.figures.get(_HOSTS, partial(_hosts, services), for_s=0)


def queue_rows(services: WebServices) -> QueueRows:
    """What the metrics say of the queue's tables."""
    return services.figures.get(_JOBS, partial(_rows, services), for_s=0)


def queue_in_full(services: WebServices) -> QueueStats:
    """The crawl service: jobs by status and host, bots, policies, throughput."""
    return services.figures.get(_QUEUE, partial(_queue, services), for_s=0)


def queue_at_a_glance(services: WebServices) -> QueueGlance:
    """The queue as its page shows it."""
    state = services.state
    return services.figures.get("queue at a glance", lambda: queue_glance(state.database, state.clock), for_s=0)


def finished_hours(services: WebServices) -> list[FinishedHour]:
    """The jobs that ended in each of the last hours."""
    state = services.state
    count = partial(finished_by_hour, state.database, state.clock, _HOURS_SHOWN)
    return services.figures.get("finished by hour", count, for_s=0)


def count_ahead(services: WebServices) -> None:
    """Begin to count when the server starts, so that the first who asks need not wait."""
    services.figures.ahead(_HOSTS, partial(_hosts, services))
    services.figures.ahead(_JOBS, partial(_rows, services))
    services.figures.ahead(_QUEUE, partial(_queue, services))
    if not services.state.settings.meili_url:  # the state itself keeps the counts of a search for a while
        services.figures.ahead(_POSTINGS, partial(services.search.query, SearchQuery(limit=1)))


async def keep_counted(services: WebServices) -> None:
    """Count again what was asked for lately, before it is too old to be given."""
    while True:
        await asyncio.sleep(_RECOUNT_EVERY_S)
        services.figures.recount()


def _hosts(services: WebServices) -> Figures:
    return figures_of(services.state.database, services.state.clock)


def _rows(services: WebServices) -> QueueRows:
    database = services.state.database
    return *queue_figures(database), delivery_counts(database)


def _queue(services: WebServices) -> QueueStats:
    return queue_stats(services.state.database, services.state.clock)
