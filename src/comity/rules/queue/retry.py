"""When a job that failed is tried again, and when its policy's next job is due.

Retries of jobs are counted in minutes; those of requests and of sources have rules of their own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LONGEST_BACKOFF_S: Final = 7 * 86_400.0
_MOST_DOUBLINGS: Final = 20


class JobRetry(NamedTuple):
    """The job goes back to the queue and may be pulled again from then on."""

    not_before: float
    retry_count: int


class JobGivenUp(NamedTuple):
    """The job failed for good; the next job of its policy is due then."""

    next_run_at: float


def backoff_s(minutes: int, doublings: int) -> float:
    """A back-off of some minutes, doubled so many times."""
    return min(minutes * 60.0 * float(1 << min(max(0, doublings), _MOST_DOUBLINGS)), LONGEST_BACKOFF_S)


def after_failure(
    retry_count: int,
    max_retries: int,
    backoff_minutes: int,
    now: float,
    *,
    failures_before: int = 0,
    retry_after_s: float | None = None,
) -> JobRetry | JobGivenUp:
    """Decide on a job that failed after `retry_count` retries.

    A site's own Retry-After makes the wait longer, never shorter. A policy whose jobs keep failing makes ever fewer of
    them: the wait doubles with every job that was given up before.
    """
    asked_s = max(0.0, retry_after_s or 0.0)
    if retry_count < max_retries:
        return JobRetry(now + max(backoff_s(backoff_minutes, retry_count), asked_s), retry_count + 1)
    return JobGivenUp(now + max(backoff_s(backoff_minutes, retry_count + failures_before), asked_s))
