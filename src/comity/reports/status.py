"""The status of the whole state: workers, leases, queues, throughput, errors.

It reads a bounded part of the state, so it can be called every few seconds. Estimates are marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from comity.clock import Clock
from comity.database import outbox as search_outbox
from comity.database import status_queries
from comity.database.connection import Database
from comity.database.queue import reservations
from comity.model.dataclass import dataclass
from comity.model.host import HostStatus
from comity.model.search import OutboxStatus

_WORKERS_MOST: Final = 200
_RUNS_LOOKED_AT: Final = 200
_MAX_RUNS: Final = 5
_MAX_DUE: Final = 5
_ERRORS_LOOKED_AT: Final = 5_000
_MAX_ERRORS: Final = 8
_OF_CLIENTS: Final = (reservations.BOT, reservations.GRANT)
_SILENT_AFTER: Final = 2.0  # missed heartbeats


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One holder of leases. It was last seen when it took or renewed one.

    Bots and other crawlers do not renew leases: they hold a host until the time limit of their jobs or grants.
    """

    holder: str
    machine: str
    process: int | None
    hosts: int
    expired: int
    is_client: bool
    """A bot or another crawler, which is not a worker."""
    is_silent: bool
    seen_at: datetime | None
    first_end: datetime
    run_started_at: datetime | None
    pages: int | None


@dataclass(frozen=True, slots=True)
class QueueLine:
    """Hosts of one status; `waiting` are those that a worker would take now: seeded, due, and free."""

    status: HostStatus
    hosts: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """Fetches within a period, by outcome."""

    seconds: int
    fetches: int
    bytes_received: int
    outcomes: dict[str, int]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class DueLine:
    """A host that is due again at a time."""

    host: str
    status: HostStatus
    reason: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run that started lately."""

    run_id: str
    status: str
    reason: str | None  # the code of an end reason
    detail: str | None  # the same in words
    started_at: datetime
    ended_at: datetime | None
    pages: int
    errors: int
    bytes_received: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted in the state itself; `stuck` are leases that ran out and were not taken over."""

    hosts: tuple[QueueLine, ...]
    claims: int
    stuck: int
    frontier: int
    frontier_is_exact: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The whole status at one moment."""

    at: datetime
    figures: Figures
    silent: int
    workers: tuple[WorkerLine, ...]
    minute: Throughput
    hour: Throughput
    due: tuple[DueLine, ...]
    errors: tuple[ErrorLine, ...]
    runs: tuple[RunLine, ...]


def check_state(database: Database) -> None:
    """Whether the state answers; `StateUnavailable` if not."""
    with database.read() as connection:
        status_queries.bound(connection)
        status_queries.answers(connection)


def figures_of(database: Database, clock: Clock) -> Figures:
    """The counts alone, as metrics show them."""
    with database.read() as connection:
        status_queries.bound(connection)
        return _figures(connection, status_queries.moment(connection, database.now(clock)))


def status_of(
    database: Database, clock: Clock, *, lease_s: float, heartbeat_s: float, figures: Figures | None = None
) -> Status:
    """The status now. A holder was last seen when it last took or renewed a lease, so the leases tell.

    Pass `figures` if they were counted a moment ago.
    """
    with database.read() as connection:
        status_queries.bound(connection)
        now = status_queries.moment(connection, database.now(clock))
        figures = figures or _figures(connection, now)
        runs = status_queries.last_runs(connection, _RUNS_LOOKED_AT)
        of_holders = {run.holder: run for run in reversed(runs) if run.holder}
        claims = status_queries.claims(connection, now, _WORKERS_MOST)
        workers = tuple(_worker(row, of_holders.get(row.claimed_by), now, lease_s, heartbeat_s) for row in claims)
        errors = status_queries.last_errors(connection, now - timedelta(hours=1), _ERRORS_LOOKED_AT)
        return Status(
            at=now,
            figures=figures,
            silent=sum(line.hosts - line.expired for line in workers if line.is_silent),
            workers=workers,
            minute=_throughput(connection, now, 60),
            hour=_throughput(connection, now, 3600),
            due=tuple(
                DueLine(row.domain, row.status, row.block_reason_code, row.next_crawl_after)
                for row in status_queries.due_next(connection, now, _MAX_DUE)
            ),
            errors=errors_by_kind(errors, _MAX_ERRORS),
            runs=tuple(_run(row) for row in runs[:_MAX_RUNS]),
        )


def _figures(connection: Any, now: datetime) -> Figures:
    known = status_queries.hosts_by_status(connection)
    waiting = status_queries.waiting_by_status(connection, now)
    totals = status_queries.claim_totals(connection, now)
    frontier = status_queries.frontier_size(connection, known)
    lines = (QueueLine(status, known[status], waiting.get(status, 0)) for status in HostStatus if status in known)
    return Figures(tuple(lines), totals.hosts, int(totals.expired), frontier.number, frontier.is_exact)


def _worker(row: Any, run: Any, now: datetime, lease_s: float, heartbeat_s: float) -> WorkerLine:
    """Read a holder's name, and when it was last seen: a lease ends a fixed time after it was taken or renewed."""
    if run is not None and run.lease_minutes:
        lease_s = run.lease_minutes * 60
    parts = row.claimed_by.split(":")
    is_ours = len(parts) == 4 and parts[1].isdecimal()
    is_client = row.claimed_by.startswith(_OF_CLIENTS)
    seen_at = row.last_end - timedelta(seconds=lease_s)
    return WorkerLine(
        holder=row.claimed_by,
        machine=parts[0] if is_ours else row.claimed_by,
        process=int(parts[1]) if is_ours else None,
        hosts=row.hosts,
        expired=int(row.expired),
        is_client=is_client,
        is_silent=not is_client and (now - seen_at).total_seconds() > _SILENT_AFTER * heartbeat_s,
        seen_at=None if is_client else seen_at,
        first_end=row.first_end,
        run_started_at=run.started_at if run is not None else None,
        pages=run.pages_crawled if run is not None else None,
    )


