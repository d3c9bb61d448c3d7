"""Sources and their runs, as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from comity.doors.cli.output import (
    Cell,
    TextColumn,
    TextRow,
    json_line,
    render_time,
    write_line,
    write_pairs,
    write_table,
)
from comity.model.wording import counted
from comity.telemetry import events
from comity.telemetry.events import Level

if TYPE_CHECKING:
    from comity.model.source import Source, SourceReport, SourceSkipped
    from comity.model.source_import import ImportedRow, SourceImport
    from comity.operate.queue import PolicyImport, PolicyImportResult
    from comity.operate.sources import Simulation
    from comity.reports.sources import LoggedRun
    from comity.telemetry.logs import Log
    from comity.upkeep.due_sources import Result

_STYLES = {
    "active": "green",
    "paused": "yellow",
    "blocked": "red",
    "deleted": "dim",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}


def source_document(source: Source) -> dict[str, Any]:
    """A source as one JSON object."""
    from comity.doors.schemas.sources import SourceView

    return SourceView.model_validate(source).document()


def result_document(result: SourceReport | SourceSkipped) -> dict[str, Any]:
    """A run, or why there was none, as one JSON object with its counts."""
    values: dict[str, Any] = asdict(result)
    counts: dict[str, Any] = values.pop("counts", {})
    return values | counts


def write_sources(sources: Sequence[Source]) -> None:
    """The table of sources."""
    columns = (
        TextColumn("SOURCE"),
        TextColumn("ORGANISATION"),
        TextColumn("TYPE"),
        TextColumn("STATUS"),
        TextColumn("DAYS", is_number=True),
        TextColumn("NEXT RUN"),
        TextColumn("LAST RUN"),
        TextColumn("RESULT"),
        TextColumn("JOBS", is_number=True),
    )
    rows = [
        TextRow(
            (
                source.careers_url,
                source.org_name or "-",
                str(source.source_type),
                _coloured(str(source.status)),
                str(source.crawl_frequency_days or "-"),
                render_time(source.next_run_at),
                render_time(source.last_crawled_at),
                _coloured(source.last_crawl_status or "-"),
                f"{source.last_found:,}",
            ),
            below=source.last_crawl_message,
        )
        for source in sources
    ]
    write_table(columns, rows)


_RESULTS = {
    "added": "green",
    "updated": "green",
    "would_add": "green",
    "would_update": "green",
    "already_there": "dim",
    "refused": "red",
}


def write_import(report: SourceImport | PolicyImport, heading: str, urls: Sequence[str]) -> None:
    """Write the result of each row of an imported list, a source or a policy by its URL, and a summary."""
    imported: Sequence[ImportedRow | PolicyImportResult] = report.rows
    columns = (
        TextColumn("ROW", is_number=True),
        TextColumn("LINE", is_number=True),
        TextColumn("RESULT"),
        TextColumn(heading),
    )
    rows = [
        TextRow(
            (
                f"{row.row:,}",
                "-" if row.line is None else f"{row.line:,}",
                Cell(row.result.replace("_", " "), _RESULTS[row.result]),
                url or "-",
            ),
            below=": ".join(filter(None, (row.field, row.reason))) or None,
        )
        for row, url in zip(imported, urls, strict=True)
    ]
    write_table(columns, rows)
    if report.ignored_columns:
        write_line(Cell(f"Ignored columns: {', '.join(report.ignored_columns)}.", "dim"))
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in report.counts.items())
    write_line(Cell(f"{counted(len(report.rows), 'row')}: {counts}.", "bold"))
    if report.is_dry_run:
        write_line("This was a dry run: nothing was changed.")
    elif not report.is_written:
        write_line("Nothing was changed: correct the refused rows, or skip them with --skip-bad.")


def write_source(source: Source) -> None:
    """Write one source."""
    pairs: list[tuple[str, str | Cell]] = [
        ("id", str(source.id)),
        ("organisation", " · ".join(filter(None, (source.org_name, source.org_type, source.country))) or "-"),
        ("type", str(source.source_type)),
        ("status", _coloured(str(source.status))),
        ("schedule", f"{source.schedule}, {counted(source.crawl_frequency_days or 3, 'day')}"),
        ("next run", render_time(source.next_run_at)),
    ]
    if source.time_window is not None:
        pairs.append(("time window", f"{source.time_window} {source.time_zone or ''}".strip()))
    write_pairs(pairs)


def write_report(result: SourceReport | SourceSkipped) -> None:
    """Write a line for a run, and one for its message."""
    counts = getattr(result, "counts", None)
    if counts is None:
        write_line(Cell("skipped", "dim"), f"  {result.source_id}  {getattr(result, 'reason', '')}")
        return
    report: Any = result
    figures = (
        f"{counts.found} found, {counts.inserted} new, {counts.updated} changed, {counts.skipped} unchanged, "
        f"{counts.closed} closed; {counted(report.pages, 'page')}, {report.duration_ms:,} ms"
    )
    write_line(_coloured(str(report.status)), f"  {report.careers_url}  {figures}")
    if report.message:
        write_line(Cell(f"      {report.message}", "dim"))
    if str(report.source_status) != "active":
        write_line(Cell(f"      the source is {report.source_status} now", "dim"))
    else:
        write_line(Cell(f"      next run {render_time(report.next_run_at)}: {report.next_run_reason}", "dim"))


def write_logs(runs: Sequence[LoggedRun]) -> None:
    """The table of runs."""
    numbers = ("FOUND", "NEW", "CHANGED", "SKIPPED", "CLOSED", "MS")
    columns = (
        TextColumn("SOURCE"),
        TextColumn("RAN"),
        TextColumn("STATUS"),
        *(TextColumn(title, is_number=True) for title in numbers),
    )
    rows = [
        TextRow(
            (
                run.careers_url,
                render_time(run.ran_at),
                _coloured(run.status or "-"),
                *(
                    f"{number or 0:,}"
                    for number in (run.found, run.inserted, run.updated, run.skipped, run.closed, run.duration_ms)
                ),
            ),
            below=" · ".join(filter(None, (run.message, _next_run(run)))) or None,
        )
        for run in runs
    ]
    write_table(columns, rows)


def _next_run(run: LoggedRun) -> str | None:
    if run.next_run_at is None or not run.next_run_reason:
        return None
    return f"next run {render_time(run.next_run_at)}: {run.next_run_reason}"


def write_simulation(found: Simulation) -> None:
    """Write what a run would find."""
    if found.kind is None:
        write_line(Cell("not read", "red"), f"  {found.message}")
        return
    write_line(
        Cell(found.careers_url, "bold"),
        f": {counted(found.found, 'job')} on the first page ({found.kind}); nothing is stored.",
    )
    if found.message:
        write_line(Cell(f"  {found.message}", "dim"))
    for job in found.jobs:
        write_line("")
        write_line(Cell(f"  {job.title}", "bold"))
        pairs = [
            ("  organisation", job.org_name or "-"),
            ("  where", " · ".join(filter(None, (job.location_raw, job.country_iso, job.work_modality))) or "-"),
            ("  level", " · ".join(filter(None, (job.level_norm, job.career_type))) or "-"),
            ("  deadline", render_time(job.deadline)),
            ("  tags", ", ".join(job.mission_tags) or "-"),
            ("  apply", job.apply_url),
        ]
        write_pairs(pairs)
    if found.next_url is not None:
        write_line(Cell(f"\n  continues at {found.next_url}", "dim"))


def _coloured(word: str) -> Cell:
    return Cell(word, _STYLES.get(word, ""))


def result_writer(log: Log, *, as_json: bool) -> Callable[[Result], None]:
    """How a scheduler reports each run: as JSON on stdout, as an event of a JSON log, or as text."""
    if as_json:
        return lambda result: print(json_line(result_document(result)), flush=True)
    return (lambda result: log_source(log, result)) if log.as_json else write_report


def log_source(log: Log, result: Result) -> None:
    """Log that a source was run, or skipped."""
    values = result_document(result)
    if "why" in values:
        log.emit(events.SOURCE_LEFT, f"{values['source_id']} was not run: {values['reason']}", **values)
        return
    values["reason"] = values.pop("message")
    message = (
        f"{values['careers_url']}: {values['status']}, {values['found']} found, {values['inserted']} new, "
        f"{values['updated']} changed, {values['closed']} closed in {values['duration_ms']:,} ms"
    ) + (f" ({values['reason']})" if values["reason"] else "")
    log.emit(events.SOURCE_RUN, message, None if values["status"] == "ok" else Level.WARNING, **values)
