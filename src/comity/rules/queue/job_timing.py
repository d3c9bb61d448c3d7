"""The priority of a job, when a failed job is tried again, and when the next job of its policy is due.

The priority is computed when the job is made, from its policy, its importance and its failures. It grows by one after
the job has waited an hour, and by one more each time the wait has doubled: no job waits forever behind more important
ones, and no row is written more than ten times. Retries of jobs are counted in minutes; requests and sources have retry
rules of their own.

With `schedule = 'adaptive'`, the rate at which price and stock change decides. The belief about that rate and the
square-root rule are those of adaptive sources (`rules.revisit`). A policy has no budget to share: one that changes
about once in its `frequency_hours` is crawled that often, others in proportion to the square root of their rate,
between half and eight times `frequency_hours`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite, sqrt
from typing import Any, Final, NamedTuple

from comity.model.schedule import Allocation, RevisitLimits, RevisitState, Share
from comity.rules.revisit import PRIOR_WEIGHT, claim_of, interval_days, observe

LEAST_PRIORITY: Final = -1_000
MOST_PRIORITY: Final = 1_000
MOST_IMPORTANCE: Final = 10.0
MOST_FAILURES: Final = 5
FIRST_AGE_S: Final = 3600.0
MOST_AGE: Final = 10
LONGEST_BACKOFF_S: Final = 7 * 86_400.0
_MOST_DOUBLINGS: Final = 20
# Adaptive policies are due between half and eight times `frequency_hours` after their last job.
LEAST_FACTOR: Final = 0.5
MOST_FACTOR: Final = 8.0
_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3600.0


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
    return max(LEAST_PRIORITY, min(MOST_PRIORITY, priority))


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


class Seen(NamedTuple):
    """What was known of a product, or what a result says of it."""

    price: Decimal | None
    currency: str | None
    in_stock: bool | None

    @property
    def says_something(self) -> bool:
        """Whether it has anything that a policy watches."""
        return self.price is not None or self.in_stock is not None


class PolicyPlan(NamedTuple):
    """When the next job is due, and what the policy's row remembers for that."""

    next_run_at: float
    change_statistics: dict[str, Any]


def has_changed(before: Seen, after: Seen) -> bool:
    """Whether price or stock have changed; a value that one of the two does not know has not."""
    if before.price is not None and after.price is not None:
        is_other_currency = None not in (before.currency, after.currency) and before.currency != after.currency
        if before.price != after.price or is_other_currency:
            return True
    return None not in (before.in_stock, after.in_stock) and before.in_stock is not after.in_stock


def plan_next(
    statistics: Mapping[str, Any] | None,
    before: Seen,
    after: Seen,
    now: float,
    *,
    frequency_hours: float,
    last_success_at: float | None,
    importance: float = 1.0,
) -> PolicyPlan:
    """The plan after a result; a result without price and stock is no observation."""
    base_days = frequency_hours * _HOUR_S / _DAY_S
    state, looked_at = _remembered(statistics, base_days)
    looked_at = looked_at if looked_at is not None else last_success_at
    if after.says_something:
        if looked_at is not None and before.says_something and now > looked_at:
            state = observe(state, (now - looked_at) / _DAY_S, changed=has_changed(before, after))
        looked_at = now
    limits = RevisitLimits(LEAST_FACTOR * base_days, MOST_FACTOR * base_days)
    claim = claim_of(state, "", importance=importance, limits=limits)
    days = interval_days(Allocation(Share(sqrt(1.0 / base_days)), {}, 0.0), claim)
    kept = {
        "changes": state.changes,
        "exposure_days": state.exposure_days,
        "visits": state.visits,
        "last_look_at": None if looked_at is None else _written(looked_at),
    }
    return PolicyPlan(now + days * _DAY_S, kept)


def _remembered(statistics: Mapping[str, Any] | None, base_days: float) -> tuple[RevisitState, float | None]:
    """Read a row; values that cannot be read are ignored."""
    prior = RevisitState(PRIOR_WEIGHT, PRIOR_WEIGHT * base_days)
    try:
        assert statistics is not None
        state = RevisitState(
            float(statistics["changes"]), float(statistics["exposure_days"]), int(statistics["visits"])
        )
        said = statistics.get("last_look_at")
        looked_at = None if said is None else datetime.fromisoformat(said).astimezone(UTC).timestamp()
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return prior, None
    is_sound = isfinite(state.changes) and isfinite(state.exposure_days) and state.changes > 0 < state.exposure_days
    return (state, looked_at) if is_sound else (prior, None)


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
