"""One host's part in a run: how it begins, where its URLs come from, how it is left. All of it blocks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import frontier as frontier_table
from comity.database import hosts as hosts_table
from comity.database import records
from comity.database import sitemaps as sitemaps_table
from comity.database.connection import Database
from comity.frontier.at_hand import KEYS_MOST, HostWork
from comity.leases.room import Leases
from comity.model.budget import Exhausted
from comity.model.errors import LeaseLost
from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.host import HostEnding, HostProgress, HostStatus
from comity.model.lease import Lease
from comity.model.sitemap import SitemapRow, SitemapState
from comity.model.traps import TrapTerms
from comity.rules.canonical import web_address
from comity.rules.host_ending import HostRecord, host_ending
from comity.rules.traps import TrapWatch
from comity.walk.leased_host import LeasedHost
from comity.walk.progress import HostLineInSummary
from comity.walk.read_sitemaps import SITEMAPS_FRESH_FOR_S

WINDOW: Final = 500  # how many URLs are read from the frontier at once
_COUNTED_MOST: Final = 10_000  # URLs that are counted one by one when a host is left
_RECALLED: Final = 5000  # pages of earlier runs from which the watch for traps learns


class HostDesk:
    """Opens hosts, reads on in their frontiers and closes them."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        clock: Clock,
        run_id: UUID,
        *,
        max_errors_in_a_row: int,
        track: bool,
        traps: TrapTerms | None,
        sitemaps: bool,
    ) -> None:
        self._database = database
        self._leases = leases
        self._clock = clock
        self._run_id = run_id
        self._max_errors_in_a_row = max_errors_in_a_row
        self._track = track
        self._traps = traps
        self._sitemaps = sitemaps

    def open(self, host: LeasedHost) -> tuple[int, int]:
        """Mark a host as being crawled and bring its URLs to hand; gives its pages so far and how many are queued."""
        lease = host.lease
        with self._database.write() as connection:
            known, queued = self._something_to_do(connection, lease)
            row = hosts_table.get(connection, lease.host)
            if queued == KEYS_MOST and row is not None:  # or more: nobody counts that far
                queued = max(queued, row.frontier_size)
            values: dict[str, Any] = {"frontier_size": queued}
            if self._track:
                values |= {
                    "status": HostStatus.ACTIVE,
                    "last_crawl_run_id": self._run_id,
                    "last_crawled_at": self._clock.now(),
                }
            self._leases.write(connection, lease, values)
            rows = self._look(connection, host)
            knows_all = known < KEYS_MOST
            keys = frontier_table.keys(connection, lease.host_id, KEYS_MOST) if knows_all else []
            if self._traps is not None:
                host.traps = self._trap_watch(connection, lease.host, self._traps)
            if self._sitemaps:
                host.sitemaps = self._sitemaps_to_read(connection, lease)
                if host.sitemaps is not None:
                    first = rows[0].url if rows else frontier_table.any_url(connection, lease.host_id)
                    host.home = web_address(first).origin if first is not None else None
        host.work = HostWork(keys, knows_all=knows_all, is_whole=False)
        host.work.read(rows, is_whole=len(rows) == queued)
        return (row.pages_crawled if row is not None else 0), queued

    def _trap_watch(self, connection: Connection, host: str, terms: TrapTerms) -> TrapWatch:
        """A watch that has seen what earlier runs saw of the host."""
        watch = TrapWatch(terms, today=self._clock.now().date())
        watch.recall(records.last_contents(connection, host, _RECALLED))
        return watch

    def _sitemaps_to_read(self, connection: Connection, lease: Lease) -> list[SitemapRow] | None:
        """What is known of a host's sitemaps, if some are still to be read; the whole plan is made anew after a day."""
        rows = sitemaps_table.of_host(connection, lease.host_id)
        oldest = self._clock.seconds() - SITEMAPS_FRESH_FOR_S
        if not rows or any(row.asked_at is not None and row.asked_at < oldest for row in rows):
            sitemaps_table.forget(connection, lease.host_id)
            return []
        is_unfinished = any(row.state is SitemapState.PLANNED for row in rows)
        was_found = any(row.state is SitemapState.READ for row in rows)
        return rows if is_unfinished or not was_found else None

    def _something_to_do(self, connection: Connection, lease: Lease) -> tuple[int, int]:
        """Make sure that there is something to begin with; gives how many URLs are known, and how many queued."""
        known = frontier_table.known_up_to(connection, lease.host_id, KEYS_MOST)
        if not known:
            root = web_address(f"https://{lease.host}/")
            frontier_table.add(connection, lease.host_id, self._run_id, [FrontierEntry(root.url, root.key)])
            if self._track:
                self._leases.add_progress(connection, lease, HostProgress(pages_discovered=1), lease.memory)
            return 1, 1
        queued = frontier_table.queued_up_to(connection, lease.host_id, KEYS_MOST)
        if self._track and lease.status is HostStatus.PENDING and not queued:
            # Its cooldown is over, or it is due again: what was refused or seen then is to be asked once more.
            frontier_table.requeue_all(connection, lease.host_id)
            queued = frontier_table.queued_up_to(connection, lease.host_id, KEYS_MOST)
        return known, queued

    def read_on(self, host: LeasedHost) -> tuple[list[QueuedUrl], datetime | None]:
        """The next URLs of a host, and when the earliest that was put off may be tried."""
        with self._database.read() as connection:
            rows = self._look(connection, host)
            later = frontier_table.next_ready_at(connection, host.lease.host_id)
        return rows, later

    def _look(self, connection: Any, host: LeasedHost) -> list[QueuedUrl]:
        limit = WINDOW + len(host.work.out)
        rows = frontier_table.look(connection, host.lease.host_id, limit, self._clock.now())
        return [QueuedUrl(row.url, row.url_key, row.depth, row.attempts, row.priority) for row in rows]

    def close(self, host: LeasedHost, pages_before: int) -> HostLineInSummary:
        """Give the lease back with the status that the host deserves; one that is gone has nothing to give back."""
        tally = host.tally
        with self._database.read() as connection:
            queued = frontier_table.queued_up_to(connection, host.lease.host_id, _COUNTED_MOST)
            if queued == _COUNTED_MOST:
                row = hosts_table.get(connection, host.name)
                queued = max(queued, row.frontier_size if row is not None else 0)
            due_at = frontier_table.next_ready_at(connection, host.lease.host_id) if queued else None
            # A sitemap that is still to be read may name more pages.
            unread = sitemaps_table.planned(connection, host.lease.host_id) if self._sitemaps else 0
        ending = self._ending(host, queued + unread, pages_before)
        extra: dict[str, Any] = {"frontier_size": queued, "frontier_updated_at": self._clock.now()}
        reason = ending.detail
        if host.spent_budget is not None:
            reason = host.spent_budget.sentence
        elif ending.status is HostStatus.ACTIVE and (waits_until := _waits_until(host, due_at)) is not None:
            # No use in taking it sooner: the host asked for patience, or everything left was put off.
            extra["next_crawl_after"] = waits_until
            reason = f"what is left waits until {waits_until:%Y-%m-%d %H:%M:%S} UTC"
        if host.spent_budget is not None and not host.is_lost:
            self._note_budget(host, host.spent_budget)
        try:
            self._leases.release(
                host.lease, ending=ending if self._track else None, memory=host.gate.memory(), extra=extra
            )
        except LeaseLost:
            detail = "another worker took over"
            return HostLineInSummary(host.name, "lease lost", tally.pages, tally.errors, queued, detail)
        return HostLineInSummary(host.name, str(ending.status), tally.pages, tally.errors, queued, reason)

    def _ending(self, host: LeasedHost, queued: int, pages_before: int) -> HostEnding:
        tally = host.tally
        record = HostRecord(
            pages=tally.pages,
            login_walls=tally.login_walls,
            refused_by_robots=tally.refused_by_robots,
            robots_unreachable=any(reading.is_unreachable for reading in host.robots.values()),
            errors_in_a_row=tally.errors_in_a_row,
            last_error=tally.last_error or _robots_failure(host),
            queued=queued,
            pages_before=pages_before,
            login_pages=tally.login_pages,
        )
        return host_ending(record, self._max_errors_in_a_row)

    def _note_budget(self, host: LeasedHost, spent: Exhausted) -> None:
        """Keep why the run left URLs of this host in the queue."""
        root = web_address(f"https://{host.name}/")
        content = {"code": str(spent.reason), "reason": spent.sentence}
        at = self._clock.seconds()
        item = Evidence(host.lease.host_id, root.url, root.key, EvidenceType.BUDGET, content, {}, "high", at)
        with self._database.write() as connection:
            records.add_evidence(connection, self._run_id, [item])


def _waits_until(host: LeasedHost, due_at: datetime | None) -> datetime | None:
    """When a host can be asked something again; None if that is now."""
    if host.waits_until is not None:
        return datetime.fromtimestamp(host.waits_until, UTC)
    if host.work or host.work.has_more:
        return None
    unread = [reading.expires_at for reading in host.robots.values() if reading.is_unreachable]
    if host.tally.robots_unread and unread:
        robots_at = datetime.fromtimestamp(min(unread), UTC)
        return robots_at if due_at is None else min(due_at, robots_at)
    return due_at


def _robots_failure(host: LeasedHost) -> tuple[str, int | None, str] | None:
    """Why robots.txt of the host could not be read, if it could not."""
    return next((failure for reading in host.robots.values() if (failure := reading.failure) is not None), None)
