"""Statements on `domains` that take, keep and give back leases.

Each takes the lease's token into its WHERE: a hand that comes late finds no row, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    func,
    literal_column,
    or_,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.exc import IntegrityError

from comity.database.instants import instant
from comity.database.tables import ACTIVE_FIRST, CANDIDATE, domains
from comity.database.types import UtcDateTime
from comity.model.errors import IllegalTransition
from comity.model.lease import Lease

LEASED: Final = (
    domains.c.id,
    domains.c.domain,
    domains.c.claimed_by,
    domains.c.lease_token,
    domains.c.claim_expires_at,
    domains.c.status,
    domains.c.cooldown_count,
    domains.c.max_pages_per_run,
    domains.c.next_fetch_at,
    domains.c.blocked_until,
    domains.c.backoff_step,
    domains.c.adaptive_delay_s,
    domains.c.latency_baseline_s,
    domains.c.latency_recent_s,
    domains.c.unclean_end_at,
    domains.c.last_start_at,
)

_rank: Final[ColumnElement[int]] = literal_column(ACTIVE_FIRST)
_score: Final = domains.c.priority_score
_last: Final = domains.c.last_crawled_at


def claim(
    connection: Connection,
    *,
    holder: str,
    limit: int,
    lease_s: float,
    now: datetime | None,
    hosts: Collection[str] | None = None,
    smart: bool = True,
) -> Sequence[Row[Any]]:
    """Lease up to `limit` hosts that may be crawled, best first, in one statement.

    Free hosts and hosts whose lease ran out are looked up by an index of their own; on PostgreSQL rows that
    another worker is taking at this moment are skipped. Without `smart`, hosts come in the order of the
    seeds instead of by priority.
    """
    chosen = _candidates(connection, limit, now, hosts, smart)
    taken = _taken_by(connection, holder, lease_s, now)
    statement = (
        update(domains)
        .where(domains.c.id.in_(chosen))
        .values(taken)
        .returning(*LEASED, _rank.label("rank"), _score, _last)
    )
    return connection.execute(statement).all()


def take(
    connection: Connection, *, hosts: Collection[str], holder: str, lease_s: float, now: datetime | None
) -> Sequence[Row[Any]]:
    """Lease the named hosts, whatever their status, as far as nobody else holds them."""
    moment = instant(connection, now)
    wanted = select(domains.c.id).where(
        domains.c.domain.in_(list(hosts)),
        or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= moment),
    )
    if connection.dialect.name == "postgresql":
        wanted = wanted.with_for_update(skip_locked=True)
    statement = update(domains).where(domains.c.id.in_(wanted.scalar_subquery())).returning(*LEASED)
    return connection.execute(statement.values(_taken_by(connection, holder, lease_s, now))).all()


def renew(connection: Connection, *, holder: str, lease_s: float, now: datetime | None) -> set[tuple[UUID, int]]:
    """Prolong every lease that the holder still has; what is missing from the answer is lost."""
    statement = (
        update(domains)
        .where(domains.c.claimed_by == holder, domains.c.claim_expires_at > instant(connection, now))
        .values(claim_expires_at=instant(connection, now, lease_s), version=domains.c.version + 1)
        .returning(domains.c.id, domains.c.lease_token)
    )
    return {(row.id, row.lease_token) for row in connection.execute(statement)}


def write_under(connection: Connection, lease: Lease, values: Mapping[str, Any], now: datetime | None) -> bool:
    """Change the host's row if the lease is still held; False, with nothing changed, if it is not."""
    statement = (
        update(domains)
        .where(
            domains.c.id == lease.host_id,
            domains.c.lease_token == lease.token,
            domains.c.claimed_by == lease.holder,
            domains.c.claim_expires_at > instant(connection, now),
        )
        .values(**values, version=domains.c.version + 1)
        .returning(domains.c.id)
    )
    try:
        return connection.execute(statement).first() is not None
    except IntegrityError as error:
        if "illegal status change" in str(error.orig):
            raise IllegalTransition(f"{lease.host}: {str(error.orig).splitlines()[0]}") from error
        raise


