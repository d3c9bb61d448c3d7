"""Settle: outcomes become rows, in one transaction for a batch. A host whose lease is lost writes nothing.

Pages go to the store just before it, keyed by their visit, so that repeating is harmless. Links to other hosts of a
site are queued at those hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import chain
from typing import Final
from uuid import UUID

from comity.database import hosts, ledger, records, runs, sitemaps, takedowns
from comity.database.frontier import left_out, unqueued
from comity.frontier.store import FrontierChange, FrontierStore, FrontierUnavailable, HostSettlement, PutBack
from comity.leases.leases import Leases
from comity.model.dataclass import dataclass
from comity.model.evidence import Evidence
from comity.model.expression import StoredColumn
from comity.model.fetch import FailureKind
from comity.model.frontier import LINKED_IMAGE_PRIORITY, FrontierEntry, QueuedUrl, SiteLink
from comity.model.gate import GateMemory, RetryAt
from comity.model.host import HostProgress, Lease, Seed
from comity.model.ledger import LedgerRow
from comity.model.outcome import (
    Failed,
    Fetched,
    FetchRow,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
)
from comity.model.page import NO_DETAILS, KeptDetails, PageRecord
from comity.rules.canonical import canonical_host
from comity.rules.politeness.backoff import retry_decision
from comity.rules.refresh import WHOLE_REFRESH, RefreshTerms
from comity.rules.takedown import Takedowns
from comity.store.images import ImageStore
from comity.store.sink import PageSink, is_full
from comity.walk.refresh import requeue_changed
from comity.walk.session.leased_host import Unsettled
from comity.walk.settle.images import ImageRows, ImageTotals, files_of, write_images
from comity.walk.settle.rows import ANSWERED, fetch_row, known_before, page_record

_NEVER = 1e11  # an infinite wait, such as that of an ended lease, is not a date
_SOURCE: Final = "site"


@dataclass(frozen=True, slots=True)
class RetryTerms:
    """How often a URL is retried, and the longest wait between two attempts."""

    limit: int = 5
    cap_s: float = 600.0


@dataclass(slots=True)
class HostBatch:
    """What is to be settled for one host: its lease, its gate's memory, its outcomes."""

    lease: Lease
    memory: GateMemory
    errors_in_a_row: int
    outcomes: list[Outcome]
    news: Unsettled
    refresh_began_at: float | None = None
    may_know_pages: bool = False
    """Whether pages of this host may be known from before: each is counted once, however often it is fetched."""
    has_too_deep: bool = False
    """Whether links deeper than is followed are stored for this host."""


@dataclass(slots=True)
class Settled:
    """What settling a batch did."""

    lost: list[Lease] = field(default_factory=list)
    postponed: dict[UUID, list[tuple[QueuedUrl, float]]] = field(default_factory=dict)
    links: int = 0
    pages: int = 0
    failed: int = 0
    received: int = 0
    taken_off: int = 0
    images_found: int = 0
    images_stored: int = 0
    images_queued: int = 0
    requeued: dict[UUID, int] = field(default_factory=dict)
    """How many known URLs are queued again, by host."""
    has_more: set[UUID] = field(default_factory=set)
    """Hosts with queued URLs that are not in memory."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many URLs each pattern left out."""
    joined: set[str] = field(default_factory=set)
    """Hosts of the same site that got new URLs."""


@dataclass(slots=True)
class _Rows:
    """The rows of one host's batch."""

    fetches: list[FetchRow] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    again: list[PutBack] = field(default_factory=list)
    links: list[FrontierEntry] = field(default_factory=list)
    too_deep: list[FrontierEntry] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    requests: list[LedgerRow] = field(default_factory=list)
    pages: list[PageRecord] = field(default_factory=list)
    postponed: list[tuple[QueuedUrl, float]] = field(default_factory=list)
    no_images: list[int] = field(default_factory=list)  # fetched as images, are none, and pages link to them
    images: ImageRows = field(default_factory=ImageRows)
    came: list[int] = field(default_factory=list)  # pages, by their keys
    errors: int = 0
    received: int = 0
    depth: int = 0


