"""`comity queue stats`: the crawl service at a glance."""

from __future__ import annotations

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import JsonOption, StateOption, read_invocation
from comity.doors.cli.queue import app
from comity.doors.cli.queue.rendering import write_exact, write_stats


@command(app, "stats", examples=("comity queue stats", "comity queue stats --json"))
def stats(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show jobs by status and host, what bots do, the age of the oldest waiting job, and the throughput."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import queue_stats

    with invocation.open_existing() as opened:
        found = queue_stats(opened.database, opened.clock)
    if invocation.as_json:
        from comity.doors.schemas.queue import QueueStatsView

        write_exact(QueueStatsView.model_validate(found))
    else:
        write_stats(found)
