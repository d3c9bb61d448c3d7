"""The priority of every host, computed by the database; the same sum as `rules.priority`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Double, Integer, case, cast, func, literal, or_, select, update

from comity.database.tables import domains
from comity.database.types import UtcDateTime, instant
from comity.model.host import HostStatus
from comity.rules.priority import PriorityWeights

BATCH_HOSTS: Final = 5_000
_SECONDS_PER_DAY: Final = 86400.0


def rescore(
    connection: Connection,
    weights: PriorityWeights,
    now: datetime | None,
    after: UUID | None,
    older_than_s: float = 0.0,
) -> UUID | None:
    """Score one batch of hosts in the order of their ids; gives the last id of it, or None at the end.

    Hosts that were scored within `older_than_s` are left as they are.
    """
    rest = [domains.c.id > after] if after is not None else []
    last: UUID | None = connection.execute(
        select(domains.c.id).where(*rest).order_by(domains.c.id).offset(BATCH_HOSTS - 1).limit(1)
    ).scalar()
    which = [*rest, domains.c.id <= last] if last is not None else rest
    if older_than_s:
        computed_at = domains.c.priority_computed_at
        which = [*which, or_(computed_at.is_(None), computed_at <= instant(connection, now, -older_than_s))]
    _score(connection, weights, now, which)
    return last


def rescore_of_run(connection: Connection, weights: PriorityWeights, now: datetime | None, run_id: UUID) -> None:
    """Score the hosts that a run was the last to crawl."""
    _score(connection, weights, now, [domains.c.last_crawl_run_id == run_id])


def _score(connection: Connection, weights: PriorityWeights, now: datetime | None, which: list[Any]) -> None:
    """Blocked and unreachable hosts keep their score: their cooldown decides, not their merit."""
    scored = [*which, domains.c.status.not_in([HostStatus.BLOCKED, HostStatus.UNREACHABLE])]
    if connection.dialect.name == "postgresql":
        # A host that a worker is writing to is left for the next time: we never wait while others wait for us.
        unlocked = select(domains.c.id).where(*scored).with_for_update(skip_locked=True)
        scored = [domains.c.id.in_(select(unlocked.cte("unlocked")))]
    connection.execute(
        update(domains)
        .where(*scored)
        .values(
            image_yield_rate=_per_page(domains.c.images_stored),
            avg_images_per_page=_per_page(domains.c.images_found),
            error_rate=_per_page(domains.c.total_error_count),
            priority_score=score(connection, weights, now),
            priority_computed_at=instant(connection, now),
            version=domains.c.version + 1,
        )
    )


def score(connection: Connection, weights: PriorityWeights, now: datetime | None) -> ColumnElement[Any]:
    """The sum of `rules.priority.priority_score`, as an expression over the columns."""
    rank = case((domains.c.seed_rank > 0, cast(domains.c.seed_rank, Double)), (domains.c.seed_rank <= 0, 0.0))
    remaining = domains.c.pages_discovered - domains.c.pages_crawled
    total = (
        func.coalesce(weights.seed_rank * weights.seed_rank_half / (weights.seed_rank_half + rank), 0.0)
        + weights.image_yield * func.coalesce(_per_page(domains.c.images_stored), 0.0)
        + weights.page_remaining
        * case(
            (remaining < 0, 0), (remaining < weights.pages_remaining_cap, remaining), else_=weights.pages_remaining_cap
        )
        - weights.error_rate * func.coalesce(_per_page(domains.c.total_error_count), 0.0)
        + weights.day_waiting * _days_waiting(connection, weights, now)
    )
    bounded = case((total > 2**31 - 1, 2**31 - 1), (total < -(2**31), -(2**31)), else_=total)
    return cast(func.round(bounded), Integer)


def _per_page(column: ColumnElement[Any]) -> ColumnElement[Any]:
    pages = domains.c.pages_crawled
    return case((pages > 0, cast(column, Double) / pages), else_=None)


def _days_waiting(connection: Connection, weights: PriorityWeights, now: datetime | None) -> ColumnElement[Any]:
    """Days since the host was last crawled; the one piece of arithmetic that the databases spell apart."""
    since = func.coalesce(domains.c.last_crawled_at, literal(weights.never_crawled_since, UtcDateTime()))
    moment = instant(connection, now)
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", moment - since), Double) / _SECONDS_PER_DAY
    return func.julianday(moment) - func.julianday(since)
