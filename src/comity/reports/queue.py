"""Reports on the crawl service: policies, jobs, results, late submissions, price history and figures.

Every list comes in pages. `Page.cursor` names the next one; it is opaque to callers and belongs to one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import zstandard
from sqlalchemy import FromClause, String, Uuid

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import listing
from comity.database.queue.paging import FoundRows, PageOf, SortKey, Sorts, keys_of
from comity.database.queue.tables import crawl_jobs, crawl_policies, crawl_results, late_submissions
from comity.database.types import UtcDateTime
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, NotFound, Remedy, RemedyCode
from comity.model.queue import JobStatus
from comity.rules.canonical import resolve_link
from comity.rules.page_cursor import read_cursor, write_cursor
from comity.rules.queue.product import plain_price

MOST_MOVES: Final = 1000
MOST_PRICES: Final = 10_000
_FIRST_BATCH: Final = 50
_EXPORT_BATCH: Final = 500
_HOURS: Final = (1, 24)
_MOST_BOTS: Final = 100


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """A URL that is crawled again and again."""

    id: UUID
    url: str
    domain: str | None
    enabled: bool
    priority: int
    schedule: str
    frequency_hours: int
    next_run_at: datetime | None
    max_retries: int
    retry_backoff_minutes: int
    timeout_minutes: int
    importance: float
    crawl_config: dict[str, Any] | None
    failure_count: int
    last_success_at: datetime | None
    last_failed_at: datetime | None
    last_price: Decimal | None
    last_currency: str | None
    last_in_stock: bool | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CrawlJob:
    """One crawl of a URL, from when the job is made to its result."""

    id: UUID
    policy_id: UUID | None
    url: str
    domain: str
    status: JobStatus
    priority: int
    locked_by: str | None
    locked_at: datetime | None
    lock_ttl_seconds: int
    retry_count: int
    max_retries: int
    error_msg: str | None
    crawl_config: dict[str, Any] | None
    not_before: datetime | None
    slot_at: datetime | None
    slot_ends_at: datetime | None
    submitted_by: str | None
    finished_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def locked_until(self) -> datetime | None:
        """When the lock runs out."""
        return None if self.locked_at is None else self.locked_at + timedelta(seconds=self.lock_ttl_seconds)


@dataclass(frozen=True, slots=True)
class JobMove:
    """One change of a job's status."""

    before: JobStatus | None
    after: JobStatus
    actor: str | None
    reason: str | None
    moved_at: datetime


@dataclass(frozen=True, slots=True)
class SubmittedResult:
    """What a bot submitted for a job, without the HTML."""

    id: UUID
    job_id: UUID
    policy_id: UUID | None
    url: str
    price: Decimal | None
    currency: str | None
    title: str | None
    in_stock: bool | None
    parsed_data: dict[str, Any] | None
    raw_html_bytes: int | None
    bot_id: str | None
    crawled_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LateSubmission:
    """What a bot submitted after its lock had run out. It changed nothing."""

    id: UUID
    job_id: UUID
    url: str
    job_status: JobStatus
    bot_id: str
    content: dict[str, Any]
    raw_html_bytes: int | None
    received_at: datetime


@dataclass(frozen=True, slots=True)
class PricePoint:
    """Price and stock of a policy's URL at one time."""

    crawled_at: datetime
    price: Decimal | None
    currency: str | None
    in_stock: bool | None
    job_id: UUID


@dataclass(frozen=True, slots=True)
class HostFigures:
    """The open jobs of one host."""

    domain: str
    open: int
    pending: int
    locked: int
    expired: int
    oldest: datetime
    claimed_by: str | None
    claim_expires_at: datetime | None
    queue_ready_at: datetime | None


