"""Lists and figures of the crawl service for operators: policies, jobs, results, late submissions.

Lists are paged by key, not by offset: the next page begins after the last row of this one, so a page deep in a million
jobs costs as little as the first, and rows that come or go meanwhile neither repeat nor hide others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Row,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)

from comity.database.queue.tables import (
    bots,
    crawl_job_moves,
    crawl_jobs,
    crawl_policies,
    crawl_results,
    late_submissions,
)
from comity.database.tables import domains
from comity.database.types import UtcDateTime

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BUSIEST: Final = 20
_OPEN: Final = ("pending", "locked", "expired")


@dataclass(frozen=True, slots=True)
class PageOf:
    """Which rows of a list: their order, and the sort value and id of the row before the first."""

    sort: str
    descending: bool
    limit: int
    after: tuple[Any, UUID] | None = None


def _at(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A time for sorting; none is earliest."""
    return func.coalesce(column, literal(EPOCH, UtcDateTime()))


POLICY_SORTS: Final[Mapping[str, ColumnElement[Any]]] = {
    "created_at": crawl_policies.c.created_at,
    "url": crawl_policies.c.url,
    "priority": crawl_policies.c.priority,
    "next_run_at": _at(crawl_policies.c.next_run_at),
    "failure_count": crawl_policies.c.failure_count,
    "last_success_at": _at(crawl_policies.c.last_success_at),
}
JOB_SORTS: Final[Mapping[str, ColumnElement[Any]]] = {
    "created_at": crawl_jobs.c.created_at,
    "priority": crawl_jobs.c.priority,
    "url": crawl_jobs.c.url,
    "locked_at": _at(crawl_jobs.c.locked_at),
    "retry_count": crawl_jobs.c.retry_count,
}
RESULT_SORTS: Final[Mapping[str, ColumnElement[Any]]] = {
    "created_at": crawl_results.c.created_at,
    "crawled_at": crawl_results.c.crawled_at,
    "url": crawl_results.c.url,
}
LATE_SORTS: Final[Mapping[str, ColumnElement[Any]]] = {"received_at": late_submissions.c.received_at}

_RESULT_COLUMNS: Final = [column for column in crawl_results.c if column.name != "raw_html"]
_LATE_COLUMNS: Final = [column for column in late_submissions.c if column.name != "raw_html"]


def policies(connection: Connection, page: PageOf, **wanted: Any) -> list[Row[Any]]:
    """A page of policies, each with its host."""
    return page_of(connection, _policies(wanted), crawl_policies, POLICY_SORTS, page)


def jobs(connection: Connection, page: PageOf, **wanted: Any) -> list[Row[Any]]:
    """A page of jobs, each with its host."""
    return page_of(connection, _jobs(wanted), crawl_jobs, JOB_SORTS, page)


def results(connection: Connection, page: PageOf, **wanted: Any) -> list[Row[Any]]:
    """A page of results, without their HTML."""
    return page_of(connection, _results(wanted), crawl_results, RESULT_SORTS, page)


def late(connection: Connection, page: PageOf, **wanted: Any) -> list[Row[Any]]:
    """A page of submissions that came after their lock had run out, without their HTML."""
    table = late_submissions
    statement: Select[Any] = select(*_LATE_COLUMNS, crawl_jobs.c.url, crawl_jobs.c.status.label("job_status")).join(
        crawl_jobs, crawl_jobs.c.id == table.c.job_id
    )
    statement = equal(statement, wanted, {"job_id": table.c.job_id, "bot_id": table.c.bot_id, "id": table.c.id})
    return page_of(connection, statement, table, LATE_SORTS, page)


def raw_html(connection: Connection, table_name: str, row_id: UUID) -> Any:
    """The compressed HTML of a result or of a late submission, and its length."""
    table = {"crawl_results": crawl_results, "late_submissions": late_submissions}[table_name]
    return connection.execute(select(table.c.raw_html, table.c.raw_html_bytes).where(table.c.id == row_id)).first()


def policy(connection: Connection, *, policy_id: UUID | None = None, url: str | None = None) -> Row[Any] | None:
    """One policy, by its id or its URL."""
    wanted = {"id": policy_id} if policy_id is not None else {"url": url}
    return connection.execute(_policies(wanted)).first()


