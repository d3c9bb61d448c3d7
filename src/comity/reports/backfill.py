"""What a backfill found, did and left: the validation report, made of its work tables before they are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from comity.database import backfill as backfill_rows
from comity.model.dataclass import dataclass
from comity.model.host import HostStatus

NAMES_KEPT: Final = 100
_DONE: Final = frozenset({"created", "raised", "unchanged", "orphan"})


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rows that name no host, why, and one of their addresses."""

    reason: str
    rows: int
    example: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRead:
    """One table that was read: its rows, the hosts they name, and what could not be used."""

    rows: int
    hosts: int
    skipped: tuple[Skipped, ...]

    @property
    def rows_skipped(self) -> int:
        """How many rows could not be used."""
        return sum(line.rows for line in self.skipped)


@dataclass(frozen=True, slots=True)
class HostCounts:
    """The table of hosts at one moment, beside what was read."""

    hosts: int
    backfilled: int
    without_row: int


@dataclass(frozen=True, slots=True)
class CounterLine:
    """In how many hosts a counter was below the evidence, was raised, is still below it, or is above it."""

    counter: str
    lower_before: int
    raised: int
    lower: int
    higher: int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One counter of one host that does not agree with the evidence."""

    host: str
    counter: str
    stored: int
    evidence: int


@dataclass(frozen=True, slots=True)
class LeftHost:
    """A host that was not touched, and why: leased, misnamed, taken_down or busy."""

    host: str
    reason: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Orphans:
    """What has no counterpart: hosts that only `provenance` lists, and hosts whose pages have no stored fetch."""

    provenance_hosts: int
    provenance_images: int
    hosts_without_fetches: int


@dataclass(frozen=True, slots=True)
class BackfilledLine:
    """Hosts that a backfill made, of one status."""

    status: HostStatus
    hosts: int
    average_yield: float | None
    average_pages: float


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """The whole report; of a dry run, `after` is what it would come to. Lists of hosts end after `NAMES_KEPT`."""

    is_dry_run: bool
    is_resumed: bool
    fetches: SourceRead
    provenance: SourceRead | None
    provenance_lacks: str | None
    before: HostCounts
    after: HostCounts
    created: int
    raised: int
    unchanged: int
    left: Mapping[str, int]
    left_hosts: tuple[LeftHost, ...]
    counters: tuple[CounterLine, ...]
    mismatches: tuple[Mismatch, ...]
    orphans: Orphans
    backfilled: tuple[BackfilledLine, ...]


def current_counts(connection: Connection) -> dict[str, Any]:
    """The state before a backfill: the table of hosts, and how far its counters are below the evidence."""
    totals = backfill_rows.totals(connection)
    return {
        "hosts": totals.hosts,
        "backfilled": totals.backfilled,
        "without_row": backfill_rows.missing(connection),
        "lower": {name: lower for name, (lower, _higher) in backfill_rows.gaps(connection).items()},
    }


def backfill_report(
    connection: Connection, notes: Mapping[str, Any], *, dry_run: bool, resumed: bool
) -> BackfillReport:
    """Put the report together; `notes` are those of the backfill, with its `before`."""
    before, now = notes["before"], current_counts(connection)
    results = backfill_rows.results(connection)
    created = results.get("created", 0)
    to_come = created if dry_run else 0
    left = {result or "busy": number for result, number in results.items() if result not in _DONE}
    read = backfill_rows.hosts_read(connection)
    images = backfill_rows.orphaned_images(connection)
    lacks = notes["provenance_lacks"]
    return BackfillReport(
        is_dry_run=dry_run,
        is_resumed=resumed,
        fetches=_source(notes["fetches"], read.in_fetches),
        provenance=None if lacks is not None else _source(notes["provenance"], read.in_provenance),
        provenance_lacks=lacks,
        before=HostCounts(before["hosts"], before["backfilled"], before["without_row"]),
        after=HostCounts(now["hosts"] + to_come, now["backfilled"] + to_come, now["without_row"]),
        created=created,
        raised=results.get("raised", 0),
        unchanged=results.get("unchanged", 0),
        left=left,
        left_hosts=_left_hosts(connection, left),
        counters=_counters(connection, before["lower"], without_images=lacks is not None),
        mismatches=_mismatches(connection, without_images=lacks is not None),
        orphans=Orphans(images.hosts, int(images.images), backfill_rows.hosts_without_fetches(connection)),
        backfilled=tuple(
            BackfilledLine(row.status, row.hosts, row.average_yield, float(row.average_pages))
            for row in backfill_rows.backfilled_by_status(connection)
        ),
    )


def _source(read: Mapping[str, Any], hosts: int) -> SourceRead:
    skipped = [Skipped(reason, rows, example) for reason, (rows, example) in read["skipped"].items()]
    return SourceRead(read["rows"], hosts, tuple(sorted(skipped, key=lambda line: (-line.rows, line.reason))))


def _left_hosts(connection: Connection, left: Mapping[str, int]) -> tuple[LeftHost, ...]:
    found: list[LeftHost] = []
    for reason in sorted(left):
        rows = backfill_rows.hosts_with(connection, None if reason == "busy" else reason, NAMES_KEPT - len(found))
        found += [LeftHost(row.host, reason, row.detail) for row in rows]
    return tuple(found)


def _counters(connection: Connection, before: Mapping[str, int], *, without_images: bool) -> tuple[CounterLine, ...]:
    return tuple(
        CounterLine(name, before[name], before[name] - lower, lower, higher)
        for name, (lower, higher) in backfill_rows.gaps(connection).items()
        if not (without_images and name == "images_stored")
    )


def _mismatches(connection: Connection, *, without_images: bool) -> tuple[Mismatch, ...]:
    """Without `provenance` there is no evidence that the images could disagree with."""
    return tuple(
        Mismatch(row.host, row.counter, row.stored, row.evidence)
        for row in backfill_rows.mismatches(connection, NAMES_KEPT, without_images=without_images)
    )
