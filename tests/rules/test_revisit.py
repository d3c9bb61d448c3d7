"""The next visit by the adaptive schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.schedule import (
    Allocation,
    Claim,
    Revisit,
    RevisitLimits,
    RevisitState,
    ScheduleRule,
    Share,
    SourcePace,
    SourceRun,
)
from comity.rules.revisit import claim_of, compute_revisit, interval_days, observe, prior_belief

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
EVERYBODY = Allocation(Share(0.5), {}, 0.0)
STATE = RevisitState(4.0, 40.0, 9)


def revisit(run: SourceRun, pace: SourcePace | None = None, **changed: Any) -> Revisit:
    given_: dict[str, Any] = {"host": "h", "finished_at": NOW, "days_since_last": 3.0, "chance": 0.5} | changed
    return compute_revisit(pace or SourcePace(), run, STATE, given_.pop("allocation", EVERYBODY), **given_)


def test_a_visit_is_learned_from_and_the_next_follows_the_pace() -> None:
    decision = revisit(SourceRun(True, 1))
    expected = observe(STATE, 3.0, changed=True)
    assert decision.state == expected
    assert decision.next_run.rule is ScheduleRule.ADAPTIVE
    assert decision.next_run.frequency_days == interval_days(EVERYBODY, claim_of(expected, "h"))
    assert decision.next_run.next_run_at == NOW + timedelta(days=decision.next_run.frequency_days)


def test_a_source_that_changed_is_visited_sooner_than_one_that_did_not() -> None:
    assert revisit(SourceRun(True, 0, 1)).next_run.next_run_at < revisit(SourceRun(True)).next_run.next_run_at


def test_the_first_visit_has_nothing_to_compare_with() -> None:
    decision = revisit(SourceRun(True, 80), days_since_last=None)
    assert decision.state == STATE
    assert decision.next_run.reason.startswith("first visit; ")


def test_a_failure_teaches_nothing_and_backs_off_as_by_the_default_rules() -> None:
    decision = revisit(SourceRun(False), SourcePace(consecutive_failures=1, consecutive_nochange=4))
    assert decision.state == STATE
    assert decision.next_run.next_run_at == NOW + timedelta(hours=12)
    assert (decision.next_run.consecutive_failures, decision.next_run.consecutive_nochange) == (2, 4)


def test_counters_go_on_as_by_the_default_rules() -> None:
    pace = SourcePace(consecutive_failures=3, consecutive_nochange=4)
    quiet, changed = revisit(SourceRun(True), pace).next_run, revisit(SourceRun(True, 2), pace).next_run
    assert (quiet.consecutive_failures, quiet.consecutive_nochange) == (0, 5)
    assert (changed.consecutive_failures, changed.consecutive_nochange) == (0, 0)


def test_the_window_is_kept_and_the_reason_tells_everything() -> None:
    pace = SourcePace(time_window="22:00-05:00")
    decision = revisit(SourceRun(True), pace, zone=ZoneInfo("Africa/Nairobi"), chance=0.5).next_run
    assert decision.next_run_at.astimezone(ZoneInfo("Africa/Nairobi")).hour == 22
    assert decision.reason == (
        "not changed; about one change in 10.78 days by 10 visits: visited every 5.862 days within the budget; "
        "jitter +0.0 %; moved to the next opening of the time window 22:00-05:00 (Africa/Nairobi)"
    )


@pytest.mark.parametrize(
    ("allocation", "days"),
    [
        (Allocation(Share(0.5), {}, 0.0), 2.0),
        (Allocation(Share(0.5), {"h": Share(0.25)}, 0.0), 4.0),
        (Allocation(Share(0.5), {"other": Share(0.25)}, 0.0), 2.0),
        (Allocation(Share(100.0), {}, 0.0), 0.5),
        (Allocation(Share(1e-9), {}, 0.0), 30.0),
        (Allocation(Share(0.0, 0.5), {}, 0.0), 60.0),
        (Allocation(Share(float("inf")), {}, 5.0), 0.5),
        (Allocation(Share(0.0, 0.0), {}, 0.0), 3650.0),
    ],
)
def test_the_interval_follows_pace_limits_and_thinning(allocation: Allocation, days: float) -> None:
    assert interval_days(allocation, Claim("h", 1.0)) == pytest.approx(days)


@given(
    st.sampled_from([None, "un", "academic"]),
    st.lists(st.tuples(st.floats(0.1, 40), st.booleans()), max_size=20),
    st.floats(0, 100),
    st.floats(0, 1),
    st.floats(0.01, 100),
)
def test_visits_are_never_closer_or_rarer_than_the_limits(
    org_type: str | None, history: list[tuple[float, bool]], pace: float, chance: float, importance: float
) -> None:
    state = prior_belief(org_type)
    limits = RevisitLimits(0.5, 20.0)
    for interval, changed in history:
        decision = compute_revisit(
            SourcePace(), SourceRun(True, int(changed)), state, Allocation(Share(pace), {}, 0.0), host="h",
            finished_at=NOW, days_since_last=interval, chance=chance, importance=importance, limits=limits,
        )  # fmt: skip
        state = decision.state
        assert 0.5 * 0.849 <= (decision.next_run.next_run_at - NOW) / timedelta(days=1) <= 20.0 * 1.151
