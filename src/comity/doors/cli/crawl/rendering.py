"""The summary of a crawl, and a line for each of its visits."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from comity.doors.cli.output import Cell, Column, Row, counted, render_time, visible, write_line, write_table

if TYPE_CHECKING:
    from comity.reports.idle import IdleHost
    from comity.run.crawl.view import Visit
    from comity.walk.crawl.progress import RunSummary

_MOST_HOSTS: Final = 30
_MOST_FAULTS: Final = 10
_STYLES: Final = {"exhausted": "green", "active": "cyan", "blocked": "yellow", "unreachable": "yellow"}


def render_bytes(number: int) -> str:
    """`512 B`, `3.4 MB`."""
    value, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def summary_document(summary: RunSummary) -> dict[str, Any]:
    """The summary of a run as JSON."""
    document = asdict(summary)
    del document["idle"]  # it is written beside the summary
    for line in document["hosts"]:
        due = line["next_run_at"]
        line["next_run_at"] = None if due is None else datetime.fromtimestamp(due, UTC)
    return document


def write_summary(summary: RunSummary, places: Mapping[str, Any]) -> None:
    """Write what was crawled, the status of each host, and where everything is."""
    rate = summary.pages / summary.seconds if summary.seconds > 0 else 0.0
    unchanged = f"{summary.unchanged:,} unchanged, " if summary.unchanged else ""
    write_line(
        Cell(f"{counted(summary.pages, 'page')}", "bold"),
        f" in {summary.seconds:.1f} s ({rate:.1f}/s), {unchanged}{render_bytes(summary.bytes_received)} received, "
        f"{counted(summary.errors, 'error')}, {counted(summary.refused, 'URL')} refused. "
        f"Ended: {summary.reason.removesuffix('.')}.",
    )
    if summary.images_found or summary.images_stored:
        failed = f", {summary.images_failed:,} failed" if summary.images_failed else ""
        write_line(
            f"{counted(summary.images_found, 'image')} found on pages, {summary.images_stored:,} new stored{failed}."
        )
    if summary.unconverted:
        values = "value" if summary.unconverted == 1 else "values"
        write_line(f"{summary.unconverted:,} extracted {values} could not be converted, and are null.")
    if summary.hosts:
        write_line("")
        rows = [
            Row(
                [
                    line.host,
                    Cell(line.status, _STYLES.get(line.status, "")),
                    f"{line.pages:,}",
                    f"{line.queued:,}",
                ],
                line.reason,
            )
            for line in summary.hosts[:_MOST_HOSTS]
        ]
        write_table([Column("HOST"), Column("STATUS"), Column("PAGES", True), Column("STILL QUEUED", True)], rows)
        if len(summary.hosts) > _MOST_HOSTS:
            write_line(f"… and {counted(len(summary.hosts) - _MOST_HOSTS, 'host')} more: comity domains list")
    write_faults(summary)
    for warning in summary.warnings:
        write_line(Cell(warning, "yellow"))
    left = [line for line in summary.hosts if line.status == "active" and line.queued]
    if left:
        queued, all_wait = sum(line.queued for line in left), all(line.next_run_at is not None for line in left)
        when = " once they are due" if all_wait else ""
        write_line(f"Still to be visited: {counted(queued, 'URL')}. The same command continues there{when}.")
    write_line("")
    parts = "/*.parquet" if places["pages_are_parts"] else ""
    write_line(Cell("Pages  ", "dim"), f"{places['pages']}{parts}")
    write_line(Cell("State  ", "dim"), places["state"])


def write_faults(summary: RunSummary) -> None:
    """Write the errors: each kind with its count and its first URLs."""
    if not summary.faults:
        return
    write_line("")
    columns = (Column("ERROR"), Column("COUNT", True), Column("FIRST AT"))
    rows = [
        Row(
            (Cell(visible(fault.code), "yellow"), f"{fault.count:,}", visible(url))
            if not number
            else ("", "", visible(url))
        )
        for fault in summary.faults[:_MOST_FAULTS]
        for number, url in enumerate(fault.urls or ["-"])
    ]
    write_table(columns, rows)
    if len(summary.faults) > _MOST_FAULTS:
        write_line(f"… and {counted(len(summary.faults) - _MOST_FAULTS, 'kind')} more: --json lists them")


def write_idle(hosts: Sequence[IdleHost]) -> None:
    """Write why a host was not crawled, and what would change it."""
    for host in hosts:
        when = f" (due {render_time(host.due_at)} UTC)" if host.due_at else ""
        write_line(Cell(host.host, "bold"), f" was not crawled: {host.why}{when}. {host.remedy}")


def write_visits(visits: Sequence[Visit]) -> None:
    """Write a line for each visit on stderr, beside the progress: stdout is for the summary."""
    if visits:
        print("\n".join(_visit_line(visit) for visit in visits), file=sys.stderr, flush=True)


def _visit_line(visit: Visit) -> str:
    """Status, size, time and URL, and what went wrong."""
    status = "-" if visit.status is None else str(visit.status)
    size = "-" if visit.wire_bytes is None else render_bytes(visit.wire_bytes)
    took = "-" if visit.elapsed_s is None else _ms(visit.elapsed_s)
    rest = visible(visit.problem or "")
    if visit.redirected_to is not None:
        rest = f"redirected to {visible(visit.redirected_to)}"
    return _columns(status, size, took, visible(visit.url), rest)


def _columns(status: str, size: str, took: str, url: str, rest: str) -> str:
    return f"{status:>3} {size:>9} {took:>9}  {url}" + (f"  {rest}" if rest else "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
