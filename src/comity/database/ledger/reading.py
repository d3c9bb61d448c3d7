"""Statements that read the politeness ledger, and what it is checked against."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, Table, exists, func, or_, select

from comity.database.ledger.tables import ledger_chains, ledger_notes, policy_history, robots_versions
from comity.database.tables import domains, fetches, politeness_ledger

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds_of(value: datetime | None) -> int | None:
    """A stored instant as whole microseconds, exactly."""
    if value is None:
        return None
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def request_values(row: Any) -> tuple[Any, ...]:
    """What the digest of a request covers behind its sequence and host; `ledger.append_requests` has the same order."""
    return (
        row.lease_token,
        row.request_number,
        row.url,
        row.purpose,
        microseconds_of(row.started_at),
        microseconds_of(row.ended_at),
        row.delay_s,
        row.delay_source,
        row.max_concurrency,
        row.policy_interval_ms,
        row.policy_max_concurrency,
        row.robots_version,
        row.rule_line,
        row.rule,
        row.status,
        row.retry_after_s,
        microseconds_of(row.blocked_until),
        row.has_fetch,
    )


def note_values(row: Any) -> tuple[Any, ...]:
    """The same for a note."""
    return (
        row.lease_token,
        row.kind,
        row.origin,
        row.version,
        microseconds_of(row.valid_from),
        microseconds_of(row.valid_until),
        row.detail,
    )


def chain_ids(connection: Connection, host: str | None = None) -> list[UUID]:
    """The chains of all hosts, or those of one: its own, and those of hosts that were folded into it."""
    column = ledger_chains.c
    statement = select(column.domain_id).order_by(column.host, column.domain_id)
    if host is not None:
        named = select(column.domain_id).where(column.host == host)
        statement = statement.where(or_(column.host == host, column.merged_into.in_(named)))
    return list(connection.execute(statement).scalars())


def chain(connection: Connection, host_id: UUID) -> Row[Any] | None:
    """The head of one chain, with the lease of its host as it is now."""
    columns = (
        domains.c.domain,
        domains.c.claimed_by,
        domains.c.claimed_at,
        domains.c.lease_token,
        domains.c.last_start_at,
        domains.c.unclean_end_at,
        domains.c.unclean_since,
    )
    statement = select(ledger_chains, *columns).outerjoin(domains, domains.c.id == ledger_chains.c.domain_id)
    return connection.execute(statement.where(ledger_chains.c.domain_id == host_id)).first()


def folded_into(connection: Connection, host_id: UUID) -> list[UUID]:
    """The chains of hosts that were folded into a host."""
    column = ledger_chains.c
    return list(connection.execute(select(column.domain_id).where(column.merged_into == host_id)).scalars())


def stray_rows(connection: Connection, limit: int) -> Sequence[Any]:
    """Hosts that have requests or notes in the ledger, and no chain."""
    found: list[Any] = []
    for table in (politeness_ledger, ledger_notes):
        has_chain = exists().where(ledger_chains.c.domain_id == table.c.domain_id)
        statement = select(table.c.domain_id, domains.c.domain).outerjoin(domains, domains.c.id == table.c.domain_id)
        found += connection.execute(statement.where(~has_chain).distinct().limit(limit)).all()
    return found


def asked_without_chain(connection: Connection, host: str | None, limit: int) -> Sequence[Row[Any]]:
    """Hosts whose row or visits say that they were asked, and that have no chain."""
    has_chain = exists().where(ledger_chains.c.domain_id == domains.c.id)
    was_visited = exists().where(fetches.c.domain == domains.c.domain)
    statement = select(domains.c.domain).where(~has_chain, or_(domains.c.last_start_at.is_not(None), was_visited))
    if host is not None:
        statement = statement.where(domains.c.domain == host)
    return connection.execute(statement.order_by(domains.c.domain).limit(limit)).all()


def leased_without_chain(connection: Connection, host: str | None, limit: int) -> Sequence[Any]:
    """Hosts that are leased, or were until a process died, and of which nothing is recorded yet."""
    column = domains.c
    has_chain = exists().where(ledger_chains.c.domain_id == column.id)
    is_leased = or_(column.claimed_by.is_not(None), column.unclean_end_at.is_not(None))
    statement = select(column.domain, column.claimed_at, column.unclean_since).where(~has_chain, is_leased)
    if host is not None:
        statement = statement.where(column.domain == host)
    return connection.execute(statement.order_by(column.domain).limit(limit)).all()


def is_known(connection: Connection, host: str) -> bool:
    """Whether the state knows a host by this name, crawled or not."""
    of_domains = select(domains.c.id).where(domains.c.domain == host)
    of_chains = select(ledger_chains.c.domain_id).where(ledger_chains.c.host == host)
    return any(connection.execute(statement.limit(1)).first() is not None for statement in (of_domains, of_chains))


def requests_from(connection: Connection, host_id: UUID, after: tuple[int, int] | None, limit: int) -> Sequence[Any]:
    """A host's requests in the order of the chain, in batches."""
    return _in_order(connection, politeness_ledger, host_id, after, limit)


