"""The priority of a job: its policy's own, its importance, its failures, and how long it has waited.

It is computed when the job is made, and grows while the job waits: by one after an hour, and by one more each time that
the wait has doubled. So no job waits for ever behind more important ones, and no job is written more than ten times.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

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
    """The priority of a job that has waited so long, and the wait after which it grows next; None if it does not."""
    age, next_age_s = 0, FIRST_AGE_S
    while age < MOST_AGE and waited_s >= next_age_s:
        age, next_age_s = age + 1, next_age_s * 2
    return _bounded(first + age), next_age_s if age < MOST_AGE else None


def _bounded(priority: int) -> int:
    return max(LEAST, min(MOST, priority))
