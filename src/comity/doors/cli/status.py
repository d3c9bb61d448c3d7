"""`comity status`: how everything stands, once or live."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import is_terminal, write_json, write_lines
from comity.model.errors import BadInput, StateUnavailable

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.reports.status import Status, WorkerLine


from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from comity.doors.cli.crawl.rendering import render_bytes
from comity.doors.cli.domains.rendering import status_cell
from comity.doors.cli.output import Cell, Column, Row, counted, render_time, table_lines, visible
from comity.model.end_reason import sentence_of

if TYPE_CHECKING:
    from comity.reports.status import Status, Throughput, WorkerLine


# How the standing of everything looks: lines for people, once or redrawn, and a document for programs.

Lines = list[list[Cell]]
WorkerState = Callable[["WorkerLine"], str]

_STYLES: Final = {"working": "green", "silent": "yellow", "ran out": "red", "gone": "red"}
_WORKERS_SHOWN: Final = 20
_WORKER_COLUMNS: Final = (
    Column("WORKER"),
    Column("PROCESS", True),
    Column("STATE"),
    Column("HOSTS", True),
    Column("PAGES", True),
    Column("LAST SEEN", True),
)


def status_lines(status: Status, state_of: WorkerState) -> Lines:
    """All that a person asks, the most pressing first."""
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
    """The same for programs; what is estimated says so by `is_exact`."""
    from comity.doors.shapes.hosts import state_shape

    return state_shape(status, state_of).document()


def render_age(at: datetime, now: datetime) -> str:
    """`3 s ago`, `in 2 h`: rough, as people say it."""
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if size >= 2 * length:
            shown = f"{size / length:.0f} {unit}"
            break
    else:
        shown = f"{size:.0f} s"
    return f"{shown} ago" if seconds >= 0 else f"in {shown}"


def _head(status: Status) -> Lines:
    figures = status.figures
    parts = [
        counted(sum(line.expired < line.hosts for line in status.workers), "worker"),
        f"{counted(figures.claims - figures.stuck, 'host')} held",
        f"{_about(figures.frontier_is_exact)}{counted(figures.frontier, 'URL')} queued",
        f"{_pace(status.minute)} pages/s",
    ]
    lines = [[Cell(render_time(status.at) + " UTC", "dim"), Cell("  " + " · ".join(parts), "bold")]]
    if figures.stuck:
        said = f"{counted(figures.stuck, 'lease')} ran out and nobody took over yet; the next free worker does."
        lines.append([Cell(said, "red")])
    if status.silent:
        said = f"{counted(status.silent, 'lease')} of workers that missed two heartbeats: they run out by themselves."
        lines.append([Cell(said, "yellow")])
    return lines


def _workers(status: Status, state_of: WorkerState) -> Lines:
    if not status.workers:
        return [[Cell("Nobody holds a host just now.", "dim"), Cell("  Begin: comity work", "dim")]]
    rows = []
    for line in status.workers[:_WORKERS_SHOWN]:
        state = state_of(line)
        rows.append(
            Row(
                (
                    line.machine,
                    "-" if line.process is None else str(line.process),
                    Cell(state, _STYLES.get(state, "")),
                    f"{line.hosts:,}",
                    "-" if line.pages is None else f"{line.pages:,}",
                    render_age(line.seen_at, status.at),
                )
            )
        )
    lines = table_lines(_WORKER_COLUMNS, rows)
    if len(status.workers) > _WORKERS_SHOWN:
        lines.append([Cell(f"and {len(status.workers) - _WORKERS_SHOWN:,} more (--json shows them)", "dim")])
    return lines


def _hosts(status: Status) -> Lines:
    if not status.figures.hosts:
        return [[Cell("No hosts are known here yet."), Cell("  Add some: comity seeds add example.com", "dim")]]
    rows = [
        Row((status_cell(line.status), f"{line.hosts:,}", f"{line.waiting:,}" if line.waiting else "-"))
        for line in status.figures.hosts
    ]
    return table_lines((Column("STATUS"), Column("HOSTS", True), Column("WAITING", True)), rows)


def _throughput(status: Status) -> Lines:
    outcomes = sorted({*status.minute.outcomes, *status.hour.outcomes})
    if not outcomes:
        return []
    columns = (Column("FETCHES"), Column("LAST MINUTE", True), Column("LAST HOUR", True))
    rows = [Row((name, *(_of(part, part.outcomes.get(name, 0)) for part in _both(status)))) for name in outcomes]
    rows.append(
        Row(("received", *(_about(part.is_exact) + render_bytes(part.bytes_received) for part in _both(status))))
    )
    return table_lines(columns, rows)


def _both(status: Status) -> Sequence[Throughput]:
    return (status.minute, status.hour)


def _of(part: Throughput, number: int) -> str:
    return f"{_about(part.is_exact)}{number:,}" if number else "0"


def _errors(status: Status) -> Lines:
    rows = [
        Row(
            (Cell(visible(line.code), "yellow"), f"{line.count:,}", line.host, render_age(line.at, status.at)),
            "at " + ", ".join(map(visible, line.urls)) if line.urls else None,
        )
        for line in status.errors
    ]
    columns = (Column("ERROR"), Column("LATELY", True), Column("LAST ON"), Column("", True))
    return table_lines(columns, rows) if rows else []


def _due(status: Status) -> Lines:
    rows = [
        Row((line.host, status_cell(line.status), line.reason or "-", render_age(line.at, status.at)))
        for line in status.due
    ]
    return table_lines((Column("DUE NEXT"), Column("STATUS"), Column("REASON"), Column("", True)), rows) if rows else []


def _runs(status: Status) -> Lines:
    rows = [
        Row(
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
    columns = (Column("RUN"), Column("STATUS"), Column("PAGES", True), Column("ERRORS", True), Column("ENDED BY"))
    return table_lines(columns, rows) if rows else []


def _about(is_exact: bool) -> str:
    return "" if is_exact else "~"


def _pace(part: Throughput) -> str:
    fetched = part.outcomes.get("fetched", 0) + part.outcomes.get("not_modified", 0)
    return f"{_about(part.is_exact)}{fetched / part.seconds:,.1f}"


def as_text(lines: Iterable[Sequence[Cell]], room: int) -> Any:
    """The lines for a screen that is redrawn; what does not fit below each other is left out, and said so."""
    from rich.text import Text

    shown = list(lines)
    if len(shown) > room:
        shown = [*shown[: room - 1], [Cell(f"… {len(shown) - room + 1} more lines: a taller window shows them", "dim")]]
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(shown):
        text.append("\n" if number else "")
        for cell in line:
            text.append(visible(cell.text), cell.style)
    return text


_EVERY_S: Final = 2.0
_EXAMPLES: Final = ("comity status", "comity status --watch", "comity status --json")


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "status", examples=_EXAMPLES, panel="Crawl")(show_status)


def show_status(
    context: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", help="Redraw every 2 seconds, until Ctrl-C.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who works, what waits, how fast it goes and what went wrong.

    A worker is seen by the hosts it holds: one that waits for hosts holds none. LAST SEEN is when it last took or
    renewed a lease. Numbers with a ~ are estimates, made where counting would read a whole table. Errors are those
    of the last hour, among the last 5,000 fetches.
    """
    invocation = read_invocation(context, state, as_json)
    if watch and invocation.as_json:
        raise BadInput("--watch is for people and --json for programs: give one of them")
    if watch and not is_terminal():
        raise BadInput("--watch needs a terminal; without it the status is shown once")
    if watch:
        _watch(invocation)
        return

    with invocation.open_existing() as opened:
        status = _look(opened)
    if invocation.as_json:
        write_json(status_document(status, state_of_worker))
    else:
        write_lines(status_lines(status, state_of_worker))


