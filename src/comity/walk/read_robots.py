"""Reading one origin's robots.txt by itself, under the host's lease and through its gate like any other request."""

from __future__ import annotations

from collections.abc import Callable

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.fetch.fetcher import Fetcher
from comity.leases.room import Leases
from comity.model.errors import ComityError, HostBusy
from comity.model.gate import DoorProfile
from comity.rules.canonical import WebAddress
from comity.rules.takedown import Takedowns
from comity.walk.request import Requests
from comity.walk.robots_in_force import RobotsInForce
from comity.walk.robots_keeper import RobotsKeeper, RobotsPostponed, RobotsRefused, RobotsTerms
from comity.walk.session.capacity import Capacity
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.held_hosts import HeldHosts
from comity.walk.session.leased_host import LeasedHost


async def read_robots(
    database: Database,
    leases: Leases,
    fetcher: Fetcher,
    clock: Clock,
    chance: Callable[[], float],
    profile: DoorProfile,
    terms: RobotsTerms,
    address: WebAddress,
    *,
    collapse: bool = False,
) -> RobotsInForce:
    """What robots.txt of the address's origin says now: from the cache while it is fresh, asked for otherwise."""
    thread = DatabaseThread()
    board = HeldHosts(database, thread, leases, clock, chance, profile, touched_by="robots")
    requests = Requests(fetcher, Capacity(1), clock.seconds)
    takedowns = await thread.run(_takedowns, database)
    keeper = RobotsKeeper(database, thread, requests, terms, clock.seconds, lambda: takedowns, collapse=collapse)
    host: LeasedHost | None = None
    try:
        covered = takedowns.covering_host(address.host)
        if covered is not None:
            raise ComityError(f"{address.host} is taken down ({covered}); nothing is asked of it")
        await thread.run(leases.free_own_dead)
        host = await board.host_of(address)
        if host is None:
            raise HostBusy(f"{address.host} is being crawled by another process; its robots.txt can be read after that")
        found = await keeper.in_force(host, address.origin, board.host_of)
        if isinstance(found, RobotsRefused):
            raise ComityError(f"{address.host} is not asked: {found.failure.detail}")
        if isinstance(found, RobotsPostponed):
            raise HostBusy(f"{address.host} asked for patience; try again later")
        return found
    finally:
        await board.release_guests(idle_only=False)  # and record what was asked
        thread.close()


def _takedowns(database: Database) -> Takedowns:
    with database.read() as connection:
        return Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
