"""The one place where objects are built and handed to each other."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from comity.clock import Clock, SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import ensure_current
from comity.fetch.fetcher import Fetcher
from comity.fetch.settings import FetchSettings
from comity.leases.room import Leases, LeaseTerms
from comity.model.budget import Budget
from comity.model.fetch import FetchLimits
from comity.model.gate import DOOR_PROFILES, Door
from comity.model.robots import RobotsUnreachable
from comity.model.scope import CrawlScope
from comity.settings import Settings
from comity.store.pages import PageStore
from comity.walk.crawl import Crawl, CrawlTerms
from comity.walk.robots_keeper import RobotsTerms


@dataclass(frozen=True, slots=True)
class State:
    """The open state of a crawl, with the clock and the settings that everything on it goes by."""

    database: Database
    clock: Clock
    settings: Settings

    def leases(self) -> Leases:
        """A new holder of leases for this process."""
        terms = LeaseTerms(
            lease_s=self.settings.lease_minutes * 60,
            renew_every_s=self.settings.heartbeat_minutes * 60,
            refresh_after=self.settings.refresh_after,
        )
        return Leases(self.database, self.clock, terms)

    def crawl(self, fetcher: Fetcher, hosts: Collection[str] | None) -> Crawl:
        """A whole-site crawl of some hosts, or of whatever the table offers."""
        settings = self.settings
        leases = self.leases()
        profile = replace(DOOR_PROFILES[Door.CRAWL], interval_s=settings.delay_s, max_concurrency=settings.per_host)
        agent = settings.identity
        terms = CrawlTerms(
            profile=profile,
            scope=CrawlScope(
                max_depth=settings.max_depth,
                follow_links=settings.follow_links,
                respect_nofollow=settings.respect_nofollow,
                collapse_subdomains=settings.collapse_subdomains,
            ),
            limits=FetchLimits(
                max_body_bytes=settings.max_response_bytes,
                max_wire_bytes=settings.max_response_bytes,
                total_timeout_s=settings.fetch_timeout_s,
            ),
            budget=Budget(pages_per_run=settings.max_pages, minutes_per_run=settings.max_minutes),
            robots=RobotsTerms(
                agent=agent,
                ttl_s=settings.robots_ttl_hours * 3600,
                unreachable=RobotsUnreachable(settings.robots_unreachable),
            ),
            agent=agent,
            concurrency=settings.concurrency,
            max_redirects=settings.max_redirects,
            max_errors_in_a_row=settings.max_domain_errors,
            per_host_budget=settings.enable_per_domain_budget,
            smart=settings.enable_smart_scheduling,
            track=settings.enable_domain_tracking,
            settings_shown=settings.model_dump(mode="json", exclude={"database_url", "proxy"}),
        )
        store = PageStore(settings.pages, leases.holder)
        return Crawl(self.database, leases, fetcher, store, self.clock, random.random, terms, hosts)

    def fetcher(self) -> Fetcher:
        """A client that says who we are and refuses what it must."""
        settings = self.settings
        return Fetcher(
            FetchSettings(
                user_agent=settings.identity,
                contact=settings.contact,
                max_concurrency=settings.concurrency,
                max_connections_per_host=max(6, settings.per_host),
                allowed_networks=tuple(str(network) for network in settings.allow_networks),
            ),
            self.clock.seconds,
        )


@contextmanager
def open_state(settings: Settings, *, migrate: bool = True) -> Iterator[State]:
    """Open the state that the settings name, bring its tables up to date, and close it at the end."""
    database = open_database(settings.where)
    try:
        if migrate:
            ensure_current(database)
        yield State(database, SystemClock(), settings)
    finally:
        database.close()
