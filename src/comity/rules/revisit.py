"""The adaptive schedule of sources: the next visit from how often a source changes and from what the budget pays.

A source's row, what its run came to, the belief about it and the current allocation go in; Revisit comes out, with the
next run and the new belief. Failures back off, jitter and the time window apply as in the default schedule.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from comity.model.revisit import Allocation, Claim, Revisit, RevisitLimits, RevisitState
from comity.model.schedule import NextRun, ScheduleRule, SourcePace, SourceRun
from comity.rules.change_rate import HALF_LIFE_DAYS, hopeful_rate, observe
from comity.rules.next_run import compute_next_run, jitter_factor, jitter_words, shown_days, within_window
from comity.rules.revisit_budget import visits_per_day

_NEVER_DAYS: Final = 3650.0  # a budget of nothing


def claim_of(state: RevisitState, host: str, *, importance: float = 1.0, limits: RevisitLimits | None = None) -> Claim:
    """What a source asks of the budget by what is believed of it."""
    return Claim(host, importance * hopeful_rate(state), limits or RevisitLimits())


def compute_revisit(
    pace: SourcePace,
    run: SourceRun,
    state: RevisitState,
    allocation: Allocation,
    *,
    host: str,
    finished_at: datetime,
    days_since_last: float | None,
    chance: float,
    importance: float = 1.0,
    limits: RevisitLimits | None = None,
    half_life_days: float = HALF_LIFE_DAYS,
    zone: tzinfo | None = None,
) -> Revisit:
    """When a source is visited again; `days_since_last` counts from the last success, None if this is the first."""
    if not run.succeeded:  # nothing was seen, so nothing is learned
        return Revisit(compute_next_run(pace, run, finished_at=finished_at, chance=chance, zone=zone), state)
    changed = run.inserted + run.updated > 0
    if days_since_last is not None:
        state = observe(state, days_since_last, changed=changed, half_life_days=half_life_days)
    days = interval_days(allocation, claim_of(state, host, importance=importance, limits=limits))
    planned = finished_at.astimezone(UTC) + timedelta(days=days * jitter_factor(chance))
    next_run_at, remark = within_window(planned, pace.time_window, zone)
    seen = "first visit" if days_since_last is None else "changed" if changed else "not changed"
    reason = (
        f"{seen}; about one change in {shown_days(1 / state.rate_per_day)} by {state.visits} visits: "
        f"visited every {shown_days(days)} within the budget{jitter_words(chance)}{remark}"
    )
    quiet = 0 if changed else pace.consecutive_nochange + 1
    return Revisit(NextRun(next_run_at, days, 0, quiet, ScheduleRule.ADAPTIVE, reason), state)


def interval_days(allocation: Allocation, claim: Claim) -> float:
    """How long to wait between two visits; never less than the claim's shortest."""
    rate = visits_per_day(allocation, claim)
    return max(claim.limits.shortest_days, 1.0 / rate if rate > 0 else _NEVER_DAYS)
