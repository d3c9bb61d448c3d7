"""How a submit is answered: the decision and its code, and the digest that recognizes a repeated submit."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, Final
from uuid import UUID

from xxhash import xxh3_128

from comity.model.dataclass import dataclass
from comity.model.queue import BotError, JobStatus, Submission

_encode: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False, default=str).encode


class SubmitDecision(Enum):
    """What to do with a submit."""

    ACCEPT = auto()
    REPEAT = auto()  # answer as before
    LATE = auto()  # keep the data, and refuse
    REFUSE = auto()


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """The part of a job's row that decides about a submit."""

    job_id: UUID
    status: JobStatus
    locked_by: str | None
    locked_at: float | None
    lock_ends_at: float | None
    lock_ttl_s: int
    submitted_by: str | None
    submission_digest: str | None


@dataclass(frozen=True, slots=True)
class FormerLock:
    """A lock of the submitting bot that ran out before."""

    locked_at: float


@dataclass(frozen=True, slots=True)
class Judged:
    """The decision on a submit; a refusal has a code, a sentence and details."""

    answer: SubmitDecision
    code: BotError | None = None
    message: str = ""
    details: dict[str, Any] | None = None


def submission_digest(submission: Submission) -> str:
    """The content of a submission as 32 hexadecimal digits; the formatting of its JSON makes no difference."""
    body = {
        "success": submission.success,
        # As a number: 99.9 and 99.90 are the same price.
        "price": None if submission.price is None else format(submission.price.normalize(), "f"),
        "currency": submission.currency,
        "title": submission.title,
        "in_stock": submission.in_stock,
        "parsed_data": submission.parsed_data,
        "error_msg": submission.error_msg,
        "http_status": submission.http_status,
        "retry_after_s": submission.retry_after_s,
    }
    digest = xxh3_128(_encode(body).encode("utf-8", "surrogatepass"))
    if submission.raw_html is not None:
        digest.update(b"\0")
        digest.update(submission.raw_html.encode("utf-8", "surrogatepass"))
    return str(digest.hexdigest())


def judge(job: SubmittedJob, bot_id: str, digest: str, now: float, former: FormerLock | None) -> Judged:
    """Decide about a submit of a job that exists."""
    is_mine = job.status is JobStatus.LOCKED and job.locked_by == bot_id
    if is_mine and job.lock_ends_at is not None and now < job.lock_ends_at:
        return Judged(SubmitDecision.ACCEPT)
    if job.submitted_by == bot_id and job.submission_digest == digest and not is_mine:
        return Judged(SubmitDecision.REPEAT)
    if is_mine:
        return _late(job, job.locked_at or now, now)
    if former is not None:
        return _late(job, former.locked_at, now)
    details = {"job_id": str(job.job_id), "status": str(job.status)}
    if job.status is JobStatus.LOCKED:
        message = "the job is locked by another bot; only the bot that pulled it can submit"
        return Judged(SubmitDecision.REFUSE, BotError.NOT_ASSIGNED, message, details)
    if job.submitted_by == bot_id:
        message = f"the job was submitted before with different content, and is {job.status}; it was not changed"
    else:
        message = f"the job is {job.status}, not locked; pull it before you submit"
    return Judged(SubmitDecision.REFUSE, BotError.JOB_NOT_LOCKED, message, details)


def _late(job: SubmittedJob, locked_at: float, now: float) -> Judged:
    over_s = max(0.0, now - (locked_at + job.lock_ttl_s))
    message = f"Job lock expired {_duration(over_s)} ago. Pull job again to re-acquire lock."
    details = {
        "job_id": str(job.job_id),
        "locked_at": _time(locked_at),
        "lock_ttl": job.lock_ttl_s,
        "current_time": _time(now),
    }
    return Judged(SubmitDecision.LATE, BotError.LOCK_EXPIRED, message, details)


def _duration(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number != 1 else ''}"
    number = int(seconds)
    return f"{number} second{'s' if number != 1 else ''}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


MOST_DEPTH: Final = 32


def document_problem(document: Any, most_bytes: int) -> str | None:
    """Why an object cannot be stored; None if it can. PostgreSQL stores neither NUL nor half of a surrogate pair."""
    if not isinstance(document, dict):
        return "must be a JSON object"
    waiting: list[tuple[Any, int]] = [(document, 1)]
    while waiting:
        each, depth = waiting.pop()
        if depth > MOST_DEPTH:
            return f"is nested more than {MOST_DEPTH} levels deep"
        if isinstance(each, dict):
            waiting += ((part, depth) for part in each)
            waiting += ((part, depth + 1) for part in each.values())
        elif isinstance(each, list):
            waiting += ((part, depth + 1) for part in each)
        elif isinstance(each, str):
            if not _is_storable(each):
                return "must not contain a NUL character or half of a surrogate pair"
        elif isinstance(each, float) and not math.isfinite(each):
            return "has a number that is too large"
    if len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) > most_bytes:
        return f"is larger than {most_bytes // 1024} KiB"
    return None


def _is_storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
