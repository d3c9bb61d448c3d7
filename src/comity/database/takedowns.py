"""Statements on `takedowns`, and on the frontier where a takedown reaches into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from comity.database.spelling import insert_into
from comity.database.tables import domain_frontier, domains, takedowns


def add(connection: Connection, entry: str, reason: str | None) -> bool:
    """Remember an entry; False if it was there already."""
    statement = (
        insert_into(connection, takedowns)
        .values(domain_or_url=entry, reason=reason)
        .on_conflict_do_nothing(index_elements=["domain_or_url"])
        .returning(takedowns.c.domain_or_url)
    )
    return connection.execute(statement).first() is not None


def remove(connection: Connection, entry: str) -> bool:
    """Forget an entry; False if there was none."""
    return connection.execute(delete(takedowns).where(takedowns.c.domain_or_url == entry)).rowcount > 0


def entries(connection: Connection) -> Sequence[Row[Any]]:
    """Every entry, oldest first."""
    return connection.execute(select(takedowns).order_by(takedowns.c.created_at, takedowns.c.domain_or_url)).all()


def urls_of_host(
    connection: Connection, host: str, parent: str | None, state: int, after: int, limit: int
) -> Sequence[Any]:
    """URLs in one state of a host, of its sub-domains and of its other ports, in batches by row number.

    They may also wait at the registrable domain, where sub-domains are folded into it.
    """
    hosts = or_(
        domains.c.domain == host,
        domains.c.domain.endswith("." + host, autoescape=True),
        domains.c.domain.startswith(host + ":", autoescape=True),
        domains.c.domain.contains("." + host + ":", autoescape=True),
    )
    if parent is not None:
        hosts = or_(hosts, domains.c.domain == parent, domains.c.domain.startswith(parent + ":", autoescape=True))
    return connection.execute(
        select(domain_frontier.c.id, domain_frontier.c.url)
        .join(domains, domains.c.id == domain_frontier.c.domain_id)
        .where(hosts, domain_frontier.c.state == state, domain_frontier.c.id > after)
        .order_by(domain_frontier.c.id)
        .limit(limit)
    ).all()


def move(connection: Connection, ids: Sequence[int], state: int) -> int:
    """Take URLs out of the queue, or put them back."""
    statement = update(domain_frontier).where(domain_frontier.c.id.in_(ids)).values(state=state)
    return connection.execute(statement).rowcount
