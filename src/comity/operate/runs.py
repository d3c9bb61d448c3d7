"""What an operator may do with runs of crawls: stop one, wherever it runs, and have its limits hold after it."""

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
    """Ask a run to stop cleanly; its process looks for it every second. `HostBusy` if it cannot be stopped this way.

    Workers leave its hosts alone from then on: a crawl that a person stopped is continued only by a person.
    """
    run = find_run(database, run_id)
    if run.status != "running":
        raise HostBusy("the run has ended already")
    if not run.seeds:
        raise HostBusy("a run of a worker, a source, an audit or a query ends by itself, or where it was started")
    hosts = _hosts_of(database, run)
    with database.write() as connection:
        if not runs.request_stop(connection, run_id, clock.now()):
            raise HostBusy("the run has ended already")
        hosts_table.pause_for_workers(connection, hosts, run_id)
    return find_run(database, run_id)


def _hosts_of(database: Database, run: RunListed) -> set[str]:
    """The hosts of a run by its own settings: those of its seeds, and those that are known of its site."""
    collapse, site_hosts = bool(run.settings.get("collapse_subdomains")), run.settings.get("site_hosts")
    hosts = {read_seed(seed, collapse=collapse).host.authority for seed in run.seeds}
    if site_hosts:
        site = SiteHosts(site_hosts, subdomains=bool(run.settings.get("subdomains")))
        hosts |= seeded_hosts_of_site(database, site)
    return hosts


def pause_hosts(database: Database, hosts: Collection[str], run_id: UUID | None) -> None:
    """Have workers leave hosts to a run and to the person who may continue it; without a run, let workers have them."""
    with database.write() as connection:
        hosts_table.pause_for_workers(connection, hosts, run_id)


def resume_finished_hosts(database: Database, run_id: UUID) -> None:
    """Let workers have those hosts of a run again that have nothing left to visit; they are refreshed as others are."""
    with database.write() as connection:
        hosts_table.resume_finished(connection, run_id)
