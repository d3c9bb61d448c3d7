"""Lists and figures of the crawl service for operators: policies, jobs, results, late submissions.

Lists are paged by key, not by offset (`paging`), and each of their orders has an index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Table,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    text,
)

from comity.database.queue.paging import (
    Conditions,
    FoundRows,
    PageOf,
    SortKey,
    Sorts,
    by,
    count_up_to,
    page_of,
    searched,
)
from comity.database.queue.tables import (
    FAILED,
    FAILING,
    PARKED,
    bots,
    crawl_job_moves,
    crawl_jobs,
    crawl_policies,
    crawl_results,
    late_submissions,
)
from comity.database.tables import domains
from comity.database.types import UtcDateTime
from comity.model.queue import JobStatus

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BUSIEST: Final = 20
_OPEN: Final = ("pending", "locked", "expired")


def _at(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A time for sorting; none is earliest."""
    return func.coalesce(column, literal(_EPOCH, UtcDateTime()))


POLICY_SORTS: Final[Sorts] = {
    "created_at": by(crawl_policies.c.created_at),
    "url": by(crawl_policies.c.url),
    "priority": by(crawl_policies.c.priority),
    "next_run_at": by(crawl_policies.c.next_run_at),
    "failure_count": by(crawl_policies.c.failure_count),
    "last_success_at": by(crawl_policies.c.last_success_at),
}
JOB_SORTS: Final[Sorts] = {
    "created_at": by(crawl_jobs.c.created_at),
    # Of the same priority, the oldest is handed out first.
    "priority": (SortKey(crawl_jobs.c.priority), SortKey(crawl_jobs.c.created_at, reverse=True)),
    "url": by(crawl_jobs.c.url),
    "locked_at": by(crawl_jobs.c.locked_at),
    "retry_count": by(crawl_jobs.c.retry_count),
    "not_before": by(crawl_jobs.c.not_before),
}
# Where a condition says that a job has the time by which it is sorted.
_DELAYED_SORTS: Final[Sorts] = {**JOB_SORTS, "not_before": (SortKey(crawl_jobs.c.not_before, is_set=True),)}
_HELD_SORTS: Final[Sorts] = {**JOB_SORTS, "locked_at": (SortKey(crawl_jobs.c.locked_at, is_set=True),)}
RESULT_SORTS: Final[Sorts] = {
    "created_at": by(crawl_results.c.created_at),
    "crawled_at": by(crawl_results.c.crawled_at),
    "url": by(crawl_results.c.url),
}
LATE_SORTS: Final[Sorts] = {"received_at": by(late_submissions.c.received_at)}

_RESULT_COLUMNS: Final = [column for column in crawl_results.c if column.name != "raw_html"]
_LATE_COLUMNS: Final = [column for column in late_submissions.c if column.name != "raw_html"]


def policies(connection: Connection, page: PageOf, **wanted: Any) -> FoundRows:
    """A page of policies, each with its host."""
    is_unindexed = wanted.get("containing") or wanted.get("schedule") is not None
    if is_unindexed and page.sort in ("next_run_at", "priority", "url"):
        return _searched(connection, page, _policies(), crawl_policies, POLICY_SORTS, _policy_conditions, wanted)
    conditions = _policy_conditions(wanted)
    groups: Sequence[Conditions] = ((),)
    if page.sort == "next_run_at" and wanted.get("enabled") is None and wanted.get("due_by") is None:
        groups = ((crawl_policies.c.enabled,), (crawl_policies.c.enabled.is_(False),))
    return page_of(connection, _policies(), crawl_policies, POLICY_SORTS, page, conditions, groups)


def jobs(connection: Connection, page: PageOf, **wanted: Any) -> FoundRows:
    """A page of jobs, each with its host. Without a status, it is put together from the pages of each."""
    if wanted.get("containing") and page.sort == "created_at":
        return _searched(connection, page, _jobs(), crawl_jobs, JOB_SORTS, _job_conditions, wanted)
    groups: Sequence[Conditions] = ((),)
    if page.sort in ("created_at", "priority") and wanted.get("status") is None and wanted.get("bot_id") is None:
        groups = tuple((crawl_jobs.c.status == str(status),) for status in JobStatus)
    sorts = _DELAYED_SORTS if wanted.get("delayed") else _HELD_SORTS if wanted.get("bot_id") else JOB_SORTS
    return page_of(connection, _jobs(), crawl_jobs, sorts, page, _job_conditions(wanted), groups)


def results(connection: Connection, page: PageOf, **wanted: Any) -> FoundRows:
    """A page of results, without their HTML."""
    if wanted.get("containing") and page.sort == "created_at":
        return _searched(connection, page, _results(), crawl_results, RESULT_SORTS, _result_conditions, wanted)
    return page_of(connection, _results(), crawl_results, RESULT_SORTS, page, _result_conditions(wanted))


