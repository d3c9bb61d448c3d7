"""The time left: never negative, never short of the slowest host, zero at the end, and steady on the screen."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.run import HostLoad
from comity.rules.budget import BudgetLeft, TimeLeft, render_seconds, rendered, seconds_for, steadied, time_left

SECONDS = st.floats(0, 1e6)
LOADS = st.lists(
    st.builds(
        HostLoad,
        st.just("a.example"),
        st.integers(0, 10_000),
        st.floats(0, 3600),
        st.none() | st.floats(0, 60),
        st.floats(0, 3600),
        st.integers(1, 8),
        st.booleans(),
    ),
    max_size=6,
)
RATES = st.floats(0, 1000)


def host(queued: int, delay_s: float = 1.0, **more: float) -> HostLoad:
    return HostLoad("a.example", queued, delay_s, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loads", "queued", "rate", "seconds"),
    [
        ([], 0, 0.0, 0.0),
        ([host(60), host(10), host(10)], 80, 3.0, 60.0),  # the slowest host
        ([host(100, 0.0, latency_s=0.1)], 100, 5.0, 20.0),  # the machine
        ([host(10, 0.0, latency_s=2.0)], 10, 0.0, 20.0),  # a host that answers slowly
        ([host(10, 0.0, latency_s=2.0, at_once=4)], 10, 0.0, 5.0),
        ([host(5, 2.0, blocked_s=30.0)], 5, 0.0, 40.0),  # it asked us to wait
        ([host(0, 2.0, blocked_s=30.0)], 0, 0.0, 0.0),  # nothing is left to ask for
        ([host(10, 1.0, has_more=True), host(10, 1.0)], 120, 0.0, 110.0),  # the rest belongs to the first
    ],
)
def test_the_longest_of_all_bounds_counts(loads: list[HostLoad], queued: int, rate: float, seconds: float) -> None:
    assert time_left(loads, queued, rate) == TimeLeft(seconds, False)


@pytest.mark.parametrize(
    ("budget", "grows", "expected"),
    [
        (BudgetLeft(seconds=30.0), True, TimeLeft(30.0, False)),  # the clock ends it, whatever is found
        (BudgetLeft(seconds=300.0), True, TimeLeft(100.0, True)),
        (BudgetLeft(pages=20), False, TimeLeft(20.0, False)),
        (BudgetLeft(pages=200), False, TimeLeft(100.0, False)),  # fewer pages are left than allowed
        (BudgetLeft(pages=0), True, TimeLeft(0.0, False)),
        (BudgetLeft(seconds=-5.0), False, TimeLeft(0.0, False)),
    ],
)
def test_a_budget_ends_it_earlier(budget: BudgetLeft, grows: bool, expected: TimeLeft) -> None:
    assert time_left([host(100)], 100, 1.0, grows=grows, budget=budget) == expected


def test_without_delay_and_rate_nothing_is_said() -> None:
    assert time_left([host(10, 0.0)], 10, 0.0) is None


@given(LOADS, st.integers(0, 100_000), RATES, st.booleans(), st.none() | SECONDS, st.none() | st.integers(0, 10**6))
def test_it_is_never_negative_and_never_endless(
    loads: list[HostLoad], queued: int, rate: float, grows: bool, seconds: float | None, pages: int | None
) -> None:
    budget = BudgetLeft(inf if pages is None else pages, inf if seconds is None else seconds)
    left = time_left(loads, queued, rate, grows=grows, budget=budget)
    if left is not None:
        assert left.seconds >= 0
        assert isfinite(left.seconds)
        assert left.seconds <= budget.seconds
        assert not left.is_at_least or grows


@given(LOADS, RATES)
def test_it_falls_to_zero_when_nothing_is_queued(loads: list[HostLoad], rate: float) -> None:
    done = [load._replace(queued=0, has_more=False) for load in loads]
    assert time_left(done, 0, rate) == TimeLeft(0.0, False)


@given(LOADS, RATES)
def test_no_host_ends_later_than_all_of_them(loads: list[HostLoad], rate: float) -> None:
    left = time_left(loads, sum(load.queued for load in loads), rate)
    assert left is None or all(seconds_for(load) <= left.seconds for load in loads)


@given(st.integers(1, 1000), st.floats(0.01, 60), st.floats(0.1, 100))
def test_a_page_less_is_never_more_time(queued: int, delay_s: float, rate: float) -> None:
    more, less = (
        time_left([host(queued, delay_s)], queued, rate),
        time_left([host(queued - 1, delay_s)], queued - 1, rate),
    )
    assert more is not None
    assert less is not None
    assert less.seconds <= more.seconds


@given(st.none() | SECONDS, st.floats(0, 60), SECONDS)
def test_what_is_shown_lies_between_what_was_shown_and_the_estimate(
    shown: float | None, elapsed: float, estimate: float
) -> None:
    value = steadied(shown, elapsed, estimate)
    assert value >= 0
    expected = estimate if shown is None else max(0.0, shown - elapsed)
    assert min(expected, estimate) <= value <= max(expected, estimate) or value == pytest.approx(expected)


@given(SECONDS, st.floats(0, 60))
def test_the_end_is_shown_at_once(shown: float, elapsed: float) -> None:
    assert steadied(shown, elapsed, 0.0) == 0.0


def test_an_estimate_that_jumps_is_followed_in_steps() -> None:
    shown, seen = 100.0, []
    for number in range(20):
        shown = steadied(shown, 0.25, 60.0 if number % 2 else 150.0)
        seen.append(shown)
    assert all(abs(after - before) < 15 for before, after in pairwise(seen))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (0.2, "1 s"), (7.1, "8 s"), (11, "15 s"), (89, "90 s"), (91, "2 min"), (3600, "60 min"),
     (6001, "1 h 50 min"), (7200, "2 h"), (200_000, "3 days"), (-3, "0 s")],
)  # fmt: skip
def test_it_is_told_coarsely(seconds: float, text: str) -> None:
    assert render_seconds(seconds) == text


def test_a_lower_bound_is_told_as_one() -> None:
    assert rendered(TimeLeft(40, True)) == "at least 40 s"
    assert rendered(TimeLeft(40, False)) == "about 40 s"
