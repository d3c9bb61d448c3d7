"""What a scheduler says of each run: a report for whoever looks on, an event in the log, or JSON on stdout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from comity.doors.cli.options import Chosen
from comity.doors.cli.output import json_line
from comity.doors.cli.sources_shown import shown_result, write_report
from comity.doors.cli.work_watch import log_of
from comity.telemetry import events
from comity.telemetry.events import Level

if TYPE_CHECKING:
    from comity.telemetry.logs import Log
    from comity.upkeep.due_sources import Result


def teller(door: Chosen) -> Callable[[Result], None]:
    """Whom to tell of a run: with --json stdout, a person at the terminal, or the log as the settings want it."""
    if door.as_json:
        return _tell_as_json
    log = log_of(door)
    return (lambda result: log_source(log, result)) if log.as_json else write_report


def log_source(log: Log, result: Result) -> None:
    """A line for a source that was run, or left for later."""
    told = shown_result(result)
    if "why" in told:
        log.tell(events.SOURCE_LEFT, f"{told['source_id']} was not run: {told['reason']}", **told)
        return
    told["reason"] = told.pop("message")
    message = (
        f"{told['careers_url']}: {told['status']}, {told['found']} found, {told['inserted']} new, "
        f"{told['updated']} changed, {told['closed']} closed in {told['duration_ms']:,} ms"
    ) + (f" ({told['reason']})" if told["reason"] else "")
    log.tell(events.SOURCE_RUN, message, None if told["status"] == "ok" else Level.WARNING, **told)


def _tell_as_json(result: Result) -> None:
    print(json_line(shown_result(result)), flush=True)
