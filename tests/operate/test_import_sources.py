"""A list of sources is imported as a whole or not at all, and every row is accounted for."""

from __future__ import annotations

from typing import Any

import pytest

from comity.database.sources import rows as sources_table
from comity.model.source import SourceStatus
from comity.model.source_import import SourceImport
from comity.operate.import_sources import ImportTerms, import_sources
from comity.operate.sources import delete_source, pause_source
from comity.operate.takedown import add_takedowns
from comity.reports.sources import find_source, list_sources
from comity.rules.row_list import rows_of_objects
from tests.walk.sourcing import Office


def url(number: int) -> str:
    return f"https://a.example/{number}"


def run(bureau: Office, *rows: Any, **terms: bool) -> SourceImport:
    return import_sources(bureau.database, bureau.state.clock, rows_of_objects(rows), ImportTerms(**terms))


def results(report: SourceImport) -> list[tuple[str, str | None, str | None]]:
    return [(str(row.result), row.field, row.reason) for row in report.rows]


def total(bureau: Office) -> int:
    return list_sources(bureau.database)[1]


def test_rows_become_sources_that_are_due(bureau: Office) -> None:
    report = run(bureau, {"url": url(1), "kind": "UN", "country": "Kenya"}, {"url": f"{url(2)}#x", "days": 9})
    assert (report.is_written, report.counts) == (True, {"added": 2})
    first, second = (find_source(bureau.database, url(number)) for number in (1, 2))
    assert (first.org_type, first.country, first.crawl_frequency_days, first.status) == ("un", "KE", 1, "active")
    assert first.next_run_at is not None
    assert (second.crawl_frequency_days, report.rows[1].source_id) == (9, second.id)
    again = run(bureau, {"url": url(1)}, {"url": url(2), "days": 4, "name": "B"})
    assert results(again) == [
        ("already_there", None, None),
        ("already_there", None, "crawl_frequency_days, org_name differ"),
    ]
    assert find_source(bureau.database, url(2)) == second


def test_one_refused_row_keeps_all_others_out(bureau: Office) -> None:
    rows = ({"url": url(1)}, {"url": url(2), "country": "Atlantis"}, {"url": "ftp://a.example/"}, {"url": ""})
    report = run(bureau, *rows)
    assert (report.is_written, total(bureau)) == (False, 0)
    assert [(row[0], row[1]) for row in results(report)] == [
        ("would_add", None),
        ("refused", "country"),
        ("refused", "careers_url"),
        ("refused", "careers_url"),
    ]
    assert [row.source_id for row in report.rows] == [None] * 4
    skipped = run(bureau, *rows, skip_bad=True)
    assert (skipped.is_written, skipped.counts, total(bureau)) == (True, {"added": 1, "refused": 3}, 1)


def test_a_failure_while_writing_leaves_nothing_behind(bureau: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    add, calls = sources_table.add, []

    def failing(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise RuntimeError("the server went away")
        return add(*arguments)

    monkeypatch.setattr(sources_table, "add", failing)
    with pytest.raises(RuntimeError):
        run(bureau, *({"url": url(number)} for number in range(5)))
    assert total(bureau) == 0


def test_update_changes_what_differs_and_keeps_what_is_left_out(bureau: Office) -> None:
    run(bureau, {"url": url(1), "name": "A", "country": "KE"}, {"url": url(2), "name": "B"})
    pause_source(bureau.database, bureau.state.clock, find_source(bureau.database, url(1)).id)
    report = run(bureau, {"url": url(1), "name": "A2"}, {"url": url(2), "name": "B"}, {"url": url(3)}, update=True)
    assert results(report) == [
        ("updated", None, "changed org_name"),
        ("already_there", None, None),
        ("added", None, None),
    ]
    source = find_source(bureau.database, url(1))
    assert (source.org_name, source.country, source.status) == ("A2", "KE", SourceStatus.PAUSED)
    assert run(bureau, {"url": url(1), "name": "A2"}, update=True).counts == {"already_there": 1}


def test_a_dry_run_says_the_same_and_changes_nothing(bureau: Office) -> None:
    run(bureau, {"url": url(1), "name": "A"})
    before = find_source(bureau.database, url(1))
    report = run(bureau, {"url": url(1), "name": "A2"}, {"url": url(2)}, update=True, dry_run=True)
    assert (report.is_written, report.is_dry_run) == (False, True)
    assert [row[0] for row in results(report)] == ["would_update", "would_add"]
    assert (report.rows[0].source_id, report.rows[1].source_id) == (before.id, None)
    assert (find_source(bureau.database, url(1)), total(bureau)) == (before, 1)


def test_an_address_that_is_listed_twice(bureau: Office) -> None:
    report = run(bureau, {"url": url(1)}, {"url": url(1) + "#again"}, {"url": url(1), "name": "Other"}, skip_bad=True)
    assert results(report) == [
        ("added", None, None),
        ("already_there", None, "same as row 1"),
        ("refused", "careers_url", "row 1 has the same address, but a different org_name"),
    ]


def test_a_deleted_source_begins_anew_and_a_taken_down_one_is_refused(bureau: Office) -> None:
    run(bureau, {"url": url(1), "name": "A", "country": "KE"})
    delete_source(bureau.database, bureau.state.clock, find_source(bureau.database, url(1)).id)
    add_takedowns(bureau.database, ["b.example"])
    report = run(bureau, {"url": url(1)}, {"url": "https://b.example/x"}, skip_bad=True)
    assert results(report) == [("added", None, None), ("refused", "careers_url", "is taken down (b.example)")]
    source = find_source(bureau.database, url(1))
    assert (source.status, source.org_name, source.country) == (SourceStatus.ACTIVE, None, None)


def test_proposed_sources_wait_for_approval(bureau: Office) -> None:
    run(bureau, {"url": url(1)}, approved=False)
    source = find_source(bureau.database, url(1))
    assert (source.status, source.next_run_at) == (SourceStatus.PAUSED, None)


def test_many_rows_are_one_import(bureau: Office) -> None:
    report = run(bureau, *({"url": url(number)} for number in range(1_200)))
    assert (report.counts, total(bureau)) == ({"added": 1_200}, 1_200)
