"""Tasks in line for one host: order, time-outs, cancelling, and one timer for them all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity import gate as gate_module
from comity.gate import HostGate
from comity.model.gate import (
    DOOR_PROFILES,
    AnswerKind,
    Door,
    GateLimits,
    GateMemory,
    Observation,
    Reservation,
    SlotTimeout,
    Wait,
    WaitReason,
)
from comity.rules.politeness.pace import limits_for
from tests.gate.simulated_time import START_OF_TIME, SimulatedTime, settle
from tests.sizes import sized

OK = Observation(AnswerKind.SUCCESS, 0.1)
CRAWL = limits_for(DOOR_PROFILES[Door.CRAWL])
FAST = GateLimits()


def gate_at(time: SimulatedTime, limits: GateLimits = CRAWL) -> HostGate:
    return HostGate(limits, GateMemory(), clock=time, chance=lambda: 0.5, call_later=time.call_later)


class Visits:
    """Tasks that reserve, hold the slot for a while and finish, in a log of who started when."""

    def __init__(self, gate: HostGate, time: SimulatedTime) -> None:
        self.gate, self.time = gate, time
        self.log: list[tuple[int, float]] = []
        self.most_at_once = 0
        self._at_once = 0

    async def visit(self, name: int, holds_s: float, timeout_s: float | None = None) -> object:
        answer = await self.gate.reserve(timeout_s)
        if not isinstance(answer, Reservation):
            return answer
        try:
            assert answer.started_at == self.time.now, "the start is stamped when the task runs, not when it is called"
            self.log.append((name, self.time.now - START_OF_TIME))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            over = asyncio.get_running_loop().create_future()
            self.time.call_later(holds_s, lambda: None if over.done() else over.set_result(None))
            await over
        finally:
            self._at_once -= 1
            self.gate.finish(answer, OK)
        return answer


async def test_tasks_start_in_the_order_in_which_they_came_one_delay_apart() -> None:
    time = SimulatedTime()
    visits = Visits(gate_at(time), time)
    tasks = [asyncio.create_task(visits.visit(name, 0.1)) for name in range(5)]
    await time.advance(10.0)
    assert visits.log == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]
    assert all(task.done() for task in tasks)


async def test_a_thousand_waiting_tasks_share_one_timer() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    tasks = [asyncio.create_task(gate.reserve(timeout_s=500.0)) for _ in range(1_000)]
    await settle()
    assert time.pending_timers() == 1
    assert time.timers_set < 5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert time.pending_timers() == 0


async def test_a_freed_slot_goes_to_the_first_in_line_without_a_timer() -> None:
    time = SimulatedTime()
    gate = gate_at(time, FAST)
    first = await gate.reserve()
    assert isinstance(first, Reservation)
    waiting = [asyncio.create_task(gate.reserve()) for _ in range(2)]
    await settle()
    assert time.pending_timers() == 0
    gate.finish(first, OK)
    await settle()
    assert [task.done() for task in waiting] == [True, False]
    waiting[1].cancel()


async def test_nobody_passes_the_line_not_even_one_who_only_tries() -> None:
    time = SimulatedTime()
    gate = gate_at(time, FAST)
    first = gate.try_reserve()
    assert isinstance(first, Reservation)
    waiting = asyncio.create_task(gate.reserve())
    await settle()
    gate.finish(first, OK)
    assert isinstance(gate.try_reserve(), Wait)  # the waiting task is called, but has not come yet
    await settle()
    assert isinstance(waiting.result(), Reservation)


async def test_without_a_free_slot_the_wait_times_out_and_nothing_is_held() -> None:
    time = SimulatedTime()
    gate = gate_at(time, limits_for(DOOR_PROFILES[Door.AUDIT]))
    held = []
    for _ in range(2):
        held.append(gate.try_reserve())
        time.now += 1.0
    waiting = asyncio.create_task(gate.reserve())
    await time.advance(9.9)
    assert not waiting.done()
    await time.advance(0.2)
    answer = waiting.result()
    assert isinstance(answer, SlotTimeout)
    assert answer.waited_s == pytest.approx(10.0)
    assert answer.message == "Timeout waiting for host concurrency slot"
    assert gate.in_flight == 2
    assert time.pending_timers() == 0


async def test_a_long_crawl_delay_is_waited_out_however_short_the_slot_timeout() -> None:
    time = SimulatedTime()
    limits = limits_for(DOOR_PROFILES[Door.AUDIT], crawl_delay_s=20.0)
    visits = Visits(gate_at(time, limits), time)
    tasks = [asyncio.create_task(visits.visit(name, 0.5)) for name in range(4)]
    await time.advance(100.0)
    # Two slots: the second and third have one and wait for the delay; the fourth has none for ten seconds.
    assert visits.log == [(0, 0.0), (1, 20.0), (2, 40.0)]
    assert isinstance(tasks[3].result(), SlotTimeout)


async def test_a_block_longer_than_the_patience_is_told_at_once() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    first = gate.try_reserve()
    assert isinstance(first, Reservation)
    patient = asyncio.create_task(gate.reserve(inf))
    impatient = asyncio.create_task(gate.reserve(30.0))
    await settle()
    gate.finish(first, Observation(AnswerKind.RATE_LIMITED, 0.1, 60.0))
    await settle()
    assert impatient.result() == Wait(START_OF_TIME + 60.0, WaitReason.BLOCK)
    latecomer = asyncio.create_task(gate.reserve(30.0))
    await settle()
    assert latecomer.result() == Wait(START_OF_TIME + 60.0, WaitReason.BLOCK)
    await time.advance(59.9)
    assert not patient.done()
    await time.advance(0.2)
    assert isinstance(patient.result(), Reservation)


async def test_new_limits_reach_those_who_wait() -> None:
    time = SimulatedTime()
    gate = gate_at(time, replace(CRAWL, policy_interval_s=100.0))
    first = gate.try_reserve()
    assert isinstance(first, Reservation)
    gate.finish(first, OK)
    waiting = asyncio.create_task(gate.reserve())
    await time.advance(5.0)
    gate.update_limits(replace(CRAWL, policy_interval_s=8.0))
    await time.advance(2.9)
    assert not waiting.done()
    await time.advance(0.2)
    answer = waiting.result()
    assert isinstance(answer, Reservation)
    assert answer.started_at == pytest.approx(START_OF_TIME + 8.0, rel=0.0, abs=1e-6)


async def test_closing_the_gate_sends_everybody_home() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    held = gate.try_reserve()
    assert isinstance(held, Reservation)
    waiting = [asyncio.create_task(gate.reserve()) for _ in range(3)]
    await settle()
    gate.close()
    await settle()
    over = Wait(inf, WaitReason.LEASE_OVER)
    assert [task.result() for task in waiting] == [over] * 3
    assert await gate.reserve() == over
    gate.finish(held, OK)
    assert gate.in_flight == 0


async def test_a_lease_that_runs_out_unnoticed_lets_nobody_start() -> None:
    time = SimulatedTime()
    gate = gate_at(time, replace(CRAWL, policy_interval_s=20.0))
    first = gate.try_reserve()
    assert isinstance(first, Reservation)
    gate.finish(first, OK)
    gate.extend_lease(START_OF_TIME + 15.0)
    waiting = asyncio.create_task(gate.reserve())
    await time.advance(20.1)
    assert waiting.result() == Wait(inf, WaitReason.LEASE_OVER)


async def test_a_cancelled_waiter_gives_its_turn_to_the_next() -> None:
    time = SimulatedTime()
    gate = gate_at(time, FAST)
    first = gate.try_reserve()
    assert isinstance(first, Reservation)
    one, two = (asyncio.create_task(gate.reserve()) for _ in range(2))
    await settle()
    gate.finish(first, OK)  # calls the first in line
    one.cancel()  # before it could come
    await settle()
    assert one.cancelled()
    assert isinstance(two.result(), Reservation)
    assert gate.in_flight == 1


async def test_a_line_that_is_too_long_turns_newcomers_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "LINE_MOST", 2)
    time = SimulatedTime()
    gate = gate_at(time)
    gate.try_reserve()
    waiting = [asyncio.create_task(gate.reserve()) for _ in range(2)]
    await settle()
    assert await gate.reserve() == SlotTimeout(0.0)
    for task in waiting:
        task.cancel()


async def test_waits_that_are_given_up_leave_nothing_behind() -> None:
    time = SimulatedTime()
    gate = gate_at(time)
    gate.try_reserve()
    stays = asyncio.create_task(gate.reserve(timeout_s=1e5))
    for _ in range(300):
        task = asyncio.create_task(gate.reserve(timeout_s=1e6))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(gate._line) == 1
    assert len(gate._line._deadlines) <= 2 + 64
    stays.cancel()
    await asyncio.gather(stays, return_exceptions=True)
    assert time.pending_timers() == 0


async def test_it_waits_on_the_real_loop_too() -> None:
    loop = asyncio.get_running_loop()
    gate = HostGate(replace(FAST, policy_interval_s=0.02), GateMemory(), clock=loop.time, chance=lambda: 0.5)
    starts = []
    for _ in range(4):
        answer = await gate.reserve()
        assert isinstance(answer, Reservation)
        starts.append(answer.started_at)
        gate.finish(answer, OK)
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert min(gaps) >= 0.02


plans = st.lists(
    st.tuples(
        st.floats(0.0, 6.0),  # when the task comes
        st.floats(0.0, 5.0),  # how long its request takes
        st.sampled_from([None, None, 0.5, 2.0]),  # its patience
        st.sampled_from([None, None, None, 0.0, 0.4, 1.7, 3.3]),  # when it is cancelled, after it came
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(plans, st.sampled_from([0.0, 0.3, 1.0, 2.5]), st.integers(1, 3))
def test_whatever_comes_and_goes_no_slot_leaks_and_no_start_is_early(
    plan: list[tuple[float, float, float | None, float | None]], delay_s: float, concurrency: int
) -> None:
    async def scenario() -> None:
        time = SimulatedTime()
        limits = GateLimits(policy_interval_s=delay_s, max_concurrency=concurrency)
        visits = Visits(gate_at(time, limits), time)
        tasks: list[asyncio.Task[object]] = []
        came: list[int] = []

        def come(name: int, holds_s: float, patience_s: float | None, cancel_s: float | None) -> None:
            task = asyncio.get_running_loop().create_task(visits.visit(name, holds_s, patience_s))
            tasks.append(task)
            came.append(name)
            if cancel_s is not None:
                time.call_later(cancel_s, lambda: task.cancel() and None)

        for name, (at_s, holds_s, patience_s, cancel_s) in enumerate(plan):
            time.call_later(at_s, lambda *_, a=(name, holds_s, patience_s, cancel_s): come(*a))
        await time.advance(200.0)

        assert all(task.done() for task in tasks), "somebody is stuck"
        starts = [at for _, at in visits.log]
        assert all(b - a >= delay_s - 1e-9 for a, b in pairwise(starts))
        assert visits.most_at_once <= concurrency
        assert visits.gate.in_flight == 0
        assert time.pending_timers() == 0
        order = [came.index(name) for name, _ in visits.log]
        assert order == sorted(order), "somebody was passed"
        assert isinstance(visits.gate.try_reserve(), Reservation)

    asyncio.run(scenario())
