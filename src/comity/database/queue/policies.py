"""Statements on `crawl_policies` that the scheduler and submits run: what is due, and what a finished job changes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from comity.database.bulk import Decoding, Encoding, insert_rows, placed, rows_of, run
from comity.database.queue.tables import crawl_jobs, crawl_policies


class DuePolicy(NamedTuple):
    """A policy whose next job is due."""

    id: UUID
    url: str
    frequency_hours: int
    priority: int
    max_retries: int
    timeout_minutes: int
    crawl_config: dict[str, Any] | None
    failure_count: int
    importance: float
    has_open_job: bool


_DUE: Final = """
SELECT p.id, p.url, p.frequency_hours, p.priority, p.max_retries, p.timeout_minutes, p.crawl_config, p.failure_count,
    p.importance, EXISTS (
        SELECT 1 FROM crawl_jobs AS j WHERE j.policy_id = p.id AND j.status IN ('pending', 'locked', 'expired')
    )
FROM crawl_policies AS p WHERE p.enabled AND {0} LIMIT ?
"""


def due(connection: Connection, now: float, limit: int) -> list[DuePolicy]:
    """Policies that are due, new ones first; locks them until the transaction ends, and skips those that are locked."""
    found: list[DuePolicy] = []
    decode, moment = Decoding(connection), Encoding(connection).time(now)
    lock = " FOR NO KEY UPDATE OF p SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    conditions: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("p.next_run_at IS NULL", ()),
        ("p.next_run_at <= ? ORDER BY p.next_run_at", (moment,)),
    )
    for condition, values in conditions:
        room = limit - len(found)
        if room > 0:
            statement = placed(connection.dialect.name, _DUE.format(condition) + lock)
            rows = connection.exec_driver_sql(statement, (*values, room)).all()
            found += [
                DuePolicy._make((decode.uuid(row[0]), *row[1:6], decode.json(row[6]), row[7], row[8], bool(row[9])))
                for row in rows
            ]
    return found


def is_any_due(connection: Connection, now: float) -> bool:
    """Whether a policy is due; reads one entry of an index."""
    due_then = "SELECT 1 FROM crawl_policies WHERE enabled AND next_run_at"
    statement = f"SELECT EXISTS ({due_then} IS NULL) OR EXISTS ({due_then} <= ?)"  # our own words
    values = (Encoding(connection).time(now),)
    return bool(connection.exec_driver_sql(placed(connection.dialect.name, statement), values).scalar())


class NewJob(NamedTuple):
    """A job that a policy makes."""

    policy_id: UUID
    host_id: UUID
    url: str
    priority: int
    lock_ttl_s: int
    max_retries: int
    crawl_config: dict[str, Any] | None
    ages_at: float


_NEW: Final = (
    "policy_id",
    "domain_id",
    "url",
    "priority",
    "lock_ttl_seconds",
    "max_retries",
    "crawl_config",
    "first_priority",
    "ages_at",
    "created_at",
    "updated_at",
)


def add_jobs(connection: Connection, jobs: Sequence[NewJob], now: float) -> None:
    """Make jobs of policies that have no open one."""
    encode = Encoding(connection)
    moment = encode.time(now)
    rows = [
        (
            encode.uuid(job.policy_id),
            encode.uuid(job.host_id),
            job.url,
            job.priority,
            job.lock_ttl_s,
            job.max_retries,
            None if job.crawl_config is None else encode.json(job.crawl_config),
            job.priority,
            encode.time(job.ages_at),
            moment,
            moment,
        )
        for job in jobs
    ]
    insert_rows(connection, crawl_jobs, _NEW, rows)


def postpone(connection: Connection, rows: Sequence[tuple[UUID, float, UUID | None]]) -> None:
    """Say when policies are due next, and which host they are of."""
    encode = Encoding(connection)
    values = [
        (encode.time(next_run_at), encode.uuid_or_none(host_id), encode.uuid(policy_id))
        for policy_id, next_run_at, host_id in rows
    ]
    if values:
        key = "CAST(? AS uuid)" if connection.dialect.name == "postgresql" else "?"
        statement = f"UPDATE crawl_policies SET next_run_at = ?, domain_id = coalesce({key}, domain_id) WHERE id = ?"  # noqa: S608
        connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


class PolicyRow(NamedTuple):
    """What a finished job needs to know of its policy."""

    id: UUID
    frequency_hours: int
    retry_backoff_minutes: int
    failure_count: int
    schedule: str
    change_statistics: Any
    last_price: Decimal | None
    last_currency: str | None
    last_in_stock: bool | None
    last_success_at: float | None
    importance: float = 1.0


def get(connection: Connection, policy_id: UUID) -> PolicyRow | None:
    """One policy; locks it until the transaction ends."""
    encode, decode = Encoding(connection), Decoding(connection)
    found = rows_of(connection, _get_text(connection.dialect.name), (encode.uuid(policy_id),))
    if not found:
        return None
    (row,) = found
    price = None if row[6] is None else Decimal(row[6])
    in_stock = None if row[8] is None else bool(row[8])
    last = (price, row[7], in_stock, decode.seconds(row[9]), row[10])
    return PolicyRow._make((decode.uuid(row[0]), *row[1:5], decode.json(row[5]), *last))


@lru_cache(maxsize=2)
def _get_text(dialect: str) -> str:
    lock = " FOR NO KEY UPDATE" if dialect == "postgresql" else ""
    columns = (
        "id, frequency_hours, retry_backoff_minutes, failure_count, schedule, change_statistics, last_price, "
        "last_currency, last_in_stock, last_success_at, importance"
    )
    return placed(dialect, f"SELECT {columns} FROM crawl_policies WHERE id = ?{lock}")  # noqa: S608


class SuccessOf(NamedTuple):
    """What a result changes in its policy; a price or stock that did not come leaves what is known."""

    next_run_at: float
    price: Decimal | None
    currency: str | None
    in_stock: bool | None
    change_statistics: Any = None


def note_success(connection: Connection, policy_id: UUID, success: SuccessOf, now: float) -> None:
    """A result came: reset the failures, and set the time of the next run."""
    encode = Encoding(connection)
    native = connection.dialect.name == "postgresql"
    price: Any = success.price
    if price is not None and not native:
        price = format(price.quantize(Decimal("0.0001")), "f")
    values = (
        encode.time(success.next_run_at),
        encode.time(now),
        encode.time(now),
        price,
        success.currency,
        success.in_stock,
        None if success.change_statistics is None else encode.json(success.change_statistics),
        encode.uuid(policy_id),
    )
    run(connection, _success_text(connection.dialect.name), values)


@lru_cache(maxsize=2)
def _success_text(dialect: str) -> str:
    native = dialect == "postgresql"
    price = "CAST(? AS numeric)" if native else "?"
    stock = "CAST(? AS boolean)" if native else "?"
    document = "CAST(? AS jsonb)" if native else "?"
    statement = f"""
