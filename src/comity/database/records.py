"""Statements that settle writes in bulk: fetches, evidence and the politeness ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, insert, select

from comity.database.instants import from_seconds
from comity.database.spelling import insert_into
from comity.database.tables import domains, evidence, fetches, politeness_ledger
from comity.model.evidence import Evidence
from comity.model.ledger import LedgerRow


def add_fetches(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """One row a visit; settling the same visit twice leaves one."""
    if rows:
        statement = insert_into(connection, fetches).on_conflict_do_nothing(
            index_elements=["run_id", "url_key", "crawled_at"]
        )
        connection.execute(statement, rows)


def add_evidence(connection: Connection, run_id: UUID, items: Iterable[Evidence]) -> None:
    """Keep decisions with their reasons."""
    rows = [
        {
            "run_id": run_id,
            "domain_id": item.host_id,
            "url": item.url,
            "url_key": item.key,
            "type": str(item.type),
            "content": item.content,
            "metadata": item.metadata,
            "confidence": item.confidence,
            "created_at": from_seconds(item.at),
        }
        for item in items
    ]
    if rows:
        connection.execute(insert(evidence), rows)


def add_to_ledger(connection: Connection, run_id: UUID | None, rows: Iterable[LedgerRow]) -> None:
    """Enter requests that were started."""
    values = [
        {
            "run_id": run_id,
            "domain_id": row.host_id,
            "lease_token": row.lease_token,
            "url": row.url,
            "purpose": str(row.purpose),
            "started_at": from_seconds(row.started_at),
            "ended_at": from_seconds(row.ended_at),
            "delay_s": row.delay.seconds,
            "delay_source": str(row.delay.source),
            "max_concurrency": row.max_concurrency,
            "robots_version": row.robots_version,
            "rule_line": row.rule_line,
            "rule": row.rule,
            "status": row.status,
            "blocked_until": from_seconds(row.blocked_until),
        }
        for row in rows
    ]
    if values:
        connection.execute(insert(politeness_ledger), values)


def committed(connection: Connection, run_id: UUID, keys: Collection[int]) -> set[tuple[int, Any]]:
    """Which visits of a run were settled, by URL key and time."""
    statement = select(fetches.c.url_key, fetches.c.crawled_at).where(
        fetches.c.run_id == run_id, fetches.c.url_key.in_(list(keys))
    )
    return {(row.url_key, row.crawled_at) for row in connection.execute(statement)}


def evidence_of(connection: Connection, key: int, limit: int = 50) -> Sequence[Any]:
    """What was decided about a URL, newest first."""
    return connection.execute(
        select(evidence).where(evidence.c.url_key == key).order_by(evidence.c.created_at.desc()).limit(limit)
    ).all()


def last_budget(connection: Connection, host_id: UUID) -> Any:
    """The budget that ended the last run of a host, if one did."""
    return connection.execute(
        select(evidence.c.content)
        .join(domains, (domains.c.id == evidence.c.domain_id) & (domains.c.last_crawl_run_id == evidence.c.run_id))
        .where(evidence.c.domain_id == host_id, evidence.c.type == "budget")
        .order_by(evidence.c.created_at.desc())
        .limit(1)
    ).first()


def fetches_of(connection: Connection, key: int, limit: int = 50) -> Sequence[Any]:
    """When a URL was visited and what came of it, newest first."""
    return connection.execute(
        select(fetches).where(fetches.c.url_key == key).order_by(fetches.c.crawled_at.desc()).limit(limit)
    ).all()


def ledger_after(connection: Connection, host_id: UUID, after: tuple[Any, int] | None, limit: int) -> Sequence[Any]:
    """A host's requests in the order in which they started, in batches."""
    ledger = politeness_ledger.c
    statement = select(politeness_ledger).where(ledger.domain_id == host_id)
    if after is not None:
        started_at, number = after
        statement = statement.where(
            (ledger.started_at > started_at) | ((ledger.started_at == started_at) & (ledger.id > number))
        )
    return connection.execute(statement.order_by(ledger.started_at, ledger.id).limit(limit)).all()


def hosts_in_ledger(connection: Connection) -> Sequence[Any]:
    """Hosts that were ever asked for anything."""
    return connection.execute(
        select(domains.c.id, domains.c.domain)
        .where(domains.c.id.in_(select(politeness_ledger.c.domain_id).distinct()))
        .order_by(domains.c.domain)
    ).all()
