"""Statements for audits: what the state knows about one list of visits and its runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select

from comity.database.records import BY_URL
from comity.database.tables import (
    QUEUED,
    crawl_runs,
    domain_frontier,
    domains,
    evidence,
    fetches,
    politeness_ledger,
    visit_list_hosts,
    visit_lists,
)
from comity.model.evidence import EvidenceType

_DECISIONS = (str(EvidenceType.ROBOTS_ALLOWED), str(EvidenceType.BLOCKED_BY_ROBOTS))


def begun_at(connection: Connection, list_id: UUID) -> datetime:
    """When a list was started."""
    found: datetime = connection.execute(select(visit_lists.c.begun_at).where(visit_lists.c.id == list_id)).scalar_one()
    return found


def hosts_of(connection: Connection, list_id: UUID) -> Sequence[Any]:
    """The hosts of a list: their ids, their names and their keys in the list."""
    hosts = visit_list_hosts.c
    statement = (
        select(domains.c.id, domains.c.domain, hosts.id.label("key"))
        .join(visit_list_hosts, hosts.domain_id == domains.c.id)
        .where(hosts.list_id == list_id)
        .order_by(domains.c.domain)
    )
    return connection.execute(statement).all()


def queued(connection: Connection, list_id: UUID) -> int:
    """How many URLs of a list are still to be visited."""
    statement = (
        select(func.count())
        .select_from(domain_frontier)
        .join(visit_list_hosts, visit_list_hosts.c.id == domain_frontier.c.domain_id)
        .where(visit_list_hosts.c.list_id == list_id, domain_frontier.c.state == QUEUED)
    )
    return int(connection.execute(statement).scalar_one())


def decisions(
    connection: Connection, host_ids: Collection[UUID], run_ids: Collection[UUID], after: str, limit: int
) -> Sequence[Any]:
    """Decisions by robots.txt in some runs, by URL: of each URL the last that allowed it and the last that did not.

    `after` is the URL where the page before ended.
    """
    item = evidence.c
    last = (
        select(func.max(item.id).label("id"))
        .where(
            item.domain_id.in_(list(host_ids)),
            item.run_id.in_(list(run_ids)),
            item.type.in_(_DECISIONS),
            item.url > after,
        )
        .group_by(item.url, item.type)
        .order_by(item.url)
        .limit(limit)
        .subquery()
    )
    statement = select(evidence).join(last, item.id == last.c.id).order_by(item.url, item.type)
    return connection.execute(statement).all()


def requests(connection: Connection, host_ids: Collection[UUID], run_ids: Collection[UUID]) -> int:
    """How many requests some runs made to some hosts."""
    row = politeness_ledger.c
    statement = select(func.count()).where(row.domain_id.in_(list(host_ids)), row.run_id.in_(list(run_ids)))
    return int(connection.execute(statement).scalar_one())


def seconds_spent(connection: Connection, run_ids: Collection[UUID]) -> float:
    """How long some runs took, each to its last visit: one that was killed did not write when it ended."""
    last = select(func.max(fetches.c.crawled_at)).where(fetches.c.run_id == crawl_runs.c.id).scalar_subquery()
    statement = select(crawl_runs.c.started_at, last.label("last")).where(crawl_runs.c.id.in_(list(run_ids)))
    spans = [(row.last - row.started_at).total_seconds() for row in connection.execute(statement) if row.last]
    return float(sum(max(0.0, span) for span in spans))


def final_url(connection: Connection, run_ids: Collection[UUID], key: int) -> str | None:
    """Where the last visit of a URL in some runs led."""
    statement = (
        select(fetches.c.final_url)
        .where(fetches.c.url_key == key, fetches.c.run_id.in_(list(run_ids)))
        .with_hint(fetches, BY_URL, "sqlite")
        .order_by(fetches.c.crawled_at.desc())
        .limit(1)
    )
    found: str | None = connection.execute(statement).scalar()
    return found
