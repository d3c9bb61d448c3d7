"""Fills a table while a statement crawls: parts enter, rows and a summary leave.

The crawl runs on its own thread; the rows are written on the caller's, whose connection it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from comity.clock import SystemClock
from comity.model.errors import ComityError
from comity.run.signals import CtrlC, ctrl_c_noted
from comity.run.sql.statement import StatementPlan, StatementRun, StatementSummary
from comity.store.sql_table import SqlTable
from comity.walk.crawl.progress import Progress

OnProgress = Callable[[Progress, StatementSummary], None]

_LOOK_EVERY_S: Final = 0.1
_running: Final[dict[str, StatementRun]] = {}  # the statements of this process, by their folders
_running_lock: Final = Lock()


class Filling(NamedTuple):
    """The table that a statement fills, and the lock of its connection, which the filter uses on another thread."""

    table: SqlTable | None
    lock: Lock
    on_progress: OnProgress | None = None
    meanwhile: Callable[[], None] | None = None
    """What else the caller has to do with its connection, done once while the first pages come."""


def fill(plan: StatementPlan, filling: Filling) -> StatementSummary:
    """Run a statement to its end; Ctrl-C ends it early, keeps what arrived and raises `KeyboardInterrupt`."""
    run, table = StatementRun(plan), filling.table
    with _alone(run), ctrl_c_noted() as ctrl_c:
        run.start()
        try:
            with _prepared(filling):
                _follow(run, filling, ctrl_c)
                for rows in run.take_refused():
                    if table is not None:
                        table.put_refused(rows, SystemClock().seconds())
                # Before the database writes its checkpoint: the rows are safe in its log.
                run.end()
                run.begin_close()
        finally:
            run.stop()
            summary = run.close()
        if run.is_complete or plan.is_forgotten:
            shutil.rmtree(plan.settings.pages, ignore_errors=True)
            with suppress(OSError):  # other statements have pages there
                Path(plan.settings.pages).parent.rmdir()
    if ctrl_c.is_pressed:
        raise KeyboardInterrupt
    return summary


@contextmanager
def _prepared(filling: Filling) -> Iterator[None]:
    """What is done with the connection while the first pages come, and the table as it is filled best."""
    with ExitStack() as prepared:
        with filling.lock:
            if filling.meanwhile is not None:
                filling.meanwhile()
            if filling.table is not None:
                prepared.enter_context(filling.table.filling())
        yield


def stop_crawls(database: str, target: tuple[str, ...]) -> int:
    """Stop the statements of this process that fill a table; returns how many. Each can be resumed.

    DuckDB opens a file in one process at a time, so that no other process can fill it.
    """
    wanted = tuple(part.casefold() for part in target)
    with _running_lock:
        found = [run for run in _running.values() if _fills(run.plan, database, wanted)]
    for run in found:
        run.stop()
    return len(found)


def _fills(plan: StatementPlan, database: str, wanted: tuple[str, ...]) -> bool:
    """Whether a statement fills the table; either name may leave out its schema or its catalog."""
    own = tuple(part.casefold() for part in plan.target)
    shorter = min(len(own), len(wanted))
    return plan.database == database and shorter > 0 and own[-shorter:] == wanted[-shorter:]


@contextmanager
def _alone(run: StatementRun) -> Iterator[None]:
    """Refuse a statement that this process is running on another connection."""
    folder = run.plan.settings.pages
    with _running_lock:
        if folder in _running:
            raise ComityError("the same statement is running on another connection; wait until it ends")
        _running[folder] = run
    try:
        yield
    finally:
        with _running_lock:
            _running.pop(folder, None)


def _follow(run: StatementRun, filling: Filling, ctrl_c: CtrlC) -> None:
    """Store what comes until the run ends; Ctrl-C ends it early, a second one at once."""
    is_done = is_stopped = False
    while not is_done:
        try:
            is_done = run.wait_for_news(_LOOK_EVERY_S)
        except KeyboardInterrupt:  # by a handler of the user's
            if ctrl_c.is_pressed:
                raise
            ctrl_c.is_pressed = True
        if ctrl_c.is_pressed and not is_stopped:
            run.stop()
            is_stopped = True
        if filling.table is not None:
            _load(run, filling.table, filling.lock)
        run.summary.waits_for = run.waits_for
        if filling.on_progress is not None:
            filling.on_progress(run.progress, run.summary)


def _load(run: StatementRun, table: SqlTable, lock: Lock) -> None:
    for part in run.finished_parts():
        with lock:
            table.load(part, run.elapsed_ms)
        run.forget_part(part)
    if unchanged := run.take_unchanged():
        with lock:
            table.confirm(unchanged)
