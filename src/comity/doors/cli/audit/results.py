"""The results of an audit: a summary or a document on stdout, a page, tables, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from comity.doors.cli.crawl.rendering import render_bytes
from comity.doors.cli.output import Cell, TextColumn, TextRow, note, write_json, write_line, write_pairs, write_table
from comity.model.audit import Severity
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError
from comity.model.run import EndReason
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.model.audit import AuditComparison, AuditInfo, AuditReport, FindingChange
    from comity.reports.audit.stored_audits import StoredAudit
    from comity.run.audit.tables import WrittenTable

STYLES: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTICE: "cyan"}


@dataclass(frozen=True, slots=True)
class Results:
    """The results that the user requested."""

    report: Path | None = None
    tables: Path | None = None
    fail_on: Severity | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class _Written:
    """Files that were written."""

    html: Path | None
    html_bytes: int
    tables: Sequence[WrittenTable]


def deliver(stored: StoredAudit, results: Results, *, is_whole: bool = True) -> None:
    """Write everything that was asked for; exits with 1 if no page was fetched, or if a finding is too severe."""
    from comity.reports.audit.build import report_of
    from comity.run.audit.audit import advice_for, read_nothing

    report = report_of(stored)
    written = _write_files(stored, report, results)
    advice = advice_for(report.info)
    if results.as_json:
        from comity.doors.schemas.audits import audit_document

        html = str(written.html) if written.html is not None else None
        write_json(audit_document(report, folder=str(stored.folder), advice=advice, html=html, tables=written.tables))
    else:
        _write_summary(report, stored.folder, written, advice)
    if not is_whole:
        return
    if read_nothing(report.info):
        raise typer.Exit(1)
    failing = [each for each in report.findings if results.fail_on and each.severity.rank >= results.fail_on.rank]
    if failing:
        if not results.as_json:
            note(f"comity: {counted(len(failing), 'kind')} of problem with severity {results.fail_on} or worse")
        raise typer.Exit(1)


def _write_files(stored: StoredAudit, report: AuditReport, results: Results) -> _Written:
    size, tables = 0, []
    try:
        if results.report is not None:
            from comity.reports.audit.html import write_html

            size = write_html(report, results.report)
        if results.tables is not None:
            from comity.run.audit.tables import write_tables

            tables = write_tables(stored, report.findings, results.tables)
    except OSError as error:
        raise ComityError(f"cannot write {error.filename or results.tables}: {error.strerror}") from None
    return _Written(results.report, size, tables)


def _write_summary(report: AuditReport, folder: Path, written: _Written, advice: str | None) -> None:
    info, totals = report.info, report.totals
    took = f" in {_duration(info.ended_at - info.started_at)}" if info.ended_at is not None else ""
    # Where robots.txt could not be read, nothing is fetched either; then the end says why.
    is_by_rule = bool(info.pages) or info.ended_by == EndReason.ROBOTS_DENIED
    blocked = f", {totals['denied']:,} blocked by robots.txt" if totals.get("denied") and is_by_rule else ""
    write_line(
        "Audit of ",
        Cell(info.site, "bold"),
        f": {counted(totals['pages'], 'page')} read, {counted(totals['urls'], 'URL')} checked{took}{blocked}. "
        f"Ended: {info.sentence.removeprefix('Stopped: ').removesuffix('.')}.",
    )
    for sentence in info.open_warnings:
        write_line(Cell(sentence, "yellow"))
    if info.left:
        write_line(f"{counted(info.left, 'known URL')} not visited.")
    if advice is not None:
        write_line(advice)
    write_line("")
    _write_findings(report)
    write_line("")
    places: list[tuple[str, str | Cell]] = [("Audit", info.audit_id), ("Folder", str(folder))]
    if written.html is not None:
        places.append(("Report", f"{written.html} ({render_bytes(written.html_bytes)})"))
    if written.tables:
        rows = ", ".join(f"{table.name} {table.rows:,}" for table in written.tables)
        places.append(("Tables", f"{Path(written.tables[0].csv).parent} (rows: {rows})"))
    write_pairs(places)


def _write_findings(report: AuditReport) -> None:
    """A line for each finding, with the first page that has it below."""
    if not report.findings:
        write_line(
            Cell("No problems were found.", "green")
            if report.totals["pages"]
            else "No page was read, so nothing was checked."
        )
        return
    rows = [
        TextRow(
            [Cell(each.severity.value, STYLES[each.severity]), each.title, f"{each.count:,}"],
            _example(each.pages[0].url, each.pages[0].detail) if each.pages else None,
        )
        for each in report.findings
    ]
    write_table([TextColumn("SEVERITY"), TextColumn("PROBLEM"), TextColumn("FOUND", True)], rows)
    numbers = {level: sum(each.severity is level for each in report.findings) for level in Severity}
    said = ", ".join(counted(number, level.value) for level, number in numbers.items())
    write_line(f"{counted(len(report.findings), 'kind')} of problem: {said}.")


def _example(url: str, detail: str) -> str:
    return f"{_cut(url, 100)} ({_cut(detail, 80)})" if detail else _cut(url, 100)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def write_audits(audits: Sequence[AuditInfo]) -> None:
    """A line for each stored audit."""
    if not audits:
        write_line("No audit is stored.")
        return
    rows = [
        TextRow(
            [
                info.audit_id,
                datetime.fromtimestamp(info.started_at, UTC).strftime("%Y-%m-%d %H:%M"),
                f"{info.pages:,}",
                info.ended_by.replace("_", " ") or "not ended",
            ]
        )
        for info in audits
    ]
    write_table([TextColumn("AUDIT"), TextColumn("STARTED"), TextColumn("PAGES", True), TextColumn("ENDED BY")], rows)


def write_comparison(comparison: AuditComparison) -> None:
    """What got worse, then what got better, by finding, with the first pages of each."""
    before, after = comparison.before, comparison.after
    write_line(f"From {before.audit_id} ({_day(before)}) to {after.audit_id} ({_day(after)}).")
    for info in (before, after):
        if not info.is_complete:
            write_line(
                f"{info.audit_id} ended early ({counted(info.left, 'known URL')} not visited); pages that it did not "
                "reach are neither better nor worse."
            )
    write_line("")
    changed = [each for each in comparison.changes if each.better or each.worse]
    if changed:
        rows = [_change_row(each) for each in changed]
        columns = [TextColumn(name, True) for name in ("WORSE", "BETTER", "SAME")]
        write_table([TextColumn("SEVERITY"), TextColumn("PROBLEM"), *columns], rows)
        write_line("")
    write_line(
        Cell(f"{comparison.worse:,} worse", "red" if comparison.worse else ""),
        ", ",
        Cell(f"{comparison.better:,} better", "green" if comparison.better else ""),
        f", {comparison.same:,} the same.",
    )
    if comparison.urls_new or comparison.urls_gone:
        write_line(f"{counted(comparison.urls_new, 'URL')} new, {comparison.urls_gone:,} gone.")


def _change_row(change: FindingChange) -> TextRow:
    first = change.worse or change.better
    word = "worse" if change.worse else "better"
    return TextRow(
        [
            Cell(change.severity.value, STYLES[change.severity]),
            change.title,
            f"{len(change.worse):,}",
            f"{len(change.better):,}",
            f"{len(change.same):,}",
        ],
        f"{word}: {_example(first[0].url, first[0].detail)}",
    )


def _day(info: AuditInfo) -> str:
    return datetime.fromtimestamp(info.started_at, UTC).strftime("%Y-%m-%d %H:%M")
