"""The gate as a walk without waiting tasks uses it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from comity.gate import HostGate
from comity.model.gate import (
    DOOR_PROFILES,
    AnswerKind,
    DelayInForce,
    DelaySource,
    Door,
    GateLimits,
    GateMemory,
    Observation,
    Reservation,
    Wait,
    WaitReason,
)
from comity.rules.politeness.pace import limits_for
from tests.gate.simulated_time import START_OF_TIME, SimulatedTime

OK = Observation(AnswerKind.SUCCESS, 0.1)
CRAWL = limits_for(DOOR_PROFILES[Door.CRAWL])


def gate_at(time: SimulatedTime, limits: GateLimits = CRAWL, memory: GateMemory | None = None) -> HostGate:
    return HostGate(limits, memory or GateMemory(), clock=time, chance=lambda: 0.5)


def granted(gate: HostGate) -> Reservation:
    answer = gate.try_reserve()
    assert isinstance(answer, Reservation)
    return answer


def test_a_reservation_says_when_it_started_and_which_delay_it_kept() -> None:
    time = SimulatedTime()
    assert granted(gate_at(time)) == Reservation(1, START_OF_TIME, DelayInForce(1.0, DelaySource.DOOR))


def test_nobody_gets_a_second_start_inside_the_delay() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    gate.finish(granted(gate), OK)
    assert gate.try_reserve() == Wait(START_OF_TIME + 1.0, WaitReason.DELAY)
    assert gate.next_start_at() == START_OF_TIME + 1.0
    time.now += 1.0
    assert granted(gate).number == 2


def test_while_the_slot_is_taken_only_a_finish_helps() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    first = granted(gate)
    time.now += 5.0
    assert gate.try_reserve() == Wait(inf, WaitReason.CONCURRENCY)
    assert (gate.next_start_at(), gate.in_flight) == (inf, 1)
    gate.finish(first, OK)
    assert gate.next_start_at() <= time.now


def test_a_reservation_ends_once() -> None:
    gate = gate_at(SimulatedTime())
    first = granted(gate)
    gate.finish(first)
    with pytest.raises(ValueError, match="not in progress"):
        gate.finish(first)
    assert gate.in_flight == 0


def test_new_limits_hold_for_the_wait_under_way() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    gate.finish(granted(gate), OK)
    gate.update_limits(replace(CRAWL, policy_interval_s=7.0))
    assert gate.next_start_at() == START_OF_TIME + 7.0
    assert gate.limits.policy_interval_s == 7.0


def test_chance_places_each_delay_in_its_range() -> None:
    time = SimulatedTime()
    gate = gate_at(time, limits_for(DOOR_PROFILES[Door.AUDIT]))
    gate.finish(granted(gate), OK)
    assert gate.next_start_at() == pytest.approx(START_OF_TIME + 0.35, rel=0.0, abs=1e-6)


def test_memory_goes_from_holder_to_holder() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    gate.finish(granted(gate), Observation(AnswerKind.RATE_LIMITED, 0.1, 60.0))
    successor = gate_at(time, CRAWL, gate.memory())
    assert successor.try_reserve() == Wait(START_OF_TIME + 60.0, WaitReason.BLOCK)
    assert successor.memory() == gate.memory()


def test_a_closed_gate_and_one_whose_lease_ran_out_start_nothing() -> None:
    time = SimulatedTime()
    over = Wait(inf, WaitReason.LEASE_OVER)
    gate = HostGate(CRAWL, GateMemory(), clock=time, chance=lambda: 0.5, lease_ends_at=START_OF_TIME + 30.0)
    time.now += 30.0
    assert gate.try_reserve() == over
    gate.extend_lease(time.now + 30.0)
    gate.finish(granted(gate), OK)
    gate.close()
    time.now += 10.0
    assert gate.try_reserve() == over


def test_a_clock_set_back_by_a_day_costs_at_most_one_delay() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    gate.finish(granted(gate), OK)
    time.now -= 86_400.0
    assert gate.try_reserve() == Wait(time.now + 1.0, WaitReason.DELAY)
    time.now += 1.0
    granted(gate)
