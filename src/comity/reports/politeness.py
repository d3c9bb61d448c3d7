"""The proof of manners: every request in the ledger, replayed against the limits that were in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import UUID

from comity.database import records
from comity.database.connection import Database
from comity.database.instants import to_seconds
from comity.rules.politeness_audit import LedgerLine, Violation, audit

_BATCH: Final = 5000
_SHOWN: Final = 1000


@dataclass(frozen=True, slots=True)
class HostAudit:
    """What the replay of one host's requests found."""

    host: str
    requests: int
    violations: tuple[Violation, ...]


def verify_politeness(database: Database, host: str | None = None) -> Iterator[HostAudit]:
    """Replay the ledger host by host, in bounded memory."""
    with database.read() as connection:
        known = records.hosts_in_ledger(connection)
    for row in known:
        if host is None or row.domain == host:
            counted = _Counted(_lines(database, row.id))
            violations = tuple(islice(audit(counted), _SHOWN))
            for _line in counted:
                pass  # count the rest, should there have been more violations than are shown
            yield HostAudit(row.domain, counted.number, violations)


class _Counted:
    """Counts what passes."""

    def __init__(self, lines: Iterator[LedgerLine]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[LedgerLine]:
        for line in self._lines:
            self.number += 1
            yield line


def _lines(database: Database, host_id: UUID) -> Iterator[LedgerLine]:
    after: tuple[Any, int] | None = None
    while True:
        with database.read() as connection:
            rows = records.ledger_after(connection, host_id, after, _BATCH)
        for row in rows:
            yield LedgerLine(
                number=row.id,
                url=row.url,
                lease_token=row.lease_token,
                started_at=row.started_at.timestamp(),
                ended_at=row.ended_at.timestamp(),
                delay_s=row.delay_s,
                max_concurrency=row.max_concurrency,
                rule=row.rule,
                blocked_until=to_seconds(row.blocked_until),
            )
        if len(rows) < _BATCH:
            return
        after = (rows[-1].started_at, rows[-1].id)
