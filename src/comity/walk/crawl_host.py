"""Crawling one leased host: hand out, visit, collect, until there is nothing left or a limit says stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import frontier as frontier_table
from comity.database import hosts as hosts_table
from comity.database import records
from comity.database.connection import Database
from comity.database.instants import to_seconds
from comity.database.tables import QUEUED
from comity.leases.room import Leases
from comity.model.budget import BudgetReason, Exhausted
from comity.model.errors import LeaseLost
from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.host import HostProgress, HostStatus
from comity.model.outcome import Failed, Fetched, Gone, NotModified, Outcome, Postponed, RateLimited, Refused
from comity.rules.canonical import web_address
from comity.rules.host_ending import HostRecord, host_ending
from comity.walk.database_thread import DatabaseThread
from comity.walk.leased_host import LeasedHost
from comity.walk.progress import HostLineInSummary, Progress
from comity.walk.settling import Settling
from comity.walk.visit import VisitRooms, visit

_WINDOW: Final = 200  # how many URLs are looked up at once
_PATIENCE_S: Final = 60.0  # a host whose next URL is further away than this is given back meanwhile


@dataclass(frozen=True, slots=True)
class HostTerms:
    """Limits of one host's part in a run."""

    max_errors_in_a_row: int
    track: bool


class HostCrawl:
    """The crawl of one host under one lease."""

    def __init__(
        self,
        host: LeasedHost,
        *,
        database: Database,
        thread: DatabaseThread,
        leases: Leases,
        clock: Clock,
        rooms: VisitRooms,
        settling: Settling,
        progress: Progress,
        may_start: Callable[[LeasedHost], Exhausted | None],
        terms: HostTerms,
        run_id: UUID,
    ) -> None:
        self._host = host
        self._database = database
        self._thread = thread
        self._leases = leases
        self._clock = clock
        self._rooms = rooms
        self._settling = settling
        self._progress = progress
        self._may_start = may_start
        self._terms = terms
        self._run_id = run_id
        self._refilling = asyncio.Lock()
        self._in_flight = 0
        self._changed = asyncio.Event()
        self._stopped = False
        self._waits_until: float | None = None

    @property
    def host_name(self) -> str:
        """Which host this is."""
        return self._host.name

    def stop(self) -> None:
        """Start nothing more; what is in flight is finished."""
        self._stopped = True
        self._changed.set()

    async def run(self) -> HostLineInSummary:
        """Crawl, settle, and give the lease back with the status that the host deserves."""
        host = self._host
        before = await self._thread.run(self._begin)
        async with asyncio.TaskGroup() as group:
            for _worker in range(host.profile.max_concurrency):
                group.create_task(self._work())
        await self._settling.flush()
        return await self._thread.run(self._end, before)

    async def _work(self) -> None:
        host = self._host
        while not self._stopped and not host.is_lost:
            entry = await self._next()
            if entry is None:
                return
            spent = self._may_start(host)
            if spent is not None:
                host.handed.discard(entry.id)
                host.spent_budget = spent
                self.stop()
                return
            self._in_flight += 1
            self._progress.current_url = entry.url
            try:
                outcome = await visit(host, entry, self._rooms)
            finally:
                self._in_flight -= 1
                self._changed.set()
            self._note(outcome)
            await self._settling.put(host, outcome)

    async def _next(self) -> QueuedUrl | None:
        """The next URL to visit; None once there is none, in the frontier or on its way into it."""
        host = self._host
        while not self._stopped and not host.is_lost:
            if host.queue:
                return host.queue.popleft()
            async with self._refilling:
                if host.queue:
                    continue
                ready_at = await self._thread.run(self._look)
            if host.queue:
                continue
            if self._in_flight or len(host.handed) > 0:
                await self._something_changed()
                continue
            if ready_at is None or ready_at - self._clock.seconds() > _PATIENCE_S:
                self._waits_until = ready_at
                return None
            await self._something_changed(max(0.0, ready_at - self._clock.seconds()) + 0.001)
        return None

    async def _something_changed(self, within_s: float = 0.5) -> None:
        """Wait for a visit to end or a batch to be settled."""
        self._changed.clear()
        if self._host.handed and not self._in_flight:
            await self._settling.flush()
            return
        try:
            await asyncio.wait_for(self._changed.wait(), within_s)
        except TimeoutError:
            return

    def _look(self) -> float | None:
        """Read on in the frontier; gives when the next URL that was put off may be tried."""
        host = self._host
        now = self._clock.now()
        with self._database.read() as connection:
            rows = frontier_table.look(connection, host.lease.host_id, _WINDOW + len(host.handed), now)
            fresh = [row for row in rows if row.id not in host.handed]
            for row in fresh[:_WINDOW]:
                host.handed.add(row.id)
                host.queue.append(QueuedUrl(row.id, row.url, row.url_key, row.depth, row.attempts))
            return to_seconds(frontier_table.next_ready_at(connection, host.lease.host_id)) if not fresh else None

    def _note(self, outcome: Outcome) -> None:
        """Keep count of how the host fares."""
        tally, progress = self._host.tally, self._progress
        match outcome:
            case Fetched() | NotModified():
                tally.pages += 1
                tally.errors_in_a_row = 0
                progress.pages += 1
                tally.login_walls += isinstance(outcome, Fetched) and outcome.is_login_wall
            case Postponed():
                self._host.handed.discard(outcome.entry.id)
                return
            case Refused():
                progress.refused += 1
                if outcome.code.startswith("robots"):
                    tally.refused_by_robots += 1
            case Gone() | RateLimited():
                status = outcome.answer.status
                tally.last_error = (f"http_{status}", status, f"the server answered {status}")
                progress.errors += 1
                # A missing page says nothing about the host; being turned away does.
                tally.errors_in_a_row = tally.errors_in_a_row + 1 if status in (401, 403, 429, 503) else 0
            case Failed():
                tally.last_error = (outcome.code, outcome.status, outcome.reason)
                tally.errors_in_a_row += 1
                progress.errors += 1
            case _:
                progress.errors += 1
        if tally.errors_in_a_row >= self._terms.max_errors_in_a_row:
            self.stop()

    def _begin(self) -> int:
        """Mark the host as being crawled and make sure there is something to begin with; gives its pages so far."""
        lease = self._host.lease
        with self._database.write() as connection:
            if self._terms.track:
                self._leases.write(
                    connection,
                    lease,
                    {
                        "status": HostStatus.ACTIVE,
                        "last_crawl_run_id": self._run_id,
                        "last_crawled_at": self._clock.now(),
                    },
                )
            row = hosts_table.get(connection, lease.host)
            states = frontier_table.states(connection, lease.host_id)
            if not states:
                root = web_address(f"https://{lease.host}/")
                frontier_table.add(connection, lease.host_id, self._run_id, [FrontierEntry(root.url, root.key)])
                self._leases.add_progress(connection, lease, HostProgress(pages_discovered=1), lease.memory)
        self._progress.queued += states.get(QUEUED, 0) or (not states)
        return row.pages_crawled if row is not None else 0

    def _end(self, pages_before: int) -> HostLineInSummary:
        """Give the lease back; a lease that is gone has nothing to give back."""
        host, tally = self._host, self._host.tally
        with self._database.read() as connection:
            queued = frontier_table.size(connection, host.lease.host_id)
        ending = host_ending(
            HostRecord(
                pages=tally.pages,
                login_walls=tally.login_walls,
                refused_by_robots=tally.refused_by_robots,
                robots_unreachable=any(reading.is_unreachable for reading in host.robots.values()),
                errors_in_a_row=tally.errors_in_a_row,
                last_error=tally.last_error,
                queued=queued,
                pages_before=pages_before,
            ),
            self._terms.max_errors_in_a_row,
        )
        reason = ending.detail
        if host.spent_budget is not None:
            reason = host.spent_budget.sentence
        if host.spent_budget is not None:
            self._note_budget(host.spent_budget)
        try:
            extra: dict[str, Any] = {"frontier_size": queued, "frontier_updated_at": self._clock.now()}
            self._leases.release(
                host.lease,
                ending=ending if self._terms.track else None,
                memory=host.gate.memory(),
                extra=extra,
            )
        except LeaseLost:
            return HostLineInSummary(host.name, "lease lost", tally.pages, 0, queued, "another worker took over")
        return HostLineInSummary(host.name, str(ending.status), tally.pages, tally.errors_in_a_row, queued, reason)

    def _note_budget(self, spent: Exhausted) -> None:
        """Keep why the run left URLs of this host in the queue."""
        host_id, root = self._host.lease.host_id, web_address(f"https://{self._host.name}/")
        content = {"code": str(spent.reason), "reason": spent.sentence}
        item = Evidence(host_id, root.url, root.key, EvidenceType.BUDGET, content, {}, "high", self._clock.seconds())
        with self._database.write() as connection:
            records.add_evidence(connection, self._run_id, [item])


def is_run_budget(reason: BudgetReason) -> bool:
    """Whether a spent budget ends the whole run, and not only one host's part of it."""
    return reason is not BudgetReason.HOST_PAGE_LIMIT
