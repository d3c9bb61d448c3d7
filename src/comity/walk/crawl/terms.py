"""What a whole-site crawl may do, and how its caller takes part: pages as committed, an extractor, a shared run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.fetch import DEFAULT_LIMITS, FetchLimits
from comity.model.gate import DoorProfile
from comity.model.outcome import Outcome
from comity.model.page import NO_DETAILS, KeptDetails
from comity.model.run import HOST_PAGES, Budget, CrawlScope
from comity.model.sitemap import SitemapBounds
from comity.model.traps import TrapTerms
from comity.model.wording import NO_ADVICE, CrawlAdvice
from comity.rules.refresh import WHOLE_REFRESH, RefreshTerms
from comity.rules.seed_list import SiteHosts
from comity.rules.tracking import TrackingRules
from comity.rules.url_patterns import PatternRules
from comity.store.sitemap_files import SitemapFiles
from comity.telemetry.meter import Meter
from comity.walk.crawl.budget import SharedPages
from comity.walk.crawl.progress import HostSummary
from comity.walk.queue_again import LeftOutTerms
from comity.walk.request import OnWait

if TYPE_CHECKING:
    from comity.extract.fetched_page import Extractor
    from comity.model.audit import ListedUrl

_HOSTS_LEAST: Final = 64
_HOSTS_FOR_A_REQUEST: Final = 4  # open hosts for each request in flight
_HOSTS_WITH_DELAY: Final = 32  # the same where each waits after a request: a delay of 1 s, answers within 30 ms


@dataclass(frozen=True, slots=True)
class CrawlTerms:
    """What a run may do, and how."""

    profile: DoorProfile
    scope: CrawlScope
    limits: FetchLimits
    budget: Budget
    tracking: TrackingRules | None
    traps: TrapTerms | None
    sitemap_bounds: SitemapBounds
    agent: str
    concurrency: int
    connections: int = 8192
    """Connections that can stay open: each open host needs one."""
    sitemaps_fresh_s: float = 24 * 3600.0
    """After this the sitemaps of a host are planned again."""
    max_redirects: int = 5
    max_errors_in_a_row: int = 10
    per_host_budget: bool = True
    pages_per_host: int = HOST_PAGES
    smart: bool = True
    claims: bool = True
    track: bool = True
    refresh: RefreshTerms = WHOLE_REFRESH
    images: bool = False
    image_limits: FetchLimits = DEFAULT_LIMITS
    text: bool = False
    markdown: bool = False
    links_remembered: int = 1_000_000
    """Over all open hosts; each gets its share."""
    recorded_settings: dict[str, Any] | None = None
    advice: CrawlAdvice = NO_ADVICE
    columns: str = ""
    """Expressions that are evaluated on every page, and whose values are stored with it."""
    patterns: PatternRules | None = None
    """Which URLs are crawled."""
    site: SiteHosts | None = None
    """The hosts that are crawled as one site."""
    details: KeptDetails = NO_DETAILS
    """What is stored of each page in columns of their own."""
    keeps_noindex: bool = False
    """Whether pages that ask not to be indexed are stored with their bodies."""
    door: str = "crawl"
    """Whose run it is."""
    has_own_list: bool = False
    """Whether the frontier is a list of visits: then nothing is written of hosts but what their gates remember."""

    @property
    def left_out(self) -> LeftOutTerms:
        """What decides about URLs that earlier runs left out."""
        return LeftOutTerms(self.patterns, self.scope.max_depth, self.site, self.images, self.scope.collapse_subdomains)

    @property
    def most_hosts(self) -> int:
        """How many hosts are open at once: more than requests in flight, because most wait for their delay."""
        least = self.fewest_hosts
        if not self.profile.interval_s:
            return least
        return max(least, min(self.concurrency * _HOSTS_WITH_DELAY, self.connections))

    @property
    def fewest_hosts(self) -> int:
        """How many hosts keep all requests busy if none of them waits for long."""
        return max(_HOSTS_LEAST, self.concurrency * _HOSTS_FOR_A_REQUEST)

    def hosts_at_once(self, *, is_named: bool, share: int | None) -> int:
        """The most hosts that this process has open; `share` is its part of the hosts, if several processes share them.

        A run of whatever the table offers leaves hosts to other workers, unless an operator said how many to take.
        """
        if share is not None:
            return min(self.most_hosts, share)
        return self.most_hosts if is_named else self.fewest_hosts

    def connection_warning(self, hosts: int) -> str | None:
        """A sentence if more of these hosts could be open at once with more connections."""
        wanted = min(hosts, self.concurrency * _HOSTS_WITH_DELAY)
        if not self.profile.interval_s or wanted <= self.most_hosts:
            return None
        return (
            f"the limit of open files leaves room for {self.connections:,} connections, so that {self.most_hosts:,} of "
            f"{hosts:,} hosts are crawled at once; raise the limit (ulimit -n, or LimitNOFILE= of systemd)."
        )

    @property
    def reads_sitemaps(self) -> bool:
        """Whether sitemaps are read: what they name lies one step from a seed."""
        return self.scope.sitemaps and self.scope.max_depth > 0


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
    """Something to do during a run, at its start and every so many seconds; an exception in it ends the run."""

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