def _searched(
    connection: Connection,
    page: PageOf,
    selected: Select[Any],
    table: Table,
    sorts: Sorts,
    conditions_of: Callable[[Mapping[str, Any]], list[ColumnElement[bool]]],
    wanted: Mapping[str, Any],
) -> FoundRows:
    """A page of rows with a filter that has no index, such as a text in the URL; the order has one."""
    unindexed = {name: value for name, value in wanted.items() if name in ("containing", "schedule")}
    others = {name: value for name, value in wanted.items() if name not in unindexed}
    return searched(connection, selected, table, sorts, page, conditions_of(others), and_(*conditions_of(unindexed)))


def late(connection: Connection, page: PageOf, **wanted: Any) -> FoundRows:
    """A page of submissions that came after their lock had run out, without their HTML."""
    table = late_submissions
    statement: Select[Any] = select(*_LATE_COLUMNS, crawl_jobs.c.url, crawl_jobs.c.status.label("job_status")).join(
        crawl_jobs, crawl_jobs.c.id == table.c.job_id
    )
    conditions = equal(wanted, {"job_id": table.c.job_id, "bot_id": table.c.bot_id, "id": table.c.id})
    return page_of(connection, statement, table, LATE_SORTS, page, conditions)


def raw_html(connection: Connection, table_name: str, row_id: UUID) -> Any:
    """The compressed HTML of a result or of a late submission, and its length."""
    table = {"crawl_results": crawl_results, "late_submissions": late_submissions}[table_name]
    return connection.execute(select(table.c.raw_html, table.c.raw_html_bytes).where(table.c.id == row_id)).first()


def policy(connection: Connection, *, policy_id: UUID | None = None, url: str | None = None) -> Row[Any] | None:
    """One policy, by its id or its URL."""
    wanted = {"id": policy_id} if policy_id is not None else {"url": url}
    return connection.execute(_policies().where(*_policy_conditions(wanted))).first()


def job(connection: Connection, job_id: UUID) -> Row[Any] | None:
    """One job."""
    return connection.execute(_jobs().where(crawl_jobs.c.id == job_id)).first()


def result(connection: Connection, *, result_id: UUID | None = None, job_id: UUID | None = None) -> Row[Any] | None:
    """One result, without its HTML, by its id or its job."""
    wanted = {"id": result_id} if result_id is not None else {"job_id": job_id}
    return connection.execute(_results().where(*_result_conditions(wanted))).first()


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


def _policies() -> Select[Any]:
    table = crawl_policies
    return select(table, domains.c.domain).outerjoin(domains, domains.c.id == table.c.domain_id)


def _jobs() -> Select[Any]:
    host = func.coalesce(domains.c.domain, "").label("domain")  # one of hand-written SQL may not have its host yet
    return select(crawl_jobs, host).outerjoin(domains, domains.c.id == crawl_jobs.c.domain_id)


def _results() -> Select[Any]:
    return select(*_RESULT_COLUMNS)


