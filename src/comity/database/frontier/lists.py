"""Statements on `visit_lists` and `visit_list_hosts`: the URLs that one query or audit still has to visit."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, delete, exists, func, literal_column, select, update

from comity.database.dialects import insert_into
from comity.database.tables import (
    DONE,
    DROPPED,
    QUEUED,
    domain_frontier,
    domains,
    evidence,
    fetches,
    visit_list_hosts,
    visit_lists,
)


def begin(connection: Connection, door: str, name: str, settings: dict[str, Any] | None, now: datetime) -> UUID:
    """A new list."""
    list_id = uuid4()
    values = {"id": list_id, "door": door, "name": name, "settings": settings, "begun_at": now}
    connection.execute(insert_into(connection, visit_lists).values(values))
    return list_id


def unfinished(connection: Connection, door: str, name: str) -> UUID | None:
    """The newest list of this name that has not ended."""
    lists = visit_lists.c
    statement = (
        select(lists.id)
        .where(lists.door == door, lists.name == name, lists.ended_at.is_(None))
        .order_by(lists.begun_at.desc())
        .limit(1)
    )
    found: UUID | None = connection.execute(statement).scalar()
    return found


def is_open(connection: Connection, list_id: UUID) -> bool:
    """Whether a list has not ended."""
    lists = visit_lists.c
    return connection.execute(select(lists.id).where(lists.id == list_id, lists.ended_at.is_(None))).first() is not None


def end(connection: Connection, list_id: UUID, now: datetime) -> None:
    """Record that a list has nothing left to do."""
    connection.execute(update(visit_lists).where(visit_lists.c.id == list_id).values(ended_at=now))


def keys_of(connection: Connection, list_id: UUID, host_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """The ids of hosts in a list, as far as they are in it."""
    hosts = visit_list_hosts.c
    statement = select(hosts.domain_id, hosts.id).where(hosts.list_id == list_id, hosts.domain_id.in_(list(host_ids)))
    return {row.domain_id: row.id for row in connection.execute(statement)}


def add_hosts(connection: Connection, list_id: UUID, host_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Put hosts on a list; returns the ids of all of them there."""
    values = [{"list_id": list_id, "domain_id": host_id} for host_id in host_ids]
    if values:
        statement = insert_into(connection, visit_list_hosts).values(values)
        connection.execute(statement.on_conflict_do_nothing(index_elements=["list_id", "domain_id"]))
    return keys_of(connection, list_id, host_ids)


def not_asked(connection: Connection, list_id: UUID, after: int, limit: int) -> list[tuple[int, str, str, Any]]:
    """URLs that are done without a recorded visit since the list was started, with the last evidence."""
    hosts, urls = visit_list_hosts.c, domain_frontier.c
    began_at = select(visit_lists.c.begun_at).where(visit_lists.c.id == list_id).scalar_subquery()
    was_visited = exists().where(fetches.c.url_key == urls.url_key, fetches.c.crawled_at >= began_at)
    last = (
        select(evidence.c.id)
        .where(evidence.c.url_key == urls.url_key)
        .order_by(evidence.c.created_at.desc(), evidence.c.id.desc())
        .limit(1)
        .correlate(domain_frontier)
        .scalar_subquery()
    )
    statement = (
        select(urls.id, urls.url, evidence.c.type, evidence.c.content)
        .join(visit_list_hosts, hosts.id == urls.domain_id)
        .join(evidence, evidence.c.id == last)
        .where(hosts.list_id == list_id, urls.state.in_([DONE, DROPPED]), urls.id > after, ~was_visited)
        .order_by(urls.id)
        .limit(limit)
    )
    return [(row.id, row.url, row.type, row.content) for row in connection.execute(statement)]


def not_visited(connection: Connection, list_id: UUID, host: str, after: int, limit: int) -> list[tuple[int, str]]:
    """URLs of a host that a list still has to visit."""
    hosts, urls = visit_list_hosts.c, domain_frontier.c
    statement = (
        select(urls.id, urls.url)
        .join(visit_list_hosts, hosts.id == urls.domain_id)
        .join(domains, domains.c.id == hosts.domain_id)
        .where(hosts.list_id == list_id, domains.c.domain == host, urls.id > after)
        .where(urls.state == literal_column(str(QUEUED)))
        .order_by(urls.id)
        .limit(limit)
    )
    return [(row.id, row.url) for row in connection.execute(statement)]


def pages_so_far(connection: Connection, list_id: UUID) -> int:
    """How many pages of a list were fetched since it was started."""
    hosts, urls = visit_list_hosts.c, domain_frontier.c
    own = visit_lists.c.id == list_id
    began_at = select(visit_lists.c.begun_at).where(own).scalar_subquery()
    door = select(visit_lists.c.door).where(own).scalar_subquery()  # a crawl may visit the same pages meanwhile
    came = exists().where(
        fetches.c.url_key == urls.url_key,
        fetches.c.discovery_type == door,
        fetches.c.crawled_at >= began_at,
        fetches.c.error.is_(None),
    )
    statement = (
        select(func.count())
        .select_from(domain_frontier)
        .join(visit_list_hosts, hosts.id == urls.domain_id)
        .where(hosts.list_id == list_id, urls.state == DONE, came)
    )
    return int(connection.execute(statement).scalar_one())


def hosts_to_visit(connection: Connection, list_id: UUID) -> list[str]:
    """The hosts of a list that have URLs to visit."""
    hosts = visit_list_hosts.c
    is_queued = exists().where(
        domain_frontier.c.domain_id == hosts.id, domain_frontier.c.state == literal_column(str(QUEUED))
    )
    statement = (
        select(domains.c.domain)
        .join(visit_list_hosts, hosts.domain_id == domains.c.id)
        .where(hosts.list_id == list_id, is_queued)
        .order_by(domains.c.domain)
    )
    return list(connection.execute(statement).scalars())


def forget(connection: Connection, list_id: UUID) -> None:
    """Delete a list; a trigger deletes what its hosts have."""
    connection.execute(delete(visit_lists).where(visit_lists.c.id == list_id))


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """A host was folded into another: its places in lists become the other's, or give that one their URLs."""
    hosts = visit_list_hosts.c
    ours = {
        row.list_id: row.id for row in connection.execute(select(visit_list_hosts).where(hosts.domain_id == to_host))
    }
    for row in connection.execute(select(visit_list_hosts).where(hosts.domain_id == from_host)).all():
        kept = ours.get(row.list_id)
        if kept is None:
            connection.execute(update(visit_list_hosts).where(hosts.id == row.id).values(domain_id=to_host))
            continue
        known = select(domain_frontier.c.url_key).where(domain_frontier.c.domain_id == kept)
        mine = domain_frontier.c.domain_id == row.id
        connection.execute(delete(domain_frontier).where(mine, domain_frontier.c.url_key.in_(known)))
        connection.execute(update(domain_frontier).where(mine).values(domain_id=kept))
        connection.execute(delete(visit_list_hosts).where(hosts.id == row.id))
