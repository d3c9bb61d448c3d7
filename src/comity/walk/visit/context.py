"""What every visit of a run uses, and the terms in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from comity.extract.fetched_page import Extractor
from comity.extract.html_pool import HtmlPool
from comity.model.fetch import DEFAULT_LIMITS, FetchLimits
from comity.model.run import CrawlScope
from comity.rules.takedown import Takedowns
from comity.rules.tracking import TrackingRules
from comity.walk.request import Requests
from comity.walk.robots.keeper import HostOf, RobotsKeeper


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
    columns: str = ""
    """Expressions that are evaluated on every page."""
    reads_apart: bool = False
    """Whether every page is read in a child process, because the cost of an expression has no bound."""
