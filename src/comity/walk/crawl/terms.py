"""What a whole-site crawl may do, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from comity.model.fetch import DEFAULT_LIMITS, FetchLimits
from comity.model.gate import DoorProfile
from comity.model.run import HOST_PAGES, Budget, CrawlScope
from comity.model.sitemap import SitemapBounds
from comity.model.traps import TrapTerms
from comity.model.wording import NO_ADVICE, CrawlAdvice
from comity.rules.site_hosts import SiteHosts
from comity.rules.stale import WHOLE_REFRESH, RefreshTerms
from comity.rules.tracking import TrackingRules
from comity.rules.url_patterns import PatternRules
from comity.walk.left_out import LeftOutTerms


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
        """How many hosts are open at once: more than connections, because one that waits for its delay needs none."""
        return max(64, self.concurrency * 4)

    @property
    def reads_sitemaps(self) -> bool:
        """Whether sitemaps are read: what they name lies one step from a seed."""
        return self.scope.sitemaps and self.scope.max_depth > 0