@dataclass(frozen=True, slots=True)
class BotFigures:
    """What one bot holds and has done."""

    bot_id: str
    status: str
    in_hand: int
    jobs_pulled: int
    jobs_done: int
    jobs_failed: int
    consecutive_failures: int
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobThroughput:
    """Finished jobs within some hours."""

    hours: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class QueueStats:
    """A summary of the crawl service."""

    counted_at: datetime
    jobs: dict[str, int]
    policies: dict[str, int]
    oldest_pending_at: datetime | None
    oldest_pending_seconds: float | None
    throughput: tuple[JobThroughput, ...]
    hosts: tuple[HostFigures, ...]
    bots: tuple[BotFigures, ...]


@dataclass(frozen=True, slots=True)
class FinishedHour:
    """The jobs that ended within one hour."""

    at: datetime
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class QueueGlance:
    """The queue as the console shows it. A count above `COUNTED` means: more than that."""

    jobs: dict[str, int]
    policies: dict[str, int]
    oldest_pending_at: datetime | None
    done_24h: int
    failed_24h: int


Item = TypeVar("Item")
Find = Callable[..., FoundRows]


@dataclass(frozen=True, slots=True)
class ItemPage(Generic[Item]):
    """Some items of a list, and where the next page begins; None at the end."""

    items: tuple[Item, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ListOf(Generic[Item]):
    """A list that can be paged and exported: its statement, its orders and its noun."""

    name: str
    find: Find
    table: FromClause
    sorts: Sorts
    default: str
    noun: type[Item]

    def page(
        self, database: Database, *, sort: str = "", limit: int = 50, cursor: str | None = None, **wanted: Any
    ) -> ItemPage[Item]:
        """One page. `sort` names a column, with - in front for the largest first."""
        name, descending = self.order(sort)
        keys = keys_of(self.table, self.sorts, name)
        after = None if cursor is None else _decoded(cursor, sort or self.default, keys)
        with database.read() as connection:
            rows = self.find(connection, PageOf(name, descending, limit + 1, after), **wanted)
        items = tuple(_noun(self.noun, row) for row in rows[:limit])
        last = rows[limit - 1] if len(rows) > limit else rows.last
        return ItemPage(items, None if last is None else write_cursor(sort or self.default, *_key(last, keys)))

    def safe_page(self, database: Database, *, cursor: str | None = None, **wanted: Any) -> ItemPage[Item]:
        """One page; the first if the cursor belongs to another order, which happens when a later page is sorted."""
        try:
            return self.page(database, cursor=cursor, **wanted)
        except BadInput as error:
            if cursor is None or error.field != "cursor":
                raise
            return self.page(database, **wanted)

    def each(self, database: Database, *, sort: str = "", **wanted: Any) -> Iterator[Item]:
        """Every item, in batches: no transaction stays open while a slow reader takes them."""
        return (item for item in self.export(database, sort=sort, **wanted) if item is not None)

    def export(self, database: Database, *, sort: str = "", **wanted: Any) -> Iterator[Item | None]:
        """Every item, like `each`, with None between two batches, so that a server can notice that its client has left.

        The first batch is read at once, so that a problem is an error and not a list that breaks off. It is small, so
        that an export starts quickly.
        """
        name, descending = self.order(sort)
        keys = keys_of(self.table, self.sorts, name)

        def batch(limit: int, after: tuple[Any, ...] | None) -> FoundRows:
            with database.read() as connection:
                return self.find(connection, PageOf(name, descending, limit, after), **wanted)

        def following(rows: FoundRows) -> Iterator[Item | None]:
            limit = _FIRST_BATCH
            while True:
                for row in rows:
                    yield _noun(self.noun, row)
                last = rows[-1] if len(rows) == limit else rows.last
                if last is None:
                    return
                yield None
                limit = _EXPORT_BATCH
                rows = batch(limit, _key(last, keys))

        return following(batch(_FIRST_BATCH, None))

    def order(self, sort: str) -> tuple[str, bool]:
        """The column and direction of an order; `BadInput` if there is no such column."""
        name = (sort or self.default).removeprefix("-")
        if name not in self.sorts:
            raise BadInput("sort", f"must be one of {', '.join(self.sorts)}, with - in front for the reverse order")
        return name, (sort or self.default).startswith("-")


_STATUSES: Final[Mapping[type, tuple[str, ...]]] = {
    CrawlJob: ("status",),
    JobMove: ("before", "after"),
    LateSubmission: ("job_status",),
}
_PRICES: Final = frozenset({"price", "last_price"})
POLICIES: Final = ListOf("policies", listing.policies, crawl_policies, listing.POLICY_SORTS, "next_run_at", CrawlPolicy)
JOBS: Final = ListOf("jobs", listing.jobs, crawl_jobs, listing.JOB_SORTS, "-created_at", CrawlJob)
RESULTS: Final = ListOf("results", listing.results, crawl_results, listing.RESULT_SORTS, "-created_at", SubmittedResult)
LATE: Final = ListOf(
    "late submissions", listing.late, late_submissions, listing.LATE_SORTS, "-received_at", LateSubmission
)


def find_policy(database: Database, named: str) -> CrawlPolicy:
    """A policy by its id or its URL; raises `NotFound` if it does not exist."""
    identity = identity_of(named)
    with database.read() as connection:
        row = listing.policy(connection, policy_id=identity) if identity is not None else None
        if row is None:
            row = listing.policy(connection, url=named)
        address = resolve_link(named, named) if row is None and "://" in named else None
        if address is not None:
            row = listing.policy(connection, url=address.url)
    if row is None:
        raise NotFound(f"there is no policy {named[:200]}", remedy=Remedy(RemedyCode.LIST_POLICIES))
    return _noun(CrawlPolicy, row)


def find_job(database: Database, job_id: UUID) -> CrawlJob:
    """One job; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        row = listing.job(connection, job_id)
    if row is None:
        raise NotFound(f"there is no job {job_id}", remedy=Remedy(RemedyCode.LIST_JOBS))
    return _noun(CrawlJob, row)


def find_result(database: Database, named: UUID) -> SubmittedResult:
    """One result, by its id or the id of its job; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        row = listing.result(connection, result_id=named) or listing.result(connection, job_id=named)
    if row is None:
        raise NotFound(f"there is no result {named}", remedy=Remedy(RemedyCode.LIST_RESULTS))
    return _noun(SubmittedResult, row)


def result_of_job(database: Database, job_id: UUID) -> SubmittedResult | None:
    """The result of a job, if it is done."""
    with database.read() as connection:
        row = listing.result(connection, job_id=job_id)
    return None if row is None else _noun(SubmittedResult, row)


def find_late(database: Database, late_id: UUID) -> LateSubmission:
    """One late submission; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        rows = listing.late(connection, PageOf("received_at", True, 1), id=late_id)
    if not rows:
        raise NotFound(f"there is no late submission {late_id}")
    return _noun(LateSubmission, rows[0])


def moves_of(database: Database, job_id: UUID, limit: int = MOST_MOVES) -> list[JobMove]:
    """The history of a job, oldest first; of very many, the latest."""
    with database.read() as connection:
        return [_noun(JobMove, row) for row in listing.moves(connection, job_id, limit)]


def price_history(database: Database, policy_id: UUID, limit: int = MOST_PRICES) -> list[PricePoint]:
    """Prices and stock of a policy's URL, oldest first; of very many, the latest."""
    with database.read() as connection:
        return [_noun(PricePoint, row) for row in listing.prices(connection, policy_id, limit)]


def raw_html_of(database: Database, row_id: UUID, *, late: bool = False) -> bytes:
    """The HTML of a result or of a late submission, as it was submitted; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        row = listing.raw_html(connection, "late_submissions" if late else "crawl_results", row_id)
    if row is None or row.raw_html is None:
        raise NotFound(f"there is no HTML of {row_id}")
    return zstandard.ZstdDecompressor().decompress(row.raw_html, max_output_size=row.raw_html_bytes or 0)


def queue_stats(database: Database, clock: Clock) -> QueueStats:
    """Jobs by status and host, what bots do, the oldest waiting job, and the throughput."""
    now = clock.now()
    with database.snapshot() as connection:
        counted = listing.count_by_status(connection)
        policies = listing.policy_counts(connection, now)
        oldest = listing.oldest_pending(connection)
        done = listing.throughput(connection, now, _HOURS)
        hosts = listing.busiest_hosts(connection)
        bots = listing.bot_figures(connection, _MOST_BOTS)
    return QueueStats(
        counted_at=now,
        jobs={str(status): counted.get(str(status), 0) for status in JobStatus},
        policies=policies,
        oldest_pending_at=oldest,
        oldest_pending_seconds=age_s(oldest, now),
        throughput=tuple(JobThroughput(hours, *counts) for hours, counts in done.items()),
        hosts=tuple(_noun(HostFigures, row) for row in hosts),
        bots=tuple(_noun(BotFigures, row) for row in bots),
    )


def queue_glance(database: Database, clock: Clock) -> QueueGlance:
    """What a page shows about the queue: counts stop at `COUNTED`, so they are fast however long the queue is."""
    now = clock.now()
    with database.snapshot() as connection:
        return QueueGlance(
            jobs=listing.bounded_job_counts(connection),
            policies=listing.bounded_policy_counts(connection, now),
            oldest_pending_at=listing.oldest_pending(connection),
            done_24h=listing.done_since(connection, now - timedelta(hours=24)),
            failed_24h=listing.failed_since(connection, now - timedelta(hours=24)),
        )


def finished_by_hour(database: Database, clock: Clock, hours: int) -> list[FinishedHour]:
    """How many jobs were done and failed in each of the last hours, each counted up to a bound."""
    end = clock.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    found: list[FinishedHour] = []
    with database.snapshot() as connection:
        for number in range(hours, 0, -1):
            since = end - timedelta(hours=number)
            before = since + timedelta(hours=1)
            done = listing.done_since(connection, since, before)
            found.append(FinishedHour(since, done, listing.failed_since(connection, since, before)))
    return found


def queue_figures(database: Database) -> tuple[dict[str, int], datetime | None]:
    """Jobs by status, and since when the oldest waits, for metrics."""
    with database.read() as connection:
        counted = listing.count_by_status(connection)
        oldest = listing.oldest_pending(connection)
    return {str(status): counted.get(str(status), 0) for status in JobStatus}, oldest


def age_s(since: datetime | None, now: datetime) -> float | None:
    """Seconds since a time, to the millisecond, or None."""
    return None if since is None else max(0.0, round((now - since).total_seconds(), 3))


def identity_of(text: str) -> UUID | None:
    """A text as an id, or None if it is not one."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _noun(kind: type[Item], row: Any) -> Item:
    values: dict[str, Any] = {each.name: getattr(row, each.name) for each in fields(kind)}  # type: ignore[arg-type]
    for name in _STATUSES.get(kind, ()):
        values[name] = None if values[name] is None else JobStatus(values[name])
    for name in _PRICES & values.keys():
        values[name] = None if values[name] is None else plain_price(values[name])
    return kind(**values)


def _key(row: Any, keys: Sequence[SortKey]) -> tuple[Any, ...]:
    """The values of a row by which its list is sorted."""
    return tuple(getattr(row, key.column.name) for key in keys)


def _decoded(cursor: str, sort: str, keys: Sequence[SortKey]) -> tuple[Any, ...]:
    values = read_cursor(cursor, sort, *(_kind(key) for key in keys), name="cursor")
    for value, key in zip(values, keys, strict=True):
        is_missing = value is None and not getattr(key.column, "nullable", False)
        if is_missing or (isinstance(value, int) and abs(value) >= 2**31):
            raise BadInput("cursor", "is not a cursor of this list")
    return values


def _kind(key: SortKey) -> type:
    kinds: tuple[tuple[type, type], ...] = ((UtcDateTime, datetime), (Uuid, UUID), (String, str))
    return next((found for column, found in kinds if isinstance(key.column.type, column)), int)
