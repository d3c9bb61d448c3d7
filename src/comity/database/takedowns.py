"""Statements on `takedowns`, and on the hosts that one reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, or_, select

from comity.database.bulk import rows_of
from comity.database.dialects import insert_into
from comity.database.tables import domains, takedowns

# Made once: a crawl reads them several times a second.
_ALL: Final = select(takedowns).order_by(takedowns.c.created_at, takedowns.c.domain_or_url)


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
    return connection.execute(_ALL).all()


def page(connection: Connection, limit: int, offset: int) -> Sequence[Row[Any]]:
    """Some entries, oldest first."""
    ordered = select(takedowns).order_by(takedowns.c.created_at, takedowns.c.domain_or_url)
    return connection.execute(ordered.limit(limit).offset(offset)).all()


def count(connection: Connection) -> int:
    """How many entries there are."""
    return int(connection.execute(select(func.count()).select_from(takedowns)).scalar_one())


def edition(connection: Connection) -> tuple[int, str | None, str | None]:
    """What differs once an entry was added or removed: how many there are, the latest time and the last name."""
    # Written out by hand: every pull and grant runs it.
    statement = "SELECT count(*), max(created_at), max(domain_or_url) FROM takedowns"
    number, latest, last = rows_of(connection, statement, ())[0]
    return int(number), None if latest is None else str(latest), last


def hosts_reached(connection: Connection, host: str, parent: str | None) -> Sequence[UUID]:
    """A host, its sub-domains and its other ports; URLs may also wait at the registrable domain, where it has them."""
    hosts = or_(
        domains.c.domain == host,
        domains.c.domain.endswith("." + host, autoescape=True),
        domains.c.domain.startswith(host + ":", autoescape=True),
        domains.c.domain.contains("." + host + ":", autoescape=True),
    )
    if parent is not None:
        hosts = or_(hosts, domains.c.domain == parent, domains.c.domain.startswith(parent + ":", autoescape=True))
    return connection.execute(select(domains.c.id).where(hosts).order_by(domains.c.id)).scalars().all()
