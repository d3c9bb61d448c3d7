"""One host's part in a run: how it begins, where its URLs come from, how it is left. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
from comity.frontier.sql_store import SqlChange, SqlReads
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
from comity.rules.stale import WHOLE_REFRESH, RefreshTerms
from comity.rules.traps import TrapWatch
from comity.walk.leased_host import LeasedHost
from comity.walk.progress import HostLineInSummary
from comity.walk.read_sitemaps import SITEMAPS_FRESH_FOR_S
from comity.walk.refresh import plan_round, requeue_planned, with_seen

WINDOW: Final = 500  # how many URLs are read from the frontier at once
_COUNTED_MOST: Final = 10_000  # URLs that are counted one by one when a host is left
_RECALLED: Final = 10_000  # pages of earlier runs from which the watch for traps learns, over hosts opened together


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
        refresh: RefreshTerms = WHOLE_REFRESH,
        images: bool = False,
        links_remembered: int = KEYS_MOST,
    ) -> None:
        self._database = database
        self._leases = leases
        self._clock = clock
        self._run_id = run_id
        self._max_errors_in_a_row = max_errors_in_a_row
        self._track = track
        self._traps = traps
        self._sitemaps = sitemaps
        self._refresh = refresh
        self._images = images
        self._links_remembered = links_remembered

    def open_some(self, hosts: Sequence[LeasedHost]) -> list[tuple[int, int] | None]:
        """Mark hosts as being crawled and bring their URLs to hand, all in one transaction.

        Gives the pages so far and how many URLs are queued, of each; None where the lease was lost meanwhile.
        """
        self._begin_rounds(hosts)
        opened: list[tuple[int, int] | None] = []
        with self._database.write() as connection:
            ids = [host.lease.host_id for host in hosts]
            held = self._leases.still_held(connection, [host.lease for host in hosts])
            standing = hosts_table.standing_of(connection, ids)
            sitemaps = sitemaps_table.of_hosts(connection, ids) if self._sitemaps else {}
            for host in hosts:
                host_id = host.lease.host_id
                if host_id not in held:  # a hand that comes late writes nothing
                    opened.append(None)
                    continue
                try:
                    opened.append(self._open(connection, host, standing.get(host_id), sitemaps.get(host_id, [])))
                except LeaseLost:
                    opened.append(None)
        self._recall([host for host, found in zip(hosts, opened, strict=True) if found is not None and found[0]])
        return opened

    def _recall(self, hosts: Sequence[LeasedHost]) -> None:
        """Have the watch for traps learn what earlier runs saw of hosts; not for too long at once."""
        with self._database.read() as connection:
            for host in hosts:
                if host.traps is not None:
                    most = max(100, _RECALLED // len(hosts))
                    host.traps.recall(records.last_contents(connection, host.name, most))

    def _open(self, connection: Connection, host: LeasedHost, row: Any, sitemaps: list[SitemapRow]) -> tuple[int, int]:
        lease = host.lease
        if row is not None and row.refresh_started_at is not None:
            host.refresh_began_at = row.refresh_started_at.timestamp()
        keys, queued = self._something_to_do(connection, host, row)
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
        knows_all = keys is not None
        host.links_remembered = self._links_remembered
        if self._traps is not None:
            host.traps = TrapWatch(self._traps, today=self._clock.now().date())
        if self._sitemaps:
            host.sitemaps = self._sitemaps_to_read(connection, lease, sitemaps)
            if host.sitemaps is not None:
                first = rows[0].url if rows else frontier_table.any_url(connection, lease.host_id)
                host.home = web_address(first).origin if first is not None else None
        most = self._links_remembered
        host.work = HostWork(keys or (), knows_all=knows_all, is_whole=False, keys_most=most)
        host.work.read(rows, is_whole=len(rows) == queued)
        return (row.pages_crawled if row is not None else 0), queued

    def _begin_rounds(self, hosts: Sequence[LeasedHost]) -> None:
        """Begin the refreshes that are due, each in a transaction of its own with its mark; the long part reads."""
        with self._database.read() as connection:
            due = hosts_table.due_for_refresh(connection, [host.lease.host_id for host in hosts])
        for host in hosts:
            host_id, now = host.lease.host_id, self._clock.now()
            if host_id not in due:
                continue
            with self._database.read() as connection:
                reads = SqlReads(connection)
                plan = plan_round(reads, connection, host_id, now, self._refresh, images=self._images)
            with suppress(LeaseLost), self._database.write() as connection:
                mark = {"is_refresh_due": False, "refresh_started_at": now}
                self._leases.write(connection, host.lease, mark)
                requeue_planned(SqlChange(connection), host_id, *plan)
                sitemaps_table.forget(connection, host_id)  # what they say now decides

    def _sitemaps_to_read(
        self, connection: Connection, lease: Lease, rows: list[SitemapRow]
    ) -> list[SitemapRow] | None:
        """What is known of a host's sitemaps, if some are still to be read; the whole plan is made anew after a day."""
        if not rows:
            return []
        oldest = self._clock.seconds() - SITEMAPS_FRESH_FOR_S
        if any(row.asked_at is not None and row.asked_at < oldest for row in rows):
            sitemaps_table.forget(connection, lease.host_id)
            return []
        is_unfinished = any(row.state is SitemapState.PLANNED for row in rows)
        was_found = any(row.state is SitemapState.READ for row in rows)
        return rows if is_unfinished or not was_found else None

    def _something_to_do(self, connection: Connection, host: LeasedHost, row: Any) -> tuple[list[int] | None, int]:
        """Make sure that there is something to begin with; gives the keys of known URLs, and how many are queued.

        None stands for more keys than are remembered.
        """
        lease, most = host.lease, self._links_remembered
        keys: list[int] | None = None
        # Each of these is answered by an index alone, however much there is.
        if row is None or row.frontier_size + row.pages_crawled < most:
            keys = frontier_table.keys(connection, lease.host_id, most)
        if keys is not None and not keys:
            root = web_address(f"https://{lease.host}/")
            frontier_table.add(connection, lease.host_id, self._run_id, [FrontierEntry(root.url, root.key)])
            if self._track:
                self._leases.add_progress(connection, lease, HostProgress(pages_discovered=1), lease.memory)
            return [root.key], 1
        queued = frontier_table.queued_up_to(connection, lease.host_id, KEYS_MOST)
        is_begun_anew = self._track and lease.status is HostStatus.PENDING and host.refresh_began_at is None
        if is_begun_anew and not queued:
            # Its cooldown is over, or somebody reset it: what was refused or seen then is to be asked once more.
            frontier_table.requeue_all(connection, lease.host_id)
            queued = frontier_table.queued_up_to(connection, lease.host_id, KEYS_MOST)
        return (None if keys is not None and len(keys) == most else keys), queued

    def read_on(self, host: LeasedHost) -> tuple[list[QueuedUrl], datetime | None]:
        """The next URLs of a host, and when the earliest that was put off may be tried."""
        with self._database.read() as connection:
            rows = self._look(connection, host)
            later = frontier_table.next_ready_at(connection, host.lease.host_id)
        return rows, later

    def _look(self, connection: Any, host: LeasedHost) -> list[QueuedUrl]:
        limit = WINDOW + len(host.work.out)
        rows = frontier_table.look(connection, host.lease.host_id, limit, self._clock.now())
        urls = [QueuedUrl(row.url, row.url_key, row.depth, row.attempts, row.priority) for row in rows]
        return urls if host.refresh_began_at is None else with_seen(connection, host.lease.host_id, urls)

    def close_some(self, hosts: Sequence[tuple[LeasedHost, int]]) -> list[HostLineInSummary]:
        """Give leases back with the statuses that the hosts deserve, in one transaction.

        With each host come the pages that it had before. One whose lease is gone has nothing to give back.
        """
        with self._database.write() as connection:
            ids = [host.lease.host_id for host, _pages_before in hosts]
            # What is not at hand may be very much, and is counted apart.
            short = [host.lease.host_id for host, _pages_before in hosts if not host.work.has_more]
            queued = frontier_table.queued_of(connection, short) if short else {}
            unread = sitemaps_table.planned_of(connection, ids) if self._sitemaps else {}
            lines = []
            for host, pages_before in hosts:
                host_id = host.lease.host_id
                left = self._queued(connection, host) if host.work.has_more else queued.get(host_id, 0)
                lines.append(self._close(connection, host, pages_before, left, unread.get(host_id, 0)))
        for host, _pages_before in hosts:
            self._leases.forget(host.lease)
        return lines

    def _queued(self, connection: Connection, host: LeasedHost) -> int:
        """How many URLs are left, counted one by one only as far as that is no work."""
        queued = frontier_table.queued_up_to(connection, host.lease.host_id, _COUNTED_MOST)
        if queued == _COUNTED_MOST:
            row = hosts_table.get(connection, host.name)
            queued = max(queued, row.frontier_size if row is not None else 0)
        return queued

    def _close(
        self, connection: Connection, host: LeasedHost, pages_before: int, queued: int, unread: int
    ) -> HostLineInSummary:
        """A sitemap that is still to be read (`unread`) may name more pages than are queued."""
        tally = host.tally
        due_at = frontier_table.next_ready_at(connection, host.lease.host_id) if queued else None
        ending = self._ending(host, queued + unread, pages_before)
        extra: dict[str, Any] = {"frontier_size": queued, "frontier_updated_at": self._clock.now()}
        if host.refresh_began_at is not None and ending.status is HostStatus.EXHAUSTED:
            extra["refresh_started_at"] = None  # the round is over
        reason = ending.detail
        if host.spent_budget is not None:
            reason = host.spent_budget.sentence
        elif ending.status is HostStatus.ACTIVE and (waits_until := _waits_until(host, due_at)) is not None:
            # No use in taking it sooner: the host asked for patience, or everything left was put off.
            extra["next_crawl_after"] = waits_until
            reason = f"what is left waits until {waits_until:%Y-%m-%d %H:%M:%S} UTC"
        if host.spent_budget is not None and not host.is_lost:
            self._note_budget(connection, host, host.spent_budget)
        ending_told = ending if self._track else None
        try:
            self._leases.release_within(
                connection, host.lease, ending=ending_told, memory=host.gate.memory(), extra=extra
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

    def _note_budget(self, connection: Connection, host: LeasedHost, spent: Exhausted) -> None:
        """Keep why the run left URLs of this host in the queue."""
        root = web_address(f"https://{host.name}/")
        content = {"code": str(spent.reason), "reason": spent.sentence}
        at = self._clock.seconds()
        item = Evidence(host.lease.host_id, root.url, root.key, EvidenceType.BUDGET, content, {}, "high", at)
        records.add_evidence(connection, self._run_id, [item])


def _waits_until(host: LeasedHost, due_at: datetime | None) -> datetime | None:
    """When a host can be asked something again; None if that is now."""
    if host.waits_until is not None:
        return datetime.fromtimestamp(host.waits_until, UTC)
    if host.work or host.work.has_more or host.work.has_images:
        return None
    unread = [reading.expires_at for reading in host.robots.values() if reading.is_unreachable]
    if host.tally.robots_unread and unread:
        robots_at = datetime.fromtimestamp(min(unread), UTC)
        return robots_at if due_at is None else min(due_at, robots_at)
    return due_at


def _robots_failure(host: LeasedHost) -> tuple[str, int | None, str] | None:
    """Why robots.txt of the host could not be read, if it could not."""
    return next((failure for reading in host.robots.values() if (failure := reading.failure) is not None), None)
