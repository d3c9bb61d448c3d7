"""The dashboard: the status now, the last day by the hour, and what needs attention.

Every part reads an index or a bounded sample, so ten million fetches cost no more than ten thousand.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum, auto
from pathlib import Path
from typing import Any, Final

from comity.clock import Clock
from comity.database import history, status_queries
from comity.database import outbox as search_outbox
from comity.database.connection import Database
from comity.database.sources import rows as sources_table
from comity.model.dataclass import dataclass
from comity.reports.status import Figures, Status, status_of

HOURS: Final = 24
MOST_JOBS: Final = history.MOST_JOBS
_FAILURES: Final = 3  # failures in a row after which a source needs attention
_LEAST_FREE: Final = 0.1  # share of a disk
_FEWEST_FOR_SHARE: Final = 20  # fewer fetches than this say nothing about the share of errors
_TOO_MANY_ERRORS: Final = 0.25
_CAME: Final = frozenset({"fetched", "not_modified"})
_NOT_SENT: Final = frozenset({"refused", "postponed"})


@dataclass(frozen=True, slots=True)
class Hour:
    """What was fetched within an hour."""

    start: datetime
    fetched: int
    unchanged: int
    refused: int
    failed: int
    bytes_received: int
    p50_ms: int | None
    p95_ms: int | None

    @property
    def fetches(self) -> int:
        """The number of all of them."""
        return self.fetched + self.unchanged + self.refused + self.failed


@dataclass(frozen=True, slots=True)
class RunHour:
    """The runs of sources within an hour, and what they found."""

    start: datetime
    runs: int
    failed: int
    found: int
    inserted: int
    closed: int


class NeedCode(StrEnum):
    """What needs attention; doors have a sentence for each."""

    DISK_LOW = auto()
    TOO_MANY_ERRORS = auto()
    SILENT_WORKERS = auto()
    STUCK_LEASES = auto()
    FAILED_JOBS = auto()
    FAILING_SOURCES = auto()
    BLOCKED_SOURCES = auto()
    QUARANTINED_BOTS = auto()
    DISABLED_WEBHOOKS = auto()
    SEARCH_BEHIND = auto()


@dataclass(frozen=True, slots=True)
class Need:
    """One kind of problem that needs attention, and how often it occurs."""

    code: NeedCode
    count: int
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """The size of the state, and the free space on its disk; None if the server does not say."""

    state_bytes: int | None
    free_bytes: int | None
    total_bytes: int | None

    @property
    def is_low(self) -> bool:
        """Whether the disk is nearly full."""
        return self.free_bytes is not None and self.free_bytes < _LEAST_FREE * (self.total_bytes or 0)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The whole status at one moment."""

    status: Status
    hours: tuple[Hour, ...]
    runs: tuple[RunHour, ...]
    sources: dict[str, int]
    sources_due: int
    sources_running: int
    jobs: dict[str, int]
    """By status, counted up to 10,000 and one more."""
    disk: Disk
    needs: tuple[Need, ...]


class FetchHistory:
    """The last hours of fetches. Hours that are over do not change, so they are read once."""

    def __init__(self) -> None:
        self._over: dict[datetime, Hour] = {}

    def hours(self, connection: Any, now: datetime, count: int = HOURS) -> tuple[Hour, ...]:
        """The hours before a moment, oldest first; the last is not over."""
        current = now.replace(minute=0, second=0, microsecond=0)
        starts = [current - timedelta(hours=back) for back in reversed(range(count))]
        self._over = {start: hour for start, hour in self._over.items() if start >= starts[0]}
        found = []
        times = status_queries.FetchTimes(connection)
        for start in starts:
            hour = self._over.get(start) or _hour(connection, times, start)
            # The rows of an hour may be written a while after its end.
            if now - start > timedelta(hours=1, minutes=10):
                self._over[start] = hour
            found.append(hour)
        return tuple(found)


