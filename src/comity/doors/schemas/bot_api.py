"""The answers to bots, in their envelope: `success` and `data`. Times are to the second.

`not_before`, `start_by` and `server_time` have milliseconds: the window of a job is about a second long.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from comity.doors.schemas import iso_time
from comity.doors.schemas.base import Schema
from comity.doors.schemas.exact_json import second_time
from comity.model.queue import JobStatus, KeptLocks, PulledJob, PulledJobs, PullLimit, ReleasedJobs, SkipReason


class PulledJobView(Schema):
    """A job that the bot holds now."""

    job_id: UUID
    url: str
    domain: str = Field(description="The host of the URL; slots are per host.")
    priority: int
    max_retries: int
    timeout_seconds: int = Field(description="How long the lock lasts.")
    retry_count: int
    locked_until: str = Field(examples=["2025-01-07T07:20:00Z"])
    not_before: str = Field(
        description="The earliest time to start the request.", examples=["2025-01-07T07:10:02.500Z"]
    )
    start_by: str = Field(description="The latest time to start the request.", examples=["2025-01-07T07:10:03.500Z"])
    delay_seconds: float = Field(description="The delay between requests to this host.")
    crawl_config: dict[str, Any] | None = Field(description="What the policy says about the page.")


class PullData(Schema):
    """The jobs of a pull."""

    jobs: list[PulledJobView]
    count: int
    skipped: int = Field(description="Jobs that were considered and not handed out.")
    skipped_by_reason: dict[SkipReason, int]
    limited_by: PullLimit | None = Field(
        description="Why the bot gets no jobs, even if some wait: its own limit, or its quarantine."
    )
    retry_after_seconds: float | None = Field(description="When to pull again, if nothing was handed out.")
    server_time: str = Field(description="The server's clock, which the times of jobs refer to.")


class PullAnswer(Schema):
    """The answer to a pull."""

    success: Literal[True]
    data: PullData


class SubmitData(Schema):
    """What became of a job."""

    job_id: UUID
    status: JobStatus = Field(description="`done`; `pending` if it will be retried; `failed` if not.")
    result_id: UUID | None = Field(None, description="Of a job that is done.")
    price: float | None = Field(None, description="With the digits that were submitted.")
    currency: str | None = None
    policy_next_run: str | None = Field(None, description="When the policy's next job is due.")
    retry_count: int | None = Field(None, description="Of a job that failed.")
    max_retries: int | None = Field(None, description="Of a job that failed.")
    not_before: str | None = Field(None, description="When the retry may be pulled.")
    message: str | None = None


class SubmitAnswer(Schema):
    """The answer to a submit."""

    success: Literal[True]
    data: SubmitData


class KeptJobView(Schema):
    """A job whose lock was kept."""

    job_id: UUID
    locked_until: str


class HeartbeatData(Schema):
    """Locks that were kept, and jobs that the bot does not hold."""

    kept: list[KeptJobView]
    lost: list[UUID]


class HeartbeatAnswer(Schema):
    """The answer to a heartbeat."""

    success: Literal[True]
    data: HeartbeatData


class ReleaseData(Schema):
    """Jobs that were given back, and jobs that the bot does not hold."""

    released: list[UUID]
    lost: list[UUID]


class ReleaseAnswer(Schema):
    """The answer to a release."""

    success: Literal[True]
    data: ReleaseData


def pull_data(pulled: PulledJobs, now: datetime, limited_by: PullLimit | None = None) -> dict[str, Any]:
    """The answer to a pull. `now` is the time of this machine."""
    if pulled.jobs:  # the clock that the slots refer to: on a shared state, that of the database
        first = pulled.jobs[0]
        now = first.locked_until - timedelta(seconds=first.lock_ttl_s)
    return {
        "jobs": [_job(job) for job in pulled.jobs],
        "count": len(pulled.jobs),
        "skipped": sum(pulled.skipped.values()),
        "skipped_by_reason": {str(reason): number for reason, number in pulled.skipped.items()},
        "limited_by": None if limited_by is None else str(limited_by),
        "retry_after_seconds": None if pulled.retry_after_s is None else round(pulled.retry_after_s, 3),
        "server_time": iso_time(now),
    }


def heartbeat_data(kept: KeptLocks) -> dict[str, Any]:
    """Locks that were kept, and those that are lost."""
    return {
        "kept": [{"job_id": str(job_id), "locked_until": second_time(until)} for job_id, until in kept.kept],
        "lost": [str(job_id) for job_id in kept.lost],
    }


def release_data(released: ReleasedJobs) -> dict[str, Any]:
    """Jobs that were given back, and those that the bot did not hold."""
    return {"released": [str(job_id) for job_id in released.released], "lost": [str(each) for each in released.lost]}


def _job(job: PulledJob) -> dict[str, Any]:
    return {
        "job_id": str(job.job_id),
        "url": job.url,
        "domain": job.host,
        "priority": job.priority,
        "max_retries": job.max_retries,
        "timeout_seconds": job.lock_ttl_s,
        "retry_count": job.retry_count,
        "locked_until": second_time(job.locked_until),
        "not_before": _milliseconds(ceil(job.slot.not_before * 1000) / 1000),  # never earlier than the slot
        "start_by": _milliseconds(job.slot.start_by),
        "delay_seconds": round(job.slot.delay_s, 3),
        "crawl_config": job.crawl_config,
    }


def _milliseconds(seconds: float) -> str:
    return iso_time(datetime.fromtimestamp(seconds, UTC))
