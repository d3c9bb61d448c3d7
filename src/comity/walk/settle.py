"""Settle: outcomes become rows. One transaction a batch; a host whose lease is gone writes nothing.

Pages go to the store just before it, keyed by their visit, so that repeating is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from comity.database import frontier, records, runs
from comity.database.connection import Database
from comity.database.instants import from_seconds
from comity.leases.room import Leases
from comity.model.errors import LeaseLost
from comity.model.evidence import Evidence
from comity.model.frontier import FrontierEntry
from comity.model.gate import GateMemory, RetryAt
from comity.model.host import HostProgress
from comity.model.lease import Lease
from comity.model.ledger import LedgerRow
from comity.model.outcome import (
    Failed,
    Fetched,
    Gone,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
)
from comity.model.page_record import PageRecord
from comity.rules.backoff import retry_decision
from comity.rules.surt import surt_key
from comity.store.pages import PageStore

_NEVER = 1e11  # an infinite wait, such as that of a lease that is over, is no date


@dataclass(frozen=True, slots=True)
class RetryTerms:
    """How often a URL is tried again, and how long the longest wait of our own is."""

    limit: int = 5
    cap_s: float = 600.0


@dataclass(slots=True)
class HostBatch:
    """What is to be settled for one host: its lease, its gate's memory, its outcomes."""

    lease: Lease
    memory: GateMemory
    errors_in_a_row: int
    outcomes: list[Outcome] = field(default_factory=list)
    requests: list[LedgerRow] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


@dataclass(slots=True)
class Settled:
    """What settling a batch did, host by host."""

    lost: list[Lease] = field(default_factory=list)
    new_links: dict[UUID, int] = field(default_factory=dict)
    pages: int = 0
    failed: int = 0
    received: int = 0
    taken_off: int = 0


