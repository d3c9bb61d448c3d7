"""Closes the hosts of a run: why each ends, until when it waits, and what its row and the summary say of it.

All of it is blocking, and belongs on the database thread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import records
from comity.database import sitemaps as sitemaps_table
from comity.database.connection import Database
from comity.database.leases.leasing import ending_values
from comity.database.types import to_seconds
from comity.frontier.store import FrontierReads, FrontierStore
from comity.leases.leases import Leases
from comity.model.errors import LeaseLost
from comity.model.evidence import Evidence, EvidenceType
from comity.model.host import HostEnding, HostError, HostStatus
from comity.model.run import EndReason, Exhausted
from comity.rules.canonical import address_of_host
from comity.rules.endings import HostRecord, HostRunEnd, host_ending, host_reason
from comity.walk.crawl.host_opening import COUNTED_MOST, checkpoint
from comity.walk.crawl.progress import LEASE_LOST, HostSummary
from comity.walk.crawl.terms import CrawlTerms
from comity.walk.robots.record import RobotsInForce
from comity.walk.session.leased_host import LeasedHost

_MAKES_WAY_FOR: Final = timedelta(minutes=5)


class HostCloser:
    """Releases leases and sets the statuses of their hosts."""

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
        self._has_own_list = terms.has_own_list
        self._track = terms.track and not terms.has_own_list
        self._sitemaps = terms.reads_sitemaps
        self._max_depth = terms.scope.max_depth
        self._max_depth_name = terms.advice.max_depth
        self._leaves_sitemaps = terms.scope.sitemaps and not terms.reads_sitemaps
        self._makes_way = hosts is None

    def close_some(
        self, hosts: Sequence[tuple[LeasedHost, int]], ended_by: EndReason | None = None
    ) -> list[HostSummary]:
        """Release leases in one transaction; returns a line of the summary for each host.

        Each host comes with the number of pages that it had before this run. A lost lease is not released. `ended_by`
        is what ended the run.
        """
        with self._frontier.reading() as reads:
            left = self._left([host for host, _pages_before in hosts], reads)
            deep = reads.too_deep([host.lease.host_id for host, _pages_before in hosts if host.has_too_deep])
        with self._database.write() as connection:
            keys = [self._frontier.key_of(host.lease.host_id) for host, _pages_before in hosts]
            unread = sitemaps_table.planned_of(connection, keys) if self._sitemaps else {}
            lines = []
            for host, pages_before in hosts:
                queued, due_at = left[host.lease.host_id]
                if queued == COUNTED_MOST and not self._has_own_list:
                    row = hosts_table.get(connection, host.name)
                    queued = max(queued, row.frontier_size if row is not None else 0)
                few = unread.get(self._frontier.key_of(host.lease.host_id), 0)
                left_over = Remaining(queued, few, due_at, *deep.get(host.lease.host_id, (0, None)))
                lines.append(self._close(connection, host, pages_before, left_over, ended_by))
        for host, _pages_before in hosts:
            self._leases.forget(host.lease)
        return lines

    def _left(self, hosts: Sequence[LeasedHost], reads: FrontierReads) -> dict[UUID, tuple[int, datetime | None]]:
        """How many URLs are left, counted as far as that is cheap, and when the earliest postponed one is due."""
        # There may be very many that are not in memory, so the count has a limit.
        short = [host.lease.host_id for host in hosts if not host.work.has_more]
        queued = reads.queued_of(short) if short else {}
        left: dict[UUID, tuple[int, datetime | None]] = {}
        for host_id, has_more in ((host.lease.host_id, host.work.has_more) for host in hosts):
            urls = reads.queued_up_to(host_id, COUNTED_MOST) if has_more else queued.get(host_id, 0)
            left[host_id] = urls, reads.next_ready_at(host_id) if urls else None
        return left

    def _close(
        self,
        connection: Connection,
        host: LeasedHost,
        pages_before: int,
        left: Remaining,
        ended_by: EndReason | None,
    ) -> HostSummary:
        tally, spent, now = host.tally, host.spent_budget, self._clock.now()
        ending = self._ending(host, left.queued + left.unread_sitemaps, pages_before)
        code = reason_of(host, ending, left, ended_by, self._clock.seconds())
        extra: dict[str, Any] = {
            "frontier_size": left.queued,
            **checkpoint(self._frontier, host.lease, self._run_id, left.queued, now),
        }
        # What a sitemap names lies one step from a seed.
        extra["left_at_depth"] = 1 if self._leaves_sitemaps else left.least_depth
        if host.refresh_began_at is not None and ending.status is HostStatus.EXHAUSTED:
            extra["refresh_started_at"] = None  # the round is over
        if self._has_own_list:
            extra = {}
        waits = waits_until(host, left.due_at) if ending.status is HostStatus.ACTIVE and spent is None else None
        if waits is not None and not self._has_own_list:
            extra["next_crawl_after"] = waits  # leasing it sooner is useless
        elif spent is not None and self._is_to_make_way(connection, spent):
            extra["next_crawl_after"] = now + _MAKES_WAY_FOR
        if spent is not None and not host.is_lost:
            self._note_budget(connection, host, spent)
        tracked = ending if self._track else None
        try:
            self._leases.release_within(connection, host.lease, ending=tracked, memory=host.gate.memory(), extra=extra)
        except LeaseLost:
            lost = self._lost(connection, host)
            return HostSummary(host.name, LEASE_LOST, tally.pages, tally.errors, left.queued, lost.sentence, code=lost)
        written = ending_values(host.lease, ending, now, self._leases.terms.refresh_after) if self._track else {}
        return HostSummary(
            host.name,
            # What the row says: without tracking, its status does not change.
            str(ending.status if self._track else host.lease.status),
            tally.pages,
            tally.errors,
            left.queued,
            in_words(code, ending, left, spent, waits, self._max_depth, self._max_depth_name)
            if host.stopped_by is None or code is not host.stopped_by[0]
            else host.stopped_by[1],
            next_run_at=to_seconds((written | extra).get("next_crawl_after")),
            code=code,
            too_deep=left.too_deep,
        )

    def _lost(self, connection: Connection, host: LeasedHost) -> EndReason:
        """Whether another worker has the host, or its lease only ran out."""
        row = hosts_table.get(connection, host.name)
        is_taken = row is not None and row.claimed_by not in (None, self._leases.holder)
        return EndReason.HELD_ELSEWHERE if is_taken else EndReason.LEASE_LOST

    def _is_to_make_way(self, connection: Connection, spent: Exhausted) -> bool:
        """Whether others wait behind a host that had its part of a run and would be first again."""
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
        """Record why the run left URLs of this host in the queue."""
        root = address_of_host(host.name)
        content = {"code": str(spent.reason), "reason": spent.sentence}
        at = self._clock.seconds()
        item = Evidence(host.lease.host_id, root.url, root.key, EvidenceType.BUDGET, content, {}, "high", at)
        records.add_evidence(connection, self._run_id, [item])


class Remaining(NamedTuple):
    """What a host still has when it is closed. A sitemap still to be read may name more pages than are queued."""

    queued: int
    unread_sitemaps: int
    due_at: datetime | None  # when the earliest postponed URL is due
    too_deep: int = 0
    least_depth: int | None = None  # of those that are too deep


def reason_of(
    host: LeasedHost, ending: HostEnding, left: Remaining, ended_by: EndReason | None, now: float
) -> EndReason:
    """Why a host ends; `ended_by` is what ended the whole run."""
    return host_reason(
        HostRunEnd(
            queued=left.queued + left.unread_sitemaps,
            too_deep=left.too_deep,
            block=ending.reason,
            spent=host.spent_budget.reason if host.spent_budget is not None else None,
            asked_to_wait=host.waits_until is not None or host.gate.blocked_until > now,
            robots_unread=bool(host.tally.robots_unread),
            ended_by=ended_by,
            stopped_by=host.stopped_by[0] if host.stopped_by is not None else None,
        )
    )


def in_words(
    code: EndReason,
    ending: HostEnding,
    left: Remaining,
    spent: Exhausted | None,
    waits: datetime | None,
    max_depth: int,
    max_depth_name: str,
) -> str | None:
    """Details of the end of a host, if there are any."""
    if code is EndReason.TOO_DEEP:
        links, them = (f"{left.too_deep:,} links are", "them") if left.too_deep != 1 else ("1 link is", "it")
        return f"{links} deeper than {max_depth_name} {max_depth}; a larger {max_depth_name} follows {them}"
    if spent is not None and str(spent.reason) == code:
        return spent.sentence
    if waits is not None:
        return f"{code.sentence}, until {waits:%Y-%m-%d %H:%M:%S} UTC"
    if ending.detail is not None or code is EndReason.NOTHING_LEFT:
        return ending.detail
    return code.sentence


def waits_until(host: LeasedHost, due_at: datetime | None) -> datetime | None:
    """When a host can be requested again; None if now."""
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
    """The robots.txt of every origin that counts: not that of https where http is visited instead."""
    return [reading for origin, reading in host.robots.items() if origin not in host.without_tls]


def robots_failure(host: LeasedHost) -> HostError | None:
    """Why robots.txt of the host could not be read, if it could not."""
    return next((failure for reading in readings(host) if (failure := reading.failure) is not None), None)
