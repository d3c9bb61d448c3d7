"""The statements that claim leases, built once for each kind and run with bound values.

Building one costs more than running it, so they are cached. `parameters` returns the values.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    Interval,
    Select,
    Update,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    text,
    union_all,
    update,
)

from comity.database.dialects import named_in
from comity.database.tables import ACTIVE_FIRST, CANDIDATE, domains
from comity.database.types import UtcDateTime
from comity.model.dataclass import dataclass

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
    domains.c.unclean_since,
    domains.c.last_start_at,
)

# Of the leases that ran out, at least this many are compared with the free hosts, those longest over first: with
# more of them than that, as after a crash of many workers, the order by merit is not exact, but the work is bounded.
_EXPIRED_COMPARED: Final = 100

# Written so that no planner without statistics uses the index of statuses for it.
OPEN: Final = "status NOT IN ('exhausted', 'blocked', 'unreachable') AND is_seeded"

_rank: Final[ColumnElement[int]] = literal_column(ACTIVE_FIRST)
_ORDERED: Final = (
    domains.c.id,
    _rank.label("rank"),
    domains.c.priority_score,
    domains.c.last_crawled_at,
    domains.c.seed_rank,
    domains.c.first_seen_at,
)


@dataclass(frozen=True, slots=True)
class ClaimKind:
    """The properties by which claim statements differ."""

    dialect: str
    asks_server_time: bool
    is_smart: bool
    names_hosts: bool

    @property
    def can_skip_locked(self) -> bool:
        """Rows that another worker is taking at this moment are passed over; SQLite has one writer at a time."""
        return self.dialect == "postgresql"


def parameters(
    holder: str, lease_s: float, now: datetime | None, hosts: Collection[str] | None, limit: int | None = None
) -> dict[str, Any]:
    """The values of a claim; `now=None` asks the server for the time."""
    values: dict[str, Any] = {"holder": holder}
    if now is None:
        values["duration"] = timedelta(seconds=lease_s)
    else:
        values |= {"now": now, "ends_at": now + timedelta(seconds=lease_s)}
    if hosts is not None:
        values["hosts"] = list(hosts)
    return values if limit is None else values | {"limit": limit, "expired_limit": max(limit, _EXPIRED_COMPARED)}


@lru_cache(maxsize=32)
def claim_statement(kind: ClaimKind) -> Update:
    """Lease the best of the free hosts and of those whose lease ran out."""
    return (
        update(domains)
        .where(domains.c.id.in_(_candidates(kind)))
        .values(_taken(kind))
        .returning(*LEASED, *_ORDERED[1:])
    )


@lru_cache(maxsize=32)
def take_statement(kind: ClaimKind) -> Update:
    """Lease the named hosts that are free, whatever their status."""
    wanted = select(domains.c.id).where(
        named_in(kind.dialect, domains.c.domain, "hosts"),
        or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= _now(kind)),
    )
    if kind.can_skip_locked:
        wanted = wanted.with_for_update(skip_locked=True)
    return update(domains).where(domains.c.id.in_(wanted)).values(_taken(kind)).returning(*LEASED)


def _now(kind: ClaimKind) -> ColumnElement[Any]:
    return func.now() if kind.asks_server_time else bindparam("now", type_=UtcDateTime())


def _taken(kind: ClaimKind) -> dict[str, Any]:
    """The columns that a new lease writes: a new token, and whether the lease before ended without a release."""
    if kind.asks_server_time:
        ends_at = func.now() + bindparam("duration", type_=Interval())
    else:
        ends_at = bindparam("ends_at", type_=UtcDateTime())
    return {
        "claimed_by": bindparam("holder"),
        "claim_expires_at": ends_at,
        "lease_token": domains.c.lease_token + 1,
        "version": domains.c.version + 1,
        "claimed_at": _now(kind),
        "unclean_end_at": case(
            (domains.c.claimed_by.is_not(None), domains.c.claim_expires_at), else_=domains.c.unclean_end_at
        ),
        "unclean_since": case((domains.c.claimed_by.is_not(None), domains.c.claimed_at), else_=domains.c.unclean_since),
    }


def _candidates(kind: ClaimKind) -> Select[Any]:
    """The ids of the hosts to claim, found by an index each for those free and those whose lease ran out."""
    limit = bindparam("limit", type_=Integer())
    scope = or_(domains.c.next_crawl_after.is_(None), domains.c.next_crawl_after <= _now(kind))
    candidate = CANDIDATE
    if kind.names_hosts:  # a person named them: a pause is for workers
        scope = and_(scope, named_in(kind.dialect, domains.c.domain, "hosts"))
        candidate = f"{OPEN} AND claimed_by IS NULL"
    else:
        scope = and_(scope, domains.c.paused_by_run.is_(None))
    order = _best_first(kind, domains.c, _rank)
    free = select(*_ORDERED).where(text(candidate), scope).order_by(*order).limit(limit)
    expired = (
        select(*_ORDERED)
        .where(
            domains.c.claimed_by.is_not(None),
            domains.c.claim_expires_at <= _now(kind),
            text(OPEN),
            scope,
        )
        .order_by(domains.c.claim_expires_at)
        .limit(bindparam("expired_limit", type_=Integer()))
    )
    if kind.is_smart and not kind.names_hosts:
        free = free.with_hint(domains, "INDEXED BY idx_domains_discovery_candidates", "sqlite")
    if kind.can_skip_locked:
        free, expired = free.with_for_update(skip_locked=True), expired.with_for_update(skip_locked=True)
    both = union_all(select(free.cte("free")), select(expired.cte("expired"))).subquery("both_kinds")
    return select(both.c.id).order_by(*_best_first(kind, both.c, both.c.rank)).limit(limit)


def _best_first(kind: ClaimKind, columns: Any, rank: ColumnElement[int]) -> list[Any]:
    """The order of a claim: by merit, or in the order of the seeds."""
    if kind.is_smart:
        return [rank, columns.priority_score.desc(), columns.last_crawled_at.asc().nulls_first(), columns.id]
    return [columns.seed_rank.asc().nulls_last(), columns.first_seen_at, columns.id]
