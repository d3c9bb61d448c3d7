"""Settles a run of a source in one transaction: postings, sightings, search outbox, pages, log, row, lock.

A run that comes late (its lock or its lease is gone) writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import Connection

from comity.database import ledger, records, runs
from comity.database import policies as policies_table
from comity.database.connection import Database
from comity.database.leases.leasing import memory_values
from comity.database.sources import postings as postings_table
from comity.database.sources import rows as sources_table
from comity.database.sources.rows import source_from
from comity.leases.leases import Leases
from comity.model.dataclass import dataclass
from comity.model.errors import LeaseLost
from comity.model.job import JobPosting, ListingKind
from comity.model.source import (
    AUTO_PAUSED,
    Counts,
    PageRead,
    Reading,
    RunStatus,
    RunVerdict,
    Source,
    SourceBlock,
    SourceReport,
    SourceStatus,
)
from comity.rules.jobs.identity import are_same_places, is_elsewhere, is_same_link, untracked
from comity.rules.jobs.normalize import is_same_text
from comity.rules.jobs.words import alike
from comity.walk.session.leased_host import LeasedHost

FAILURES_MOST: Final = 5
_KEPT_AS_FIRST_SAID: Final = frozenset({"posted_at"})  # "three days ago" is another instant at every visit
_FIELDS: Final = tuple(field.name for field in fields(JobPosting) if field.name != "canonical_hash")
_BELIEVABLE: Final = frozenset({ListingKind.JOBS, ListingKind.NO_OPENINGS, ListingKind.NOTHING_FOUND})
_LONGEST_MESSAGE: Final = 500
_CAME: Final = frozenset({"fetched", "not_modified"})
_LONGEST_VALIDATOR: Final = 1000


@dataclass(frozen=True, slots=True)
class Planned:
    """When a source is read again, and what its row stores for that."""

    next_run_at: datetime
    consecutive_failures: int
    consecutive_nochange: int
    reason: str = ""
    change_statistics: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """What a plan is made from: the source as its row is now, and the result of the run."""

    source: Source
    counts: Counts
    verdict: RunVerdict
    now: datetime
    until: float | None
    """When the site may be requested again, if it named a time."""


Plan = Callable[[Connection, RunEnded], Planned]


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """Everything that a run has to write."""

    source: Source
    reading: Reading
    verdict: RunVerdict
    postings: Mapping[int, Sequence[JobPosting]]
    """By page, for pages that were read in full."""
    started_at: datetime
    ended_at: datetime
    hosts: Sequence[LeasedHost]


class SourceSettling:
    """Writes the results of runs of sources."""

    def __init__(self, database: Database, leases: Leases, plan: Plan) -> None:
        self._database = database
        self._leases = leases
        self._plan = plan

    def settle(self, run: FinishedRun) -> SourceReport:
        """Write a run as a whole; `LeaseLost` if its lock or lease is gone."""
        source, verdict, now = run.source, run.verdict, run.ended_at
        with self._database.write() as connection:
            if not sources_table.holds_lock(connection, source.id, self._leases.holder):
                raise LeaseLost(f"{source.careers_url}: another process took the source over; nothing was written")
            row = sources_table.get_to_change(connection, source.id)
            if row is None or row.status == SourceStatus.DELETED:
                raise LeaseLost(f"{source.careers_url}: the source was deleted during the run; nothing was written")
            for host in run.hosts:
                self._leases.write(connection, host.lease, memory_values(host.gate.memory()))
            shared: set[int] = set()
            counts = self._store(connection, run, shared) if verdict.stores else Counts(found=run.reading.found)
            # An edit made in the meantime decides when it is read again.
            known = source_from(row)
            ended = RunEnded(known, counts, verdict, now, _until(run.reading))
            planned = _unless_said(self._plan(connection, ended), source, known)
            becomes, message = self._status_after(verdict, planned)
            if known.status is not source.status:  # so does a pause by the operator
                becomes = None
            self._write_source(connection, run, known, planned, becomes, message, shared)
            report = SourceReport(
                source.id,
                source.careers_url,
                verdict.status,
                verdict.message,
                counts,
                len(run.reading.pages),
                max(0, round((now - run.started_at).total_seconds() * 1000)),
                planned.next_run_at,
                becomes or known.status,
                run.reading.host,
                planned.reason,
            )
            self._log(connection, run, report)
            self._record_run(connection, run, report)
            self._record_status(connection, run.reading)
            sources_table.unlock(connection, source.id, self._leases.holder)
        return report

    def postpone(self, source: Source, now: datetime, until: datetime, reason: str) -> None:
        """Postpone a source: nothing was requested, so nothing is logged."""
        with self._database.write() as connection:
            if sources_table.holds_lock(connection, source.id, self._leases.holder):
                values = {"next_run_at": until, "last_crawl_message": _storable(f"waiting: {reason}")}
                sources_table.change(connection, source.id, values, now)
                sources_table.unlock(connection, source.id, self._leases.holder)

    def _status_after(self, verdict: RunVerdict, planned: Planned) -> tuple[SourceStatus | None, str]:
        """The new status of the source, if it changes, and what its row says about it."""
        if verdict.becomes is None and verdict.is_failure and planned.consecutive_failures >= FAILURES_MOST:
            return SourceStatus.PAUSED, AUTO_PAUSED
        return verdict.becomes, verdict.message

    def _write_source(
        self,
        connection: Connection,
        run: FinishedRun,
        known: Source,
        planned: Planned,
        becomes: SourceStatus | None,
        message: str,
        shared: Collection[int],
    ) -> None:
        verdict, now = run.verdict, run.ended_at
        values: dict[str, Any] = {
            "last_crawled_at": now,
            "last_crawl_status": str(verdict.status),
            "last_crawl_message": _storable(message),
            "next_run_at": planned.next_run_at,
            "consecutive_failures": planned.consecutive_failures,
            "consecutive_nochange": planned.consecutive_nochange,
            "last_found": verdict.last_found,
            "empty_reads": verdict.empty_reads,
        }
        if planned.change_statistics is not None:
            values["change_statistics"] = planned.change_statistics
        if becomes is not None:
            values["status"] = str(becomes)
        if becomes is SourceStatus.BLOCKED:  # nothing else that a run finds blocks a source
            values["block_reason_code"] = str(SourceBlock.ROBOTS_DENIED)
        sources_table.change(connection, run.source.id, values, now)
        if known.updated_at != run.source.updated_at:
            sources_table.forget_pages(connection, run.source.id)  # edited meanwhile: they were read by other rules
        elif verdict.stores:
            believed = [page for page in run.reading.pages if page.kind in _BELIEVABLE]
            sources_table.put_pages(connection, run.source.id, [_page_row(page, now, shared) for page in believed])

    def _log(self, connection: Connection, run: FinishedRun, report: SourceReport) -> None:
        counts = report.counts
        sources_table.add_log(
            connection,
            {
                "source_id": report.source_id,
                "ran_at": run.started_at,
                "duration_ms": report.duration_ms,
                "found": counts.found,
                "inserted": counts.inserted,
                "updated": counts.updated,
                "skipped": counts.skipped,
                "closed": counts.closed,
                "pages": report.pages,
                "status": str(report.status),
                "message": _storable(report.message),
                "next_run_at": report.next_run_at,
                "next_run_reason": _storable(report.next_run_reason),
            },
        )

    def _record_run(self, connection: Connection, run: FinishedRun, report: SourceReport) -> None:
        """A row of `crawl_runs` and one of `fetches` for each page, as every run writes them."""
        reading, run_id, ended_at = run.reading, uuid4(), run.ended_at
        settings = {"source_id": str(report.source_id), "careers_url": report.careers_url}
        runs.begin(
            connection, run_id, door="sources", holder=self._leases.holder, settings=settings, now=run.started_at
        )
        rows = reading.fetches
        came = sum(row.outcome in _CAME for row in rows)
        received = sum(row.wire_bytes for row in rows)
        runs.add(connection, run_id, crawled=came, failed=len(rows) - came, received=received)
        status = "failed" if run.verdict.status is RunStatus.FAIL else "finished"
        reason, detail = f"source_{run.verdict.status}", run.verdict.message
        runs.end(connection, run_id, status=status, reason=reason, detail=detail, now=ended_at)
        records.add_fetches(connection, run_id, rows)
        fetched: dict[UUID, set[float]] = {}
        for row in rows:
            fetched.setdefault(row.host_id, set()).add(row.at)
        ledger.append_requests(connection, run_id, reading.requests, fetched)
        records.add_evidence(connection, run_id, reading.evidence)

    def _record_status(self, connection: Connection, reading: Reading) -> None:
        status = reading.pages[-1].status if reading.pages else None
        if reading.obstacle is not None:
            status = reading.obstacle.status
        if status is not None:
            policies_table.note_status(connection, reading.host, str(status))

    def _store(self, connection: Connection, run: FinishedRun, shared: set[int]) -> Counts:
        """Update postings to what the listing says; returns the changes, and collects pages that list others', too."""
        source, now = run.source, run.ended_at
        pages = _unchanged(connection, source.id, run.reading)
        skipped = len(pages)
        listed: dict[str, tuple[JobPosting, int]] = {}
        for number, postings in run.postings.items():
            for posting in postings:
                first = listed.setdefault(posting.canonical_hash, (posting, number))[1]
                if first != number:
                    shared |= {first, number}
        known = postings_table.known(connection, listed.keys())
        known |= _renamed(connection, source.id, [each for each, _ in listed.values()], known)
        new = [_row(posting, source.id, now) for posting, _ in listed.values() if posting.canonical_hash not in known]
        added = postings_table.add(connection, new)
        others = [each for each in listed if each not in known and each not in added]
        known |= postings_table.known(connection, others)  # another run was faster
        listers = postings_table.listers(connection, [row.id for row in known.values()])
        pages |= {posting_id: listed[each][1] for each, posting_id in added.items()}
        updated: list[UUID] = []
        for each, row in known.items():
            posting, number = listed[each]
            is_unchanged = row.id in pages and row.closed_at is None  # what another page says of it still counts
            changes = {} if is_unchanged else _changes(row, posting, source.id, listers.get(row.id, set()))
            if changes:
                postings_table.change(connection, row.id, changes | {"updated_at": now})
                updated.append(row.id)
            elif row.id not in pages:
                skipped += 1
            if pages.get(row.id, number) != number:
                shared |= {pages[row.id], number}
            pages[row.id] = number
        postings_table.seen(connection, pages.keys(), now)
        postings_table.sight(connection, source.id, pages, now)
        closed: list[UUID] = []
        if run.verdict.closes:
            gone = postings_table.forget_unseen(connection, source.id, now)
            closed = postings_table.close_unlisted(connection, gone, now)
        else:
            postings_table.detach_unseen(connection, source.id, now)
        postings_table.queue_for_search(connection, [*added.values(), *updated], "upsert")
        postings_table.queue_for_search(connection, closed, "delete")
        return Counts(len(pages), len(added), len(updated), skipped, len(closed))


