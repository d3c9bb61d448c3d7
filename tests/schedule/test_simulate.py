"""Schedules are compared fairly, and measured rightly."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.schedule import RevisitLimits
from comity.schedule.simulate import (
    Comparison,
    Contest,
    Process,
    Schedule,
    SimulationPlan,
    SyntheticSource,
    World,
    WorldPlan,
    fitting_limits,
    make_world,
    measure,
    run_schedule,
    sweep,
)

PLAN = SimulationPlan(WorldPlan(300, 120, Process.POISSON, seed=2), 100.0)


def compare(plan: SimulationPlan) -> Comparison:
    return sweep(plan, [plan.visits_per_day])[0]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(PLAN)


def source(*changes: float) -> SyntheticSource:
    return SyntheticSource("ngo", len(changes) / 10, changes, 0.0)


def test_delay_runs_to_the_first_visit_that_sees_a_change_and_staleness_from_the_first_change() -> None:
    world = World((source(1.0, 2.0, 6.0),), 10.0)
    measured = measure(world, [[3.0, 5.0, 7.0, 12.0]])
    assert measured.mean_delay_days == pytest.approx((2.0 + 1.0 + 1.0) / 3)
    assert measured.freshness == pytest.approx(1 - (2.0 + 1.0) / 10)
    assert measured.slowest_tenth_days == 2.0
    assert (measured.visits, measured.changes) == (3, 3)
    assert measured.intervals == ((0.3, 2.0),)


def test_a_change_that_nobody_saw_by_the_end_waits_for_the_next_visit_and_is_stale_to_the_end() -> None:
    measured = measure(World((source(8.0),), 10.0), [[3.0, 12.0]])
    assert measured.mean_delay_days == pytest.approx(4.0)
    assert measured.freshness == pytest.approx(0.8)


def test_a_visit_at_the_very_moment_sees_the_change() -> None:
    assert measure(World((source(3.0),), 10.0), [[3.0, 12.0]]).mean_delay_days == 0.0


def test_the_worst_tenth_of_sources_is_told_apart() -> None:
    world = World((source(0.0), *(source() for _ in range(9))), 10.0)
    measured = measure(world, [[11.0]] * 10)
    assert (measured.stalest_tenth, measured.freshness) == (0.0, pytest.approx(0.9))


def test_nothing_that_changes_is_always_fresh() -> None:
    measured = measure(World((source(),), 10.0), [[1.0, 11.0]])
    assert (measured.mean_delay_days, measured.freshness, measured.slowest_tenth_days) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_visits_keep_the_limits_and_end_beyond_the_end(schedule: Schedule) -> None:
    world = make_world(replace(PLAN.world, sources=60, process=Process.MIXED))
    for visits in run_schedule(schedule, Contest(world, 20.0, RevisitLimits(0.5, 30.0), 1), 1.0):
        assert all(0.5 * 0.85 <= after - before <= 30 * 1.15 for before, after in pairwise(visits))
        assert visits[-1] >= world.days
        assert all(at < world.days for at in visits[:-1])


def test_every_schedule_spends_the_budget_within_a_percent(comparison: Comparison) -> None:
    assert [result.schedule for result in comparison.results] == list(Schedule)
    for result in comparison.results:
        assert result.measured.visits == pytest.approx(100 * 120, rel=0.01)
        assert result.is_within_budget
        assert result.measured.changes == comparison.results[0].measured.changes


def test_fixed_waits_half_an_interval(comparison: Comparison) -> None:
    assert comparison.of(Schedule.FIXED).measured.mean_delay_days == pytest.approx(1.5, rel=0.03)


def test_a_seed_gives_the_same_figures(comparison: Comparison) -> None:
    assert compare(PLAN) == comparison


def test_adaptive_waits_forty_percent_less_than_fixed_and_is_no_less_fresh(comparison: Comparison) -> None:
    assert comparison.delay_gain(Schedule.ADAPTIVE) > 0.4
    assert comparison.freshness_gain(Schedule.ADAPTIVE) >= 0.0
    assert comparison.meets_aim
    assert comparison.delay_gain(Schedule.ADAPTIVE) > comparison.delay_gain(Schedule.RULES)


def test_where_sources_are_alike_there_is_nothing_to_gain_and_little_to_lose() -> None:
    alike = compare(SimulationPlan(replace(PLAN.world, spread=0.0), 100.0))
    assert not alike.meets_aim
    assert abs(alike.delay_gain(Schedule.ADAPTIVE)) < 0.15


def test_a_larger_budget_never_waits_longer() -> None:
    told: list[int] = []
    swept = sweep(PLAN, [40.0, 160.0], on_schedule=lambda: told.append(1))
    assert len(told) == 2 * len(Schedule)
    for schedule in Schedule:
        few, many = (each.of(schedule).measured for each in swept)
        assert many.mean_delay_days < few.mean_delay_days
        assert many.freshness > few.freshness


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 20), st.integers(1, 30), st.floats(0.2, 100), st.integers(0, 5))
def test_small_and_odd_worlds_are_compared_too(sources: int, days: int, budget: float, seed: int) -> None:
    plan = SimulationPlan(WorldPlan(sources, days, Process.MIXED, seed=seed), budget)
    for result in compare(plan).results:
        assert 0.0 <= result.measured.freshness <= 1.0
        assert result.measured.mean_delay_days >= 0.0


def test_limits_widen_only_for_budgets_that_they_would_decide() -> None:
    assert fitting_limits(900, 300.0) == RevisitLimits()
    assert fitting_limits(900, 9.0) == RevisitLimits(0.5, 300.0)
    assert fitting_limits(900, 900.0) == RevisitLimits(0.25, 30.0)
