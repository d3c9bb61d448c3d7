"""One host's part in a run: how it begins, where its URLs come from, how it is left. All of it blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import records
from comity.database import sitemaps as sitemaps_table
from comity.database.connection import Database
from comity.database.instants import to_seconds
from comity.database.lease_values import ending_values
from comity.frontier.at_hand import KEYS_MOST, HostWork
from comity.frontier.store import FrontierChange, FrontierReads, FrontierStore
from comity.leases.room import Leases
from comity.model.budget import Exhausted
from comity.model.discovery import FoundBy
from comity.model.end_reason import EndReason
from comity.model.errors import LeaseLost
from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FrontierEntry, QueuedUrl
from comity.model.host import HostEnding, HostProgress, HostStatus
from comity.model.lease import Lease
from comity.model.sitemap import SitemapRow, SitemapState
from comity.rules.canonical import address_of_host, web_address
from comity.rules.host_ending import HostRecord, host_ending
from comity.rules.run_ending import HostLeft, host_reason
from comity.rules.sitemap_plan import is_given_directly
from comity.rules.traps import TrapWatch
from comity.walk.crawl.progress import HostLineInSummary
from comity.walk.crawl.summary import LEASE_LOST
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.read_sitemaps import SITEMAPS_FRESH_FOR_S
from comity.walk.refresh import plan_round, requeue_planned, with_seen
from comity.walk.robots_in_force import RobotsInForce
from comity.walk.session.leased_host import LeasedHost

# How a host is left: for which reason, in which words, and until when. What the run knows of it goes in.


class LeftOver(NamedTuple):
    """What a host still has when it is left. A sitemap that is still to be read may name more pages than are queued."""

    queued: int
    unread_sitemaps: int
    due_at: datetime | None  # when the earliest URL that was put off is due
    too_deep: int = 0
    least_depth: int | None = None  # of those that are too deep


def reason_of(
    host: LeasedHost, ending: HostEnding, left: LeftOver, ended_by: EndReason | None, now: float
) -> EndReason:
    """Why a host is left; `ended_by` is what ended the whole run."""
    return host_reason(
        HostLeft(
            queued=left.queued + left.unread_sitemaps,
            too_deep=left.too_deep,
            block=ending.reason,
            spent=host.spent_budget.reason if host.spent_budget is not None else None,
            asked_to_wait=host.waits_until is not None or host.gate.blocked_until > now,
            robots_unread=bool(host.tally.robots_unread),
            ended_by=ended_by,
        )
    )


def in_words(
    code: EndReason,
    ending: HostEnding,
    left: LeftOver,
    spent: Exhausted | None,
    waits: datetime | None,
    max_depth: int,
) -> str | None:
    """What is particular about the end of a host; nothing where there is nothing to say."""
    if code is EndReason.TOO_DEEP:
        links = f"{left.too_deep:,} links lie" if left.too_deep != 1 else "1 link lies"
        return f"{links} deeper than --max-depth {max_depth}; a larger --max-depth goes on there"
    if spent is not None and str(spent.reason) == code:
        return spent.sentence
    if waits is not None:
        return f"{code.sentence}, until {waits:%Y-%m-%d %H:%M:%S} UTC"
    if ending.detail is not None or code is EndReason.NOTHING_LEFT:
        return ending.detail
    return code.sentence


def waits_until(host: LeasedHost, due_at: datetime | None) -> datetime | None:
    """When a host can be asked something again; None if that is now."""
    if host.waits_until is not None:
        return datetime.fromtimestamp(host.waits_until, UTC)
    if host.work or host.work.has_more or host.work.has_images:
        return None
    unread = [reading.expires_at for reading in readings(host) if reading.is_unreachable]
    if host.tally.robots_unread and unread:
        robots_at = datetime.fromtimestamp(min(unread), UTC)
        return robots_at if due_at is None else min(due_at, robots_at)
    return due_at


def readings(host: LeasedHost) -> list[RobotsInForce]:
    """The robots.txt of every origin that counts: not of https where http is visited instead."""
    return [reading for origin, reading in host.robots.items() if origin not in host.without_tls]


def robots_failure(host: LeasedHost) -> tuple[str, int | None, str] | None:
    """Why robots.txt of the host could not be read, if it could not."""
    return next((failure for reading in readings(host) if (failure := reading.failure) is not None), None)


_LINKS_LEAST: Final = 5_000  # remembered of each host, however many are open
WINDOW: Final = 500  # how many URLs are read from the frontier at once
_MAKES_WAY_FOR: Final = timedelta(minutes=5)
_COUNTED_MOST: Final = 10_000  # URLs that are counted one by one when a host is left
_RECALLED: Final = 10_000  # pages of earlier runs from which the watch for traps learns, over hosts opened together


class HostLifecycle:
    """Opens hosts, reads on in their frontiers and closes them."""

    def __init__(
        self,
        database: Database,
        frontier: FrontierStore,
        leases: Leases,
        clock: Clock,
        run_id: UUID,
        terms: CrawlTerms,
        hosts: Collection[str] | None,
    ) -> None:
        self._database = database
        self._frontier = frontier
        self._leases = leases
        self._clock = clock
        self._run_id = run_id
        self._max_errors_in_a_row = terms.max_errors_in_a_row
        self._track = terms.track
        self._traps = terms.traps
        self._sitemaps = terms.reads_sitemaps
        self._max_depth = terms.scope.max_depth
        self._leaves_sitemaps = terms.scope.sitemaps and not terms.reads_sitemaps
        self._refresh = terms.refresh
        self._images = terms.images
        self._makes_way = hosts is None
        share = terms.most_hosts if hosts is None else max(1, min(terms.most_hosts, len(hosts)))
        self._links_remembered = min(KEYS_MOST, max(_LINKS_LEAST, terms.links_remembered // share))

    def open_some(self, hosts: Sequence[LeasedHost]) -> list[tuple[int, int] | None]:
        """Mark hosts as being crawled, all in one transaction, and bring their URLs to hand.

        Gives the pages so far and how many URLs are queued, of each; None where the lease was lost meanwhile.
        """
        ids = [host.lease.host_id for host in hosts]
        self._frontier.take_up(ids)
        self._lift(hosts)
        self._begin_rounds(hosts)
        with self._database.read() as connection:
            standing = hosts_table.standing_of(connection, ids)
            sitemaps = sitemaps_table.of_hosts(connection, ids) if self._sitemaps else {}
        # What is asked of the frontier is asked outside of the transaction: it may be on another server.
        with self._frontier.reading() as reads:
            deep = {host.lease.host_id for host in hosts if host.has_too_deep}
            known = {host_id: self._known(reads, host_id, standing.get(host_id), deep) for host_id in ids}
        opened: dict[UUID, tuple[int, int]] = {}
        with self._frontier.change() as change:
            held = self._leases.still_held(change.connection, [host.lease for host in hosts])
            for host in hosts:
                host_id = host.lease.host_id
                if host_id not in held:  # a hand that comes late writes nothing
                    continue
                with suppress(LeaseLost):
                    row = standing.get(host_id)
                    known[host_id] = begun = self._begin(change, host, row, *known[host_id])
                    if self._sitemaps:
                        listed = sitemaps.get(host_id, [])
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
        """Queue links that lay too deep for earlier runs and do not for this one, before anything is looked at."""
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

    def _recall(self, hosts: Sequence[LeasedHost]) -> None:
        """Have the watch for traps learn what earlier runs saw of hosts; not for too long at once."""
        with self._database.read() as connection:
            for host in hosts:
                if host.traps is not None:
                    most = max(100, _RECALLED // len(hosts))
                    host.traps.recall(records.last_contents(connection, host.name, most))

    def _known(
        self, reads: FrontierReads, host_id: UUID, row: Any, deep: Collection[UUID]
    ) -> tuple[list[int] | None, int]:
        """The keys of known URLs, None if these are more than are remembered; and how many are queued."""
        most = self._links_remembered
        keys: list[int] | None = None
        # Each of these is answered by an index alone, however much there is.
        if row is None or row.frontier_size + row.pages_crawled < most:
            keys = reads.keys(host_id, most)
            if not keys:
                return [], 0
            if host_id in deep and len(keys) < most:  # one of these that is found nearer to a seed is new
                keys = list(set(keys).difference(reads.too_deep_keys(host_id, most)))
        queued = reads.queued_up_to(host_id, KEYS_MOST)
        if queued == KEYS_MOST and row is not None:  # or more: nobody counts that far
            queued = max(queued, row.frontier_size)
        return (None if keys is not None and len(keys) == most else keys), queued

    def _begin(
        self, change: FrontierChange, host: LeasedHost, row: Any, keys: list[int] | None, queued: int
    ) -> tuple[list[int] | None, int]:
        """Mark a host as being crawled, and make sure that there is something to begin with."""
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
            # Its cooldown is over, or somebody reset it: what was refused or seen then is to be asked once more.
            queued = change.requeue_all(lease.host_id)
        values: dict[str, Any] = {"frontier_size": queued, **self._checkpoint(lease, queued)}
        if self._track:
            values |= {
                "status": HostStatus.ACTIVE,
                "last_crawl_run_id": self._run_id,
                "last_crawled_at": self._clock.now(),
            }
        self._leases.write(change.connection, lease, values)
        return keys, queued

    def _bring_to_hand(self, reads: FrontierReads, host: LeasedHost, keys: list[int] | None, queued: int) -> None:
        """The front of a host's frontier, now that all of it is there."""
        rows = self._look(reads, host)
        host.links_remembered = self._links_remembered
        if self._traps is not None:
            host.traps = TrapWatch(self._traps, today=self._clock.now().date())
        if host.sitemaps is not None:
            # "Not found" is not remembered for direct URLs: the next crawl looks again.
            host.is_given_directly = is_given_directly(rows)
            if host.is_given_directly:
                host.sitemaps = [row for row in host.sitemaps if row.state is not SitemapState.MISSING]
            first = rows[0].url if rows else reads.any_url(host.lease.host_id)
            host.home = web_address(first).origin if first is not None else None
        most = self._links_remembered
        host.work = HostWork(keys or (), knows_all=keys is not None, is_whole=False, keys_most=most)
        host.work.read(rows, is_whole=len(rows) == queued)

    def _begin_rounds(self, hosts: Sequence[LeasedHost]) -> None:
        """Begin the refreshes that are due, each in a transaction of its own with its mark; the long part reads."""
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

    def read_on(self, host: LeasedHost) -> tuple[list[QueuedUrl], datetime | None]:
        """The next URLs of a host, and when the earliest that was put off may be tried."""
        with self._frontier.reading() as reads:
            return self._look(reads, host), reads.next_ready_at(host.lease.host_id)

    def _look(self, reads: FrontierReads, host: LeasedHost) -> list[QueuedUrl]:
        urls = reads.look(host.lease.host_id, WINDOW + len(host.work.out), self._clock.now())
        if host.refresh_began_at is None:
            return urls
        with self._database.read() as connection:
            return with_seen(connection, host.lease.host_id, urls, host.refresh_began_at)

    def close_some(
        self, hosts: Sequence[tuple[LeasedHost, int]], ended_by: EndReason | None = None
    ) -> list[HostLineInSummary]:
        """Give leases back with the statuses that the hosts deserve, in one transaction.

        With each host come the pages that it had before. One whose lease is gone has nothing to give back. `ended_by`
        is what ended the run.
        """
        with self._frontier.reading() as reads:
            left = self._left([host for host, _pages_before in hosts], reads)
            deep = reads.too_deep([host.lease.host_id for host, _pages_before in hosts if host.has_too_deep])
        with self._database.write() as connection:
            ids = [host.lease.host_id for host, _pages_before in hosts]
            unread = sitemaps_table.planned_of(connection, ids) if self._sitemaps else {}
            lines = []
            for host, pages_before in hosts:
                queued, due_at = left[host.lease.host_id]
                if queued == _COUNTED_MOST:
                    row = hosts_table.get(connection, host.name)
                    queued = max(queued, row.frontier_size if row is not None else 0)
                few = unread.get(host.lease.host_id, 0)
                left_over = LeftOver(queued, few, due_at, *deep.get(host.lease.host_id, (0, None)))
                lines.append(self._close(connection, host, pages_before, left_over, ended_by))
        for host, _pages_before in hosts:
            self._leases.forget(host.lease)
        return lines

    def _left(self, hosts: Sequence[LeasedHost], reads: FrontierReads) -> dict[UUID, tuple[int, datetime | None]]:
        """How many URLs are left, and when the earliest that was put off is due; counted only as far as is no work."""
        # What is not at hand may be very much, and is counted apart.
        short = [host.lease.host_id for host in hosts if not host.work.has_more]
        queued = reads.queued_of(short) if short else {}
        left: dict[UUID, tuple[int, datetime | None]] = {}
        for host_id, has_more in ((host.lease.host_id, host.work.has_more) for host in hosts):
            urls = reads.queued_up_to(host_id, _COUNTED_MOST) if has_more else queued.get(host_id, 0)
            left[host_id] = urls, reads.next_ready_at(host_id) if urls else None
        return left

    def _close(
        self,
        connection: Connection,
        host: LeasedHost,
        pages_before: int,
        left: LeftOver,
        ended_by: EndReason | None,
    ) -> HostLineInSummary:
        tally, spent, now = host.tally, host.spent_budget, self._clock.now()
        ending = self._ending(host, left.queued + left.unread_sitemaps, pages_before)
        code = reason_of(host, ending, left, ended_by, self._clock.seconds())
        extra: dict[str, Any] = {"frontier_size": left.queued, **self._checkpoint(host.lease, left.queued)}
        # What a sitemap names lies one step from a seed.
        extra["left_at_depth"] = 1 if self._leaves_sitemaps else left.least_depth
        if host.refresh_began_at is not None and ending.status is HostStatus.EXHAUSTED:
            extra["refresh_started_at"] = None  # the round is over
        waits = waits_until(host, left.due_at) if ending.status is HostStatus.ACTIVE and spent is None else None
        if waits is not None:
            extra["next_crawl_after"] = waits  # no use in taking it sooner
        elif spent is not None and self._is_to_make_way(connection, spent):
            extra["next_crawl_after"] = now + _MAKES_WAY_FOR
        if spent is not None and not host.is_lost:
            self._note_budget(connection, host, spent)
        tracked = ending if self._track else None
        try:
            self._leases.release_within(connection, host.lease, ending=tracked, memory=host.gate.memory(), extra=extra)
        except LeaseLost:
            lost = self._lost(connection, host)
            return HostLineInSummary(
                host.name, LEASE_LOST, tally.pages, tally.errors, left.queued, lost.sentence, code=lost
            )
        written = ending_values(host.lease, ending, now, self._leases.terms.refresh_after) if self._track else {}
        return HostLineInSummary(
            host.name,
            # What the row says: without tracking, its status stays as it was.
            str(ending.status if self._track else host.lease.status),
            tally.pages,
            tally.errors,
            left.queued,
            in_words(code, ending, left, spent, waits, self._max_depth),
            next_run_at=to_seconds((written | extra).get("next_crawl_after")),
            code=code,
            too_deep=left.too_deep,
        )

    def _checkpoint(self, lease: Lease, queued: int) -> dict[str, Any]:
        """When the URLs of a host changed, and where they are: None once nothing is left to resume."""
        place = self._frontier.checkpoint_id(lease.host_id, lease.host, self._run_id) if queued else None
        return {"frontier_checkpoint_id": place, "frontier_updated_at": self._clock.now()}

    def _lost(self, connection: Connection, host: LeasedHost) -> EndReason:
        """Whether another worker has the host, or its lease only ran out."""
        row = hosts_table.get(connection, host.name)
        is_taken = row is not None and row.claimed_by not in (None, self._leases.holder)
        return EndReason.HELD_ELSEWHERE if is_taken else EndReason.LEASE_LOST

    def _is_to_make_way(self, connection: Connection, spent: Exhausted) -> bool:
        """Whether a host that had its part of a run, and would be first again, is in the way of others."""
        if not self._makes_way or not spent.reason.is_of_host:
            return False
        return self._leases.has_new_candidate(connection)

    def _ending(self, host: LeasedHost, queued: int, pages_before: int) -> HostEnding:
        tally = host.tally
        record = HostRecord(
            pages=tally.pages,
            login_walls=tally.login_walls,
            refused_by_robots=tally.refused_by_robots,
            robots_unreachable=any(reading.is_unreachable for reading in readings(host)),
            errors_in_a_row=tally.errors_in_a_row,
            last_error=tally.last_error or robots_failure(host),
            queued=queued,
            pages_before=pages_before,
            login_pages=tally.login_pages,
        )
        return host_ending(record, self._max_errors_in_a_row)

    def _note_budget(self, connection: Connection, host: LeasedHost, spent: Exhausted) -> None:
        """Keep why the run left URLs of this host in the queue."""
        root = address_of_host(host.name)
        content = {"code": str(spent.reason), "reason": spent.sentence}
        at = self._clock.seconds()
        item = Evidence(host.lease.host_id, root.url, root.key, EvidenceType.BUDGET, content, {}, "high", at)
        records.add_evidence(connection, self._run_id, [item])
