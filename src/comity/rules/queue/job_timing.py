"""The priority of a job, when a failed job is tried again, and when the next job of its policy is due.

The priority is computed when the job is made, from its policy, its importance and its failures. It grows by one after
the job has waited an hour, and by one more each time the wait has doubled: no job waits forever behind more important
ones, and no row is written more than ten times. Retries of jobs are counted in minutes; requests and sources have
retry rules of their own.
"""

from __future__ import annotations

from math import isfinite
from typing import Final, NamedTuple

LEAST: Final = -1_000
MOST: Final = 1_000
MOST_IMPORTANCE: Final = 10.0
MOST_FAILURES: Final = 5
FIRST_AGE_S: Final = 3600.0
MOST_AGE: Final = 10


def first_priority(policy_priority: int, importance: float, failure_count: int) -> int:
    """The priority of a new job; a policy of importance 1 without failures has its own."""
    weight = min(max(importance, 0.0), MOST_IMPORTANCE) if isfinite(importance) else 1.0
    return _bounded(round(policy_priority * weight) - min(max(failure_count, 0), MOST_FAILURES))


def aged_priority(first: int, waited_s: float) -> tuple[int, float | None]:
    """The priority of a job after a wait, and the wait after which it grows next; None if it does not grow."""
    age, next_age_s = 0, FIRST_AGE_S
    while age < MOST_AGE and waited_s >= next_age_s:
        age, next_age_s = age + 1, next_age_s * 2
    return _bounded(first + age), next_age_s if age < MOST_AGE else None


def _bounded(priority: int) -> int:
    return max(LEAST, min(MOST, priority))


LONGEST_BACKOFF_S: Final = 7 * 86_400.0
_MOST_DOUBLINGS: Final = 20


class JobRetry(NamedTuple):
    """The job returns to the queue, and can be pulled again from then on."""

    not_before: float
    retry_count: int


class JobGivenUp(NamedTuple):
    """The job failed for good; the next job of its policy is due then."""

    next_run_at: float


def backoff_s(minutes: int, doublings: int) -> float:
    """A back-off of some minutes, doubled a number of times."""
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
