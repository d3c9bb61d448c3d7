"""What the cached robots.txt says of one page; makes no request."""

from __future__ import annotations

from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.model.errors import NotFound, Remedy, RemedyCode
from comity.model.robots import RobotsUnreachable
from comity.rules.canonical import WebAddress
from comity.walk.robots.in_force import RobotsInForce
from comity.walk.robots.record import robots_from_row


def cached_robots(database: Database, address: WebAddress, agent: str, unreachable: RobotsUnreachable) -> RobotsInForce:
    """The robots.txt of an address's origin as it was last read; `NotFound` if it never was."""
    with database.read() as connection:
        row = robots_table.get(connection, address.origin)
    if row is None:
        raise NotFound(
            f"the robots.txt of {address.origin} has not been read yet",
            remedy=Remedy(RemedyCode.READ_ROBOTS, address.url),
        )
    return robots_from_row(row, agent, unreachable)