def dashboard_of(
    database: Database,
    clock: Clock,
    past: FetchHistory,
    *,
    lease_s: float,
    heartbeat_s: float,
    figures: Figures | None = None,
) -> Dashboard:
    """The status now, as `status_of` reports it, and the last day."""
    status = status_of(database, clock, lease_s=lease_s, heartbeat_s=heartbeat_s, figures=figures)
    now = database.now(clock)
    with database.read() as connection:
        status_queries.bound(connection)
        hours = past.hours(connection, status.at)
        runs = _by_hour(history.runs_since(connection, hours[0].start), [hour.start for hour in hours])
        sources = history.sources_by_status(connection)
        due, running = sources_table.count_due(connection, now), len(sources_table.locked(connection, now))
        jobs = history.jobs_by_status(connection)
        disk = _disk(_file_of(database), history.size_bytes(connection))
        needs = _needs(connection, status, sources, jobs, disk)
    return Dashboard(
        status=status,
        hours=hours,
        runs=runs,
        sources={name: count for name, count in sources.items() if name != "deleted"},
        sources_due=due,
        sources_running=running,
        jobs=jobs,
        disk=disk,
        needs=needs,
    )


def _hour(connection: Any, times: status_queries.FetchTimes, start: datetime) -> Hour:
    found = history.fetches_between(connection, times, start, start + timedelta(hours=1))
    outcomes = found.outcomes
    return Hour(
        start=start,
        fetched=outcomes.get("fetched", 0),
        unchanged=outcomes.get("not_modified", 0),
        refused=sum(outcomes.get(name, 0) for name in _NOT_SENT),
        failed=sum(count for name, count in outcomes.items() if name not in _CAME | _NOT_SENT),
        bytes_received=found.bytes_received,
        p50_ms=percentile(found.durations_ms, 0.5),
        p95_ms=percentile(found.durations_ms, 0.95),
    )


def percentile(values: Sequence[int], share: float) -> int | None:
    """The value below which this share of the sorted values lies, or None."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else None


def _by_hour(rows: Sequence[Any], starts: Sequence[datetime]) -> tuple[RunHour, ...]:
    by_start: dict[datetime, list[Any]] = {start: [] for start in starts}
    for row in rows:
        by_start.get(row.ran_at.replace(minute=0, second=0, microsecond=0), []).append(row)
    return tuple(
        RunHour(
            start=start,
            runs=len(found),
            failed=sum(row.status == "fail" for row in found),
            found=sum(row.found or 0 for row in found),
            inserted=sum(row.inserted or 0 for row in found),
            closed=sum(row.closed or 0 for row in found),
        )
        for start, found in by_start.items()
    )


def _needs(
    connection: Any, status: Status, sources: dict[str, int], jobs: dict[str, int], disk: Disk
) -> tuple[Need, ...]:
    hour = status.hour
    failed = sum(count for name, count in hour.outcomes.items() if name not in _CAME | _NOT_SENT)
    errs = hour.fetches >= _FEWEST_FOR_SHARE and failed > _TOO_MANY_ERRORS * hour.fetches
    found = (
        Need(NeedCode.DISK_LOW, int(disk.is_low), is_urgent=True),
        Need(NeedCode.TOO_MANY_ERRORS, round(100 * failed / hour.fetches) if errs else 0, is_urgent=True),
        Need(NeedCode.SILENT_WORKERS, sum(worker.is_silent for worker in status.workers), is_urgent=True),
        Need(NeedCode.STUCK_LEASES, status.figures.stuck),
        Need(NeedCode.FAILED_JOBS, jobs.get("failed", 0)),
        Need(NeedCode.FAILING_SOURCES, history.failing_sources(connection, _FAILURES)),
        Need(NeedCode.BLOCKED_SOURCES, sources.get("blocked", 0)),
        Need(NeedCode.QUARANTINED_BOTS, history.quarantined_bots(connection)),
        Need(NeedCode.DISABLED_WEBHOOKS, history.disabled_webhooks(connection)),
        Need(NeedCode.SEARCH_BEHIND, search_outbox.status(connection).failing),
    )
    return tuple(need for need in found if need.count)


def _file_of(database: Database) -> Path | None:
    url = database.engine.url
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _disk(state_file: Path | None, state_bytes: int | None) -> Disk:
    """The free space is that of the disk with the file, which is also where pages are stored by default."""
    if state_file is None or not state_file.parent.is_dir():
        return Disk(state_bytes, None, None)
    usage = shutil.disk_usage(state_file.parent)
    files = (state_file, state_file.with_name(f"{state_file.name}-wal"))
    taken = sum(os.stat(file).st_size for file in files if file.is_file())
    return Disk(state_bytes if state_bytes is not None else taken, usage.free, usage.total)
