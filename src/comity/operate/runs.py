"""What an operator may do with runs of crawls: stop one, wherever it runs."""

from __future__ import annotations

from uuid import UUID

from comity.clock import Clock
from comity.database import runs
from comity.database.connection import Database
from comity.model.errors import HostBusy
from comity.reports.runs import RunListed, find_run


def request_stop(database: Database, clock: Clock, run_id: UUID) -> RunListed:
    """Ask a run to stop cleanly; its process looks for it every second. `HostBusy` if it cannot be stopped this way."""
    run = find_run(database, run_id)
    if run.status != "running":
        raise HostBusy("the run has ended already")
    if not run.seeds:
        raise HostBusy("a run of a worker, a source, an audit or a query ends by itself, or where it was started")
    with database.write() as connection:
        if not runs.request_stop(connection, run_id, clock.now()):
            raise HostBusy("the run has ended already")
    return find_run(database, run_id)
