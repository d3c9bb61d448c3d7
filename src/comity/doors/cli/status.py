"""`comity status`: workers, hosts, throughput and errors, printed once or refreshed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.crawl.rendering import render_bytes
from comity.doors.cli.domains.rendering import status_cell
from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import (
    Cell,
    TextColumn,
    TextRow,
    is_terminal,
    render_time,
    table_lines,
    visible,
    write_json,
    write_lines,
)
from comity.model.errors import BadInput, StateUnavailable
from comity.model.run import sentence_of
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.reports.status import Status, Throughput, WorkerLine

Lines = list[list[Cell]]
WorkerState = Callable[["WorkerLine"], str]

_STYLES: Final = {"working": "green", "silent": "yellow", "ran out": "red", "gone": "red"}
_MOST_WORKERS: Final = 20
_WORKER_COLUMNS: Final = (
    TextColumn("WORKER"),
    TextColumn("PROCESS", True),
    TextColumn("STATE"),
    TextColumn("HOSTS", True),
    TextColumn("PAGES", True),
    TextColumn("LAST SEEN", True),
)


_EVERY_S: Final = 2.0
_EXAMPLES: Final = ("comity status", "comity status --watch", "comity status --json")


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "status", examples=_EXAMPLES, panel="Crawl")(show_status)


def show_status(
    context: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every 2 seconds, until Ctrl-C.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show workers, waiting hosts, throughput and errors.

    Workers are listed by the leases they hold: a worker that waits for hosts holds none. LAST SEEN is when it last took
    or renewed a lease. Numbers with a ~ are estimates, used where counting would read a whole table. Errors are those
    of the last hour, among the last 5,000 fetches.
    """
    invocation = read_invocation(context, state, as_json)
    if watch and invocation.as_json:
        raise BadInput("--watch and --json cannot be combined: --watch is for people, --json for programs")
    if watch and not is_terminal():
        raise BadInput("--watch needs a terminal; without --watch the status is printed once")
    if watch:
        _watch(invocation)
        return

    with invocation.open_existing() as opened:
        status = _query(opened)
    if invocation.as_json:
        write_json(status_document(status, state_of_worker))
    else:
        write_lines(status_lines(status, state_of_worker))


def state_of_worker(line: WorkerLine) -> str:
    """The state of a worker, judged by its leases."""
    from comity.doors.schemas.hosts import worker_state as state_of

    return state_of(line)


def _query(state: State) -> Status:
    from comity.reports.status import status_of

    settings = state.settings
    return status_of(
        state.database,
        state.clock,
        lease_s=settings.lease_minutes * 60,
        heartbeat_s=settings.heartbeat_minutes * 60,
    )


def _watch(invocation: Invocation) -> None:
    """Refresh until Ctrl-C. If the state does not answer, say so and try again."""
    from rich.console import Console
    from rich.live import Live

    pause = Event()
    with (
        _StatusScreen(invocation) as screen,
        Live(screen.render(), console=Console(highlight=False), auto_refresh=False, transient=False) as live,
    ):
        try:
            while not pause.wait(_EVERY_S):
                live.update(screen.render(), refresh=True)
        except KeyboardInterrupt:
            return  # the way to end it