UPDATE crawl_policies SET next_run_at = ?, failure_count = 0, last_success_at = ?, updated_at = ?,
    last_price = coalesce({price}, last_price), last_currency = coalesce(?, last_currency),
    last_in_stock = coalesce({stock}, last_in_stock), change_statistics = coalesce({document}, change_statistics)
WHERE id = ?
"""  # noqa: S608
    return placed(dialect, statement)


def note_failure(connection: Connection, policy_id: UUID, next_run_at: float | None, now: float) -> None:
    """Count a failed job. With a time, the job was given up, and the policy's next job is due then."""
    encode = Encoding(connection)
    given_up = "" if next_run_at is None else "failure_count = failure_count + 1, next_run_at = ?, "
    statement = f"UPDATE crawl_policies SET {given_up}last_failed_at = ?, updated_at = ? WHERE id = ?"  # noqa: S608
    first: tuple[Any, ...] = () if next_run_at is None else (encode.time(next_run_at),)
    values = (*first, encode.time(now), encode.time(now), encode.uuid(policy_id))
    connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


_JOB: Final = ("id", "status", "locked_by", "lock_ends_at", "not_before", "finished_at", "error_msg", "created_at")


class UrlJob(NamedTuple):
    """The rows of a URL's policy and of its last job, or None."""

    policy: Any
    job: Any


def of_url(connection: Connection, url: str) -> UrlJob:
    """The policy and the last job of a URL."""
    table = crawl_policies.c
    policy = select(table.enabled, table.created_at, table.next_run_at).where(table.url == url)
    columns = [crawl_jobs.c[name] for name in _JOB]
    job = select(*columns).where(crawl_jobs.c.url == url).order_by(crawl_jobs.c.created_at.desc()).limit(1)
    return UrlJob(connection.execute(policy).first(), connection.execute(job).first())
