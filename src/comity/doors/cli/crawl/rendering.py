"""The summary of a crawl, and a line for each of its visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity.doors.cli.output import (
    Cell,
    TextColumn,
    TextRow,
    render_time,
    visible,
    write_line,
    write_stderr,
    write_table,
)
from comity.model.run import EndReason
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.reports.runs import IdleHost
    from comity.run.crawl.view import HostWait, Visit
    from comity.walk.crawl.progress import RunSummary

_MOST_HOSTS: Final = 30
_MOST_FAULTS: Final = 10
_MOST_PATTERNS: Final = 5
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
        "This run: ",
        Cell(f"{counted(summary.pages, 'page')}", "bold"),
        f" in {summary.seconds:.1f} s ({rate:.1f}/s), {unchanged}{render_bytes(summary.bytes_received)} received, "
        f"{counted(summary.errors, 'error')}, {counted(summary.refused, 'URL')} refused. "
        f"Ended: {summary.reason.removesuffix('.')}.",
    )
    in_all = sum(line.pages_in_all or 0 for line in summary.hosts)
    if in_all > summary.pages - summary.unchanged:  # earlier runs fetched some
        write_line(f"All runs: {counted(in_all, 'page')} of {counted(len(summary.hosts), 'host')}.")
    if summary.left_out:
        write_line(f"{counted(summary.left_out, 'URL')} left out by patterns: {_patterns(summary.left_out_by)}.")
    if summary.images_found or summary.images_stored:
        failed = f", {summary.images_failed:,} failed" if summary.images_failed else ""
        write_line(
            f"{counted(summary.images_found, 'image')} found on pages, {summary.images_stored:,} new stored{failed}."
        )
    if summary.unconverted:
        values = "value" if summary.unconverted == 1 else "values"
        write_line(f"{summary.unconverted:,} extracted {values} could not be converted and became null.")
    if summary.hosts:
        write_line("")
        rows = [
            TextRow(
                [
                    line.host,
                    Cell(line.status, _STYLES.get(line.status, "")),
                    f"{line.pages:,}",
                    f"{line.pages_in_all or line.pages:,}",
                    f"{line.queued:,}",
                ],
                line.reason,
            )
            for line in summary.hosts[:_MOST_HOSTS]
        ]
        counts = [TextColumn(name, True) for name in ("THIS RUN", "ALL RUNS", "STILL QUEUED")]
        write_table([TextColumn("HOST"), TextColumn("STATUS"), *counts], rows)
        if len(summary.hosts) > _MOST_HOSTS:
            write_line(f"… and {counted(len(summary.hosts) - _MOST_HOSTS, 'host')} more: comity domains list")
    write_faults(summary)
    for warning in summary.warnings:
        write_line(Cell(warning, "yellow"))
    left = [line for line in summary.hosts if line.status == "active" and line.queued]
    if left:
        queued, all_wait = sum(line.queued for line in left), all(line.next_run_at is not None for line in left)
        when = " once they are due" if all_wait else ""
        write_line(f"Still to visit: {counted(queued, 'URL')}. Run the same command to continue{when}.")
    write_line("")
    parts = "/*.parquet" if places["pages_are_parts"] else ""
    if Path(places["pages"]).exists():  # a run that fetched nothing may have made neither file nor folder
        write_line(Cell("Pages  ", "dim"), f"{places['pages']}{parts}")
    write_line(Cell("State  ", "dim"), places["state"])


def _patterns(counts: Mapping[str, int]) -> str:
    """The patterns that left out most, with how many."""
    named = [f"{count:,} by {visible(pattern)}" for pattern, count in list(counts.items())[:_MOST_PATTERNS]]
    more = len(counts) - len(named)
    return ", ".join([*named, *([f"the rest by {counted(more, 'other pattern')}"] if more else [])])


def write_faults(summary: RunSummary) -> None:
    """Write the errors: each kind with its count and its first URLs."""
    if not summary.faults:
        return
    write_line("")
    columns = (TextColumn("ERROR"), TextColumn("COUNT", True), TextColumn("FIRST AT"))
    rows = [
        TextRow(
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
        is_held = host.code == EndReason.HELD_ELSEWHERE  # then `due_at` is the end of a lease that may be renewed
        when = f"; due {render_time(host.due_at)} UTC" if host.due_at and not is_held else ""
        write_line(Cell(host.host, "bold"), f" was not crawled: {host.why}{when}. {host.remedy}")


_HEAD: Final = f"{'':>3} {'SIZE':>9} {'TIME':>9} {'DEPTH':>5} {'NEW/LINKS':>9} {'TYPE':<8} URL"
_WAITS: Final = {
    "delay": "the delay between requests",
    "robots": "Crawl-delay in robots.txt",
    "policy": "the policy of the host",
    "adaptive": "the host answers slowly",
    "retry_after": "the host asked Comity to wait",
    "unclean_end": "an earlier crawl ended without releasing the host",
}
_LEFT_OUT: Final = {
    "already_known": "already known",
    "too_deep": "too deep",
    "other_host": "on other hosts",
    "robots": "forbidden by robots.txt",
    "takedown": "taken down",
    "nofollow_page": "on a nofollow page",
    "nofollow_link": "rel=nofollow",
    "links_off": "links are not followed",
    "canonical_off": "canonical URL not followed",
}


class VisitLines:
    """A line on stderr for each visit, beside the progress: stdout is for the summary. The first line is a header."""

    def __init__(self) -> None:
        self._has_head = False

    def visits(self, visits: Sequence[Visit]) -> None:
        """Write some visits."""
        if not visits:
            return
        lines = [] if self._has_head else [_HEAD]
        self._has_head = True
        for visit in visits:
            lines.append(visit_line(visit))
            if visit.left_out:
                lines.append(left_out_line(visit.left_out))
        write_stderr("\n".join(lines))

    def wait(self, wait: HostWait) -> None:
        """Write that a request waits."""
        write_stderr(wait_line(wait))


def visit_line(visit: Visit) -> str:
    """Status, size, time, depth, new links of all links, media type and URL, and what went wrong."""
    status = "-" if visit.status is None else str(visit.status)
    size = "-" if visit.wire_bytes is None else render_bytes(visit.wire_bytes)
    took = "-" if visit.elapsed_s is None else f"{visit.elapsed_s * 1000:,.0f} ms"
    links = "-" if visit.links_found is None else f"{visit.links_new:,}/{visit.links_found:,}"
    kind = (visit.content_type or "").partition(";")[0].rpartition("/")[2].strip() or "-"
    line = f"{status:>3} {size:>9} {took:>9} {visit.depth:>5} {links:>9} {visible(kind)[:8]:<8} {visible(visit.url)}"
    rest = [visit.problem] if visit.problem else []
    rest += [f"redirected to {visit.redirected_to}"] if visit.redirected_to is not None else []
    rest += [f"attempt {visit.attempt}"] if visit.attempt > 1 else []
    rest += ["unchanged"] if visit.outcome == "not_modified" else []
    return line + "".join(f"  {visible(each)}" for each in rest)


def left_out_line(left_out: Mapping[str, Sequence[Any]]) -> str:
    """Why links of a page were left out: how many for each reason, and the first of them."""
    parts = []
    for reason, (links, first) in left_out.items():
        words = _LEFT_OUT.get(reason, reason.replace("_", " "))
        parts.append(f"{links:,} {words}" + (f" ({visible(first)})" if first else ""))
    return "      left out: " + ", ".join(parts)


def wait_line(wait: HostWait) -> str:
    """Which host is waited for, how long, and why."""
    return f"      waits {wait.seconds:.2f} s for {visible(wait.host)}: {_WAITS.get(wait.reason, wait.reason)}"