def state_of_worker(line: WorkerLine) -> str:
    """Whether a worker is at work, as far as its leases tell."""
    from comity.doors.shapes.hosts import state_of_worker as state_of

    return state_of(line)


def _look(state: State) -> Status:
    from comity.reports.status import status_of

    settings = state.settings
    return status_of(
        state.database,
        state.clock,
        lease_s=settings.lease_minutes * 60,
        heartbeat_s=settings.heartbeat_minutes * 60,
    )


def _watch(invocation: Invocation) -> None:
    """Redraw until somebody ends it. A state that does not answer is said, and asked again."""
    from rich.console import Console
    from rich.live import Live

    pause = Event()
    with (
        _Looks(invocation) as looks,
        Live(looks.shown(), console=Console(highlight=False), auto_refresh=False, transient=False) as live,
    ):
        try:
            while not pause.wait(_EVERY_S):
                live.update(looks.shown(), refresh=True)
        except KeyboardInterrupt:
            return  # this is how it ends


class _Looks:
    """One look after the other at one open state."""

    def __init__(self, invocation: Invocation) -> None:
        self._door = invocation
        self._opened = ExitStack()
        self._look: Callable[[], Status] | None = None
        self._has_seen = False

    def __enter__(self) -> _Looks:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def shown(self) -> Any:
        """What is on the screen now; the first look may fail, as any command does."""
        from comity.doors.cli.output import Cell

        try:
            lines = status_lines(self._once(), state_of_worker)
            self._has_seen = True
        except StateUnavailable as error:
            self._close()
            if not self._has_seen:
                raise
            lines = [[Cell(f"{error}; looking again every {_EVERY_S:.0f} s", "red")]]
        lines = [*lines, [], [Cell("every 2 s; Ctrl-C ends this", "dim")]]
        return as_text(lines, max(3, shutil.get_terminal_size().lines - 1))

    def _once(self) -> Status:
        if self._look is None:
            state = self._opened.enter_context(self._door.open_existing())
            self._look = lambda: _look(state)
        return self._look()

    def _close(self) -> None:
        self._look = None
        self._opened.close()