_Stored = tuple[dict[UUID, tuple[HostBatch, _Rows]], list[tuple[UUID, PageRecord]], list[int]]


class Settler:
    """Writes batches. All methods block: call them on the database thread."""

    def __init__(
        self,
        frontier: FrontierStore,
        leases: Leases,
        store: PageSink,
        run_id: UUID,
        clock: Callable[[], datetime],
        retries: RetryTerms,
        images: ImageStore | None = None,
        *,
        finds_images: bool = False,
        refresh: RefreshTerms = WHOLE_REFRESH,
        track: bool = True,
        list_door: str | None = None,
        waits_for_space: bool = False,
        columns: tuple[StoredColumn, ...] = (),
        details: KeptDetails = NO_DETAILS,
        pauses_hosts: bool = False,
    ) -> None:
        self._columns = columns
        self._details = details
        self._waits_for_space = waits_for_space
        self._frontier = frontier
        self._leases = leases
        self._store = store
        self._images = images
        self._finds_images = finds_images
        self._refresh = refresh
        self._run_id = run_id
        self._paused_by = run_id if pauses_hosts else None
        self._clock = clock
        self._retries = retries
        self._track = track
        self._list_door = list_door
        self._has_own_list = list_door is not None
        self._earlier = unqueued.Earlier()
        self._failure: Exception | None = None
        self._owed: tuple[Sequence[HostBatch], Exception] | None = None  # a batch that must come again first, and why
        self._stored: tuple[Sequence[HostBatch], _Stored] | None = None  # the batch whose pages are on disk

    def settle(self, batches: Sequence[HostBatch]) -> Settled:
        """Settle a batch. After one that failed nothing more is settled: no page is done before what led to it.

        After `FrontierUnavailable`, the same batch may be settled again, and must be before any other. The same holds
        for a full disk that the run waits for: pages are stored before anything is committed.
        """
        if self._failure is not None:
            raise self._failure
        if self._owed is not None and self._owed[0] is not batches:
            raise self._owed[1]  # it must be settled before any other
        try:
            settled = self._settle(batches)
        except Exception as error:
            if isinstance(error, FrontierUnavailable) or (self._waits_for_space and is_full(error)):
                self._owed = (batches, error)
            else:
                self._failure = error
            raise
        self._owed = None
        return settled

    def _settle(self, batches: Sequence[HostBatch]) -> Settled:
        """Store the pages, then commit everything else; nothing is written for hosts whose lease is lost."""
        rows, pages, places = self._store_pages(batches)
        result = Settled()
        site_links = [link for batch in batches for link in batch.news.site_links]
        if site_links:
            result.joined = queue_site_links(self._frontier, self._run_id, site_links, self._clock(), self._paused_by)
        with self._frontier.change({host_id: each.links for host_id, (_batch, each) in rows.items()}) as change:
            connection = change.connection
            held = self._leases.still_held(connection, [batch.lease for batch in batches])
            result.lost = [batch.lease for batch in batches if batch.lease.host_id not in held]
            kept = [pair for host_id, pair in rows.items() if host_id in held]
            self._write(change, kept, result)
            # Requests that were made are facts, even if the lease was lost meanwhile.
            requests = chain.from_iterable(each.requests for _batch, each in rows.values())
            fetched = {batch.lease.host_id: {row.at for row in each.fetches} for batch, each in kept}
            ledger.append_requests(connection, self._run_id, requests, fetched)
        self._stored = None
        if result.lost:
            places = [place for (host_id, _page), place in zip(pages, places, strict=True) if host_id in held]
        self._store.keep(places)
        return result

    def _store_pages(self, batches: Sequence[HostBatch]) -> _Stored:
        """Turn a batch into rows and store its pages; once, however often the batch comes."""
        if self._stored is not None and self._stored[0] is batches:
            return self._stored[1]
        rows = {batch.lease.host_id: (batch, self._rows(batch)) for batch in batches}
        pages = [(host_id, page) for host_id, (_batch, each) in rows.items() for page in each.pages]
        self._store_images([each.images for _batch, each in rows.values()])
        stored = rows, pages, self._store_page_records([page for _host_id, page in pages])
        self._stored = (batches, stored)
        return stored

    def _store_page_records(self, pages: list[PageRecord]) -> list[int]:
        """Store the pages; an error names the folder."""
        try:
            return self._store.append(pages)
        except OSError as error:
            error.filename = error.filename or (str(self._store.folder) if self._store.folder is not None else None)
            raise

    def _store_images(self, rows: list[ImageRows]) -> None:
        """Store the images; one without a row is found again by its content."""
        files = files_of(rows)
        if not files:
            return
        if self._images is None:
            raise RuntimeError("images were fetched, but there is no image store")
        try:
            self._images.keep(files)
        except OSError as error:
            error.filename = error.filename or str(self._images.root)
            raise

    def _write(self, change: FrontierChange, rows: list[tuple[HostBatch, _Rows]], result: Settled) -> None:
        """Write the rows of the hosts whose leases hold, table by table."""
        connection = change.connection
        progress: list[tuple[Lease, HostProgress, GateMemory]] = []
        for batch, each in rows:
            if batch.news.sitemaps:
                sitemaps.put(connection, self._frontier.key_of(batch.lease.host_id), batch.news.sitemaps)
            if batch.news.left_out:
                if not self._has_own_list:
                    left_out.put(connection, batch.lease.host_id, batch.news.left_out, self._clock().timestamp())
                result.left_out.update(each.label for each in batch.news.left_out)
            found, again, images = self._enter_frontier(change, batch, each, result)
            known, images_known = (0, 0)
            if batch.may_know_pages and each.came:
                known, images_known = known_before(connection, each.fetches, each.came)
            counted = HostProgress(
                pages_crawled=len(each.came) - known,
                pages_discovered=found,
                errors=each.errors,
                depth_reached=each.depth,
                consecutive_errors=batch.errors_in_a_row,
                images_found=each.images.new - images_known,
                images_stored=images.stored,
                queued=found + images.queued + again - len(each.done) - len(each.dropped),
                checkpoint_id=self._frontier.checkpoint_id(batch.lease.host_id, batch.lease.host, self._run_id),
            )
            untracked = HostProgress(checkpoint_id=counted.checkpoint_id)
            progress.append((batch.lease, counted if self._track else untracked, batch.memory))
            result.postponed[batch.lease.host_id] = each.postponed
            result.requeued[batch.lease.host_id] = again
            if again:
                result.has_more.add(batch.lease.host_id)
            result.links += found
            result.pages += len(each.came)
            result.failed += each.errors
            result.received += each.received
            result.taken_off += len(each.done) + len(each.dropped)
        left = [
            unqueued.HostUnqueued(batch.lease.host_id, batch.news.unqueued, batch.news.unrecorded, batch.lease.token)
            for batch, _each in rows
            if (batch.news.unqueued or batch.news.unrecorded) and not self._has_own_list
        ]
        unqueued.put(connection, left, self._clock().timestamp(), self._earlier)
        if self._has_own_list:
            self._leases.keep_memories(connection, [(lease, memory) for lease, _counted, memory in progress])
        else:
            self._leases.settle(connection, progress)
        parts = [each for _batch, each in rows]
        records.add_fetches(connection, self._run_id, chain.from_iterable(each.fetches for each in parts))
        records.add_evidence(connection, self._run_id, chain.from_iterable(each.evidence for each in parts))
        if result.pages or result.failed:
            runs.add(connection, self._run_id, crawled=result.pages, failed=result.failed, received=result.received)

    def _enter_frontier(
        self, change: FrontierChange, batch: HostBatch, rows: _Rows, result: Settled
    ) -> tuple[int, int, ImageTotals]:
        """Update a host's frontier; returns how many links were new, how many URLs are queued again, and its images."""
        host_id, hints, lifts = batch.lease.host_id, batch.news.hints, batch.has_too_deep
        if batch.refresh_began_at is None and not rows.images:
            every = HostSettlement(rows.links, rows.done, rows.dropped, rows.again, hints, rows.too_deep, lifts)
            return change.settle(host_id, self._run_id, every), 0, ImageTotals()
        new = HostSettlement(rows.links, hints=hints, too_deep=rows.too_deep, lifts=lifts)
        found = change.settle(host_id, self._run_id, new)
        # First, while the URLs of this batch are not done yet: they are not mistaken for pages that changed since.
        again = self._requeue_changed(change, batch)
        images = self._write_images(change, batch, rows, result)
        rest = HostSettlement(done=rows.done, dropped=rows.dropped, put_back=rows.again)
        change.settle(host_id, self._run_id, rest)
        if rows.no_images:  # they are visited again, as the pages that they may be
            change.requeue_known(host_id, [(key, 0) for key in rows.no_images])
            again += len(rows.no_images)
        return found, again + images.requeued, images

    def _write_images(self, change: FrontierChange, batch: HostBatch, rows: _Rows, result: Settled) -> ImageTotals:
        if not rows.images:
            return ImageTotals()
        totals = write_images(change, batch.lease, self._run_id, rows.images, self._clock())
        result.images_found += rows.images.found
        result.images_stored += totals.stored
        result.images_queued += totals.queued
        if totals.pictures:
            rows.done = [key for key in rows.done if key not in totals.pictures]
            result.has_more.add(batch.lease.host_id)
        return totals

    def _requeue_changed(self, change: FrontierChange, batch: HostBatch) -> int:
        """Queue what a sitemap, read during a refresh of its host, says has changed."""
        hinted = [(link.key, link.hints) for link in batch.news.links if link.hints is not None]
        hinted += batch.news.hints
        if not hinted or batch.refresh_began_at is None:
            return 0
        now = self._clock()
        return requeue_changed(change, batch.lease.host_id, hinted, batch.refresh_began_at, now, self._refresh)

    def _rows(self, batch: HostBatch) -> _Rows:
        news = batch.news
        rows = _Rows(requests=list(news.requests), links=list(news.links), evidence=list(news.evidence))
        for outcome in batch.outcomes:
            rows.requests += outcome.trail.requests
            rows.evidence += outcome.trail.evidence
            (self._enter_image if outcome.entry.is_image else self._enter)(batch.lease, outcome, rows)
        return rows

    def _enter_image(self, lease: Lease, outcome: Outcome, rows: _Rows) -> None:
        """Turn the outcome of an image into its rows: it is no page, and gets none of a page's rows."""
        key = outcome.entry.key
        match outcome:
            case Postponed():
                self._enter(lease, outcome, rows)
                return
            case Refused():
                (rows.dropped if outcome.code == "taken_down" else rows.done).append(key)
            case RateLimited() | Failed():
                if self._try_again(outcome, rows):
                    return
            case _:
                rows.done.append(key)
                if outcome.entry.priority == LINKED_IMAGE_PRIORITY:
                    rows.no_images.append(key)
        if isinstance(outcome, ANSWERED):
            rows.received += outcome.answer.wire_bytes
        rows.images.enter_image(outcome)

    def _enter(self, lease: Lease, outcome: Outcome, rows: _Rows) -> None:
        """Turn one outcome into its rows: the only place that knows what each means for the frontier."""
        entry = outcome.entry
        match outcome:
            case Fetched() | NotModified():
                rows.done.append(entry.key)
                rows.came.append(entry.key)
                rows.depth = max(rows.depth, entry.depth)
                is_final = isinstance(outcome, Fetched)
            case Postponed():
                if outcome.code == "robots_unreachable" and outcome.not_before is not None:
                    # For this run only: the host is released, and robots.txt is read first when it is leased again.
                    rows.postponed.append((entry, outcome.not_before))
                elif outcome.not_before is not None and outcome.not_before < _NEVER:
                    self._postpone(entry, outcome.not_before, 0, rows)
                return
            case Refused():
                # A takedown is final; other refusals may be decided again when the host is reset.
                (rows.dropped if outcome.code == "taken_down" else rows.done).append(entry.key)
                if not outcome.trail.requests:
                    return
                rows.errors += 1  # it was fetched, and redirected to where we do not go
                is_final = True
            case Gone() | Rejected():
                rows.done.append(entry.key)
                if self._finds_images and isinstance(outcome, Rejected) and outcome.code == FailureKind.WRONG_TYPE:
                    rows.images.no_pages.append(entry.key)
                rows.errors += 1
                is_final = True
            case ImageFetched():
                return  # see `_enter_image`
            case RateLimited() | Failed():
                rows.errors += 1
                is_final = not self._try_again(outcome, rows)
        row = fetch_row(lease, outcome)
        if isinstance(outcome, Fetched):
            rows.links += outcome.links
            rows.too_deep += outcome.too_deep
            if outcome.columns_key is not None:
                row = row._replace(columns_key=outcome.columns_key)
            if outcome.images_read:
                rows.images.enter_page(outcome)
                row = row._replace(images_found=len(outcome.images), images_read=True)
        if entry.seen is not None:
            row = row._replace(discovery_type="refresh")
            if isinstance(outcome, NotModified):
                rows.images.enter_page(outcome)
                seen = entry.seen
                row = row._replace(
                    images_found=seen.images_found, images_read=seen.images_read, columns_key=seen.columns_key
                )
        if self._list_door is not None:  # it is not a visit of a crawl; a crawl counts the page when it visits it
            row = row._replace(discovery_type=self._list_door)
        rows.fetches.append(row)
        rows.received += row.wire_bytes
        if is_final:
            with_headers, columns, details = self._store.wants_headers, self._columns, self._details
            rows.pages.append(
                page_record(self._run_id, outcome, row, with_headers=with_headers, columns=columns, details=details)
            )

    def _postpone(self, entry: QueuedUrl, until: float, attempts: int, rows: _Rows) -> None:
        rows.again.append(PutBack(entry.key, until, attempts))
        rows.postponed.append((entry._replace(attempts=entry.attempts + attempts), until))

    def _try_again(self, outcome: RateLimited | Failed, rows: _Rows) -> bool:
        """Put a URL off for a retry (429, 5xx, network failures), by Fibonacci; false once its retries are used up."""
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
            self._postpone(outcome.entry, self._clock().timestamp() + decision.delay_s, 1, rows)
            return True
        rows.done.append(outcome.entry.key)
        return False


