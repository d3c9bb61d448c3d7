"""Learning how often a source changes from visits that only tell whether it did."""

from __future__ import annotations

from math import exp, inf, isfinite
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.schedule import RevisitState
from comity.rules.revisit import hopeful_rate, observe, prior_belief

INTERVALS = st.floats(0.01, 100)
STATES = st.builds(RevisitState, st.floats(0.3, 500), st.floats(0.1, 5000))


def most_likely_rate(history: list[tuple[float, bool]]) -> float:
    """The maximum of the likelihood over the whole history, by bisection of its slope."""
    low, high = 1e-6, 1e3
    for _ in range(200):
        rate = (low * high) ** 0.5
        slope = sum(
            interval * exp(-rate * interval) / (1 - exp(-rate * interval)) if changed else -interval
            for interval, changed in history
        )
        low, high = (rate, high) if slope > 0 else (low, rate)
    return (low * high) ** 0.5


def visits_to(rate: float, number: int, chance: Random) -> list[tuple[float, bool]]:
    """Visits at unequal intervals to a source that changes at a rate."""
    intervals = [chance.uniform(0.3, 1.7) / rate for _ in range(number)]
    return [(interval, chance.random() < 1 - exp(-rate * interval)) for interval in intervals]


def learned(history: list[tuple[float, bool]], half_life_days: float = inf) -> RevisitState:
    state = prior_belief("ngo")
    for interval, changed in history:
        state = observe(state, interval, changed=changed, half_life_days=half_life_days)
    return state


@pytest.mark.parametrize(
    ("org_type", "days"), [("un", 1), ("ingo", 2), ("ngo", 3), ("academic", 7), (None, 3), ("x", 3)]
)
def test_before_the_first_visit_a_source_changes_once_in_its_base_interval(org_type: str | None, days: float) -> None:
    assert prior_belief(org_type).rate_per_day == pytest.approx(1 / days)


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0, 10.0])
def test_two_numbers_tell_what_the_most_likely_rate_of_the_whole_history_is(rate: float) -> None:
    history = visits_to(rate, 400, Random(7))
    state = learned(history)
    assert state.rate_per_day == pytest.approx(most_likely_rate(history), rel=0.08)
    assert state.rate_per_day == pytest.approx(rate, rel=0.2)
    assert state.visits == 400


def test_the_estimate_has_little_bias_where_counting_changes_has_much() -> None:
    """Visits every two days to a source that changes daily see a change 86 times in 100, not 200 times."""
    chance = Random(3)
    estimates, counts = [], []
    for _ in range(60):
        history = [(2.0, chance.random() < 1 - exp(-2.0)) for _ in range(50)]
        estimates.append(learned(history).rate_per_day)
        counts.append(sum(changed for _, changed in history) / 100)
    assert sum(estimates) / len(estimates) == pytest.approx(1.0, rel=0.1)
    assert sum(counts) / len(counts) < 0.5


def test_a_change_seen_at_once_counts_in_full_and_after_ages_not_at_all() -> None:
    state = RevisitState(2.0, 10.0)
    at_once = observe(state, 1e-6, changed=True, half_life_days=inf)
    assert (at_once.changes, at_once.exposure_days) == (pytest.approx(3.0, rel=1e-4), pytest.approx(10.0, rel=1e-4))
    after_ages = observe(state, 3650.0, changed=True, half_life_days=inf)
    assert after_ages.rate_per_day == pytest.approx(state.rate_per_day, rel=0.02)


def test_no_change_adds_its_interval() -> None:
    assert observe(RevisitState(2.0, 10.0), 5.0, changed=False, half_life_days=inf) == RevisitState(2.0, 15.0, 1)


@given(STATES, INTERVALS)
def test_a_change_raises_the_estimate_and_none_lowers_it(state: RevisitState, interval: float) -> None:
    changed, unchanged = (observe(state, interval, changed=each, half_life_days=inf) for each in (True, False))
    assert unchanged.rate_per_day <= state.rate_per_day * (1 + 1e-9)
    assert changed.rate_per_day >= state.rate_per_day * (1 - 1e-6)


@given(STATES, st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), max_size=60), st.sampled_from([0.5, 60.0, inf]))
def test_beliefs_stay_finite_and_positive(
    state: RevisitState, history: list[tuple[float, bool]], half_life: float
) -> None:
    for interval, changed in history:
        state = observe(state, interval, changed=changed, half_life_days=half_life)
        assert isfinite(state.changes)
        assert isfinite(state.exposure_days)
        assert state.changes > 0
        assert 1e-5 * 0.999 <= state.rate_per_day <= 1e4 * 1.001


def test_old_evidence_fades_so_that_a_new_rate_is_learned_sooner() -> None:
    chance = Random(5)
    quiet_then_busy = visits_to(0.05, 60, chance) + [(1.0, chance.random() < 1 - exp(-1.0)) for _ in range(90)]
    assert learned(quiet_then_busy, 30.0).rate_per_day > 1.5 * learned(quiet_then_busy).rate_per_day
    assert learned(quiet_then_busy, 30.0).rate_per_day == pytest.approx(1.0, rel=0.35)


def test_what_is_little_known_is_hoped_for_more() -> None:
    new, known = RevisitState(0.5, 1.5), RevisitState(50.0, 150.0)
    assert new.rate_per_day == known.rate_per_day
    assert hopeful_rate(new) > hopeful_rate(known) > known.rate_per_day
