"""Settling against a model: whatever sources list in whatever order, what is open is what somebody lists."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.database.sources import rows as sources_table
from comity.model.job import JobFound, JobPosting, ListingKind
from comity.model.source import Counts, PageRead, Reading, RunStatus, RunVerdict, Source
from comity.walk.sources.settle import FinishedRun, Planned, SourceSettling
from tests.sizes import sized
from tests.walk.sourcing import Office, office

# A step: which source, what it lists (posting, words) on which page, and whether the listing was whole.
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(1, 2)), max_size=6),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@dataclass
class Model:
    """What should be so: who lists what, which words are whose, and which postings there ever were."""

    listed: dict[int, set[int]] = field(default_factory=lambda: {0: set(), 1: set(), 2: set()})
    ever: set[int] = field(default_factory=set)

    def step(self, source: int, shown: set[int], closes: bool) -> None:
        self.ever |= shown
        self.listed[source] = shown if closes else self.listed[source] | shown

    @property
    def open(self) -> set[int]:
        return set().union(*self.listed.values())


def posting(number: int, words: int) -> JobPosting:
    return JobPosting(
        canonical_hash=f"{number:064x}",
        title=f"job {number}",
        org_name="House",
        apply_url=f"https://a.example/{number}",
        description_snippet=f"words {words}",
        mission_tags=("water",),
    )


def settle(bureau: Office, source: Source, shown: Sequence[tuple[int, int, int]], closes: bool, at: datetime) -> Counts:
    leases = bureau.state.leases()
    with bureau.database.write() as connection:
        row = sources_table.lock(connection, source.id, leases.holder, at, due_only=False)
        assert row is not None
    by_page: dict[int, list[JobPosting]] = {}
    for number, words, page in shown:
        by_page.setdefault(page, []).append(posting(number, words))
    jobs = tuple(JobFound(f"job {number}", f"https://a.example/{number}") for number, _, _ in shown)
    reading = Reading([PageRead(1, source.careers_url, source.careers_url, 200, ListingKind.JOBS, jobs)])
    verdict = RunVerdict(RunStatus.OK, "", stores=True, closes=closes)

    def plan(_connection: Any, _ended: Any) -> Planned:
        return Planned(at + timedelta(days=1), 0, 0)

    run = FinishedRun(source, reading, verdict, by_page, at, at, ())
    return SourceSettling(bureau.database, leases, plan).settle(run).counts


@given(STEPS)
@settings(max_examples=sized(15, 30), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_open_is_what_somebody_lists_and_search_was_told(
    steps: list[tuple[int, list[tuple[int, int, int]], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, office(f"sqlite:///{folder}/state.db") as bureau:
        known = [bureau.add(f"https://{number}.example/") for number in range(3)]
        model, at = Model(), datetime(2026, 1, 1, tzinfo=UTC)
        for index, shown, closes in steps:
            at += timedelta(hours=1)
            settle(bureau, known[index], shown, closes, at)
            model.step(index, {number for number, _, _ in shown}, closes)
            rows = bureau.rows("SELECT id, title, closed_at, source_id FROM job_postings")
            assert {int(row["title"].split()[1]) for row in rows} == model.ever
            assert {int(row["title"].split()[1]) for row in rows if row["closed_at"] is None} == model.open
            told = {row["posting_id"]: row["action"] for row in bureau.rows("SELECT * FROM search_outbox ORDER BY id")}
            for row in rows:  # the last word that search has of a posting is the truth
                assert told[row["id"]] == ("upsert" if row["closed_at"] is None else "delete")
                listers = {known[each].id.hex for each, held in model.listed.items() if int(row["title"][4:]) in held}
                assert row["closed_at"] is not None or row["source_id"] in listers
            # The same again changes nothing.
            at += timedelta(hours=1)
            again = settle(bureau, known[index], shown, closes, at)
            assert (again.inserted, again.updated, again.closed) == (0, 0, 0)
            assert again.found == again.skipped == len({number for number, _, _ in shown})