def _unless_said(planned: Planned, source: Source, known: Source) -> Planned:
    """A time that an operator set during the run counts, if it is earlier."""
    said = known.next_run_at
    if said is None or said == source.next_run_at or said >= planned.next_run_at:
        return planned
    return replace(planned, next_run_at=said, reason="it was edited or resumed during the run: due again")


def _renamed(
    connection: Connection, source_id: UUID, listed: Sequence[JobPosting], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Postings of this source alone that have another hash now: its organisation was renamed, a reference number is
    shown at last, or a place was added or taken away. Same title and link, and no other place: they get the new hash
    and stay what they were.
    """
    fresh = [posting for posting in listed if posting.canonical_hash not in known]
    if not fresh:
        return {}
    here = {posting.canonical_hash for posting in listed}
    before = [row for row in postings_table.open_of_one(connection, source_id) if row.canonical_hash not in here]
    renamed: dict[str, Any] = {}
    for words in (_title_place_link, _title_link):
        now_by, before_by = _grouped(fresh, words), _grouped(before, words)
        for key, postings in now_by.items():
            rows = before_by.get(key, [])
            if len(rows) != 1 or len(postings) != 1:  # two alike cannot be distinguished
                continue
            posting, row = postings[0], rows[0]
            if not is_elsewhere(row.location_raw or "", posting.location_raw):
                renamed[posting.canonical_hash] = row
                postings_table.change(connection, row.id, {"canonical_hash": posting.canonical_hash})
                fresh.remove(posting)
                before.remove(row)
    return renamed


def _title_place_link(each: Any) -> tuple[str, ...]:
    return alike(each.title), alike(each.location_raw or ""), untracked(each.apply_url or "")


def _title_link(each: Any) -> tuple[str, ...]:
    return alike(each.title), untracked(each.apply_url or "")


def _grouped(postings: Sequence[Any], words: Callable[[Any], tuple[str, ...]]) -> dict[tuple[str, ...], list[Any]]:
    found: dict[tuple[str, ...], list[Any]] = {}
    for each in postings:
        found.setdefault(words(each), []).append(each)
    return found


def _unchanged(connection: Connection, source_id: UUID, reading: Reading) -> dict[UUID, int]:
    """The postings on pages that were answered with 304, with the pages' numbers of today."""
    numbers = {page.unchanged.number: page.number for page in reading.pages if page.unchanged is not None}
    if not numbers:
        return {}
    sighted = postings_table.sighted_on(connection, source_id, numbers)
    return {posting_id: numbers[number] for number, ids in sighted.items() for posting_id in ids}


def _row(posting: JobPosting, source_id: UUID, now: datetime) -> dict[str, Any]:
    stamps = {"first_seen_at": now, "last_seen_at": now, "updated_at": now}
    identity = {"id": uuid4(), "canonical_hash": posting.canonical_hash, "source_id": source_id}
    return identity | _values(posting) | stamps


def _values(posting: JobPosting) -> dict[str, Any]:
    return {name: getattr(posting, name) for name in _FIELDS} | {"mission_tags": list(posting.mission_tags)}


def _changes(row: Any, posting: JobPosting, source_id: UUID, listers: set[UUID]) -> dict[str, Any]:
    """What to change of a stored posting.

    Of several sources that list a job, the text of the first counts while it lists the job; otherwise every run of
    each would change it.
    """
    if row.closed_at is None and row.source_id != source_id and row.source_id in listers:
        return {}
    changes = {
        name: value
        for name, value in _values(posting).items()
        if value != getattr(row, name) and not (name in _KEPT_AS_FIRST_SAID and getattr(row, name) is not None)
    }
    if "location_raw" in changes and are_same_places(row.location_raw or "", posting.location_raw):
        del changes["location_raw"]  # the same places in another order
    if "apply_url" in changes and is_same_link(row.apply_url or "", posting.apply_url):
        del changes["apply_url"]  # only the tracking parameters differ at every visit
    if "description_text" in changes and is_same_text(row.description_text or "", posting.description_text):
        del changes["description_text"]  # "Posted 3 days ago" is another text every day
    if row.closed_at is not None:
        changes["closed_at"] = None
    if changes and row.source_id != source_id:
        changes["source_id"] = source_id
    return changes


def _page_row(page: PageRead, now: datetime, shared: Collection[int]) -> dict[str, Any]:
    """The row of a page; a page that also lists postings of another page is read in full the next time.

    Otherwise a 304 of it would hide that it still lists a posting that the other page has dropped, and the posting
    would be closed. A page that shows nothing is read in full, too: a later version or another hint may see more.
    """
    is_blank = page.kind is ListingKind.NOTHING_FOUND and not page.is_elsewhere
    is_anew = is_blank or page.number in shared
    return {
        "number": page.number,
        "url": page.url,
        "final_url": page.final_url,
        "etag": None if is_anew else _validator(page.etag),
        "last_modified": None if is_anew else _validator(page.last_modified),
        "next_url": page.next_url,
        "kind": str(page.kind),
        "found": page.found,
        "read_at": now,
    }


def _storable(message: str) -> str | None:
    """A sentence that may quote a page, in a form that every database accepts."""
    plain = "".join(each if each.isprintable() else " " for each in message[:_LONGEST_MESSAGE])
    return plain.strip() or None


def _validator(text: str | None) -> str | None:
    """A validator that can be sent back unchanged; any other would break every later request."""
    return text if text and len(text) <= _LONGEST_VALIDATOR and text.isascii() and text.isprintable() else None


def _until(reading: Reading) -> float | None:
    return reading.obstacle.until if reading.obstacle is not None else None
