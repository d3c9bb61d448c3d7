"""Synthetic changes are what they are said to be, and the same for the same seed."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from statistics import fmean, median, stdev

import pytest

from comity.schedule.simulate import Process, WorldPlan, make_world


@pytest.mark.parametrize("process", list(Process))
def test_a_seed_gives_one_world_and_another_seed_another(process: Process) -> None:
    plan = WorldPlan(40, 60, process, seed=4)
    assert make_world(plan) == make_world(plan)
    assert make_world(plan) != make_world(WorldPlan(40, 60, process, seed=5))


@pytest.mark.parametrize("process", list(Process))
def test_changes_come_in_order_and_within_the_time(process: Process) -> None:
    world = make_world(WorldPlan(100, 60, process))
    for source in world.sources:
        assert all(before <= after for before, after in pairwise(source.changes))
        assert all(0 <= at < 60 for at in source.changes)
        assert 0 <= source.first_visit_share < 1
    assert sum(len(source.changes) for source in world.sources) > 200


def test_rates_differ_as_asked_for() -> None:
    logs = [log(source.rate_per_day) for source in make_world(WorldPlan(3000, 1, Process.POISSON, 0.2, 1.5)).sources]
    assert exp(median(logs)) == pytest.approx(0.2, rel=0.15)
    assert stdev(logs) == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("process", [Process.POISSON, Process.BURSTY, Process.WEEKLY])
def test_a_source_changes_as_often_as_its_rate_says(process: Process) -> None:
    world = make_world(WorldPlan(300, 200, process, 0.5, 0.7))
    expected = sum(source.rate_per_day for source in world.sources) * 200
    assert sum(len(source.changes) for source in world.sources) == pytest.approx(expected, rel=0.06)


def test_bursts_lie_close_together() -> None:
    def share_within_hours(process: Process) -> float:
        world = make_world(WorldPlan(200, 200, process, 0.1, 0.7))
        gaps = [after - before for source in world.sources for before, after in pairwise(source.changes)]
        return fmean(gap < 0.2 for gap in gaps)

    assert share_within_hours(Process.BURSTY) > 0.7
    assert share_within_hours(Process.POISSON) < 0.1


def test_offices_are_closed_at_the_weekend() -> None:
    changes = [at for source in make_world(WorldPlan(200, 70, Process.WEEKLY)).sources for at in source.changes]
    at_weekends = fmean(5.5 <= at % 7 < 6.5 for at in changes)  # a day that is weekend in every zone
    assert at_weekends < 0.05


def test_drifting_rates_differ_between_the_halves_of_a_year() -> None:
    def mean_shift(process: Process) -> float:
        world = make_world(WorldPlan(300, 360, process, 1.0, 1.5))
        halves = [(sum(at < 180 for at in source.changes), len(source.changes)) for source in world.sources]
        return fmean(abs(2 * first / both - 1) for first, both in halves if both > 50)

    assert mean_shift(Process.DRIFTING) > 2.5 * mean_shift(Process.POISSON)
