"""The open state, and everything that is built on it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from comity.assemble.terms import (
    audit_profile,
    breaker_terms,
    cookie_folder,
    crawl_profile,
    crawl_scope,
    fetch_limits,
    profile_of,
    queue_profile,
    read_request_options,
    robots_terms,
    state_file,
    tracking_rules,
    trap_terms,
)
from comity.clock import Clock, SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import ensure_current
from comity.leases.leases import Leases, LeaseTerms
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, Remedy, RemedyCode
from comity.model.fetch import Fetcher
from comity.model.gate import Door, DoorProfile
from comity.model.page import BodyCompression, KeptDetails
from comity.model.run import Budget
from comity.model.sitemap import SitemapBounds
from comity.rules.canonical import WebAddress
from comity.rules.refresh import RefreshTerms
from comity.settings import Settings
from comity.telemetry.loops import Loops

# The walk, the fetcher and the store are slow to import, and most commands need none of them.
if TYPE_CHECKING:
    from comity.fetch.fetcher import CurlFetcher
    from comity.fetch.settings import ProxySettings
    from comity.frontier.redis.store import RedisFrontier
    from comity.frontier.store import FrontierStore
    from comity.model.explanation import Explanation
    from comity.operate.bots import BotKeyring
    from comity.rules.seed_list import SiteHosts
    from comity.rules.url_patterns import PatternRules
    from comity.search_engine.job_search import JobSearch, SearchEngine
    from comity.store.sink import MakeSink
    from comity.upkeep.drain_outbox import OutboxDrain
    from comity.upkeep.due_sources import DueSources, Result, RunsSources, SourcePool
    from comity.upkeep.send_webhooks import WebhookSender
    from comity.upkeep.sweep_queue import QueueSweeper
    from comity.walk.bots.grants import Granter
    from comity.walk.bots.locks import Locks
    from comity.walk.bots.own_work import JobDone, OwnWorker
    from comity.walk.bots.pull import Puller
    from comity.walk.bots.robots import ReadsRobots, RobotsBook, RobotsReader
    from comity.walk.bots.submit import Submitter
    from comity.walk.bots.threads import BotThreads
    from comity.walk.crawl.crawl import Crawl
    from comity.walk.crawl.run_record import RunRecord
    from comity.walk.crawl.terms import CrawlHooks, CrawlTerms
    from comity.walk.queue_again import LeftOutTerms
    from comity.walk.robots.record import RobotsInForce
    from comity.walk.session.identity import Identities
    from comity.walk.session.session import Session, SessionTerms
    from comity.walk.sources.listing_reader import ListingReader
    from comity.walk.sources.runner import SourceRunner
    from comity.walk.visit_list import VisitList

REREAD_EVERY_S: Final = 600.0
_SECRET: Final = {
    "database_url",
    "redis_url",
    "seeds_redis_url",
    "proxy",
    "proxy_user",
    "proxy_password",
    "admin_password_hash",
    "admin_token_hash",
    "meili_url",
    "meili_key",
    "headers",
    "cookies",
    "auth",
    "login",
}

# One store for all copies of a state with other settings; its connections are closed with the state.
_frontiers: Final[WeakKeyDictionary[Database, FrontierStore]] = WeakKeyDictionary()
# The threads that serve bots; they end with the state.
_bot_threads: Final[WeakKeyDictionary[Database, BotThreads]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class State:
    """The open state, with the clock and the settings that everything built on it uses."""

    database: Database
    clock: Clock
    settings: Settings
    loops: Loops = field(default_factory=Loops)

    @property
    def frontier(self) -> FrontierStore:
        """The store of the URLs to visit: the state itself, or Redis beside it."""
        found = _frontiers.get(self.database)
        if found is None:
            found = _frontiers[self.database] = _open_frontier(self.database, self.clock, self.settings.redis_url)
        return found

    def frontier_in_redis(self) -> RedisFrontier:
        """The store in Redis, for moving URLs there or back; the caller closes it."""
        if not self.settings.redis_url or not self.database.is_shared:
            raise BadInput(
                "set COMITY_REDIS_URL to the Redis for the URLs, and COMITY_DATABASE_URL to a postgresql:// URL"
            )
        return _redis_frontier(self.database, self.clock, self.settings.redis_url)

    def leases(self) -> Leases:
        """A new holder of leases for this process."""
        terms = LeaseTerms(
            lease_s=self.settings.lease_minutes * 60,
            renew_every_s=self.settings.heartbeat_minutes * 60,
            refresh_after=self.settings.refresh_after,
        )
        return Leases(self.database, self.clock, terms)

    def crawl(
        self,
        fetcher: Fetcher,
        hosts: Collection[str] | None,
        hooks: CrawlHooks | None = None,
        sink: MakeSink | None = None,
        leases: Leases | None = None,
        visits: VisitList | None = None,
        *,
        ignores_own_robots: bool = False,
    ) -> Crawl:
        """A whole-site crawl of some hosts, or of what the table of hosts offers; or of what a list of visits has.

        `sink` may wrap the store of pages; `leases` belong to a known holder instead of a new one. With
        `ignores_own_robots`, robots.txt is not read at addresses in the allowed networks, which are the user's own.
        """
        from comity.store.images import ImageStore, image_root
        from comity.store.pages import open_sink
        from comity.store.target import read_target
        from comity.walk.crawl.crawl import REFRESH_EVERY_S, Crawl
        from comity.walk.crawl.terms import NO_HOOKS, Duty
        from comity.walk.session.session import SessionTerms

        settings, hooks = self.settings, hooks or NO_HOOKS
        leases = leases or self.leases()
        terms = self._crawl_terms(hooks, visits)
        if hosts is None:  # a worker's run, whose hosts were not prepared one by one
            hooks = replace(hooks, duties=(*hooks.duties, Duty(REREAD_EVERY_S, partial(self.reread_robots, fetcher))))
        own = partial(open_sink, settings.pages, leases.holder, BodyCompression(settings.pages_compression))
        store = sink(own) if sink is not None else own()
        images = ImageStore(image_root(read_target(settings.pages)), leases.holder, self.clock.seconds)
        session = self.session(
            fetcher,
            SessionTerms(
                profile=terms.profile,
                robots=robots_terms(self.settings, ignores_own=ignores_own_robots),
                concurrency=terms.concurrency,
                collapse_subdomains=settings.collapse_subdomains,
                refresh_every_s=REFRESH_EVERY_S,
                waits_for_robots_cache=False,
            ),
            leases,
        )
        return Crawl(session, visits.frontier if visits else self.frontier, store, terms, hosts, hooks, images)

    def _crawl_terms(self, hooks: CrawlHooks, visits: VisitList | None) -> CrawlTerms:
        """What a run may do, and how."""
        from comity.walk.crawl.terms import CrawlTerms

        settings, is_audit = self.settings, visits is not None and visits.door == Door.AUDIT
        return CrawlTerms(
            profile=audit_profile(settings) if is_audit else crawl_profile(settings),
            scope=crawl_scope(settings),
            tracking=tracking_rules(settings),
            traps=trap_terms(settings),
            sitemap_bounds=SitemapBounds(most_files=settings.max_sitemaps),
            sitemaps_fresh_s=settings.sitemap_hours * 3600,
            limits=fetch_limits(settings, settings.max_response_bytes),
            budget=Budget(pages_per_run=settings.max_pages, minutes_per_run=settings.max_minutes),
            agent=settings.identity,
            concurrency=settings.concurrency,
            connections=self._connections(),
            max_redirects=settings.max_redirects,
            max_errors_in_a_row=settings.max_domain_errors,
            per_host_budget=settings.enable_per_domain_budget and not is_audit,  # an audit has its own
            pages_per_host=settings.pages_per_host,
            smart=settings.enable_smart_scheduling,
            claims=settings.enable_claim_protocol,
            track=settings.enable_domain_tracking,
            images=settings.images,
            image_limits=fetch_limits(settings, settings.max_image_bytes),
            text=settings.text,
            markdown=settings.markdown,
            refresh=RefreshTerms(settings.refresh_after, only_stale=settings.update_stale),
            recorded_settings=self.recorded_settings,
            advice=hooks.advice,
            patterns=self.patterns(),
            site=self.site(),
            columns=settings.extract,
            details=KeptDetails(is_audit or settings.keep_links, is_audit or settings.keep_headers, is_audit),
            keeps_noindex=is_audit and settings.keep_noindex,
            door="crawl" if visits is None else visits.door,
            has_own_list=visits is not None,
        )

    def patterns(self) -> PatternRules | None:
        """Which URLs crawls visit; None for all."""
        from comity.rules.url_patterns import pattern_rules

        return pattern_rules(self.settings.include, self.settings.exclude, self.settings.under)

    def site(self) -> SiteHosts | None:
        """The hosts that are crawled as one site; None where each is crawled by itself."""
        from comity.rules.seed_list import SiteHosts

        names, subdomains = self.settings.site_hosts, self.settings.subdomains
        return SiteHosts(names, subdomains=subdomains) if names else None

    def left_out_terms(self) -> LeftOutTerms:
        """What decides about URLs that earlier crawls left out."""
        from comity.walk.queue_again import LeftOutTerms

        settings = self.settings
        return LeftOutTerms(
            self.patterns(), settings.max_depth, self.site(), settings.images, settings.collapse_subdomains
        )

    def session(self, fetcher: Fetcher, terms: SessionTerms, leases: Leases | None = None) -> Session:
        """What may talk to hosts, for one client."""
        from comity.walk.session.session import Session

        terms = replace(terms, identities=self.identities())
        session = Session(self.database, leases or self.leases(), fetcher, self.clock, random.random, terms, self.loops)
        if self.settings.log_requests:
            from comity.telemetry.request_log import RequestLog

            session.requests.on_request = RequestLog(self.settings.log_requests).write
        return session

    def _service_session(self, fetcher: Fetcher, profile: DoorProfile, concurrency: int, touched_by: str) -> Session:
        """The session of a service, which waits while the database is away instead of ending."""
        from comity.walk.session.session import SessionTerms

        terms = SessionTerms(
            profile=profile,
            robots=robots_terms(self.settings),
            concurrency=concurrency,
            collapse_subdomains=self.settings.collapse_subdomains,
            touched_by=touched_by,
            outlasts_outages=True,
        )
        return self.session(fetcher, terms)

    def identities(self) -> Identities:
        """What the requests to each host carry; `BadInput` if an option or a secret cannot be read."""
        from comity.store.cookie_files import CookieFiles
        from comity.walk.session.identity import Identities

        options = read_request_options(self.settings, self.clock.seconds)
        folder = cookie_folder(self.settings)
        return Identities(options.identity_of, None if folder is None else CookieFiles(folder))

    async def reread_robots(self, fetcher: Fetcher) -> None:
        """Read robots.txt again where it closed a host and its copy is too old; a change reopens the host."""
        from comity.upkeep.wake_hosts import reread_robots

        await reread_robots(self.database, self.clock, partial(self.read_robots, fetcher), frontier=self.frontier)

    @property
    def recorded_settings(self) -> dict[str, Any]:
        """The settings that are stored with a run, without secrets."""
        return self.settings.model_dump(mode="json", exclude=_SECRET)

    def run_record(self, run_id: UUID) -> RunRecord:
        """The record of a run that several processes share."""
        from comity.rules.expressions.printing import columns_key
        from comity.store.pages import open_sink
        from comity.walk.crawl.run_record import RunRecord

        leases = self.leases()
        settings = self.settings
        flags = {"links": settings.keep_links, "headers": settings.keep_headers, "has_extractor": False}
        key = columns_key(settings.extract, text=settings.text, markdown=settings.markdown, **flags)
        sink = open_sink(settings.pages, leases.holder)
        return RunRecord(self.database, leases, sink, self.clock, run_id, columns_key=key)

    def source_runner(self, fetcher: Fetcher, reader: ListingReader | None = None) -> SourceRunner:
        """What runs and tries sources; an asynchronous context."""
        from comity.walk.sources.plan import SourcePlanner
        from comity.walk.sources.runner import AT_ONCE, SourceRunner, SourceTerms

        settings = self.settings
        terms = SourceTerms(
            profile=profile_of(settings, Door.SOURCES, settings.source_delay_s, settings.source_retries),
            limits=fetch_limits(settings, settings.max_response_bytes),
            agent=settings.identity,
            max_redirects=settings.max_redirects,
            collapse_subdomains=settings.collapse_subdomains,
        )
        session = self._service_session(fetcher, terms.profile, AT_ONCE, "source")
        plan = SourcePlanner(random.random, settings.source_visits_per_day or None)
        return SourceRunner(session, terms, plan, reader)

    def robots_book(self) -> RobotsBook:
        """What robots.txt says to bots and other crawlers, from the cache; for one thread."""
        from comity.walk.bots.robots import RobotsBook

        terms = robots_terms(self.settings)
        return RobotsBook(terms.agent, terms.unreachable)

    def robots_reader(self, fetcher: Fetcher) -> RobotsReader:
        """What reads robots.txt for bots and other crawlers in the background; an asynchronous context."""
        from comity.walk.bots.robots import AT_ONCE, RobotsReader

        session = self._service_session(fetcher, queue_profile(self.settings), AT_ONCE, "queue")
        return RobotsReader(session, self.clock.seconds, self.loops)

    def granter(self, reader: ReadsRobots) -> Granter:
        """What gives grants to other crawlers; an asynchronous context."""
        from comity.walk.bots.grants import Granter, GrantTerms

        terms = GrantTerms(queue_profile(self.settings), self.settings.collapse_subdomains, self.settings.grant_ttl_s)
        return Granter(self.database, self.clock, random.random, self.robots_book(), reader, terms, self.loops)

    def puller(self, reader: ReadsRobots | None = None, *, makes_jobs: bool = False) -> Puller:
        """What hands out jobs to bots; `reader` reads robots.txt that is not in the cache.

        A pull that finds nothing ends locks that ran out, so that their jobs need not wait for the sweeper. With
        `makes_jobs`, it also makes jobs of due policies, for the same reason.
        """
        from comity.upkeep.sweep_queue import refill
        from comity.walk.bots.pull import Puller, PullTerms

        collapse = self.settings.collapse_subdomains
        return Puller(
            self.database,
            self.clock,
            self._threads_of_bots(),
            self.robots_book(),
            reader,
            PullTerms(queue_profile(self.settings), collapse),
            partial(refill, self.database, self.clock, self.locks(), collapse if makes_jobs else None),
        )

    def submitter(self) -> Submitter:
        """What takes the results of bots."""
        from comity.walk.bots.submit import Submitter, SubmitTerms

        terms = SubmitTerms(queue_profile(self.settings), breaker_terms(self.settings))
        return Submitter(self.database, self.clock, self._threads_of_bots(), terms)

    def locks(self) -> Locks:
        """What keeps, releases and ends the locks of jobs."""
        from comity.walk.bots.locks import Locks

        threads = self._threads_of_bots()
        return Locks(self.database, self.clock, threads, queue_profile(self.settings), breaker_terms(self.settings))

    def queue_sweeper(self, *, makes_jobs: bool = True) -> QueueSweeper:
        """What makes jobs of due policies, and ends locks that ran out."""
        from comity.upkeep.sweep_queue import QueueSweeper

        return QueueSweeper(
            self.database,
            self.clock,
            self.locks(),
            every_s=self.settings.queue_every_s,
            makes_jobs=makes_jobs,
            collapse_subdomains=self.settings.collapse_subdomains,
        )

    def own_worker(self, fetcher: Fetcher, on_done: Callable[[JobDone], None]) -> OwnWorker:
        """What does jobs of the crawl service without a bot; an asynchronous context."""
        from comity.walk.bots.own_work import AT_ONCE, OwnTerms, OwnWorker

        settings, profile = self.settings, queue_profile(self.settings)
        terms = OwnTerms(
            profile=profile,
            limits=fetch_limits(settings, settings.max_response_bytes),
            agent=settings.identity,
            max_redirects=settings.max_redirects,
            collapse_subdomains=settings.collapse_subdomains,
            most_html_bytes=settings.max_raw_html_bytes,
        )
        session = self._service_session(fetcher, profile, AT_ONCE, "queue")
        return OwnWorker(session, self.submitter(), terms, on_done)

    def webhook_sender(self) -> WebhookSender:
        """What calls webhooks."""
        from comity.upkeep.send_webhooks import WebhookSender

        return WebhookSender(self.database, self.clock, self.fetcher, os.environ)

    def _threads_of_bots(self) -> BotThreads:
        from comity.walk.bots.threads import BotThreads

        found = _bot_threads.get(self.database)
        if found is None:
            found = _bot_threads[self.database] = BotThreads()
        return found

    def due_sources(
        self, runner: RunsSources, on_result: Callable[[Result], None] = lambda _result: None
    ) -> DueSources:
        """The scheduler of sources."""
        from comity.upkeep.due_sources import DueSources, DueTerms

        settings = self.settings
        terms = DueTerms(settings.sources_every_minutes * 60, settings.sources_limit, settings.sources_at_once)
        return DueSources(self.database, self.clock, runner, terms, on_result)

    def source_pool(
        self, runner: SourceRunner, on_result: Callable[[Result], None], on_trouble: Callable[[str], None]
    ) -> SourcePool:
        """A pool that runs a few sources at once."""
        from comity.upkeep.due_sources import SourcePool

        return SourcePool(self.database, self.clock, runner, self.settings.sources_at_once, on_result, on_trouble)

    def search_engine(self) -> SearchEngine:
        """The search engine: Meilisearch if the settings name one, the state itself otherwise."""
        settings = self.settings
        if settings.meili_url:
            from comity.search_engine.meilisearch import MeiliLink, MeiliSearch

            return MeiliSearch(MeiliLink(settings.meili_url, settings.meili_key), settings.meili_index)
        from comity.search_engine.database_engine import DatabaseSearch

        return DatabaseSearch(self.database)

    def search(self) -> JobSearch:
        """Search for job postings."""
        from comity.search_engine.job_search import JobSearch

        return JobSearch(self.database, self.clock, self.search_engine())

    def outbox_drain(self) -> OutboxDrain:
        """What sends changed postings to the search engine."""
        from comity.upkeep.drain_outbox import OutboxDrain

        return OutboxDrain(self.database, self.clock, self.search_engine())

    def bot_keys(self) -> BotKeyring:
        """What checks the API keys of bots."""
        from comity.operate.bots import BotKeyring

        return BotKeyring(self.database, self.clock.seconds)

    def why(self, address: WebAddress) -> Explanation:
        """Explain every decision about a URL, from what the state remembers."""
        from comity.reports.why import WhyTerms, explain

        settings = self.settings
        terms = WhyTerms(settings.identity, tracking_rules(settings), settings.collapse_subdomains, settings.retries)
        return explain(self.database, self.clock, address, terms, self.frontier.reads_in)

    def _proxy(self) -> ProxySettings | None:
        """The proxy of every request, if there is exactly one; with several, each host has its own."""
        from comity.fetch.settings import ProxySettings

        proxies = read_request_options(self.settings, self.clock.seconds).proxies
        return ProxySettings(*proxies[0]) if len(proxies) == 1 else None

    async def read_robots(self, fetcher: Fetcher, address: WebAddress) -> RobotsInForce:
        """The robots.txt in force for an address."""
        from comity.walk.session.session import SessionTerms

        terms = SessionTerms(
            profile=crawl_profile(self.settings),
            robots=robots_terms(self.settings),
            concurrency=1,
            collapse_subdomains=self.settings.collapse_subdomains,
            touched_by="robots",
        )
        async with self.session(fetcher, terms) as session:
            return await session.robots(address)

    def _connections(self) -> int:
        """How many connections can be kept, with the limit of open files as high as it may be."""
        from comity.fetch.settings import WANTED_CONNECTIONS, raise_connection_limit

        return max(raise_connection_limit(WANTED_CONNECTIONS), self.settings.concurrency)

    def fetcher(self) -> CurlFetcher:
        """The HTTP client, with our identity and the networks it may use."""
        from comity.fetch.fetcher import CurlFetcher
        from comity.fetch.settings import FetchSettings

        settings = self.settings
        return CurlFetcher(
            FetchSettings(
                user_agent=settings.identity,
                contact=settings.contact,
                max_concurrency=settings.concurrency,
                max_connections=self._connections(),
                max_connections_per_host=max(6, settings.per_host),
                allowed_networks=tuple(str(network) for network in settings.allow_networks),
                proxy=self._proxy(),
                compress=settings.compress,
                keep_alive=settings.keep_alive,
            ),
            self.clock.seconds,
        )


def _open_frontier(database: Database, clock: Clock, redis_url: str | None) -> FrontierStore:
    """The store that the settings name; `BadInput` if the URLs of this state are in the other one."""
    from comity.database.frontier.journal import FrontierPlace, frontier_place
    from comity.frontier.sql_store import own_frontier

    if not redis_url:
        return own_frontier(database)
    if not database.is_shared:
        raise BadInput(
            "COMITY_REDIS_URL needs a state that can be shared: set COMITY_DATABASE_URL to a postgresql:// URL"
        )
    with database.read() as connection:
        place = frontier_place(connection)
    if place is FrontierPlace.HERE:
        raise BadInput(
            "the URLs of this state are in its database, so COMITY_REDIS_URL cannot be used with it",
            remedy=Remedy(RemedyCode.MOVE_FRONTIER),
        )
    if place is FrontierPlace.BOTH:
        raise BadInput("a move of the URLs of this state was interrupted", remedy=Remedy(RemedyCode.FINISH_MOVE))
    return _redis_frontier(database, clock, redis_url)


def _redis_frontier(database: Database, clock: Clock, redis_url: str) -> RedisFrontier:
    from comity.frontier.redis.store import RedisFrontier

    return RedisFrontier(database, redis_url, clock)


@contextmanager
def open_state(settings: Settings, *, migrate: bool = True, connections: int = 2) -> Iterator[State]:
    """Open the state that the settings name, migrate its schema, and close it at the end."""
    database = open_database(settings.where, connections=connections)
    try:
        if migrate:
            ensure_current(database)
        yield State(database, SystemClock(), settings)
    finally:
        frontier = _frontiers.pop(database, None)
        if frontier is not None:
            frontier.close()
        threads = _bot_threads.pop(database, None)
        if threads is not None:
            threads.close()
        database.close()


@contextmanager
def open_existing_state(settings: Settings, *, migrate: bool = True) -> Iterator[State]:
    """Open the state to read it; a file that does not exist is read as an empty state, and is not created."""
    path = state_file(settings)
    if path is not None and not path.exists():
        settings = settings.model_copy(update={"state": ":memory:", "database_url": None, "redis_url": None})
    with open_state(settings, migrate=migrate) as state:
        yield state
