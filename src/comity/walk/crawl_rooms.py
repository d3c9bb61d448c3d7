"""What a run builds from its terms: who settles its outcomes, who opens its hosts, what its visits ask."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.extract.apart import ApartReader
from comity.frontier.at_hand import KEYS_MOST
from comity.frontier.store import FrontierStore
from comity.leases.leases import Leases
from comity.rules.takedown import Takedowns
from comity.store.images import ImageStore
from comity.store.sink import PageSink
from comity.walk.crawl.budget import RunBudget
from comity.walk.crawl.hooks import CrawlHooks
from comity.walk.crawl.host_opening import HostOpener
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.request import Requests
from comity.walk.robots.keeper import RobotsKeeper
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.settle.settler import RetryTerms, Settler
from comity.walk.visit.context import VisitContext


def settler_for(
    terms: CrawlTerms,
    hooks: CrawlHooks,
    run_id: UUID,
    frontier: FrontierStore,
    leases: Leases,
    store: PageSink,
    images: ImageStore | None,
    clock: Clock,
) -> Settler:
    """Who turns the outcomes of a run into rows."""
    return Settler(
        frontier,
        leases,
        store,
        run_id,
        clock.now,
        RetryTerms(terms.profile.retry_limit, terms.profile.max_retry_backoff_s),
        images,
        finds_images=terms.images,
        refresh=terms.refresh,
        track=terms.track,
        waits_for_room=hooks.waits_for_room,
    )


def budget_for(terms: CrawlTerms, hooks: CrawlHooks, clock: Clock, warnings: list[str]) -> RunBudget:
    """What a run, and each of its hosts, may spend."""
    return RunBudget(
        terms.budget,
        clock.seconds,
        warnings,
        bounds_hosts=terms.per_host_budget,
        host_pages=terms.pages_per_host,
        shared=hooks.pages,
    )


def host_desk_for(
    terms: CrawlTerms,
    run_id: UUID,
    database: Database,
    frontier: FrontierStore,
    leases: Leases,
    clock: Clock,
    hosts: Collection[str] | None,
) -> HostOpener:
    """Who opens and closes the hosts of a run; what is remembered of links is shared among them."""
    share = terms.most_hosts if hosts is None else max(1, min(terms.most_hosts, len(hosts)))
    return HostOpener(
        database,
        frontier,
        leases,
        clock,
        run_id,
        max_errors_in_a_row=terms.max_errors_in_a_row,
        track=terms.track,
        traps=terms.traps,
        sitemaps=terms.scope.sitemaps and terms.scope.max_depth > 0,
        max_depth=terms.scope.max_depth,
        leaves_sitemaps=terms.scope.sitemaps and terms.scope.max_depth == 0,
        refresh=terms.refresh,
        images=terms.images,
        makes_way=hosts is None,
        links_remembered=min(KEYS_MOST, max(5_000, terms.links_remembered // share)),
    )


def visit_rooms_for(
    terms: CrawlTerms,
    hooks: CrawlHooks,
    requests: Requests,
    robots: RobotsKeeper,
    board: HeldHosts,
    apart: ApartReader,
    takedowns: Callable[[], Takedowns],
    clock: Clock,
) -> VisitContext:
    """What every visit of a run asks and uses."""
    return VisitContext(
        requests=requests,
        robots=robots,
        host_of=board.host_of,
        takedowns=takedowns,
        clock=clock.seconds,
        scope=terms.scope,
        tracking=terms.tracking,
        extract=hooks.extract,
        apart=apart,
        limits=terms.limits,
        agent=terms.agent,
        max_redirects=terms.max_redirects,
        finds_images=terms.images,
        image_limits=terms.image_limits,
    )