def job(connection: Connection, job_id: UUID) -> Row[Any] | None:
    """One job."""
    return connection.execute(_jobs({"id": job_id})).first()


def result(connection: Connection, *, result_id: UUID | None = None, job_id: UUID | None = None) -> Row[Any] | None:
    """One result, without its HTML, by its id or its job."""
    wanted = {"id": result_id} if result_id is not None else {"job_id": job_id}
    return connection.execute(_results(wanted)).first()


def moves(connection: Connection, job_id: UUID, limit: int) -> list[Row[Any]]:
    """The moves of a job, oldest first; of very many, the last ones."""
    table = crawl_job_moves
    latest = select(table).where(table.c.job_id == job_id).order_by(table.c.id.desc()).limit(limit)
    return list(reversed(list(connection.execute(latest))))


def prices(connection: Connection, policy_id: UUID, limit: int) -> list[Row[Any]]:
    """The latest results of a policy as prices and stock, oldest first."""
    table = crawl_results
    wanted = (table.c.id, table.c.job_id, table.c.crawled_at, table.c.price, table.c.currency, table.c.in_stock)
    statement = select(*wanted).where(table.c.policy_id == policy_id).order_by(table.c.crawled_at.desc()).limit(limit)
    return list(reversed(list(connection.execute(statement))))


def _policies(wanted: Mapping[str, Any]) -> Select[Any]:
    table = crawl_policies
    statement = select(table, domains.c.domain).outerjoin(domains, domains.c.id == table.c.domain_id)
    statement = equal(
        statement,
        wanted,
        {
            "id": table.c.id,
            "url": table.c.url,
            "enabled": table.c.enabled,
            "priority": table.c.priority,
            "schedule": table.c.schedule,
            "domain": domains.c.domain,
        },
    )
    if wanted.get("due_by") is not None:
        statement = statement.where(table.c.enabled, _at(table.c.next_run_at) <= wanted["due_by"])
    if wanted.get("failing"):
        statement = statement.where(table.c.failure_count > 0)
    if wanted.get("created_after") is not None:
        statement = statement.where(table.c.created_at >= wanted["created_after"])
    return _containing(statement, table.c.url, wanted.get("containing"))


def _jobs(wanted: Mapping[str, Any]) -> Select[Any]:
    table = crawl_jobs
    host = func.coalesce(domains.c.domain, "").label("domain")  # one of hand-written SQL may not have its host yet
    statement = select(table, host).outerjoin(domains, domains.c.id == table.c.domain_id)
    statement = equal(
        statement,
        wanted,
        {
            "id": table.c.id,
            "status": table.c.status,
            "bot_id": table.c.locked_by,
            "policy_id": table.c.policy_id,
            "priority": table.c.priority,
            "domain": domains.c.domain,
        },
    )
    if wanted.get("created_after") is not None:
        statement = statement.where(table.c.created_at >= wanted["created_after"])
    if wanted.get("created_before") is not None:
        statement = statement.where(table.c.created_at < wanted["created_before"])
    return _containing(statement, table.c.url, wanted.get("containing"))


def _results(wanted: Mapping[str, Any]) -> Select[Any]:
    table = crawl_results
    statement = equal(
        select(*_RESULT_COLUMNS),
        wanted,
        {
            "id": table.c.id,
            "job_id": table.c.job_id,
            "policy_id": table.c.policy_id,
            "currency": table.c.currency,
            "in_stock": table.c.in_stock,
            "bot_id": table.c.bot_id,
        },
    )
    if wanted.get("created_after") is not None:
        statement = statement.where(table.c.created_at >= wanted["created_after"])
    if wanted.get("created_before") is not None:
        statement = statement.where(table.c.created_at < wanted["created_before"])
    return _containing(statement, table.c.url, wanted.get("containing"))


def equal(statement: Select[Any], wanted: Mapping[str, Any], columns: Mapping[str, ColumnElement[Any]]) -> Select[Any]:
    """Only rows whose columns have the wanted values; one that is None is not asked about."""
    for name, column in columns.items():
        if wanted.get(name) is not None:
            statement = statement.where(column == wanted[name])
    return statement


