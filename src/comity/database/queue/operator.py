"""Statements of operators on policies and jobs. Each writes who moved a job and why; the trigger keeps the history.

Rows of hosts are locked before rows of jobs, as pulls and submits do, so that no two transactions wait for each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, delete, exists, or_, select, update

from comity.database.dialects import insert_into, named_in
from comity.database.queue import reservations
from comity.database.queue.tables import crawl_jobs, crawl_policies
from comity.database.tables import domains

WAITING: Final = ("pending", "expired")
_OPEN: Final = ("pending", "locked", "expired")
_BATCH: Final = 500


def add_policy(connection: Connection, values: Mapping[str, Any], now: datetime) -> Row[Any] | None:
    """Add a policy; None if its URL has one."""
    statement = (
        insert_into(connection, crawl_policies)
        .values(**values, created_at=now, updated_at=now)
        .on_conflict_do_nothing(index_elements=[crawl_policies.c.url])
        .returning(crawl_policies)
    )
    return connection.execute(statement).first()


def policies_with(connection: Connection, urls: Sequence[str]) -> dict[str, Row[Any]]:
    """Policies by their URLs."""
    statement = select(crawl_policies).where(named_in(connection.dialect.name, crawl_policies.c.url, "urls"))
    found: dict[str, Row[Any]] = {}
    for start in range(0, len(urls), _BATCH):
        some = list(urls[start : start + _BATCH])
        found |= {row.url: row for row in connection.execute(statement, {"urls": some})}
    return found


def change_policy(connection: Connection, policy_id: UUID, values: Mapping[str, Any], now: datetime) -> Row[Any] | None:
    """Change some columns of a policy; None if there is no such policy."""
    statement = (
        update(crawl_policies)
        .where(crawl_policies.c.id == policy_id)
        .values(**values, updated_at=now)
        .returning(crawl_policies)
    )
    return connection.execute(statement).first()


def get_policy(connection: Connection, policy_id: UUID) -> Row[Any] | None:
    """One policy, as its table has it."""
    return connection.execute(select(crawl_policies).where(crawl_policies.c.id == policy_id)).first()


def delete_policy(connection: Connection, policy_id: UUID, now: datetime) -> bool:
    """Delete a policy with its jobs and results; hosts that bots held only for these are released."""
    _lock_hosts_of(connection, policy_id)
    statement = delete(crawl_jobs).where(crawl_jobs.c.policy_id == policy_id).returning(crawl_jobs.c.domain_id)
    hosts = _known(connection.execute(statement).scalars())
    is_gone = connection.execute(delete(crawl_policies).where(crawl_policies.c.id == policy_id)).rowcount > 0
    reservations.end_uncleanly(connection, hosts, now.timestamp())
    return is_gone


def drop_waiting_jobs(connection: Connection, policy_id: UUID) -> int:
    """Delete the job of a policy that no bot holds; returns how many there were."""
    _lock_hosts_of(connection, policy_id)
    waiting = (crawl_jobs.c.policy_id == policy_id, crawl_jobs.c.status.in_(WAITING))
    return connection.execute(delete(crawl_jobs).where(*waiting)).rowcount


def end_waiting(connection: Connection, policy_id: UUID, now: datetime) -> bool:
    """Let the waiting job of a policy be pulled now, whatever its back-off; False if it has none."""
    _lock_hosts_of(connection, policy_id)
    statement = (
        update(crawl_jobs)
        .where(crawl_jobs.c.policy_id == policy_id, crawl_jobs.c.status.in_(WAITING))
        .values(not_before=None, updated_at=now)
        .returning(crawl_jobs.c.domain_id)
    )
    hosts = connection.execute(statement).scalars().all()
    look_at(connection, _known(hosts), now)
    return bool(hosts)


def jobs_for_change(connection: Connection, job_ids: Collection[UUID]) -> dict[UUID, Row[Any]]:
    """Jobs by id, with their hosts locked in this transaction."""
    wanted = list(job_ids)
    hosts: set[UUID] = set()
    for start in range(0, len(wanted), _BATCH):
        some = crawl_jobs.c.id.in_(wanted[start : start + _BATCH])
        hosts |= _known(connection.execute(select(crawl_jobs.c.domain_id).where(some)).scalars())
    reservations.lock(connection, sorted(hosts, key=lambda each: each.hex), waits=True)
    found: dict[UUID, Row[Any]] = {}
    for start in range(0, len(wanted), _BATCH):
        statement = select(crawl_jobs).where(crawl_jobs.c.id.in_(wanted[start : start + _BATCH]))
        found |= {row.id: row for row in connection.execute(statement)}
    return found


def has_open_job(connection: Connection, policy_id: UUID) -> bool:
    """Whether a policy has a job that is not finished: it may have only one."""
    is_open = (crawl_jobs.c.policy_id == policy_id, crawl_jobs.c.status.in_(_OPEN))
    return bool(connection.execute(select(exists().where(*is_open))).scalar_one())


def move_job(connection: Connection, job_id: UUID, before: str, values: Mapping[str, Any]) -> bool:
    """Move a job if it still has this status."""
    statement = update(crawl_jobs).where(crawl_jobs.c.id == job_id, crawl_jobs.c.status == before).values(**values)
    return connection.execute(statement).rowcount > 0


def set_job_priority(connection: Connection, job_ids: Collection[UUID], priority: int, now: datetime) -> None:
    """Give jobs a priority; from there it grows again as they wait."""
    wanted = list(job_ids)
    values = {"priority": priority, "first_priority": priority, "updated_at": now}
    for start in range(0, len(wanted), _BATCH):
        some = crawl_jobs.c.id.in_(wanted[start : start + _BATCH])
        connection.execute(update(crawl_jobs).where(some).values(**values))


def after_moves(
    connection: Connection, unlocked: Iterable[UUID | None], waiting: Iterable[UUID | None], now: datetime
) -> None:
    """Give back hosts whose bots lost their last job, and have pulls look at hosts with jobs that wait."""
    reservations.end_uncleanly(connection, _known(unlocked), now.timestamp())
    look_at(connection, _known(waiting), now)


def look_at(connection: Connection, hosts: Collection[UUID], now: datetime) -> None:
    """Have the next pull look at hosts."""
    later = or_(domains.c.queue_ready_at.is_(None), domains.c.queue_ready_at > now)
    ids = list(hosts)
    for start in range(0, len(ids), _BATCH):
        some = domains.c.id.in_(ids[start : start + _BATCH])
        connection.execute(update(domains).where(some, later).values(queue_ready_at=now))


def _lock_hosts_of(connection: Connection, policy_id: UUID) -> None:
    hosts = connection.execute(select(crawl_jobs.c.domain_id).where(crawl_jobs.c.policy_id == policy_id).distinct())
    reservations.lock(connection, sorted(_known(hosts.scalars()), key=lambda each: each.hex), waits=True)


def _known(hosts: Iterable[UUID | None]) -> set[UUID]:
    """The hosts of jobs: one that was inserted in SQL has none until the next pull, or ever if its URL is none."""
    return {host_id for host_id in hosts if host_id is not None}