@dataclass(slots=True)
class _Rows:
    """The rows of one host's batch."""

    fetches: list[dict[str, Any]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    again: list[tuple[int, float, int]] = field(default_factory=list)
    links: list[FrontierEntry] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    requests: list[LedgerRow] = field(default_factory=list)
    pages: list[PageRecord] = field(default_factory=list)
    crawled: int = 0
    errors: int = 0
    received: int = 0
    depth: int = 0


class Settler:
    """Writes batches; all its methods block and belong on the database thread."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        store: PageStore,
        run_id: UUID,
        clock: Callable[[], datetime],
        retries: RetryTerms,
        *,
        track: bool = True,
    ) -> None:
        self._database = database
        self._leases = leases
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._retries = retries
        self._track = track

    def settle(self, batches: Sequence[HostBatch]) -> Settled:
        """Store the pages, then commit everything else; leases found lost are told, and none of theirs is written."""
        rows = [self._rows(batch) for batch in batches]
        pages = [page for each in rows for page in each.pages]
        places = iter(self._store.append(pages) if pages else ())
        result = Settled()
        kept: list[int] = []
        with self._database.write() as connection:
            for batch, each in zip(batches, rows, strict=True):
                mine = [next(places) for _page in each.pages]
                try:
                    self._write(connection, batch, each, result)
                    kept += mine
                except LeaseLost:
                    result.lost.append(batch.lease)
            if result.pages or result.failed:
                runs.add(connection, self._run_id, crawled=result.pages, failed=result.failed, received=result.received)
        self._store.keep(kept)
        if self._store.is_due:
            self._store.roll()
        return result

    def _write(self, connection: Any, batch: HostBatch, rows: _Rows, result: Settled) -> None:
        """One host's part of the transaction; the lease is asked first, and nothing follows if it is gone."""
        self._leases.write(connection, batch.lease, {})
        found = frontier.add(connection, batch.lease.host_id, self._run_id, rows.links)
        progress = HostProgress(
            pages_crawled=rows.crawled,
            pages_discovered=found,
            errors=rows.errors,
            depth_reached=rows.depth,
            consecutive_errors=batch.errors_in_a_row,
        )
        self._leases.add_progress(connection, batch.lease, progress if self._track else HostProgress(), batch.memory)
        records.add_fetches(connection, rows.fetches)
        frontier.acknowledge(connection, rows.done)
        frontier.acknowledge(connection, rows.dropped, dropped=True)
        for entry_id, at, attempts in rows.again:
            frontier.put_back(connection, entry_id, datetime.fromtimestamp(at, UTC), attempts=attempts)
        records.add_evidence(connection, self._run_id, rows.evidence)
        records.add_to_ledger(connection, self._run_id, rows.requests)
        result.new_links[batch.lease.host_id] = found
        result.pages += rows.crawled
        result.failed += rows.errors
        result.received += rows.received
        result.taken_off += len(rows.done) + len(rows.dropped)

    def _rows(self, batch: HostBatch) -> _Rows:
        rows = _Rows(requests=list(batch.requests), evidence=list(batch.evidence))
        for outcome in batch.outcomes:
            rows.requests += outcome.trail.requests
            rows.evidence += outcome.trail.evidence
            self._enter(batch.lease, outcome, rows)
        return rows

    def _enter(self, lease: Lease, outcome: Outcome, rows: _Rows) -> None:
        """Turn one outcome into its rows: the only place that knows what each ending means for the frontier."""
        entry = outcome.entry
        match outcome:
            case Postponed():
                if outcome.not_before is not None and outcome.not_before < _NEVER:
                    rows.again.append((entry.id, outcome.not_before, 0))
                return
            case Refused():
                rows.dropped.append(entry.id)
                return
            case Fetched() | NotModified():
                rows.done.append(entry.id)
                rows.crawled += 1
                rows.depth = max(rows.depth, entry.depth)
            case Gone() | Rejected():
                rows.done.append(entry.id)
                rows.errors += 1
            case RateLimited() | Failed():
                rows.errors += 1
                self._try_again(outcome, rows)
        is_final = entry.id in rows.done or entry.id in rows.dropped
        if isinstance(outcome, Fetched):
            rows.links += outcome.links
        rows.fetches.append(self._fetch_row(lease, outcome))
        rows.received += rows.fetches[-1]["bytes_received"]
        if is_final and not isinstance(outcome, NotModified):
            rows.pages.append(self._page(outcome, rows.fetches[-1]))

    def _try_again(self, outcome: RateLimited | Failed, rows: _Rows) -> None:
        """Request retries: by Fibonacci, at most so many for a URL (429, 5xx and network failures)."""
        status = outcome.answer.status if isinstance(outcome, RateLimited) else outcome.status
        after = outcome.retry_after_s if isinstance(outcome, RateLimited) else None
        decision = retry_decision(
            status if status is None or status >= 400 else None,
            outcome.entry.attempts,
            self._retries.limit,
            after,
            self._retries.cap_s,
        )
        if isinstance(decision, RetryAt):
            rows.again.append((outcome.entry.id, self._clock().timestamp() + decision.delay_s, 1))
        else:
            rows.done.append(outcome.entry.id)

    def _fetch_row(
        self, lease: Lease, outcome: Fetched | NotModified | Gone | RateLimited | Rejected | Failed
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "run_id": self._run_id,
            "domain_id": lease.host_id,
            "domain": lease.host,
            "page_url": outcome.entry.url,
            "url_key": outcome.entry.key,
            "depth": outcome.entry.depth,
            "outcome": _NAMES[type(outcome)],
            "error": None,
            "content_hash": None,
            "final_url": None,
            "redirect_count": 0,
            "content_type": None,
            "etag": None,
            "last_modified": None,
        }
        if isinstance(outcome, Rejected | Failed):
            return row | {
                "status": outcome.status,
                "error": f"{outcome.code}: {outcome.reason}",
                "bytes_received": outcome.wire_bytes,
                "duration_ms": round(outcome.elapsed_s * 1000),
                "crawled_at": from_seconds(outcome.at),
            }
        answer = outcome.answer
        row |= {
            "status": answer.status,
            "final_url": answer.final_url,
            "redirect_count": answer.redirect_count,
            "content_type": answer.content_type,
            "etag": answer.etag,
            "last_modified": answer.last_modified,
            "bytes_received": answer.wire_bytes,
            "duration_ms": round(answer.elapsed_s * 1000),
            "crawled_at": from_seconds(answer.at),
        }
        if isinstance(outcome, Fetched):
            row["content_hash"] = outcome.content_hash
        elif not isinstance(outcome, NotModified):
            row["error"] = f"http_{answer.status}"
        return row

    def _page(self, outcome: Outcome, row: dict[str, Any]) -> PageRecord:
        fetched = outcome if isinstance(outcome, Fetched) else None
        keeps_body = fetched is not None and fetched.keep
        return PageRecord(
            run_id=self._run_id,
            url_key=row["url_key"],
            url=row["page_url"],
            surt_key=surt_key(row["page_url"]),
            http_status=row["status"],
            body=fetched.body if fetched is not None and keeps_body else None,
            encoding=fetched.encoding if fetched is not None else None,
            content_type=row["content_type"],
            crawl_time=row["crawled_at"].timestamp(),
            error=row["error"] if fetched is None else (None if keeps_body else "noindex"),
            etag=row["etag"],
            last_modified=row["last_modified"],
            content_hash=row["content_hash"],
            final_url=row["final_url"],
            redirect_count=row["redirect_count"],
            title=fetched.title if fetched is not None and keeps_body else None,
        )


_NAMES = {
    Fetched: "fetched",
    NotModified: "not_modified",
    Gone: "gone",
    RateLimited: "rate_limited",
    Rejected: "rejected",
    Failed: "failed",
}
