"""The record of a run in the database: what it takes over at its start, and how it ended. All methods block."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import records, runs
from comity.database.connection import Database
from comity.database.types import from_seconds
from comity.fetch.inflate import inflate_coded
from comity.leases.holder import is_dead, is_dead_store_name
from comity.leases.leases import Leases
from comity.model.dataclass import dataclass
from comity.model.page import PageRecord
from comity.model.run import FAILURES, EndReason
from comity.reports.runs import IdleHost, why_idle
from comity.store.pages import recover
from comity.store.sink import PageSink
from comity.walk.crawl.progress import HostSummary, Progress, RunEnd, RunSummary, summary_of

_RUNS_LOOKED_BACK: Final = timedelta(days=30)
_RUNS_MOST: Final = 1000
_DETAIL_MOST: Final = 1000
_EXPLAINED_MOST: Final = 10_000  # hosts that were not leased, and for each of which the reason is given


@dataclass(frozen=True, slots=True)
class RunTotals:
    """What a run has done so far: only what is committed."""

    pages: int
    errors: int
    bytes_received: int
    pages_of_hosts: dict[str, int]


class RunRecord:
    """Opens and closes one run. One process of a run in several leaves that to the process that started the run."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        store: PageSink,
        clock: Clock,
        run_id: UUID,
        door: str = "crawl",
        *,
        is_part: bool = False,
        columns_key: int = 0,
    ) -> None:
        self._database = database
        self._leases = leases
        self._store = store
        self._clock = clock
        self._run_id = run_id
        self._door = door
        self._is_part = is_part
        self._columns_key = columns_key

    def open(self, settings: dict[str, Any]) -> None:
        """Take over what dead processes of this machine left, and record that the run starts."""
        if not self._is_part:
            self.take_over()
            self._begin(settings)

    def take_over(self) -> None:
        """Free the hosts that dead processes of this machine held, save their pages, and end their runs."""
        self._leases.release_dead()
        self.end_dead_runs()
        if self._store.folder is not None:
            recover(self._store.folder, is_dead_store_name, self._committed, inflate_coded)

    def end_dead_runs(self) -> None:
        """End the runs of dead processes: of this machine for certain, of others when their leases have expired.

        A run whose hosts are leased by child processes elsewhere is not ended, because the process that started it
        holds no lease. A run that was taken for dead but is alive records its own end.
        """
        now = self._clock.now()
        is_old = now - timedelta(seconds=2 * self._leases.terms.lease_s)
        with self._database.read() as connection:
            found = runs.open_runs(connection, now - _RUNS_LOOKED_BACK, self._database.now(self._clock), _RUNS_MOST)
        dead = [
            run.id
            for run in found
            if run.holder
            and (
                is_dead(run.holder)
                or (run.started_at < is_old and not run.holds and not run.is_supervised and (run.processes or 1) == 1)
            )
        ]
        if dead:
            with self._database.write() as connection:
                runs.end_dead(connection, dead, reason=EndReason.DIED, detail=EndReason.DIED.sentence, now=now)

    def _begin(self, settings: dict[str, Any]) -> None:
        with self._database.write() as connection:
            runs.begin(
                connection,
                self._run_id,
                door=self._door,
                holder=self._leases.holder,
                settings=settings,
                now=self._clock.now(),
            )

    def end(
        self,
        end: RunEnd,
        progress: Progress,
        lines: Collection[HostSummary],
        named: Collection[str] | None,
        forgotten: Mapping[EndReason, int] | None = None,
    ) -> RunSummary:
        """Sum the run up and record how it ended. For named hosts that it did not lease, say why.

        One process of several leaves both to the process that started the run.
        """
        idle: list[IdleHost] = []
        if named is not None and not self._is_part and end.reason not in FAILURES:
            untaken = sorted(set(named) - {line.host for line in lines})
            explained = untaken[:_EXPLAINED_MOST]
            is_ended, key = end.reason is not None, self._columns_key
            idle = why_idle(self._database, self._clock, explained, run_ended=is_ended, columns_key=key)
            rest = len(untaken) - _EXPLAINED_MOST
            if rest > 0:  # very many are not explained one by one
                forgotten = {**(forgotten or {}), EndReason.NOT_TAKEN: rest}
        if not self._is_part:
            lines = self._with_totals(lines)
        summary = summary_of(progress, str(self._run_id), end, lines, idle, self._clock.seconds(), forgotten)
        self.close(summary.status, summary.code, summary.reason)
        return summary

    def _with_totals(self, lines: Collection[HostSummary]) -> list[HostSummary]:
        """The lines with the pages of all runs; a state that does not track hosts knows only those of this run."""
        with self._database.read() as connection:
            totals = hosts_table.pages_crawled(connection, [line.host for line in lines])
        return [replace(line, pages_in_all=max(line.pages, totals.get(line.host, 0))) for line in lines]

    def close(self, status: str, code: str, detail: str) -> None:
        """Record how the run ended: by a code, and in words."""
        if self._is_part:
            return
        with self._database.write() as connection:
            runs.end(
                connection,
                self._run_id,
                status=status,
                reason=code,
                detail=detail[:_DETAIL_MOST],
                now=self._clock.now(),
            )

    def totals(self) -> RunTotals:
        """What all processes of the run have done, dead ones included."""
        with self._database.read() as connection:
            row = runs.totals(connection, self._run_id)
            hosts = runs.pages_of_hosts(connection, self._run_id)
        return RunTotals(row.pages_crawled, row.pages_failed, row.bytes_received, hosts)

    def _committed(self, batch: Collection[PageRecord]) -> list[bool | None]:
        """Whether each visit is committed; None for visits of an unknown run."""
        run_ids = {record.run_id for record in batch}
        with self._database.read() as connection:
            known = runs.known(connection, run_ids)
            found = {
                (run_id, *visit)
                for run_id in known
                for visit in records.committed(connection, run_id, [record.url_key for record in batch])
            }
        return [
            (record.run_id, record.url_key, from_seconds(record.crawl_time)) in found
            if record.run_id in known
            else None
            for record in batch
        ]
