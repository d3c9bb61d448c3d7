"""What every visit of a run uses, and the terms in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from comity.extract.html_pool import HtmlPool
from comity.model.dataclass import dataclass
from comity.model.fetch import DEFAULT_LIMITS, FetchLimits
from comity.model.page import NO_DETAILS, KeptDetails
from comity.model.run import CrawlScope
from comity.rules.seed_list import SiteHosts
from comity.rules.takedown import Takedowns
from comity.rules.tracking import TrackingRules
from comity.rules.url_patterns import PatternRules, UrlRules, url_rules
from comity.walk.request import Requests
from comity.walk.robots.keeper import HostOf, RobotsKeeper
from comity.walk.session.leased_host import LeasedHost

if TYPE_CHECKING:
    from comity.extract.fetched_page import Extractor


@dataclass(frozen=True, slots=True)
class VisitContext:
    """What every visit of a run uses, and the terms in force."""

    requests: Requests
    robots: RobotsKeeper
    host_of: HostOf
    takedowns: Callable[[], Takedowns]
    clock: Callable[[], float]
    scope: CrawlScope
    tracking: TrackingRules | None
    extract: Extractor | None
    html_pool: HtmlPool
    limits: FetchLimits
    agent: str
    max_redirects: int
    finds_images: bool = False
    """Whether pages are searched for images; queued images are fetched in any case."""
    image_limits: FetchLimits = DEFAULT_LIMITS
    reads_text: bool = False
    """Whether the main content of pages is stored as text."""
    reads_markdown: bool = False
    columns: str = ""
    """Expressions that are evaluated on every page."""
    columns_key: int = 0
    """What is read from pages besides the pages themselves, for comparison with earlier visits."""
    reads_apart: bool = False
    """Whether every page is read in a child process, because the cost of an expression has no bound."""
    explains_links: bool = False
    """Whether each page counts why links were left out."""
    uses_patterns: bool = False
    """Whether patterns of hosts' policies apply: to crawls of whole sites, not to the pages of a source."""
    patterns: PatternRules | None = None
    """Which URLs the run crawls; None for all."""
    seeds: frozenset[str] | None = None
    """What the run was asked to crawl, without schemes; None where every URL at depth 0 is a seed."""
    site: SiteHosts | None = None
    """The hosts that are crawled as one site; None where each is crawled by itself."""

    details: KeptDetails = NO_DETAILS
    """What is stored of each page in columns of their own."""
    keeps_noindex: bool = False
    """Whether pages that ask not to be indexed are stored with their bodies."""

    reads_content: bool = field(init=False)
    """Whether the main content of pages is stored, in some form."""
    reads_more: bool = field(init=False)
    """Whether more is read from pages than links and head."""
    explains_any: bool = field(init=False)
    """Whether a host remembers what became of its links."""
    keeps_details: bool = field(init=False)
    """Whether anything of a page is stored in columns of its own."""

    def __post_init__(self) -> None:  # read for each page, so not methods
        details = self.details
        reads_content = self.reads_text or self.reads_markdown
        object.__setattr__(self, "reads_content", reads_content)
        reads_more = reads_content or bool(self.columns) or details.links or details.facts
        object.__setattr__(self, "reads_more", reads_more)
        object.__setattr__(self, "explains_any", self.explains_links or details.links)
        object.__setattr__(self, "keeps_details", bool(details))

    def rules_for(self, host: LeasedHost) -> UrlRules | None:
        """The patterns in force for the URLs of a host; None if there are none, as in most runs."""
        own = host.patterns if self.uses_patterns else None
        return None if own is None and self.patterns is None else url_rules(self.patterns, own)

    def is_seed(self, url: str, depth: int) -> bool:
        """Whether a queued URL is a seed, which the patterns of the run do not apply to."""
        return depth == 0 and (self.seeds is None or url.partition("://")[2] in self.seeds)
