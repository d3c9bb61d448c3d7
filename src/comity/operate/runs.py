"""What an operator may do with runs of crawls: stop one on any machine, and keep its limits in force afterwards."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import runs
from comity.database.connection import Database
from comity.model.errors import HostBusy
from comity.operate.hosts import seeded_hosts_of_site
from comity.reports.runs import RunListed, find_run
from comity.rules.seed_list import SiteHosts, read_seed


def request_stop(database: Database, clock: Clock, run_id: UUID) -> RunListed:
    """Ask a run to stop cleanly; its process checks every second. Raises `HostBusy` if it cannot be stopped this way.

    Workers leave its hosts alone from then on: a crawl that a person stopped is continued only by a person.
    """
    run = find_run(database, run_id)
    if run.status != "running":
        raise HostBusy("the run has ended already")
    if not run.seeds:
        raise HostBusy("only a crawl of named sites can be stopped here; stop any other run where it was started")
    hosts = _hosts_of(database, run)
    with database.write() as connection:
        if not runs.request_stop(connection, run_id, clock.now()):
            raise HostBusy("the run has ended already")
        hosts_table.pause_for_workers(connection, hosts, run_id)
    return find_run(database, run_id)


def _hosts_of(database: Database, run: RunListed) -> set[str]:
    """The hosts of a run by its own settings: those of its seeds, and the known hosts of its site."""
    collapse, site_hosts = bool(run.settings.get("collapse_subdomains")), run.settings.get("site_hosts")
    hosts = {read_seed(seed, collapse=collapse).host.authority for seed in run.seeds}
    if site_hosts:
        site = SiteHosts(site_hosts, subdomains=bool(run.settings.get("subdomains")))
        hosts |= seeded_hosts_of_site(database, site)
    return hosts


def pause_hosts(database: Database, hosts: Collection[str], run_id: UUID | None) -> None:
    """Reserve hosts for a run and the person who may continue it; without a run, return them to the workers."""
    with database.write() as connection:
        hosts_table.pause_for_workers(connection, hosts, run_id)


def resume_finished_hosts(database: Database, run_id: UUID) -> None:
    """Return the finished hosts of a run to the workers, which refresh them like any others."""
    with database.write() as connection:
        hosts_table.resume_finished(connection, run_id)