def _policy_conditions(wanted: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    table = crawl_policies
    columns = {name: table.c[name] for name in ("id", "url", "enabled", "priority", "schedule")}
    conditions = [*equal(wanted, columns), *_of_host(table.c.domain_id, wanted), *_of_time(table.c.created_at, wanted)]
    conditions += _of_time(table.c.next_run_at, wanted, "next_run")
    if wanted.get("due_by") is not None:
        is_due = or_(table.c.next_run_at.is_(None), table.c.next_run_at <= wanted["due_by"])
        conditions += [table.c.enabled, is_due]
    if wanted.get("failing"):
        conditions.append(_literally(FAILING))
    return [*conditions, *_containing(table.c.url, wanted)]


def _job_conditions(wanted: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    table = crawl_jobs
    columns = {name: table.c[name] for name in ("id", "url", "status", "policy_id", "priority")}
    conditions = [
        *equal(wanted, columns | {"bot_id": table.c.locked_by}),
        *_of_host(table.c.domain_id, wanted),
        *_of_time(table.c.created_at, wanted),
    ]
    if wanted.get("delayed"):
        conditions.append(_literally(PARKED))
    return [*conditions, *_containing(table.c.url, wanted)]


def _result_conditions(wanted: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    table = crawl_results
    columns = {name: table.c[name] for name in ("id", "url", "job_id", "policy_id", "currency", "in_stock", "bot_id")}
    conditions = [*equal(wanted, columns), *_of_time(table.c.created_at, wanted)]
    conditions += _of_time(table.c.crawled_at, wanted, "crawled")
    if wanted.get("url") is not None:  # a result has the URL of its job, and jobs have an index for it
        jobs_of_url = select(crawl_jobs.c.id).where(crawl_jobs.c.url == wanted["url"])
        conditions.append(table.c.job_id.in_(jobs_of_url))
    if wanted.get("without_policy"):
        conditions.append(table.c.policy_id.is_(None))
    return [*conditions, *_containing(table.c.url, wanted)]


def _literally(condition: str) -> ColumnElement[bool]:
    """The condition of a partial index in its own words: SQLite does not see that a parameter has its value."""
    return text(condition)  # type: ignore[return-value]


def equal(wanted: Mapping[str, Any], columns: Mapping[str, ColumnElement[Any]]) -> list[ColumnElement[bool]]:
    """Only rows whose columns have the wanted values; None means any value."""
    return [column == wanted[name] for name, column in columns.items() if wanted.get(name) is not None]


def _of_host(column: ColumnElement[Any], wanted: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    """Only rows of a host, by its id: an index of the table begins with that."""
    if wanted.get("domain") is None:
        return []
    return [column == select(domains.c.id).where(domains.c.domain == wanted["domain"]).scalar_subquery()]


def _of_time(column: ColumnElement[Any], wanted: Mapping[str, Any], name: str = "created") -> list[ColumnElement[bool]]:
    since, before = wanted.get(f"{name}_after"), wanted.get(f"{name}_before")
    return [*([] if since is None else [column >= since]), *([] if before is None else [column < before])]


def _containing(column: ColumnElement[Any], wanted: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    part = wanted.get("containing")
    return [func.lower(column).contains(part.lower(), autoescape=True)] if part else []


def count_by_status(connection: Connection) -> dict[str, int]:
    """How many jobs have each status."""
    counted = select(crawl_jobs.c.status, func.count()).group_by(crawl_jobs.c.status)
    return {row[0]: row[1] for row in connection.execute(counted)}


def policy_counts(connection: Connection, now: datetime) -> dict[str, int]:
    """How many policies there are, are enabled, are due, and fail; each is counted in an index."""
    table = crawl_policies
    is_due = or_(table.c.next_run_at.is_(None), table.c.next_run_at <= now)
    wanted: dict[str, Conditions] = {
        "total": [],
        "enabled": [table.c.enabled],
        "due": [table.c.enabled, is_due],
        "failing": [_literally(FAILING)],
    }
    statements = {name: select(func.count()).select_from(table).where(*each) for name, each in wanted.items()}
    return {name: int(connection.execute(each).scalar_one()) for name, each in statements.items()}


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
    made = crawl_jobs.c.created_at
    oldest = [select(func.min(made)).where(crawl_jobs.c.status == status) for status in ("pending", "expired")]
    found = [connection.execute(each).scalar_one() for each in oldest]
    return min((at for at in found if at is not None), default=None)


def throughput(connection: Connection, now: datetime, hours: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Results stored and jobs failed within some hours."""
    found: dict[int, tuple[int, int]] = {}
    for each in hours:
        since = now - timedelta(hours=each)
        done = select(func.count()).select_from(crawl_results).where(crawl_results.c.created_at >= since)
        failed = select(func.count()).select_from(crawl_jobs).where(*_failed_since(since))
        found[each] = (connection.execute(done).scalar_one(), connection.execute(failed).scalar_one())
    return found


def _failed_since(since: datetime, before: datetime | None = None) -> Conditions:
    until = [] if before is None else [crawl_jobs.c.finished_at < before]
    return [_literally(FAILED), crawl_jobs.c.finished_at >= since, *until]


def bounded_job_counts(connection: Connection) -> dict[str, int]:
    """How many jobs have each status and how many wait for a time, each counted up to a bound."""
    counted = {
        str(status): count_up_to(connection, crawl_jobs, [crawl_jobs.c.status == str(status)]) for status in JobStatus
    }
    return counted | {"delayed": count_up_to(connection, crawl_jobs, _job_conditions({"delayed": True}))}


def bounded_policy_counts(connection: Connection, now: datetime) -> dict[str, int]:
    """How many policies are enabled, disabled, due and failing, each counted up to a bound."""
    wanted: dict[str, dict[str, Any]] = {
        "enabled": {"enabled": True},
        "disabled": {"enabled": False},
        "due": {"due_by": now},
        "failing": {"failing": True},
    }
    return {name: count_up_to(connection, crawl_policies, _policy_conditions(each)) for name, each in wanted.items()}


def done_since(connection: Connection, since: datetime, before: datetime | None = None) -> int:
    """How many results were stored since a time, counted up to a bound."""
    wanted = {"created_after": since, "created_before": before}
    return count_up_to(connection, crawl_results, _of_time(crawl_results.c.created_at, wanted))


def failed_since(connection: Connection, since: datetime, before: datetime | None = None) -> int:
    """How many jobs failed since a time, counted up to a bound."""
    return count_up_to(connection, crawl_jobs, _failed_since(since, before))
