"""Statements on `robots_cache`: the robots.txt of each origin, as it was last read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, select

from comity.database.spelling import insert_into
from comity.database.tables import robots_cache


def get(connection: Connection, origin: str) -> Any:
    """What is known of an origin's robots.txt, or None."""
    return connection.execute(select(robots_cache).where(robots_cache.c.origin == origin)).first()


def of_hosts(connection: Connection, hosts: Collection[str]) -> Sequence[Any]:
    """Every origin known of some hosts."""
    statement = select(robots_cache).where(robots_cache.c.host.in_(list(hosts)))
    return connection.execute(statement.order_by(robots_cache.c.origin)).all()


def put(connection: Connection, values: dict[str, Any]) -> None:
    """Keep what was read, in place of what was known before."""
    changed = {name: value for name, value in values.items() if name != "origin"}
    connection.execute(
        insert_into(connection, robots_cache)
        .values(**values)
        .on_conflict_do_update(index_elements=["origin"], set_=changed)
    )
