"""One process of a crawl that several share: what it does, and what it reports to the process that began the crawl."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from comity.assemble import open_state
from comity.model.run import BudgetReason, EndReason, Exhausted
from comity.rules.time_left import seconds_for
from comity.run.crawl.shared import FinishedHosts, return_page, take_page
from comity.run.crawl.view import visits_of, wait_reporter
from comity.run.remedies import CRAWL_ADVICE
from comity.walk.crawl.budget import SharedPages
from comity.walk.crawl.hooks import CrawlHooks, HostShare

if TYPE_CHECKING:
    from comity.run.child_process import ParentChannel
    from comity.settings import Settings
    from comity.walk.crawl.crawl import Crawl
    from comity.walk.crawl.progress import Progress

_REPORT_EVERY_S: Final = 0.2
_MOST_LOADS: Final = 100  # hosts whose load is reported: those that need longest
COUNTED: Final = (
    "begun",
    "held",
    "pages",
    "errors",
    "refused",
    "unchanged",
    "images_found",
    "images_stored",
    "images_failed",
    "unconverted",
    "bytes_received",
    "links_found",
    "hosts_active",
    "hosts_waiting",
    "hosts_blocked",
    "hosts_done",
    "queued",
    "left_out",
)


async def crawl_part(
    settings: Settings, job: dict[str, Any], orders: AsyncIterator[dict[str, Any]], parent: ParentChannel
) -> None:
    """Crawl this process's share of the hosts, to the end of the run."""
    is_held = False

    def hold(holds: bool) -> None:
        nonlocal is_held
        is_held = holds
        if not holds:
            crawl.resume()

    with open_state(settings, migrate=False) as state:
        async with state.fetcher() as fetcher:
            crawl = state.crawl(fetcher, job["hosts"], _hooks(job, parent, lambda: is_held))
            for number in (signal.SIGINT, signal.SIGTERM):  # a service manager may signal every process
                asyncio.get_running_loop().add_signal_handler(number, crawl.stop)
            tasks = [
                asyncio.create_task(_obey(orders, crawl, hold)),
                asyncio.create_task(_report(crawl.progress, parent, with_hosts=job["reports_hosts"])),
            ]
            try:
                summary = await crawl.run()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    crawl.progress.held = 0
    parent.send(**_progress_message(crawl.progress))
    parent.send(ended=[summary.status, summary.code])


def _hooks(job: dict[str, Any], parent: ParentChannel, is_held: Callable[[], bool]) -> CrawlHooks:
    finished = FinishedHosts(job["finished_hosts"], number=job["number"])
    pages = None
    if job["page_budget"] is not None:
        taken_from, returned_to = job["page_budget"]
        pages = SharedPages(partial(take_page, taken_from), partial(return_page, returned_to))
    report_host = lambda line: parent.send(host=asdict(line))  # noqa: E731
    report_visits = lambda outcomes: parent.send(visits=[asdict(visit) for visit in visits_of(outcomes)])  # noqa: E731
    report_wait = lambda wait: parent.offer(wait=asdict(wait))  # noqa: E731
    return CrawlHooks(
        on_settled=report_visits if job["reports_visits"] else None,
        on_wait=wait_reporter(report_wait) if job["reports_waits"] else None,
        explains_links=job["explains_links"],
        is_held_up=is_held,
        run_id=UUID(job["run_id"]),
        pages=pages,
        seeds=frozenset(job["seeds"]) if job["seeds"] is not None else None,
        hosts=HostShare(job["most_hosts"], finished.all, finished.add, finished.remove, report_host),
        advice=CRAWL_ADVICE,
    )


async def _obey(orders: AsyncIterator[dict[str, Any]], crawl: Crawl, hold: Callable[[bool], None]) -> None:
    """Do what the parent orders, and stop when it is gone."""
    async for order in orders:
        match order:
            case {"stop": reason}:
                crawl.stop(EndReason(reason))
            case {"spent": [reason, sentence]}:
                crawl.end_by(Exhausted(BudgetReason(reason), sentence))
            case {"hold": holds}:
                hold(holds)
    crawl.stop(EndReason.PARENT_GONE)


async def _report(progress: Progress, parent: ParentChannel, *, with_hosts: bool) -> None:
    while True:
        await asyncio.sleep(_REPORT_EVERY_S)
        loads = nlargest(_MOST_LOADS, progress.loads(), key=seconds_for) if with_hosts else ()
        parent.offer(**_progress_message(progress), loads=loads)


def _progress_message(progress: Progress) -> dict[str, Any]:
    return {
        "progress": {name: getattr(progress, name) for name in COUNTED},
        "warnings": progress.warnings,
        "faults": [asdict(fault) for fault in progress.faults.values()],
        "left_out_by": progress.left_out_by,
    }
