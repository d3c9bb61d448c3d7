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

_EVERY_S: Final = 2.0
_EXAMPLES: Final = ("comity status", "comity status --watch", "comity status --json")


def register(root: typer.Typer) -> None:
    """Put the command of this file on the command line."""
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
    door = read_invocation(context, state, as_json)
    if watch and door.as_json:
        raise BadInput("--watch is for people and --json for programs: give one of them")
    if watch and not is_terminal():
        raise BadInput("--watch needs a terminal; without it the status is shown once")
    if watch:
        _watch(door)
        return
    from comity.doors.cli.status import status_document, status_lines

    with door.open_existing() as opened:
        status = _look(opened)
    if door.as_json:
        write_json(status_document(status, state_of_worker))
    else:
        write_lines(status_lines(status, state_of_worker))


def state_of_worker(line: WorkerLine) -> str:
    """Whether a worker is at work, as far as its leases tell."""
    from comity.doors.schemas.hosts import worker_state as state_of

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


def _watch(door: Invocation) -> None:
    """Redraw until somebody ends it. A state that does not answer is said, and asked again."""
    from rich.console import Console
    from rich.live import Live

    pause = Event()
    with (
        _Looks(door) as looks,
        Live(looks.shown(), console=Console(highlight=False), auto_refresh=False, transient=False) as live,
    ):
        try:
            while not pause.wait(_EVERY_S):
                live.update(looks.shown(), refresh=True)
        except KeyboardInterrupt:
            return  # this is how it ends


class _Looks:
    """One look after the other at one open state."""

    def __init__(self, door: Invocation) -> None:
        self._door = door
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
        from comity.doors.cli.status import as_text, status_lines

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