def queue_site_links(
    frontier: FrontierStore,
    run_id: UUID | None,
    links: Sequence[SiteLink],
    now: datetime,
    paused_by: UUID | None = None,
) -> set[str]:
    """Queue links to other hosts of a site in transactions of their own; returns the hosts that got new URLs.

    Workers leave hosts that become known here to the run `paused_by`.

    They come before the transaction that settles the page: a process that dies in between reads the page again, and
    queues nothing twice. Other processes settle these hosts and queue links there at the same time. All of them lock
    the rows of hosts in the order of ids, before anything else, so that none of them waits for another in a circle.

    It blocks, and belongs on the database thread.
    """
    by_host: dict[str, list[SiteLink]] = {}
    with frontier.change() as change:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(change.connection))
        for link in links:
            if refused.covering_host(link.host) is None:
                by_host.setdefault(link.host, []).append(link)
        seeds = [Seed(canonical_host(host)) for host in by_host]
        hosts.add_seeds(change.connection, seeds, _SOURCE, lambda _rank: 0, paused_by)
    if not by_host:
        return set()
    with frontier.change() as change:
        ids = hosts.ids_of(change.connection, by_host)
        hosts.lock(change.connection, ids.values())
        return _add(change, run_id, {ids[host]: found for host, found in by_host.items() if host in ids}, now)


def _add(
    change: FrontierChange, run_id: UUID | None, by_host: Mapping[UUID, Sequence[SiteLink]], now: datetime
) -> set[str]:
    change.foresee({host_id: [link.entry for link in found] for host_id, found in by_host.items()})
    queued: dict[UUID, int] = {}
    for host_id, found in by_host.items():
        near = [link.entry for link in found if not link.is_too_deep]
        deep = [link.entry for link in found if link.is_too_deep]
        queued[host_id] = change.settle(host_id, run_id, HostSettlement(near, too_deep=deep, lifts=True))
    hosts.add_discovered(change.connection, queued, now)
    return {found[0].host for host_id, found in by_host.items() if queued[host_id]}
