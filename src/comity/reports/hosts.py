"""Reports on hosts: lists, one host in full, the holders of leases, cached robots.txt, stored decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import host_lists, hosts, policies, records, status_queries
from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.frontier import rows as frontier_table
from comity.database.leases import leasing
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound, Remedy, RemedyCode
from comity.model.host import HostStatus
from comity.reports.status import ErrorLine, errors_by_kind

_FETCHES_LOOKED_AT: Final = 1_000
_MAX_ERRORS: Final = 10


@dataclass(frozen=True, slots=True)
class HostLine:
    """One host in a listing."""

    host: str
    status: HostStatus
    pages_crawled: int
    pages_discovered: int
    images_stored: int
    image_yield: float | None
    last_crawled_at: datetime | None
    reason_code: str | None
    reason: str | None
    priority_score: int
    leased_by: str | None
    next_crawl_after: datetime | None = None
    urls_queued: int = 0


@dataclass(frozen=True, slots=True)
class HostInFull:
    """Everything the state knows of one host, the most important first."""

    columns: dict[str, Any]
    queued: int
    done: int
    dropped: int
    too_deep: int
    policy: dict[str, Any] | None
    errors: tuple[ErrorLine, ...] = ()
    """Among its last fetches, by kind."""
    is_whole: bool = True
    """Whether all of its URLs were counted."""


@dataclass(frozen=True, slots=True)
class HolderLine:
    """One holder of leases."""

    holder: str
    hosts: int
    expired: int
    earliest_expiry: datetime


@dataclass(frozen=True, slots=True)
class StatusLine:
    """How many hosts are of one status, and how many of them a worker would take now."""

    status: HostStatus
    hosts: int
    waiting: int


def list_hosts(
    database: Database,
    *,
    status: HostStatus | None = None,
    contains: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> list[HostLine]:
    """Hosts, those crawled last first."""
    with database.read() as connection:
        rows = hosts.page(connection, status=status, contains=contains, limit=limit, offset=offset)
        return [line_of(row) for row in rows]


def top_hosts(database: Database, *, limit: int = 20) -> list[HostLine]:
    """Hosts by images per page."""
    with database.read() as connection:
        return [line_of(row) for row in hosts.ranked_by_yield(connection, limit)]


def host_in_full(
    database: Database,
    host: str,
    states_of: Callable[[UUID], Mapping[int, int]] | None = None,
    *,
    most: int | None = None,
) -> HostInFull:
    """Everything about one host; `NotFound` if it was never seen.

    `states_of` counts its URLs by their states, where these are not in the database; otherwise at most `most` are
    counted.
    """
    states: Mapping[int, int] = {}
    is_whole = True
    with database.read() as connection:
        row = hosts.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        if states_of is None and most is None:
            states = frontier_table.states(connection, row.id)
        elif states_of is None and most is not None:
            states, is_whole = host_lists.frontier_counts(connection, row.id, most)
        policy = policies.get(connection, host)
        errors = status_queries.last_errors_of(connection, host, _FETCHES_LOOKED_AT)
    if states_of is not None:
        states = states_of(row.id)
    return HostInFull(
        columns=dict(row._mapping),
        queued=states.get(QUEUED, 0),
        done=states.get(DONE, 0),
        dropped=states.get(DROPPED, 0),
        too_deep=states.get(TOO_DEEP, 0),
        policy=asdict(policies.policy_from(policy)) if policy is not None else None,
        errors=errors_by_kind(errors, _MAX_ERRORS),
        is_whole=is_whole,
    )


def holders(database: Database, clock: Clock) -> list[HolderLine]:
    """Who holds leases now, and which of them have run out."""
    with database.read() as connection:
        rows = leasing.claims_by_holder(connection, database.now(clock))
    return [HolderLine(row.claimed_by, row.hosts, row.expired, row.earliest_expiry) for row in rows]


def status_counts(database: Database, clock: Clock) -> list[StatusLine]:
    """Hosts by status, in the order of a host's life."""
    with database.read() as connection:
        known = status_queries.hosts_by_status(connection)
        waiting = status_queries.waiting_by_status(connection, database.now(clock))
    return [StatusLine(status, known[status], waiting.get(status, 0)) for status in HostStatus if status in known]


def line_of(row: Any) -> HostLine:
    """Read a row; the yield is computed from its current counters."""
    return HostLine(
        host=row.domain,
        status=row.status,
        pages_crawled=row.pages_crawled,
        pages_discovered=row.pages_discovered,
        images_stored=row.images_stored,
        image_yield=row.images_stored / row.pages_crawled if row.pages_crawled else None,
        last_crawled_at=row.last_crawled_at,
        reason_code=row.block_reason_code,
        reason=row.block_reason,
        priority_score=row.priority_score,
        leased_by=row.claimed_by,
        next_crawl_after=row.next_crawl_after,
        urls_queued=row.frontier_size,
    )


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """The robots.txt of one origin; `access` is the result of reading it."""

    host: str
    origin: str
    robots_txt: str | None
    fetched_at: datetime | None
    expires_at: datetime | None
    crawl_delay_ms: int | None
    disallow: list[str]
    access: str
    http_status: int | None
    detail: str | None


def known_robots(database: Database, host: str) -> list[RobotsEntry]:
    """Every origin of a host whose file was asked for, the last one first."""
    with database.read() as connection:
        rows = robots_table.of_hosts(connection, [host])
    entries = [_entry(row) for row in rows]
    return sorted(entries, key=lambda entry: entry.fetched_at.timestamp() if entry.fetched_at else 0.0, reverse=True)


def _entry(row: Any) -> RobotsEntry:
    disallow = row.disallow if isinstance(row.disallow, list) else []
    return RobotsEntry(
        row.host,
        row.origin,
        row.robots_txt,
        row.fetched_at,
        row.expires_at,
        row.crawl_delay_ms,
        [str(each) for each in disallow],
        row.access,
        row.http_status,
        row.detail,
    )


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """One decision with what led to it."""

    url: str
    type: str
    content: dict[str, Any]
    metadata: dict[str, Any] | None
    confidence: str
    created_at: datetime
    run_id: UUID | None


def evidence_of_url(
    database: Database, key: int, *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> list[StoredEvidence]:
    """What was decided about a URL, newest first."""
    with database.read() as connection:
        return [stored_evidence(row) for row in records.evidence_of_url(connection, key, kind, limit, offset)]


def evidence_of_host(
    database: Database, host: str, *, kind: str | None = None, limit: int = 50, offset: int = 0
) -> list[StoredEvidence]:
    """What was decided about the URLs of a host, newest first; `NotFound` if the host was never seen."""
    with database.read() as connection:
        row = hosts.get(connection, host)
        if row is None:
            raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
        return [stored_evidence(each) for each in records.evidence_of_host(connection, row.id, kind, limit, offset)]


def stored_evidence(row: Any) -> StoredEvidence:
    """A row of `evidence` as a value."""
    return StoredEvidence(
        row.url, row.type, row.content, row._mapping["metadata"], row.confidence, row.created_at, row.run_id
    )
