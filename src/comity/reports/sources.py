"""Reports on sources: the list, one source, its runs, and how busy the scheduler is."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.sources import rows as sources_table
from comity.database.sources.rows import source_from
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound, Remedy, RemedyCode
from comity.model.source import Source
from comity.rules.canonical import resolve_link
from comity.rules.next_run import NextRunReason, explain_next_run


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One row of the log of runs."""

    id: UUID
    source_id: UUID
    careers_url: str
    org_name: str | None
    ran_at: datetime
    duration_ms: int | None
    found: int | None
    inserted: int | None
    updated: int | None
    skipped: int | None
    closed: int
    pages: int
    status: str | None
    message: str | None
    next_run_at: datetime | None
    next_run_reason: str | None


@dataclass(frozen=True, slots=True)
class LockHeld:
    """A source that is being run."""

    source_id: UUID
    careers_url: str
    locked_at: datetime
    expires_at: datetime | None
    holder: str | None


@dataclass(frozen=True, slots=True)
class SourcesStatus:
    """How much is due, and what is being run."""

    due_count: int
    locks: tuple[LockHeld, ...]

    @property
    def locked(self) -> int:
        """How many sources are being run, over all processes."""
        return len(self.locks)


def find_source(database: Database, named: str) -> Source:
    """A source by its identity or its address; raises `NotFound` if it does not exist."""
    with database.read() as connection:
        row = sources_table.with_address(connection, named)
        address = resolve_link(named, named) if row is None and "://" in named else None
        if address is not None:
            row = sources_table.with_address(connection, address.url)
        identity = _identity(named)
        if row is None and identity is not None:
            row = sources_table.get(connection, identity)
    if row is None:
        raise NotFound(f"there is no source {named[:200]}", remedy=Remedy(RemedyCode.LIST_SOURCES))
    return source_from(row)


def list_sources(
    database: Database,
    *,
    status: str | None = None,
    source_type: str | None = None,
    org_type: str | None = None,
    result: str | None = None,
    containing: str | None = None,
    sort: str = "next_run_at",
    descending: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> tuple[list[Source], int]:
    """Sources, the next to run first, and how many there are in all; `result` is the status of the last run."""
    wanted: dict[str, Any] = {
        "status": status,
        "source_type": source_type,
        "org_type": org_type,
        "result": result,
        "containing": containing,
    }
    with database.read() as connection:
        rows = sources_table.listed(connection, **wanted, sort=sort, descending=descending, limit=limit, offset=offset)
        return [source_from(row) for row in rows], sources_table.count_of(connection, **wanted)


def count_sources(database: Database) -> dict[str, int]:
    """How many sources are in each status."""
    with database.read() as connection:
        return sources_table.count_by_status(connection)


def list_due(database: Database, clock: Clock, limit: int = 20) -> list[Source]:
    """Sources that are due and not running, in the order in which they will run."""
    with database.read() as connection:
        return [source_from(row) for row in sources_table.due(connection, database.now(clock), limit)]


def list_runs(
    database: Database,
    source_id: UUID | None = None,
    limit: int = 20,
    *,
    status: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    oldest_first: bool = False,
) -> list[LoggedRun]:
    """The latest runs of one source, or of all; `after` is the time and the id of the last one known."""
    with database.read() as connection:
        rows = sources_table.logs(connection, source_id, limit, status=status, after=after, oldest_first=oldest_first)
    return [LoggedRun(**{name: getattr(row, name) for name in LoggedRun.__slots__}) for row in rows]


def next_run(database: Database, clock: Clock, source: Source) -> NextRunReason:
    """When a source runs next, and why."""
    last = list_runs(database, source.id, 1)
    return explain_next_run(source, last[0] if last else None, clock.now())


def sources_status(database: Database, clock: Clock) -> SourcesStatus:
    """How many sources are due, and which are being run."""
    now = database.now(clock)
    with database.read() as connection:
        locks = sources_table.locked(connection, now)
        due = sources_table.count_due(connection, now)
    held = (LockHeld(row.source_id, row.careers_url, row.locked_at, row.expires_at, row.holder) for row in locks)
    return SourcesStatus(due, tuple(held))


def _identity(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
