"""Statements on `domain_frontier` for operators: going through a host's URLs, and changing the state of some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, delete, select, update

from comity.database.tables import DONE, domain_frontier

_BATCH: Final = 500


def urls(connection: Connection, host_id: UUID, state: int, after: int, limit: int) -> Sequence[Any]:
    """URLs of a host in one state, in the order of their row numbers."""
    table = domain_frontier.c
    return connection.execute(
        select(table.id, table.url, table.url_key)
        .where(table.domain_id == host_id, table.state == state, table.id > after)
        .order_by(table.id)
        .limit(limit)
    ).all()


def done_after(connection: Connection, host_id: UUID, after: int | None, limit: int) -> Sequence[Any]:
    """URLs that are done, with what sitemaps say of them, in the order of their keys: the index has them so."""
    table = domain_frontier.c
    statement = (
        select(table.url_key, table.priority, table.lastmod, table.changefreq, table.sitemap_priority)
        .where(table.domain_id == host_id, table.state == DONE)
        .order_by(table.url_key)
        .limit(limit)
        .with_hint(domain_frontier, "INDEXED BY uq_domain_frontier_url", "sqlite")
    )
    if after is not None:
        statement = statement.where(table.url_key > after)
    return connection.execute(statement).all()


def change_state(connection: Connection, host_id: UUID, keys: Collection[int], before: int, after: int) -> int:
    """Bring URLs, by their keys, from one state to another; waits and tries are forgotten. Gives how many."""
    table, changed, rest = domain_frontier.c, 0, iter(keys)
    while some := list(islice(rest, _BATCH)):
        changed += connection.execute(
            update(domain_frontier)
            .where(table.domain_id == host_id, table.url_key.in_(some), table.state == before)
            .values(state=after, attempts=0, not_before=None)
        ).rowcount
    return changed


def first_host(connection: Connection) -> UUID | None:
    """Some host that has URLs here."""
    found: UUID | None = connection.execute(select(domain_frontier.c.domain_id).limit(1)).scalar()
    return found


def first_rows(connection: Connection, host_id: UUID, limit: int) -> Sequence[Any]:
    """A host's oldest URLs with everything that is known of them."""
    table = domain_frontier.c
    statement = select(domain_frontier).where(table.domain_id == host_id).order_by(table.id).limit(limit)
    return connection.execute(statement).all()


def remove_up_to(connection: Connection, host_id: UUID, row_id: int) -> None:
    """Forget a host's URLs up to a row."""
    table = domain_frontier.c
    connection.execute(delete(domain_frontier).where(table.domain_id == host_id, table.id <= row_id))


def forget(connection: Connection, host_id: UUID) -> None:
    """Forget every URL of a host."""
    connection.execute(delete(domain_frontier).where(domain_frontier.c.domain_id == host_id))