def still_held(connection: Connection, leases: Collection[Lease], now: datetime | None) -> set[UUID]:
    """Which of these leases hold, with their rows locked until the transaction ends."""
    if not leases:
        return set()
    wanted = [(lease.host_id, lease.token) for lease in leases]
    statement = select(domains.c.id).where(
        tuple_(domains.c.id, domains.c.lease_token).in_(wanted),
        domains.c.claimed_by.in_({lease.holder for lease in leases}),
        domains.c.claim_expires_at > instant(connection, now),
    )
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    return set(connection.execute(statement).scalars())


def holders(connection: Connection, prefix: str) -> list[str]:
    """Who on one machine holds leases, dead or alive."""
    statement = (
        select(domains.c.claimed_by)
        .where(domains.c.claimed_by.is_not(None), domains.c.claimed_by.startswith(prefix, autoescape=True))
        .distinct()
    )
    return list(connection.execute(statement).scalars())


def end_uncleanly(connection: Connection, dead_holders: Collection[str], now: datetime | None) -> int:
    """Free the leases of holders known to be dead, noting that they ended without a word."""
    if not dead_holders:
        return 0
    statement = (
        update(domains)
        .where(domains.c.claimed_by.in_(list(dead_holders)))
        .values(
            claimed_by=None,
            claim_expires_at=None,
            unclean_end_at=instant(connection, now),
            version=domains.c.version + 1,
        )
    )
    return connection.execute(statement).rowcount


def _taken_by(connection: Connection, holder: str, lease_s: float, now: datetime | None) -> dict[str, Any]:
    """The columns that a new lease writes: a fresh token, and whether the one before ended in silence."""
    return {
        "claimed_by": holder,
        "claim_expires_at": instant(connection, now, lease_s),
        "lease_token": domains.c.lease_token + 1,
        "version": domains.c.version + 1,
        "unclean_end_at": case(
            (domains.c.claimed_by.is_not(None), domains.c.claim_expires_at), else_=domains.c.unclean_end_at
        ),
    }


def _candidates(
    connection: Connection, limit: int, now: datetime | None, hosts: Collection[str] | None, smart: bool
) -> Select[Any]:
    """The ids of the hosts to claim: the best of those free and of those whose lease ran out."""
    moment = instant(connection, now)
    due = or_(domains.c.next_crawl_after.is_(None), domains.c.next_crawl_after <= moment)
    scope = and_(due, domains.c.domain.in_(list(hosts))) if hosts is not None else due
    columns = (domains.c.id, _rank.label("rank"), _score, _last, domains.c.seed_rank, domains.c.first_seen_at)
    if smart:
        order: list[Any] = [_rank, _score.desc(), _last.asc().nulls_first(), domains.c.id]
    else:
        order = [domains.c.seed_rank.asc().nulls_last(), domains.c.first_seen_at, domains.c.id]
    free = select(*columns).where(text(CANDIDATE), scope).order_by(*order).limit(limit)
    expired = (
        select(*columns)
        .where(
            domains.c.claimed_by.is_not(None),
            domains.c.claim_expires_at <= moment,
            text("status IN ('pending', 'active') AND is_seeded"),
            scope,
        )
        .order_by(domains.c.claim_expires_at)
        .limit(limit)
    )
    if smart and hosts is None:
        free = free.with_hint(domains, "INDEXED BY idx_domains_discovery_candidates", "sqlite")
    if connection.dialect.name == "postgresql":
        free, expired = free.with_for_update(skip_locked=True), expired.with_for_update(skip_locked=True)
    both = union_all(select(free.cte("free")), select(expired.cte("expired"))).subquery("both_kinds")
    best: list[Any] = (
        [both.c.rank, both.c.priority_score.desc(), both.c.last_crawled_at.asc().nulls_first(), both.c.id]
        if smart
        else [both.c.seed_rank.asc().nulls_last(), both.c.first_seen_at, both.c.id]
    )
    return select(both.c.id).order_by(*best).limit(limit)


def claims_by_holder(connection: Connection, now: datetime | None) -> Sequence[Row[Any]]:
    """Who holds how many leases, and when the first of them runs out."""
    return connection.execute(
        select(
            domains.c.claimed_by,
            func.count().label("hosts"),
            func.min(domains.c.claim_expires_at, type_=UtcDateTime()).label("earliest_expiry"),
            func.sum(case((domains.c.claim_expires_at <= instant(connection, now), 1), else_=0)).label("expired"),
        )
        .where(domains.c.claimed_by.is_not(None))
        .group_by(domains.c.claimed_by)
        .order_by(domains.c.claimed_by)
    ).all()
