"""The delay that follows a host's own response times."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.gate import Pace
from comity.rules.politeness.pace import ADAPTIVE_DELAY_CAP_S, LEAST_LATENCY_S, adapted

latencies = st.floats(0.0, 300.0)
floors = st.floats(0.0, 120.0)
paces = st.builds(Pace, st.floats(0.0, 60.0), st.floats(0.001, 100.0), st.floats(0.001, 100.0))


def after(pace: Pace, observed: list[float], floor_s: float) -> Pace:
    for latency_s in observed:
        pace = adapted(pace, latency_s, floor_s)
    return pace


def test_the_first_response_is_the_baseline_and_asks_for_nothing() -> None:
    assert adapted(Pace(), 0.3, 1.0) == Pace(0.0, 0.3, 0.3)


def test_a_host_that_slows_down_is_asked_less_often() -> None:
    slow = after(Pace(), [0.1] * 20 + [2.0] * 20, 1.0)
    assert slow.adaptive_delay_s > 4.0


def test_the_delay_goes_on_growing_with_the_response_time() -> None:
    pace, delays = after(Pace(), [0.1] * 20, 1.0), []
    for latency_s in (0.5, 1.0, 2.0, 4.0):
        pace = after(pace, [latency_s] * 5, 1.0)
        delays.append(pace.adaptive_delay_s)
    assert delays == sorted(delays)
    assert delays[0] < delays[-1]


@given(st.floats(LEAST_LATENCY_S, 20.0), st.floats(0.0, 1e6), floors)
def test_one_outlier_of_any_size_changes_no_delay(usual_s: float, outlier_s: float, floor_s: float) -> None:
    steady = after(Pace(), [usual_s] * 30, floor_s)
    assert adapted(steady, outlier_s, floor_s).adaptive_delay_s == 0.0


@given(paces, latencies, latencies, floors)
def test_a_slower_response_never_gives_a_shorter_delay(
    pace: Pace, one_s: float, other_s: float, floor_s: float
) -> None:
    fast, slow = sorted((one_s, other_s))
    assert adapted(pace, fast, floor_s).adaptive_delay_s <= adapted(pace, slow, floor_s).adaptive_delay_s + 1e-9


@given(st.lists(latencies, max_size=60), floors)
def test_the_delay_is_none_or_lies_between_floor_and_cap(observed: list[float], floor_s: float) -> None:
    delay_s = after(Pace(), observed, floor_s).adaptive_delay_s
    assert delay_s == 0.0 or floor_s <= delay_s <= max(ADAPTIVE_DELAY_CAP_S, floor_s) + 1e-9


@given(paces, st.floats(0.01, 5.0), st.floats(0.0, 10.0))
def test_a_host_that_is_quick_again_gets_its_floor_back(pace: Pace, latency_s: float, floor_s: float) -> None:
    assert after(pace, [latency_s] * 900, floor_s).adaptive_delay_s == 0.0


@given(st.lists(latencies, min_size=1, max_size=60), floors)
def test_shrinking_is_slow(observed: list[float], floor_s: float) -> None:
    pace = after(Pace(), observed, floor_s)
    before_s = pace.adaptive_delay_s
    after_s = max(adapted(pace, 0.0, floor_s).adaptive_delay_s, floor_s)
    assert after_s >= before_s - 0.05 * (before_s - floor_s) - 0.011 * (1 + floor_s)


def test_a_lower_floor_takes_over_slowly_and_a_higher_one_at_once() -> None:
    pace = Pace(10.0, 0.1, 0.1)
    assert adapted(pace, 0.1, 1.0).adaptive_delay_s == pytest.approx(9.55)
    assert adapted(pace, 0.1, 30.0).adaptive_delay_s == 0.0


@pytest.mark.parametrize("nonsense_s", [nan, inf, -inf, -0.5])
def test_a_response_time_that_cannot_be_is_not_counted(nonsense_s: float) -> None:
    pace = Pace(2.0, 0.1, 0.4)
    assert adapted(pace, nonsense_s, 1.0) == pace
