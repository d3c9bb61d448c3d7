"""How a crawl is told, while it goes on and at its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from comity.doors.cli.output import Cell, Column, Row, counted, render_time, visible, write_line, write_table

if TYPE_CHECKING:
    from comity.reports.idle import IdleHost
    from comity.walk.progress import Progress, RunSummary


import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from comity.model.outcome import Outcome


# `comity crawl -v`: a line for each URL that was visited, once what came of it is committed.


def lines_of(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each visit: status, size, time and URL, or what went wrong. What was only put off is no visit."""
    return [line for outcome in outcomes if (line := _line(outcome)) is not None]


def write_visits(lines: Sequence[str]) -> None:
    """Write lines on stderr, beside the progress: stdout is for the summary."""
    if lines:
        print("\n".join(lines), file=sys.stderr, flush=True)


def _line(outcome: Outcome) -> str | None:
    from comity.model.outcome import Failed, Postponed, Refused, Rejected

    url = visible(outcome.entry.url)
    if isinstance(outcome, Postponed):
        return None
    if isinstance(outcome, Refused):
        return _columns("-", "-", "-", url, f"{outcome.code}: {visible(outcome.reason)}")
    if isinstance(outcome, Failed | Rejected):
        status = "-" if outcome.status is None else str(outcome.status)
        problem = f"{outcome.code}: {visible(outcome.reason)}"
        return _columns(status, render_bytes(outcome.wire_bytes), _ms(outcome.elapsed_s), url, problem)
    answer = outcome.answer
    led_to = f"led to {visible(answer.final_url)}" if answer.redirect_count else ""
    return _columns(str(answer.status), render_bytes(answer.wire_bytes), _ms(answer.elapsed_s), url, led_to)


def _columns(status: str, size: str, took: str, url: str, rest: str) -> str:
    return f"{status:>3} {size:>9} {took:>9}  {url}" + (f"  {rest}" if rest else "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


_HOSTS_SHOWN = 30
_FAULTS_SHOWN = 10
_RECENT_S = 10.0
_STYLES = {"exhausted": "green", "active": "cyan", "blocked": "yellow", "unreachable": "yellow"}


def render_bytes(number: int) -> str:
    """`512 B`, `3.4 MB`."""
    value, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


class ProgressLine:
    """One line about a crawl that goes on; it remembers the last seconds, for the recent pace."""

    def __init__(self, progress: Progress, clock: Callable[[], float], max_pages: int, max_minutes: float) -> None:
        self._progress = progress
        self._clock = clock
        self._max_pages = max_pages
        self._max_minutes = max_minutes
        self._recent = deque([(progress.started_at, 0)])
        self.shown = ""

    def sentence(self) -> str:
        """How it goes now."""
        progress, now = self._progress, self._clock()
        mean = progress.pages / max(now - progress.started_at, 0.001)
        waiting, blocked = progress.hosts_waiting, progress.hosts_blocked
        active = max(progress.hosts_active - waiting - blocked, 0)
        parts = [
            f"{progress.pages:,} pages",
            f"{self._pace(now):,.1f}/s (mean {mean:,.1f})",
            f"hosts {active:,} active, {waiting:,} waiting, {blocked:,} blocked",
            f"{max(progress.queued, 0):,} queued",
            counted(progress.errors, "error"),
            render_bytes(progress.bytes_received),
        ]
        if left := self._left(now):
            parts.append(f"left {left}")
        if progress.waits_for is not None:
            parts.append(f"waiting: {progress.waits_for}")
        self.shown = " · ".join(parts)
        return self.shown

    def _pace(self, now: float) -> float:
        """Pages a second over the last seconds."""
        recent = self._recent
        recent.append((now, self._progress.pages))
        while len(recent) > 2 and recent[1][0] <= now - _RECENT_S:
            recent.popleft()
        since, before = recent[0]
        return (self._progress.pages - before) / max(now - since, 0.001)

    def _left(self, now: float) -> str:
        """What is left of the budgets; nothing if there are none."""
        left = []
        if self._max_pages:
            left.append(counted(max(self._max_pages - self._progress.pages, 0), "page"))
        if self._max_minutes:
            seconds = max(self._max_minutes * 60 - (now - self._progress.started_at), 0.0)
            left.append(f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s")
        return ", ".join(left)


def summary_document(summary: RunSummary) -> dict[str, Any]:
    """The end of a run for programs."""
    document = asdict(summary)
    del document["idle"]  # which stands beside the summary
    for line in document["hosts"]:
        due = line["next_run_at"]
        line["next_run_at"] = None if due is None else datetime.fromtimestamp(due, UTC)
    return document


def write_summary(summary: RunSummary, places: Mapping[str, Any]) -> None:
    """Say what was crawled, how each host was left, and where everything is."""
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
            f"{counted(summary.images_found, 'image')} found on pages, {summary.images_stored:,} new ones kept{failed}."
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
    write_faults(summary)
    for warning in summary.warnings:
        write_line(Cell(warning, "yellow"))
    left = [line for line in summary.hosts if line.status == "active" and line.queued]
    if left:
        queued, all_wait = sum(line.queued for line in left), all(line.next_run_at is not None for line in left)
        when = " once they are due" if all_wait else ""
        write_line(f"Still to be visited: {counted(queued, 'URL')}. The same command goes on there{when}.")
    write_line("")
    parts = "/*.parquet" if places["pages_are_parts"] else ""
    write_line(Cell("Pages  ", "dim"), f"{places['pages']}{parts}")
    write_line(Cell("State  ", "dim"), places["state"])


def write_faults(summary: RunSummary) -> None:
    """Say what went wrong: each kind with its count and its first URLs."""
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
        for fault in summary.faults[:_FAULTS_SHOWN]
        for number, url in enumerate(fault.urls or ["-"])
    ]
    write_table(columns, rows)
    if len(summary.faults) > _FAULTS_SHOWN:
        write_line(f"… and {counted(len(summary.faults) - _FAULTS_SHOWN, 'kind')} more: --json shows them")


def write_idle(hosts: Sequence[IdleHost]) -> None:
    """Say of every host that was left alone why, and what would change it."""
    for host in hosts:
        when = f" (due {render_time(host.due_at)} UTC)" if host.due_at else ""
        write_line(Cell(host.host, "bold"), f" was not crawled: {host.why}{when}. {host.remedy}")
