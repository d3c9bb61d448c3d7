"""Queue links between the hosts of one site, each at its own host. It blocks, and belongs on the database thread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from comity.database import hosts, takedowns
from comity.frontier.store import FrontierChange, FrontierStore, HostSettlement
from comity.model.frontier import SiteLink
from comity.model.host import Seed
from comity.rules.canonical import canonical_host
from comity.rules.takedown import Takedowns

_SOURCE: Final = "site"


def queue_site_links(
    frontier: FrontierStore, run_id: UUID | None, links: Sequence[SiteLink], now: datetime
) -> set[str]:
    """Queue links to other hosts of a site in a transaction of their own; gives the hosts that got new URLs.

    It comes before the transaction that settles the page: a process that dies in between reads the page again, and
    queues nothing twice. A lock on two hosts' rows at once could be a deadlock.
    """
    with frontier.change() as change:
        return add_site_links(change, run_id, links, now)


def add_site_links(change: FrontierChange, run_id: UUID | None, links: Sequence[SiteLink], now: datetime) -> set[str]:
    """The same within a transaction."""
    connection = change.connection
    refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
    by_host: dict[str, list[SiteLink]] = {}
    for link in links:
        if refused.covering_host(link.host) is None:
            by_host.setdefault(link.host, []).append(link)
    hosts.add_seeds(connection, [Seed(canonical_host(host)) for host in by_host], _SOURCE, lambda _rank: 0)
    ids = hosts.ids_of(connection, by_host)
    change.foresee({ids[host]: [link.entry for link in found] for host, found in by_host.items()})
    queued: dict[UUID, int] = {}
    for host in sorted(by_host):
        near = [link.entry for link in by_host[host] if not link.is_too_deep]
        deep = [link.entry for link in by_host[host] if link.is_too_deep]
        queued[ids[host]] = change.settle(ids[host], run_id, HostSettlement(near, too_deep=deep, lifts=True))
    hosts.add_discovered(connection, queued, now)
    return {host for host in by_host if queued[ids[host]]}
