"""`comity.sources`: careers pages that are read on a schedule for job postings, as `comity sources` manages them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from comity.doors.python.options import Place, settings_for
from comity.doors.python.records import Records
from comity.model.errors import BadInput
from comity.model.source import Source, SourceReport
from comity.model.source_import import MOST_FILE_BYTES, SourceImport
from comity.reports.sources import LoggedRun
from comity.run.remedies import with_remedies

if TYPE_CHECKING:
    from comity.assemble import State

__all__ = [
    *("add", "add_from", "approve", "delete", "edit", "get", "list", "logs", "pause", "resume", "run", "run_due"),
]
Done = TypeVar("Done")
_PART: Final = 500


def add(
    url: str,
    *,
    org_name: str | None = None,
    source_type: str | None = None,
    org_type: str | None = None,
    parser_hint: str | None = None,
    crawl_frequency_days: int | None = None,
    time_window: str | None = None,
    country: str | None = None,
    time_zone: str | None = None,
    schedule: str | None = None,
    importance: float | None = None,
    propose: bool = False,
    state: Place | None = None,
) -> Source:
    """Add a source; it is due now, or waits for approval with `propose`. Raises `AlreadyThere` if it exists."""
    from comity.operate.sources import add_source, check_columns

    columns = {
        "org_name": org_name,
        "source_type": source_type,
        "org_type": org_type,
        "parser_hint": parser_hint,
        "crawl_frequency_days": crawl_frequency_days,
        "time_window": time_window,
        "country": country,
        "time_zone": time_zone,
        "schedule": schedule,
        "importance": importance,
    }
    used = {name: value for name, value in columns.items() if value is not None}
    check_columns(careers_url=url, **used)  # before anything is opened or created
    with _opened(state, makes=True) as opened:
        return add_source(opened.database, opened.clock, url, approved=not propose, **used)


def add_from(
    rows: Place | Iterable[Mapping[str, Any]],
    *,
    update: bool = False,
    skip_bad: bool = False,
    dry_run: bool = False,
    propose: bool = False,
    state: Place | None = None,
) -> SourceImport:
    """Add every source of a .csv, .tsv, .json or .jsonl file, or of dictionaries, and report the result for each row.

    If a row is refused, nothing is added, unless `skip_bad` is set.
    """
    from comity.operate.import_sources import ImportTerms, import_sources
    from comity.rules.row_list import format_of, read_source_list, rows_of_objects

    if isinstance(rows, str | os.PathLike):
        path = Path(rows).expanduser()
        kind = format_of(path.name)
        with path.open("rb") as stream:
            listed = read_source_list(stream.read(MOST_FILE_BYTES + 1), kind)
    else:
        listed = rows_of_objects(rows)
    terms = ImportTerms(update=update, skip_bad=skip_bad, dry_run=dry_run, approved=not propose)
    with _opened(state, makes=not dry_run) as opened:
        return import_sources(opened.database, opened.clock, listed, terms)


def list(  # noqa: A001  # `comity.sources.list()`, as on the command line
    *,
    status: str | None = None,
    org_type: str | None = None,
    containing: str | None = None,
    state: Place | None = None,
) -> Records[Source]:
    """Every source that is not deleted, the next to run first; `containing` is a part of its name or URL."""
    from comity.reports.sources import list_sources

    def read() -> Iterator[Source]:
        offset = 0
        with _opened(state) as opened:
            while True:
                part, _ = list_sources(
                    opened.database,
                    status=status,
                    org_type=org_type,
                    containing=containing,
                    limit=_PART,
                    offset=offset,
                )
                yield from part
                offset += _PART
                if len(part) < _PART:
                    return

    return Records(Source, read)


def get(named: str, *, state: Place | None = None) -> Source:
    """A source by its URL or id; raises `NotFound` if it does not exist."""
    from comity.reports.sources import find_source

    with _opened(state) as opened:
        return find_source(opened.database, named)


def edit(named: str, *, state: Place | None = None, **changes: Any) -> Source:
    """Change columns of a source, by the names that `add` has and `careers_url`; None removes a value."""
    from comity.operate.sources import edit_source
    from comity.rules.row_list import SOURCE_COLUMNS

    for name in changes:
        if name not in SOURCE_COLUMNS:
            raise BadInput(name, f"is not a column of a source; it is one of {', '.join(SOURCE_COLUMNS)}")
    return _act(edit_source, named, state, **changes)


def pause(named: str, *, state: Place | None = None) -> Source:
    """Pause a source until it is resumed."""
    from comity.operate.sources import pause_source

    return _act(pause_source, named, state)


def resume(named: str, *, state: Place | None = None) -> Source:
    """Resume a paused or blocked source: it is due now, and its failures are cleared."""
    from comity.operate.sources import resume_source

    return _act(resume_source, named, state)


def approve(named: str, *, state: Place | None = None) -> Source:
    """Approve a proposed source; it is due now."""
    from comity.operate.sources import approve_source

    return _act(approve_source, named, state)


def delete(named: str, *, state: Place | None = None) -> Source:
    """Delete a source, and close the postings that only it lists."""
    from comity.operate.sources import delete_source

    return _act(delete_source, named, state)


def run(named: str, *, state: Place | None = None) -> SourceReport:
    """Read a source now, due or not, within the usual limits; `HostBusy` if another process is reading its host."""
    from comity.operate.sources import run_now
    from comity.reports.sources import find_source
    from comity.run.sources import with_source_runner

    with _opened(state) as opened:
        source = find_source(opened.database, named)
        return _outside_of_loops(lambda: with_source_runner(opened, lambda runner: run_now(runner, source)))


def run_due(*, limit: int | None = None, state: Place | None = None) -> tuple[SourceReport, ...]:
    """Read the sources that are due, once; by default, all of them."""
    from comity.run.sources import with_source_runner

    if limit is not None and limit < 1:
        raise BadInput("limit", f"must be at least 1, not {limit}")
    with _opened(state) as opened:
        done = _outside_of_loops(
            lambda: with_source_runner(opened, lambda runner: opened.due_sources(runner).run_due(limit))
        )
    return tuple(done.reports)


def logs(named: str | None = None, *, limit: int = 20, state: Place | None = None) -> Records[LoggedRun]:
    """The latest runs of a source, or of all, newest first."""
    from comity.reports.sources import find_source, list_runs

    def read() -> Iterator[LoggedRun]:
        with _opened(state) as opened:
            source = find_source(opened.database, named) if named is not None else None
            yield from list_runs(opened.database, source.id if source is not None else None, limit)

    return Records(LoggedRun, read)


def _act(act: Callable[..., Source], named: str, state: Place | None, **changes: Any) -> Source:
    from comity.reports.sources import find_source

    with _opened(state) as opened:
        return act(opened.database, opened.clock, find_source(opened.database, named).id, **changes)


@contextmanager
def _opened(state: Place | None, *, makes: bool = False) -> Iterator[State]:
    """Open the state; only functions that add sources create one."""
    from comity.assemble import open_existing_state, open_state

    settings = settings_for(state)
    with with_remedies(), open_state(settings) if makes else open_existing_state(settings) as opened:
        yield opened


def _outside_of_loops(act: Callable[[], Done]) -> Done:
    """Call a function that runs its own event loop; on another thread if one is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return act()
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(act).result()
