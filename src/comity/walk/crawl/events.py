"""What can happen in a crawl. Calls go down, from the crawl to its parts; events come up, all to `Crawl.handle`.

Events are handled at once, on the event loop: a queue would cost a turn of the loop for every page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple
from uuid import UUID

from comity.model.named_tuple import fast_new
from comity.model.outcome import Outcome
from comity.model.run import Exhausted
from comity.walk.session.leased_host import LeasedHost
from comity.walk.session.session import SessionEvent
from comity.walk.settle.settler import Settled


@fast_new
class VisitEnded(NamedTuple):
    """A visit ended, or was refused before it began (from the dispatcher)."""

    host: LeasedHost
    outcome: Outcome


class HostDry(NamedTuple):
    """A host has no visits in progress and no URLs in memory (from the dispatcher)."""

    host: LeasedHost


class UrlsListed(NamedTuple):
    """A sitemap added URLs to those in memory (from the reader of sitemaps)."""

    host: LeasedHost


class BatchSettled(NamedTuple):
    """Outcomes are committed, except those of hosts whose lease is lost (from settling)."""

    outcomes: dict[LeasedHost, list[Outcome]]
    result: Settled


class BudgetSpent(NamedTuple):
    """A budget of the run, or of one host, is spent (from the budgets)."""

    host: LeasedHost | None
    spent: Exhausted


class PagesFreed(NamedTuple):
    """These hosts waited for a page of a budget, and may try again (from the budgets)."""

    hosts: Collection[LeasedHost]


class HostsChanged(NamedTuple):
    """URLs of a host were loaded, a host was released, or the table may offer others (from the open hosts)."""


class FrontierSilent(NamedTuple):
    """The run waits for the frontier or the disk of the pages; None when it is back (from the retrying thread)."""

    reason: str | None


class FrontierRebuilt(NamedTuple):
    """The frontiers of these hosts were lost and rebuilt (from the retrying thread)."""

    host_ids: Collection[UUID]


class WorkFailed(NamedTuple):
    """A task failed whose result nothing awaits: the run fails (from the dispatcher and the open hosts)."""

    error: BaseException


CrawlEvent = (
    VisitEnded
    | HostDry
    | UrlsListed
    | BatchSettled
    | BudgetSpent
    | PagesFreed
    | HostsChanged
    | FrontierSilent
    | FrontierRebuilt
    | WorkFailed
)
Event = CrawlEvent | SessionEvent
Emit = Callable[[CrawlEvent], None]