def _throughput(connection: Any, now: datetime, seconds: int) -> Throughput:
    rows, is_exact = status_queries.fetched_since(connection, now - timedelta(seconds=seconds))
    return Throughput(
        seconds=seconds,
        fetches=sum(row.fetches for row in rows),
        bytes_received=sum(row.bytes_received for row in rows),
        outcomes={row.outcome: row.fetches for row in rows},
        is_exact=is_exact,
    )


def _run(row: Any) -> RunLine:
    return RunLine(
        run_id=str(row.id),
        status=row.status,
        reason=row.end_reason,
        detail=row.end_detail,
        started_at=row.started_at,
        ended_at=row.ended_at,
        pages=row.pages_crawled,
        errors=row.pages_failed,
        bytes_received=row.bytes_received,
    )


def outbox_status(database: Database) -> OutboxStatus:
    """Changes that search has yet to index."""
    with database.read() as connection:
        return search_outbox.status(connection)


_URLS_A_KIND: Final = 3
_LONGEST_CODE: Final = 60


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One kind of error: `host` and `at` are those of the last, `urls` the first few."""

    code: str
    count: int
    host: str
    at: datetime
    urls: tuple[str, ...] = ()


def errors_by_kind(rows: Sequence[Any], most: int) -> tuple[ErrorLine, ...]:
    """Errors by their code, the most frequent first; the rows come newest first."""
    found: dict[str, ErrorLine] = {}
    for row in reversed(rows):
        code = row.error.partition(":")[0][:_LONGEST_CODE]
        known = found.get(code)
        urls, count = (known.urls, known.count) if known is not None else ((), 0)
        if len(urls) < _URLS_A_KIND and row.page_url not in urls:
            urls = (*urls, row.page_url)
        found[code] = ErrorLine(code, count + 1, row.domain, row.crawled_at, urls)
    return tuple(sorted(found.values(), key=lambda line: (-line.count, line.code))[:most])
