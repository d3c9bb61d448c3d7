"""When the next job of a policy with `schedule = 'adaptive'` is due: by the rate at which price and stock change.

The belief about that rate and the square-root rule are those of adaptive sources (`rules.revisit`). A policy
has no budget to share: one that changes about once in its `frequency_hours` is crawled that often, others in proportion
to the square root of their rate, between half and eight times `frequency_hours`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite, sqrt
from typing import Any, Final, NamedTuple

from comity.model.schedule import Allocation, RevisitLimits, RevisitState, Share
from comity.rules.revisit import PRIOR_WEIGHT, claim_of, interval_days, observe

SHORTEST: Final = 0.5
LONGEST: Final = 8.0
_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3600.0


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
    limits = RevisitLimits(SHORTEST * base_days, LONGEST * base_days)
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