def _containing(statement: Select[Any], column: ColumnElement[Any], text: str | None) -> Select[Any]:
    return statement.where(func.lower(column).contains(text.lower(), autoescape=True)) if text else statement


def page_of(
    connection: Connection,
    statement: Select[Any],
    table: FromClause,
    sorts: Mapping[str, ColumnElement[Any]],
    page: PageOf,
) -> list[Row[Any]]:
    """The rows of one page of a statement."""
    key, row_id = sorts[page.sort], table.c.id
    if page.after is not None:
        value, last_id = page.after
        beyond = (key < value, row_id < last_id) if page.descending else (key > value, row_id > last_id)
        statement = statement.where(or_(beyond[0], and_(key == value, beyond[1])))
    order = (key.desc(), row_id.desc()) if page.descending else (key, row_id)
    return list(connection.execute(statement.order_by(*order).limit(page.limit)))


def count_by_status(connection: Connection) -> dict[str, int]:
    """How many jobs have each status."""
    counted = select(crawl_jobs.c.status, func.count()).group_by(crawl_jobs.c.status)
    return {row[0]: row[1] for row in connection.execute(counted)}


def policy_counts(connection: Connection, now: datetime) -> Any:
    """How many policies there are, are enabled, are due, and fail."""
    table = crawl_policies

    def number(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    is_due = and_(table.c.enabled, _at(table.c.next_run_at) <= now)
    return connection.execute(
        select(
            func.count().label("total"),
            number(table.c.enabled).label("enabled"),
            number(is_due).label("due"),
            number(table.c.failure_count > 0).label("failing"),
        ).select_from(table)
    ).one()


def busiest_hosts(connection: Connection, limit: int = _BUSIEST) -> list[Row[Any]]:
    """The hosts with the most open jobs, and how many of them are pending, locked and expired."""
    table = crawl_jobs
    each = [func.sum(cast(case((table.c.status == status, 1), else_=0), Integer())).label(status) for status in _OPEN]
    counted = (
        select(table.c.domain_id, func.count().label("open"), *each, func.min(table.c.created_at).label("oldest"))
        .where(table.c.status.in_(_OPEN))
        .group_by(table.c.domain_id)
        .order_by(func.count().desc(), table.c.domain_id)
        .limit(limit)
        .subquery()
    )
    hosts = (domains.c.domain, domains.c.claimed_by, domains.c.claim_expires_at, domains.c.queue_ready_at)
    statement = select(counted, *hosts).join(domains, domains.c.id == counted.c.domain_id)
    return list(connection.execute(statement.order_by(counted.c.open.desc(), domains.c.domain)))


def bot_figures(connection: Connection, limit: int) -> list[Row[Any]]:
    """Bots with what they hold and have done, the most recently seen first."""
    held = (
        select(crawl_jobs.c.locked_by, func.count().label("in_hand"))
        .where(crawl_jobs.c.status == "locked")
        .group_by(crawl_jobs.c.locked_by)
        .subquery()
    )
    statement = (
        select(bots, func.coalesce(held.c.in_hand, 0).label("in_hand"))
        .outerjoin(held, held.c.locked_by == bots.c.bot_id)
        .order_by(_at(bots.c.last_seen_at).desc(), bots.c.bot_id)
        .limit(limit)
    )
    return list(connection.execute(statement))


def oldest_pending(connection: Connection) -> datetime | None:
    """When the oldest job that waits was made."""
    waiting = crawl_jobs.c.status.in_(("pending", "expired"))
    found: datetime | None = connection.execute(select(func.min(crawl_jobs.c.created_at)).where(waiting)).scalar_one()
    return found


def throughput(connection: Connection, now: datetime, hours: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Results stored and jobs failed within some hours."""
    found: dict[int, tuple[int, int]] = {}
    for each in hours:
        since = now - timedelta(hours=each)
        done = select(func.count()).select_from(crawl_results).where(crawl_results.c.created_at >= since)
        failed = (
            select(func.count())
            .select_from(crawl_jobs)
            .where(crawl_jobs.c.status == "failed", crawl_jobs.c.finished_at >= since)
        )
        found[each] = (connection.execute(done).scalar_one(), connection.execute(failed).scalar_one())
    return found