def notes_from(connection: Connection, host_id: UUID, after: tuple[int, int] | None, limit: int) -> Sequence[Any]:
    """A host's notes in the order of the chain, in batches."""
    return _in_order(connection, ledger_notes, host_id, after, limit)


def _in_order(
    connection: Connection, table: Table, host_id: UUID, after: tuple[int, int] | None, limit: int
) -> Sequence[Any]:
    column = table.c
    statement = select(table).where(column.domain_id == host_id)
    if after is not None:
        sequence, number = after
        statement = statement.where(
            (column.sequence > sequence) | ((column.sequence == sequence) & (column.id > number))
        )
    return connection.execute(statement.order_by(column.sequence, column.id).limit(limit)).all()


def requests_by_start(connection: Connection, host_id: UUID, batch: int) -> Iterator[Any]:
    """A host's requests in the order in which they started.

    The database sorts their numbers alone, so that it holds a few bytes for each; the rows follow in batches.
    """
    ledger = politeness_ledger.c
    numbers = select(ledger.id).where(ledger.domain_id == host_id).order_by(ledger.started_at, ledger.id)
    wanted = connection.execute(numbers, execution_options={"yield_per": batch})
    for part in wanted.scalars().partitions():
        found = connection.execute(select(politeness_ledger).where(ledger.id.in_(part)))
        rows = {row.id: row for row in found}
        yield from (rows[number] for number in part)


def robots_body(connection: Connection, version: str) -> bytes | None:
    """A robots.txt by its digest."""
    body = connection.execute(select(robots_versions.c.body).where(robots_versions.c.version == version)).scalar()
    return None if body is None else bytes(body)


def policies_of(connection: Connection, host: str) -> Sequence[Row[Any]]:
    """What the policy of a host said, in the order of its edits."""
    history = policy_history
    return connection.execute(select(history).where(history.c.host == host).order_by(history.c.id)).all()


def digest_at(connection: Connection, table: str, host_id: UUID, sequence: int) -> str | None:
    """The digest of one row of a chain, of `requests` or of `notes`."""
    column = (politeness_ledger if table == "requests" else ledger_notes).c
    statement = select(column.digest).where(column.domain_id == host_id, column.sequence == sequence)
    digest: str | None = connection.execute(statement.limit(1)).scalar()
    return digest


def fetches_of_host(connection: Connection, host: str, after: tuple[Any, int] | None, limit: int) -> Sequence[Any]:
    """The visits of a host by time, in batches."""
    column = fetches.c
    statement = select(column.id, column.page_url, column.crawled_at).where(column.domain == host)
    if after is not None:
        crawled_at, number = after
        statement = statement.where(
            (column.crawled_at > crawled_at) | ((column.crawled_at == crawled_at) & (column.id > number))
        )
    return connection.execute(statement.order_by(column.crawled_at, column.id).limit(limit)).all()


def visits_without_request(connection: Connection, host: str, chain_ids: Collection[UUID], limit: int) -> Sequence[Any]:
    """Visits of a host that no request of its chains started, or that more visits claim than requests did."""
    ledger, column = politeness_ledger.c, fetches.c
    started = (
        select(ledger.started_at, func.count().label("requests"))
        .where(ledger.domain_id.in_(list(chain_ids)))
        .group_by(ledger.started_at)
        .subquery()
    )
    visited = (
        select(func.min(column.page_url).label("page_url"), column.crawled_at, func.count().label("visits"))
        .where(column.domain == host)
        .group_by(column.crawled_at)
        .subquery()
    )
    statement = (
        select(visited.c.page_url, visited.c.crawled_at)
        .outerjoin(started, started.c.started_at == visited.c.crawled_at)
        .where(visited.c.visits > func.coalesce(started.c.requests, 0))
    )
    return connection.execute(statement.limit(limit)).all()


def requests_without_visit(connection: Connection, host: str, chain_ids: Collection[UUID], limit: int) -> Sequence[Any]:
    """Requests that say that a visit was stored, and it is not."""
    ledger = politeness_ledger.c
    is_there = exists().where(
        fetches.c.domain == host, fetches.c.crawled_at == ledger.started_at, fetches.c.page_url == ledger.url
    )
    statement = select(politeness_ledger).where(
        ledger.domain_id.in_(list(chain_ids)), ledger.has_fetch.is_(True), ~is_there
    )
    return connection.execute(statement.limit(limit)).all()
