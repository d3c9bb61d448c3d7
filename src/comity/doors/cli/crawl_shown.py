"""How a crawl's end is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from comity.doors.cli.output import Cell, Column, Row, counted, shown_time, write_line, write_table

if TYPE_CHECKING:
    from comity.reports.idle import IdleHost
    from comity.walk.progress import RunSummary

_HOSTS_SHOWN = 30
_STYLES = {"exhausted": "green", "active": "cyan", "blocked": "yellow", "unreachable": "yellow"}


def bytes_shown(number: int) -> str:
    """`512 B`, `3.4 MB`."""
    value, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def write_summary(summary: RunSummary, places: Mapping[str, Any]) -> None:
    """Say what was crawled, how each host was left, and where everything is."""
    rate = summary.pages / summary.seconds if summary.seconds > 0 else 0.0
    write_line(
        Cell(f"{counted(summary.pages, 'page')}", "bold"),
        f" in {summary.seconds:.1f} s ({rate:.1f}/s), {bytes_shown(summary.bytes_received)} received, "
        f"{counted(summary.errors, 'error')}, {counted(summary.refused, 'URL')} refused. "
        f"Ended: {summary.reason.replace('_', ' ')}.",
    )
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
            for line in summary.hosts[:_HOSTS_SHOWN]
        ]
        write_table([Column("HOST"), Column("STATUS"), Column("PAGES", True), Column("STILL QUEUED", True)], rows)
        if len(summary.hosts) > _HOSTS_SHOWN:
            write_line(f"… and {counted(len(summary.hosts) - _HOSTS_SHOWN, 'host')} more: comity domains list")
    for warning in summary.warnings:
        write_line(Cell(warning, "yellow"))
    write_line("")
    parts = "/*.parquet" if places["pages_are_parts"] else ""
    write_line(Cell("Pages  ", "dim"), f"{places['pages']}{parts}")
    write_line(Cell("State  ", "dim"), places["state"])


def write_idle(hosts: Sequence[IdleHost]) -> None:
    """Say of every host that was left alone why, and what would change it."""
    for host in hosts:
        when = f" (due {shown_time(host.due_at)} UTC)" if host.due_at else ""
        write_line(Cell(host.host, "bold"), f" was not crawled: {host.why}{when}. {host.remedy}")
