"""How a caller takes part in a crawl: pages as they are committed, an extractor, a run shared with other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.outcome import Outcome
from comity.model.wording import NO_ADVICE, CrawlAdvice
from comity.store.sitemap_files import SitemapFiles
from comity.telemetry.meter import Meter
from comity.walk.crawl.budget import SharedPages
from comity.walk.crawl.progress import HostSummary
from comity.walk.request import OnWait

if TYPE_CHECKING:
    from comity.extract.fetched_page import Extractor
    from comity.model.audit import ListedUrl


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class HostShare:
    """How the processes of one run share its hosts: each is crawled by one of them, and once."""

    most: int | None
    """How many hosts one process may have open, so that some are left for the others; None if none was set."""
    left: Callable[[], Collection[str]]
    """The hosts that the run is done with, in any process."""
    leave: Callable[[str], None]
    """Called before a host is released: no process leases it again."""
    take_back: Callable[[str], None]
    """Called when a host whose lease was lost is to be leased again after all."""
    report: Callable[[HostSummary], None]
    """Called with how a host ended."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Something to do beside a run, at its start and every so many seconds; what it raises ends the run."""

    every_s: float
    work: Callable[[], Awaitable[object]]

    async def repeat(self) -> None:
        """Do it until cancelled."""
        while True:
            await self.work()
            await asyncio.sleep(self.every_s)


@dataclass(frozen=True, slots=True)
class CrawlHooks:
    """What a caller may pass to a crawl. Functions are called on the event loop and must not block."""

    on_settled: Callable[[Sequence[Outcome]], None] | None = None
    """Called with outcomes once they are committed, a batch at a time."""
    is_held_up: Callable[[], bool] = _never
    """While this is true nothing new begins: the consumer of the pages is behind."""
    extract: Extractor | None = None
    """Sees every page; what it raises ends the run, and the page is not acknowledged."""
    run_id: UUID | None = None
    """The run that this crawl is a part of; the caller starts and ends it."""
    pages: SharedPages | None = None
    """The pages of a budget that is shared with other processes."""
    hosts: HostShare | None = None
    """How the hosts are shared with other processes."""
    meter: Meter | None = None
    """Counts what the run does, as metrics of the process."""
    waits_for_space: bool = False
    """Whether a full disk of pages is waited for; such a wait is reported through `on_silence`."""
    on_silence: Callable[[str | None], None] = lambda _said: None
    """Called with the reason when the run waits for its frontier, with None when it continues; reasons may repeat."""
    on_host: Callable[[HostSummary], None] | None = None
    """Called with how a host ended, once it is released."""
    explains_links: bool = False
    """Whether `Fetched.skipped` is wanted."""
    on_wait: OnWait | None = None
    """Called for every wait for a host, if set."""
    seeds: frozenset[str] | None = None
    """What the run was asked to crawl, without schemes; None where every URL at depth 0 counts as such."""
    duties: tuple[Duty, ...] = ()
    """What else to do while the run lasts."""
    on_listed: Callable[[Sequence[ListedUrl]], None] | None = None
    """Called with pages that a sitemap lists, before these are committed; pages may repeat."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """What is stored with the settings of the run, such as its seeds."""
    kept_sitemaps: SitemapFiles | None = None
    """Sitemaps that were read lately and are not requested again."""
    pauses_hosts: bool = False
    """Whether workers leave the hosts alone that the run finds."""
    advice: CrawlAdvice = NO_ADVICE
    """How warnings name what would help."""


NO_HOOKS = CrawlHooks()
