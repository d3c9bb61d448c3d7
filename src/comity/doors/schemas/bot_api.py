"""The answers to bots and to crawlers that ask for grants, in their envelope: `success` and `data`.

Times of the bot API are to the second; `not_before`, `start_by` and `server_time` have milliseconds, because the window
of a job is about a second long. Times of grants have microseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import ceil
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from pydantic_core import to_json

from comity.doors.schemas import iso_time
from comity.doors.schemas.base import Schema, second_time
from comity.model.gate import DelaySource
from comity.model.grants import GrantAnswer, GrantAnswers, GrantReason, Permission, ReportAnswer, ReportResult
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


class GrantView(Schema):
    """What a client may do with one URL."""

    url: str = Field(description="As it was sent.")
    permission: Permission
    reason: GrantReason | None = Field(None, description="Why it is denied, or why to wait.")
    message: str | None = Field(None, description="The same as a sentence.")
    rule: str | None = Field(None, description="The line of robots.txt that decided.", examples=["Disallow: /private"])
    rule_line: int | None = Field(None, description="Its number.")
    grant_id: UUID | None = Field(None, description="To be reported or released.")
    not_before: str | None = Field(
        None, description="The earliest time to start the request.", examples=["2026-02-05T14:30:00.000000Z"]
    )
    start_by: str | None = Field(None, description="The latest time to start the request.")
    delay_seconds: float | None = Field(None, description="The delay between requests to the host.")
    delay_source: DelaySource | None = Field(None, description="What set the delay.")
    expires_at: str | None = Field(None, description="When the grant runs out without a report.")
    retry_after: float | None = Field(None, description="Seconds after which to ask again.")


class ReportView(Schema):
    """What became of a report or a release."""

    grant_id: UUID
    result: ReportResult
    blocked_until: str | None = Field(
        None, description="The end of the pause that the host asked for; send it no request before."
    )


class GrantData(Schema):
    """The answers, in the order of the URLs and reports."""

    server_time: str = Field(description="The clock that the times refer to.")
    grants: list[GrantView]
    reports: list[ReportView]


class GrantDocument(Schema):
    """The answer to a request for grants, a report or a release."""

    success: Literal[True]
    data: GrantData


def grant_json(granted: GrantAnswers) -> bytes:
    """The document as JSON, built without models: a busy crawler asks for thousands of grants a second."""
    data = {
        "server_time": _time(granted.now),
        "grants": [_grant(answer) for answer in granted.answers],
        "reports": [_report(answer) for answer in granted.reports],
    }
    return to_json({"success": True, "data": data})


def _grant(answer: GrantAnswer) -> dict[str, Any]:
    slot = answer.slot
    return {
        "url": answer.url,
        "permission": answer.permission,
        "reason": answer.reason,
        "message": answer.message,
        "rule": answer.rule,
        "rule_line": answer.rule_line,
        "grant_id": answer.grant_id,
        "not_before": None if slot is None else _time(slot.not_before),
        "start_by": None if slot is None else _time(slot.start_by),
        "delay_seconds": None if slot is None else slot.delay_s,
        "delay_source": None if slot is None else slot.delay_source,
        "expires_at": None if answer.expires_at is None else _time(answer.expires_at),
        "retry_after": answer.retry_after_s,
    }


def _report(answer: ReportAnswer) -> dict[str, Any]:
    until = answer.blocked_until
    return {
        "grant_id": answer.grant_id,
        "result": answer.result,
        "blocked_until": None if until is None else _time(until),
    }


@lru_cache(maxsize=1024)
def _time(seconds: float) -> str:
    """To the microsecond, as `datetime` rounds it; the grants of one request mostly have the same times."""
    whole = int(seconds)
    microseconds = round((seconds - whole) * 1e6)
    if microseconds == 1_000_000:
        whole, microseconds = whole + 1, 0
    return f"{_second(whole)}.{microseconds:06d}Z"


@lru_cache(maxsize=1024)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
