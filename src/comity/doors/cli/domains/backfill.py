"""`comity domains backfill`: fill the table of hosts from older crawls."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.domains import app
from comity.doors.cli.domains.rendering import status_cell
from comity.doors.cli.help_text import command
from comity.doors.cli.options import JsonOption, StateOption, read_invocation
from comity.doors.cli.output import Cell, Column, Row, counted, write_json, write_line, write_table
from comity.doors.cli.progress_bars import ProgressBars

if TYPE_CHECKING:
    from comity.reports.backfill import BackfillReport, SourceRead

_MAX_NAMES: Final = 10
_WHY: Final = {
    "leased": "is being crawled by {}; run this again afterwards",
    "misnamed": "has another row, {}; run comity domains merge first",
    "taken_down": "is taken down by {}",
    "busy": "was being written to; run this again",
}


@command(app, "backfill", examples=("comity domains backfill --dry-run", "comity domains backfill --json"))
def backfill_domains(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start again instead of continuing an interrupted backfill.")
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill the table of hosts from the fetches and images of older crawls.

    A host without a row gets one: exhausted, or blocked or unreachable if more than half of its fetches failed. A host
    with a row keeps its status, lease and settings; counters that are lower than the fetches show are raised. A host
    that is being crawled is skipped. A second run changes nothing; after an interruption, the next run continues. A
    report at the end says what was read, changed and skipped, and which counters disagree.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.backfill import backfill

    with invocation.open_existing() as opened, ProgressBars() as bars:
        report = backfill(
            opened.database,
            opened.clock,
            collapse=invocation.collapse,
            dry_run=dry_run,
            anew=restart,
            weights=opened.settings.weights,
            refresh_after=opened.settings.refresh_after,
            bars=bars.bar,
        )
    if invocation.as_json:
        write_json(_document(report))
    else:
        _write(report)


def _document(report: BackfillReport) -> dict[str, Any]:
    document = asdict(report)
    for name, source in (("fetches", report.fetches), ("provenance", report.provenance)):
        if source is not None:
            document[name]["rows_skipped"] = source.rows_skipped
    return document


def _write(report: BackfillReport) -> None:
    if report.is_resumed:
        write_line("Continued the interrupted backfill.")
    _write_read("fetches", report.fetches)
    if report.provenance is not None:
        _write_read("provenance", report.provenance)
    else:
        write_line(f"No images were counted: {report.provenance_lacks}.")
    write_line()
    before, after = report.before, report.after
    lines = (
        ("hosts", before.hosts, after.hosts),
        ("made by a backfill", before.backfilled, after.backfilled),
        ("in the fetches, but without a row", before.without_row, after.without_row),
    )
    write_table(
        (Column("HOSTS"), Column("BEFORE", True), Column("AFTER", True)),
        [Row((title, f"{was:,}", f"{now:,}")) for title, was, now in lines],
    )
    _write_counters(report)
    _write_backfilled(report)
    _write_left(report)
    _write_orphans(report)
    write_line()
    would = "would be " if report.is_dry_run else ""
    write_line(
        f"{counted(report.created, 'host')} {would}added, {report.raised:,} {would}raised, "
        f"{report.unchanged:,} unchanged, {sum(report.left.values()):,} skipped.",
        Cell("  Dry run: nothing was changed." if report.is_dry_run else "", "dim"),
    )


def _write_read(name: str, read: SourceRead) -> None:
    write_line(f"Read {counted(read.rows, 'row')} of {name}: {counted(read.hosts, 'host')}.")
    if read.skipped:
        write_line(f"{counted(read.rows_skipped, 'row')} of them could not be used:")
    for line in read.skipped:
        write_line(f"  {line.rows:,}  {line.reason}", Cell(f"  {line.example}" if line.example else "", "dim"))


def _write_counters(report: BackfillReport) -> None:
    """Write the counters that are wrong for some host."""
    lines = [line for line in report.counters if line.lower_before or line.lower or line.higher]
    if not lines:
        return
    write_line()
    titles = ("TOO LOW", "TO RAISE" if report.is_dry_run else "RAISED", "STILL TOO LOW", "HIGHER")
    write_table(
        (Column("COUNTER"), *(Column(title, True) for title in titles)),
        [
            Row((line.counter, f"{line.lower_before:,}", f"{line.raised:,}", f"{line.lower:,}", f"{line.higher:,}"))
            for line in lines
        ],
    )
    if report.mismatches:
        write_line()
        write_table(
            (Column("HOST"), Column("COUNTER"), Column("STORED", True), Column("EVIDENCE", True)),
            [
                Row((line.host, line.counter, f"{line.stored:,}", f"{line.evidence:,}"))
                for line in report.mismatches[:_MAX_NAMES]
            ],
        )
        _write_more(sum(line.lower + line.higher for line in report.counters))


def _write_backfilled(report: BackfillReport) -> None:
    if not report.backfilled:
        return
    write_line()
    write_table(
        (Column("BACKFILLED"), Column("HOSTS", True), Column("YIELD", True), Column("PAGES", True)),
        [
            Row(
                (
                    status_cell(line.status),
                    f"{line.hosts:,}",
                    "-" if line.average_yield is None else f"{line.average_yield:.2f}",
                    f"{line.average_pages:,.1f}",
                )
            )
            for line in report.backfilled
        ],
    )


def _write_left(report: BackfillReport) -> None:
    if not report.left_hosts:
        return
    write_line()
    for host in report.left_hosts[:_MAX_NAMES]:
        write_line(Cell(host.host, "bold"), f" {_WHY[host.reason].format(host.detail)}.")
    _write_more(sum(report.left.values()))


def _write_orphans(report: BackfillReport) -> None:
    orphans = report.orphans
    if orphans.provenance_hosts:
        images = counted(orphans.provenance_images, "image")
        write_line(f"{counted(orphans.provenance_hosts, 'host')} with {images} in provenance only: no row was created.")
    if orphans.hosts_without_fetches:
        write_line(f"{counted(orphans.hosts_without_fetches, 'host')} with pages counted, but no fetch stored.")


def _write_more(number: int) -> None:
    if number > _MAX_NAMES:
        write_line(Cell(f"… and {number - _MAX_NAMES:,} more", "dim"))