class _StatusScreen:
    """The status of one open state, queried again and again."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._opened = ExitStack()
        self._query: Callable[[], Status] | None = None
        self._has_answered = False

    def __enter__(self) -> _StatusScreen:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def render(self) -> Any:
        """The screen as of now; the first query may fail, as any command does."""
        try:
            lines = status_lines(self._once(), state_of_worker)
            self._has_answered = True
        except StateUnavailable as error:
            self._close()
            if not self._has_answered:
                raise
            lines = [[Cell(f"{error}; trying again every {_EVERY_S:.0f} s", "red")]]
        lines = [*lines, [], [Cell("refreshes every 2 s; Ctrl-C to exit", "dim")]]
        return as_text(lines, max(3, shutil.get_terminal_size().lines - 1))

    def _once(self) -> Status:
        if self._query is None:
            state = self._opened.enter_context(self._invocation.open_existing())
            self._query = lambda: _query(state)
        return self._query()

    def _close(self) -> None:
        self._query = None
        self._opened.close()


def status_lines(status: Status, state_of: WorkerState) -> Lines:
    """The status as lines, the most important first."""
    parts = [
        _head(status),
        _workers(status, state_of),
        _hosts(status),
        _throughput(status),
        _errors(status),
        _due(status),
        _runs(status),
    ]
    return [line for part in parts if part for line in (*part, [])][:-1]


def status_document(status: Status, state_of: WorkerState) -> dict[str, Any]:
    """The status as JSON; estimates are marked by `is_exact`."""
    from comity.doors.schemas.hosts import status_view

    return status_view(status, state_of).document()


def render_age(at: datetime, now: datetime) -> str:
    """`3 s ago`, `in 2 h`: rounded."""
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if size >= 2 * length:
            age = f"{size / length:.0f} {unit}"
            break
    else:
        age = f"{size:.0f} s"
    return f"{age} ago" if seconds >= 0 else f"in {age}"


def _head(status: Status) -> Lines:
    figures = status.figures
    clients = sum(line.expired < line.hosts for line in status.workers if line.is_client)
    parts = [
        counted(sum(line.expired < line.hosts for line in status.workers if not line.is_client), "worker"),
        *([counted(clients, "bot")] if clients else []),
        f"{counted(figures.claims - figures.stuck, 'host')} held",
        f"{_about(figures.frontier_is_exact)}{counted(figures.frontier, 'URL')} queued",
        f"{_pace(status.minute)} pages/s",
    ]
    lines = [[Cell(render_time(status.at) + " UTC", "dim"), Cell("  " + " · ".join(parts), "bold")]]
    if figures.stuck:
        message = f"{counted(figures.stuck, 'lease')} expired and not taken over yet; the next free worker takes over."
        lines.append([Cell(message, "red")])
    if status.silent:
        message = f"{counted(status.silent, 'lease')} of workers that missed two heartbeats; the leases will expire."
        lines.append([Cell(message, "yellow")])
    return lines


def _workers(status: Status, state_of: WorkerState) -> Lines:
    if not status.workers:
        return [[Cell("No worker holds a host now.", "dim"), Cell("  Start one: comity work", "dim")]]
    rows = []
    for line in status.workers[:_MOST_WORKERS]:
        state = state_of(line)
        rows.append(
            TextRow(
                (
                    line.machine,
                    "-" if line.process is None else str(line.process),
                    Cell(state, _STYLES.get(state, "")),
                    f"{line.hosts:,}",
                    "-" if line.pages is None else f"{line.pages:,}",
                    "-" if line.seen_at is None else render_age(line.seen_at, status.at),
                )
            )
        )
    lines = table_lines(_WORKER_COLUMNS, rows)
    if len(status.workers) > _MOST_WORKERS:
        lines.append([Cell(f"and {len(status.workers) - _MOST_WORKERS:,} more (--json lists them)", "dim")])
    return lines


def _hosts(status: Status) -> Lines:
    if not status.figures.hosts:
        return [[Cell("No hosts yet."), Cell("  Add some: comity seeds add example.com", "dim")]]
    rows = [
        TextRow((status_cell(line.status), f"{line.hosts:,}", f"{line.waiting:,}" if line.waiting else "-"))
        for line in status.figures.hosts
    ]
    return table_lines((TextColumn("STATUS"), TextColumn("HOSTS", True), TextColumn("WAITING", True)), rows)


def _throughput(status: Status) -> Lines:
    outcomes = sorted({*status.minute.outcomes, *status.hour.outcomes})
    if not outcomes:
        return []
    columns = (TextColumn("FETCHES"), TextColumn("LAST MINUTE", True), TextColumn("LAST HOUR", True))
    rows = [TextRow((name, *(_of(part, part.outcomes.get(name, 0)) for part in _both(status)))) for name in outcomes]
    rows.append(
        TextRow(("received", *(_about(part.is_exact) + render_bytes(part.bytes_received) for part in _both(status))))
    )
    return table_lines(columns, rows)


def _both(status: Status) -> Sequence[Throughput]:
    return (status.minute, status.hour)


def _of(part: Throughput, number: int) -> str:
    return f"{_about(part.is_exact)}{number:,}" if number else "0"


def _errors(status: Status) -> Lines:
    rows = [
        TextRow(
            (Cell(visible(line.code), "yellow"), f"{line.count:,}", line.host, render_age(line.at, status.at)),
            "at " + ", ".join(map(visible, line.urls)) if line.urls else None,
        )
        for line in status.errors
    ]
    columns = (TextColumn("ERROR"), TextColumn("RECENT", True), TextColumn("LAST ON"), TextColumn("", True))
    return table_lines(columns, rows) if rows else []


def _due(status: Status) -> Lines:
    rows = [
        TextRow((line.host, status_cell(line.status), line.reason or "-", render_age(line.at, status.at)))
        for line in status.due
    ]
    return (
        table_lines((TextColumn("DUE NEXT"), TextColumn("STATUS"), TextColumn("REASON"), TextColumn("", True)), rows)
        if rows
        else []
    )


def _runs(status: Status) -> Lines:
    rows = [
        TextRow(
            (
                render_time(line.started_at),
                Cell(line.status, "red" if line.status == "failed" else ""),
                f"{line.pages:,}",
                f"{line.errors:,}",
                sentence_of(line.reason) if line.reason else "-",
            )
        )
        for line in status.runs
    ]
    columns = (
        TextColumn("RUN"),
        TextColumn("STATUS"),
        TextColumn("PAGES", True),
        TextColumn("ERRORS", True),
        TextColumn("END REASON"),
    )
    return table_lines(columns, rows) if rows else []


def _about(is_exact: bool) -> str:
    return "" if is_exact else "~"


def _pace(part: Throughput) -> str:
    fetched = part.outcomes.get("fetched", 0) + part.outcomes.get("not_modified", 0)
    return f"{_about(part.is_exact)}{fetched / part.seconds:,.1f}"


def as_text(lines: Iterable[Sequence[Cell]], height: int) -> Any:
    """The lines that fit a screen of this height; the last one says how many are left out."""
    from rich.text import Text

    rows = list(lines)
    if len(rows) > height:
        rows = [
            *rows[: height - 1],
            [Cell(f"… {len(rows) - height + 1} more lines; enlarge the window to see them", "dim")],
        ]
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(rows):
        text.append("\n" if number else "")
        for cell in line:
            text.append(visible(cell.text), cell.style)
    return text
