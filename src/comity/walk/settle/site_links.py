"""Queue links between the hosts of one site, each at its own host. It blocks, and belongs on the database thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Queue links to other hosts of a site in transactions of their own; gives the hosts that got new URLs.

    They come before the transaction that settles the page: a process that dies in between reads the page again, and
    queues nothing twice. Other processes settle these hosts and queue links there at the same time. All of them lock
    the rows of hosts in the order of ids, before anything else, so that none of them waits for another in a circle.
    """
    by_host: dict[str, list[SiteLink]] = {}
    with frontier.change() as change:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(change.connection))
        for link in links:
            if refused.covering_host(link.host) is None:
                by_host.setdefault(link.host, []).append(link)
        hosts.add_seeds(change.connection, [Seed(canonical_host(host)) for host in by_host], _SOURCE, lambda _rank: 0)
    if not by_host:
        return set()
    with frontier.change() as change:
        ids = hosts.ids_of(change.connection, by_host)
        hosts.lock(change.connection, ids.values())
        return _add(change, run_id, {ids[host]: found for host, found in by_host.items() if host in ids}, now)


def _add(
    change: FrontierChange, run_id: UUID | None, by_host: Mapping[UUID, Sequence[SiteLink]], now: datetime
) -> set[str]:
    change.foresee({host_id: [link.entry for link in found] for host_id, found in by_host.items()})
    queued: dict[UUID, int] = {}
    for host_id, found in by_host.items():
        near = [link.entry for link in found if not link.is_too_deep]
        deep = [link.entry for link in found if link.is_too_deep]
        queued[host_id] = change.settle(host_id, run_id, HostSettlement(near, too_deep=deep, lifts=True))
    hosts.add_discovered(change.connection, queued, now)
    return {found[0].host for host_id, found in by_host.items() if queued[host_id]}
