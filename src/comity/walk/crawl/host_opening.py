"""Opens the hosts of a run and loads their URLs. Everything here blocks; call it on the database thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from math import inf
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import records
from comity.database import sitemaps as sitemaps_table
from comity.database.connection import Database
from comity.database.frontier import left_out as left_out_table
from comity.frontier.host_queue import KEYS_MOST, HostQueue
from comity.frontier.store import FrontierChange, FrontierReads, FrontierStore
from comity.leases.leases import Leases
from comity.model.errors import LeaseLost
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy, FrontierEntry, QueuedUrl
from comity.model.host import HostProgress, HostStatus, Lease
from comity.model.sitemap import SitemapRow, SitemapState
from comity.rules.canonical import address_of_host, web_address
from comity.rules.sitemap_plan import has_seeded_pages
from comity.rules.traps.watch import TrapWatch
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.queue_again import queue_left_out
from comity.walk.refresh import plan_round, requeue_planned, with_same, with_seen
from comity.walk.session.leased_host import LeasedHost

_LINKS_LEAST: Final = 2_500  # remembered of each host, however many are open
_WINDOW_MOST: Final = 500  # URLs of a host that are read from the frontier at once
_WINDOW_LEAST: Final = 50
_LOADED_MOST: Final = 200_000  # URLs of all open hosts in memory, read and not yet visited
COUNTED_MOST: Final = 10_000  # URLs of a host that are counted when it is opened or released: longer takes too long
_RECALLED: Final = 10_000  # pages of earlier runs from which the trap detection learns, over hosts opened together


class HostOpener:
    """Opens hosts that were leased just now, and loads their URLs."""

    def __init__(
        self,
        database: Database,
        frontier: FrontierStore,
        leases: Leases,
        clock: Clock,
        run_id: UUID,
        terms: CrawlTerms,
        hosts_at_once: int,
    ) -> None:
        self._database = database
        self._frontier = frontier
        self._leases = leases
        self._clock = clock
        self._run_id = run_id
        self._has_own_list = terms.has_own_list
        self._track = terms.track and not terms.has_own_list
        self._traps = terms.traps
        self._sitemaps = terms.reads_sitemaps
        self._sitemaps_fresh_s = terms.sitemaps_fresh_s
        self._max_depth = terms.scope.max_depth
        self._refresh = terms.refresh
        self._images = terms.images
        self._left_out = terms.left_out
        self._links_remembered = min(KEYS_MOST, max(_LINKS_LEAST, terms.links_remembered // hosts_at_once))
        self.window = min(_WINDOW_MOST, max(_WINDOW_LEAST, _LOADED_MOST // hosts_at_once))

    def open_some(self, hosts: Sequence[LeasedHost]) -> list[tuple[int, int] | None]:
        """Mark hosts as being crawled, all in one transaction, and load their URLs.

        Returns for each the pages so far and how many URLs are queued; None if the lease was lost in the meantime.
        """
        ids = [host.lease.host_id for host in hosts]
        self._frontier.prepare_hosts(ids)
        self._lift(hosts)
        if not self._has_own_list:
            self._return_left_out(hosts)
            self._begin_rounds(hosts)
        with self._database.read() as connection:
            statuses = {} if self._has_own_list else hosts_table.status_of(connection, ids)
            keys = [self._frontier.key_of(host_id) for host_id in ids]
            sitemaps = sitemaps_table.of_hosts(connection, keys) if self._sitemaps else {}
        # The frontier may be on another server: it is read outside of the transaction.
        with self._frontier.reading() as reads:
            deep = {host.lease.host_id for host in hosts if host.has_too_deep}
            known = {host_id: self._known(reads, host_id, statuses.get(host_id), deep) for host_id in ids}
        opened: dict[UUID, tuple[int, int]] = {}
        with self._frontier.change() as change:
            held = self._leases.still_held(change.connection, [host.lease for host in hosts])
            for host in hosts:
                host_id = host.lease.host_id
                if host_id not in held:  # a late write writes nothing
                    continue
                with suppress(LeaseLost):
                    row = statuses.get(host_id)
                    known[host_id] = begun = self._begin(change, host, row, *known[host_id])
                    if self._sitemaps:
                        listed = sitemaps.get(self._frontier.key_of(host_id), [])
                        host.sitemaps = self._sitemaps_to_read(change.connection, host.lease, listed)
                    opened[host_id] = (row.pages_crawled if row is not None else 0), begun[1]
                    host.may_know_pages = opened[host_id][0] > 0
        with self._frontier.reading() as reads:
            for host in hosts:
                if host.lease.host_id in opened:
                    self._bring_to_hand(reads, host, *known[host.lease.host_id])
        self._recall([host for host in hosts if opened.get(host.lease.host_id, (0, 0))[0]])
        return [opened.get(host_id) for host_id in ids]

    def _lift(self, hosts: Sequence[LeasedHost]) -> None:
        """First queue the links that were too deep for earlier runs and are not for this one."""
        with self._frontier.reading() as reads:
            kept = reads.too_deep([host.lease.host_id for host in hosts])
        for host in hosts:
            host.has_too_deep = host.lease.host_id in kept
        lifted = [host for host in hosts if kept.get(host.lease.host_id, (0, inf))[1] <= self._max_depth]
        if not lifted:
            return
        with self._frontier.change() as change:
            held = self._leases.still_held(change.connection, [host.lease for host in lifted])
            for host in lifted:
                if host.lease.host_id in held:
                    found = change.lift(host.lease.host_id, self._max_depth)
                    if self._track:
                        news = HostProgress(pages_discovered=found)
                        with suppress(LeaseLost):
                            self._leases.add_progress(change.connection, host.lease, news, host.lease.memory)

    def _return_left_out(self, hosts: Sequence[LeasedHost]) -> None:
        """Queue URLs that earlier patterns left out and the current ones admit."""
        with self._database.read() as connection:
            asked = left_out_table.hosts_with(connection, [host.lease.host_id for host in hosts])
        for host in hosts:
            host_id = host.lease.host_id
            if host_id not in asked or asked[host_id] == self._left_out.fingerprint(host.patterns):
                continue
            with suppress(LeaseLost), self._frontier.change() as change:
                if host_id not in self._leases.still_held(change.connection, [host.lease]):
                    continue
                returned = queue_left_out(change, host_id, host.name, host.patterns, self._left_out)
                if self._track and returned.queued:
                    news = HostProgress(pages_discovered=returned.queued)
                    self._leases.add_progress(change.connection, host.lease, news, host.lease.memory)
                host.unsettled.site_links += returned.site_links  # queued with the first batch of this host

    def still_queued(self, host: LeasedHost) -> bool:
        """Whether a host without URLs got some from other hosts while it was released; then it is woken."""
        with self._frontier.reading() as reads:
            if not reads.peek(host.lease.host_id, 1, self._clock.now()):
                return False
        if not self._has_own_list:
            with self._database.write() as connection:
                hosts_table.wake_released(connection, host.lease.host_id)
        return True

    def _recall(self, hosts: Sequence[LeasedHost]) -> None:
        """Let the trap detection learn what earlier runs saw of hosts; not for too long at once."""
        with self._database.read() as connection:
            for host in hosts:
                if host.traps is not None:
                    most = max(100, _RECALLED // len(hosts))
                    host.traps.recall(records.last_contents(connection, host.name, most))

    def _known(
        self, reads: FrontierReads, host_id: UUID, row: Any, deep: Collection[UUID]
    ) -> tuple[list[int] | None, int]:
        """The keys of known URLs, None if they are more than are remembered; and how many are queued."""
        most = self._links_remembered
        keys: list[int] | None = None
        # Each of these reads only an index, however many URLs there are.
        if row is None or row.frontier_size + row.pages_crawled < most:
            keys = reads.keys(host_id, most)
            if not keys:
                return [], 0
            if host_id in deep and len(keys) < most:  # one of these that is found nearer to a seed counts as new
                keys = list(set(keys).difference(reads.too_deep_keys(host_id, most)))
        queued = reads.queued_up_to(host_id, COUNTED_MOST)
        if queued == COUNTED_MOST and row is not None:  # or more: it is not counted further
            queued = max(queued, row.frontier_size)
        return (None if keys is not None and len(keys) == most else keys), queued

    def _begin(
        self, change: FrontierChange, host: LeasedHost, row: Any, keys: list[int] | None, queued: int
    ) -> tuple[list[int] | None, int]:
        """Mark a host as being crawled; a host without URLs gets its root, unless a list says what to visit."""
        if self._has_own_list:
            return keys, queued
        lease = host.lease
        if row is not None and row.refresh_started_at is not None:
            host.refresh_began_at = row.refresh_started_at.timestamp()
        is_begun_anew = self._track and lease.status is HostStatus.PENDING and host.refresh_began_at is None
        if keys is not None and not keys:
            root = address_of_host(lease.host)
            guessed = FrontierEntry(root.url, root.key, 0, GUESSED_SCHEME_PRIORITY, found_by=FoundBy.SEED)
            change.add(lease.host_id, self._run_id, [guessed])
            if self._track:
                self._leases.add_progress(change.connection, lease, HostProgress(pages_discovered=1), lease.memory)
            keys, queued = [root.key], 1
        elif is_begun_anew and not queued:
            # Its cooldown is over, or it was reset: what was refused or seen then is requested once more.
            queued = change.requeue_all(lease.host_id)
        values: dict[str, Any] = {
            "frontier_size": queued,
            **checkpoint(self._frontier, lease, self._run_id, queued, self._clock.now()),
        }
        if self._track:
            values |= {
                "status": HostStatus.ACTIVE,
                "last_crawl_run_id": self._run_id,
                "last_crawled_at": self._clock.now(),
            }
        self._leases.write(change.connection, lease, values)
        return keys, queued

    def _bring_to_hand(self, reads: FrontierReads, host: LeasedHost, keys: list[int] | None, queued: int) -> None:
        """Load the head of a host's frontier."""
        rows = self._peek(reads, host)
        host.links_remembered = self._links_remembered
        if self._traps is not None:
            host.traps = TrapWatch(self._traps, today=self._clock.now().date())
        if host.sitemaps is not None:
            # "Not found" is not remembered for direct URLs: the next crawl looks again.
            host.is_given_directly = has_seeded_pages(rows)
            if host.is_given_directly:
                host.sitemaps = [row for row in host.sitemaps if row.state is not SitemapState.MISSING]
            first = rows[0].url if rows else reads.any_url(host.lease.host_id)
            if first is None and host.sitemaps:  # a list may begin with a sitemap
                first = host.sitemaps[0].url
            home = self._frontier.homes.get(host.lease.host) if first is None else None
            if home is not None:
                first = home.url
            host.home = web_address(first).origin if first is not None else None
            if home is not None and home.is_scheme_guessed and host.home is not None:
                host.guessed.add(host.home)
        most = self._links_remembered
        knows_all = keys is not None and not self._frontier.is_selective
        host.work = HostQueue(
            keys or (), knows_all=knows_all, is_whole=False, keys_most=most, loaded_most=2 * self.window
        )
        host.work.read(rows, is_whole=len(rows) == queued)

    def _begin_rounds(self, hosts: Sequence[LeasedHost]) -> None:
        """Begin the refreshes that are due, each in a transaction of its own; the long part only reads."""
        with self._database.read() as connection:
            due = hosts_table.due_for_refresh(connection, [host.lease.host_id for host in hosts])
        for host in hosts:
            host_id, now = host.lease.host_id, self._clock.now()
            if host_id not in due:
                continue
            with self._frontier.reading() as reads, self._database.read() as connection:
                plan = plan_round(reads, connection, host_id, now, self._refresh, images=self._images)
            with suppress(LeaseLost), self._frontier.change() as change:
                mark = {"is_refresh_due": False, "refresh_started_at": now}
                self._leases.write(change.connection, host.lease, mark)
                requeue_planned(change, host_id, *plan)
                sitemaps_table.forget(change.connection, host_id)  # what they say now decides

    def _sitemaps_to_read(
        self, connection: Connection, lease: Lease, rows: list[SitemapRow]
    ) -> list[SitemapRow] | None:
        """What is known of a host's sitemaps, if some are still to be read; after a day they are all planned again."""
        if not rows:
            return []
        oldest = self._clock.seconds() - self._sitemaps_fresh_s
        if any(row.asked_at is not None and row.asked_at < oldest for row in rows):
            sitemaps_table.forget(connection, self._frontier.key_of(lease.host_id))
            return []
        is_unfinished = any(row.state is SitemapState.PLANNED for row in rows)
        was_found = any(row.state is SitemapState.READ for row in rows)
        return rows if is_unfinished or not was_found else None

    def read_on(self, host: LeasedHost) -> tuple[list[QueuedUrl], datetime | None]:
        """The next URLs of a host, and when the earliest postponed one is due."""
        with self._frontier.reading() as reads:
            return self._peek(reads, host), reads.next_ready_at(host.lease.host_id)

    def _peek(self, reads: FrontierReads, host: LeasedHost) -> list[QueuedUrl]:
        urls = reads.peek(host.lease.host_id, self.window + len(host.work.out), self._clock.now())
        validators = self._frontier.validators
        if validators is not None and urls:
            with self._database.read() as connection:
                return with_same(connection, urls, validators([row.url for row in urls]))
        if host.refresh_began_at is None:
            return urls
        with self._database.read() as connection:
            return with_seen(connection, host.lease.host_id, urls, host.refresh_began_at)


def checkpoint(frontier: FrontierStore, lease: Lease, run_id: UUID, queued: int, now: datetime) -> dict[str, Any]:
    """When the URLs of a host changed, and where they are: None once nothing is left to resume."""
    place = frontier.checkpoint_id(lease.host_id, lease.host, run_id) if queued else None
    return {"frontier_checkpoint_id": place, "frontier_updated_at": now}
