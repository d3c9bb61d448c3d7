"""Jobs, policies and bots for the tests of the crawl service, on a state with the test's clock."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update

from comity.database.queue.tables import crawl_job_moves, crawl_jobs
from comity.database.tables import domains
from comity.model.queue import JobStatus
from tests.database.states import State

# How a job comes to each status by moves that are legal.
WAY_TO = {
    JobStatus.PENDING: (),
    JobStatus.LOCKED: (JobStatus.LOCKED,),
    JobStatus.DONE: (JobStatus.LOCKED, JobStatus.DONE),
    JobStatus.FAILED: (JobStatus.LOCKED, JobStatus.FAILED),
    JobStatus.EXPIRED: (JobStatus.LOCKED, JobStatus.EXPIRED),
}

_ORDER = count()


def host_of(state: State, host: str) -> UUID:
    """The id of a host, which gets a row if it has none."""
    with state.database.read() as connection:
        found = connection.execute(select(domains.c.id).where(domains.c.domain == host)).scalar()
    return found if found is not None else state.add(host, is_seeded=False)


def put_job(
    state: State,
    url: str = "https://shop.example/1",
    status: JobStatus = JobStatus.PENDING,
    *,
    bot: str = "bot-1",
    **columns: Any,
) -> UUID:
    """A job in some status, a microsecond younger than the one before it: jobs of one moment have no order."""
    host_id = host_of(state, url.split("/")[2])
    now = state.clock.now()
    columns = {"created_at": now - timedelta(seconds=1) + timedelta(microseconds=next(_ORDER))} | columns
    with state.database.write() as connection:
        connection.execute(update(domains).where(domains.c.id == host_id).values(queue_ready_at=now))
        job_id: UUID = connection.execute(
            insert(crawl_jobs).values(domain_id=host_id, url=url, **columns).returning(crawl_jobs.c.id)
        ).scalar_one()
        for step in WAY_TO[status]:
            lock = {"locked_by": bot, "locked_at": now} if step is JobStatus.LOCKED else {}
            connection.execute(update(crawl_jobs).where(crawl_jobs.c.id == job_id).values(status=str(step), **lock))
    return job_id


def job_row(state: State, job_id: UUID) -> dict[str, Any]:
    """All columns of a job."""
    with state.database.read() as connection:
        return dict(connection.execute(select(crawl_jobs).where(crawl_jobs.c.id == job_id)).one()._mapping)


def moves_of(state: State, job_id: UUID) -> list[tuple[Any, ...]]:
    """The history of a job: before, after, actor, reason."""
    column = crawl_job_moves.c
    wanted = select(column.before, column.after, column.actor, column.reason).where(column.job_id == job_id)
    with state.database.read() as connection:
        return [tuple(row) for row in connection.execute(wanted.order_by(column.id))]
