"""The state machine of the gate, case by case."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.gate import (
    DOOR_PROFILES,
    AnswerKind,
    DelayInForce,
    DelaySource,
    Door,
    GateLimits,
    GateMemory,
    GateState,
    Observation,
    Pace,
    Wait,
    WaitReason,
)
from comity.rules.politeness import pace
from comity.rules.politeness.pace import (
    START,
    finished,
    limits_for,
    may_start,
    observed,
    opened,
    rebased,
    started,
    to_memory,
    with_lease,
    with_limits,
)

NOW = 1_000_000.0
OK = Observation(AnswerKind.SUCCESS)
UNSENT = Observation(AnswerKind.UNSENT)
REFUSED = Observation(AnswerKind.RATE_LIMITED)
CRAWL = limits_for(DOOR_PROFILES[Door.CRAWL])
PAIR = replace(CRAWL, max_concurrency=2)
FAST_FOUR = GateLimits(max_concurrency=4)


def moment(at: float) -> object:
    """A time, to the microsecond: pytest's own tolerance is relative, a whole second at this size."""
    return pytest.approx(at, rel=0.0, abs=1e-6)


def refused_for(seconds: float) -> Observation:
    return Observation(AnswerKind.RATE_LIMITED, retry_after_s=seconds)


def effective_delay(limits: GateLimits, adaptive_s: float, jitter: float) -> DelayInForce:
    return opened(GateMemory(adaptive_delay_s=adaptive_s), limits, NOW, jitter).delay


def gate(limits: GateLimits = CRAWL, memory: GateMemory | None = None, now: float = NOW) -> GateState:
    return opened(memory or GateMemory(), limits, now, 0.0)


def one_request(state: GateState, now: float, observation: Observation, took_s: float = 0.0) -> GateState:
    assert may_start(state, now) is START
    state = started(state, now, 0.0)
    return finished(state, state.starts, observation, now + took_s)


@pytest.mark.parametrize(
    ("limits", "adaptive_s", "jitter", "seconds", "source"),
    [
        (GateLimits(), 0.0, 0.9, 0.0, DelaySource.NONE),
        (GateLimits(door_interval_s=1.0), 0.0, 0.9, 1.0, DelaySource.DOOR),
        (GateLimits(door_interval_s=1.0, crawl_delay_s=0.5), 0.0, 0.0, 1.0, DelaySource.DOOR),
        (GateLimits(door_interval_s=1.0, crawl_delay_s=2.5), 0.0, 0.0, 2.5, DelaySource.ROBOTS),
        (GateLimits(3.0, 1.0, 2.5), 0.0, 0.0, 3.0, DelaySource.POLICY),
        (GateLimits(0.0, 1.0), 0.0, 0.0, 1.0, DelaySource.DOOR),
        (GateLimits(3.0, 3.0, 3.0), 3.0, 0.0, 3.0, DelaySource.POLICY),
        (GateLimits(None, 3.0, 3.0), 0.0, 0.0, 3.0, DelaySource.ROBOTS),
        (GateLimits(3.0, 1.0, 2.5), 7.0, 0.0, 7.0, DelaySource.ADAPTIVE),
        (GateLimits(random_delay_s=(0.2, 0.5)), 0.0, 0.0, 0.2, DelaySource.RANDOM),
        (GateLimits(random_delay_s=(0.2, 0.5)), 0.0, 1.0, 0.5, DelaySource.RANDOM),
        (GateLimits(random_delay_s=(0.2, 0.5)), 2.0, 1.0, 2.5, DelaySource.ADAPTIVE),
        (GateLimits(crawl_delay_s=2.0, random_delay_s=(0.2, 0.5)), 0.0, 1.0, 2.0, DelaySource.ROBOTS),
        (GateLimits(crawl_delay_s=0.1, random_delay_s=(0.2, 0.5)), 0.0, 1.0, 0.5, DelaySource.RANDOM),
        (GateLimits(policy_interval_s=3.0, random_delay_s=(0.2, 0.5)), 0.0, 1.0, 3.0, DelaySource.POLICY),
        (GateLimits(policy_interval_s=3.0, random_delay_s=(0.2, 0.5)), 4.0, 1.0, 4.0, DelaySource.ADAPTIVE),
    ],
)
def test_the_longest_delay_decides_and_is_named(
    limits: GateLimits, adaptive_s: float, jitter: float, seconds: float, source: DelaySource
) -> None:
    assert effective_delay(limits, adaptive_s, jitter) == DelayInForce(seconds, source)


@pytest.mark.parametrize(
    ("door", "interval_s", "random_s", "concurrency", "timeout_s", "retries"),
    [
        (Door.SOURCES, 3.0, None, 1, inf, 2),
        (Door.AUDIT, None, (0.2, 0.5), 2, 10.0, 5),
        (Door.CRAWL, 1.0, None, 1, inf, 5),
        (Door.SQL, None, None, 1, inf, 5),
    ],
)
def test_each_door_has_its_manners(
    door: Door,
    interval_s: float | None,
    random_s: tuple[float, float] | None,
    concurrency: int,
    timeout_s: float,
    retries: int,
) -> None:
    limits = limits_for(DOOR_PROFILES[door])
    assert (limits.door_interval_s, limits.random_delay_s) == (interval_s, random_s)
    assert (limits.max_concurrency, limits.slot_timeout_s) == (concurrency, timeout_s)
    assert limits.max_retry_backoff_s == 600.0
    assert DOOR_PROFILES[door].retry_limit == retries


@pytest.mark.parametrize("door", list(Door))
def test_the_operators_row_and_robots_are_a_floor_under_every_door(door: Door) -> None:
    limits = limits_for(DOOR_PROFILES[door], policy_interval_s=5.0, policy_max_concurrency=1, crawl_delay_s=8.0)
    assert limits.max_concurrency == 1
    assert effective_delay(limits, 0.0, 0.5) == DelayInForce(8.0, DelaySource.ROBOTS)
    assert effective_delay(replace(limits, crawl_delay_s=None), 0.0, 0.5).seconds == 5.0


def test_the_operators_row_never_loosens_a_door() -> None:
    limits = limits_for(DOOR_PROFILES[Door.SOURCES], policy_interval_s=0.0, policy_max_concurrency=50)
    assert limits.max_concurrency == 1
    assert effective_delay(limits, 0.0, 0.0) == DelayInForce(3.0, DelaySource.DOOR)


@pytest.mark.parametrize(("crawl_delay_s", "kept"), [(nan, None), (-3.0, None), (inf, 31 * 86_400.0), (0.25, 0.25)])
def test_a_broken_crawl_delay_cannot_break_the_gate(crawl_delay_s: float, kept: float | None) -> None:
    assert limits_for(DOOR_PROFILES[Door.SQL], crawl_delay_s=crawl_delay_s).crawl_delay_s == kept


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (None, AnswerKind.FAILED),
        (0, AnswerKind.FAILED),
        (200, AnswerKind.SUCCESS),
        (304, AnswerKind.SUCCESS),
        (404, AnswerKind.SUCCESS),
        (410, AnswerKind.SUCCESS),
        (403, AnswerKind.OTHER),
        (401, AnswerKind.OTHER),
        (429, AnswerKind.RATE_LIMITED),
        (500, AnswerKind.OTHER),
        (502, AnswerKind.OTHER),
        (503, AnswerKind.UNAVAILABLE),
        (999, AnswerKind.OTHER),
    ],
)
def test_a_status_says_what_the_host_thinks_of_us(status: int | None, answer: AnswerKind) -> None:
    assert observed(status, 0.1, 5.0).answer is answer


def test_only_refusals_carry_a_retry_after() -> None:
    assert observed(503, 0.1, 5.0).retry_after_s == observed(429, 0.1, 5.0).retry_after_s == 5.0
    assert observed(200, 0.1, 5.0).retry_after_s is observed(500, 0.1, 5.0).retry_after_s is None


def test_a_new_host_is_asked_at_once() -> None:
    assert may_start(gate(), NOW) is START


def test_the_delay_runs_from_start_to_start() -> None:
    state = one_request(gate(), NOW, OK, took_s=0.7)
    assert may_start(state, NOW + 0.999) == Wait(NOW + 1.0, WaitReason.DELAY)
    assert may_start(state, NOW + 1.0) is START


def test_a_slow_request_keeps_the_only_slot() -> None:
    state = started(gate(), NOW, 0.0)
    assert may_start(state, NOW + 60.0) == Wait(inf, WaitReason.CONCURRENCY)
    assert may_start(finished(state, 1, OK, NOW + 60.0), NOW + 60.0) is START


def test_two_slots_still_start_one_delay_apart() -> None:
    state = started(gate(PAIR), NOW, 0.0)
    assert may_start(state, NOW + 0.5) == Wait(NOW + 1.0, WaitReason.DELAY)
    state = started(state, NOW + 1.0, 0.0)
    assert may_start(state, NOW + 5.0) == Wait(inf, WaitReason.CONCURRENCY)


def test_chance_is_drawn_for_each_gap() -> None:
    state = started(gate(limits_for(DOOR_PROFILES[Door.AUDIT])), NOW, 0.0)
    assert state.next_fetch_at == NOW + 0.2
    assert started(state, NOW + 0.2, 1.0).next_fetch_at == moment(NOW + 0.7)


def test_a_longer_policy_lengthens_the_wait_under_way() -> None:
    state = one_request(gate(), NOW, OK)
    state = with_limits(state, replace(CRAWL, policy_interval_s=10.0))
    assert may_start(state, NOW + 9.9) == Wait(NOW + 10.0, WaitReason.DELAY)


def test_a_shorter_policy_shortens_the_wait_under_way() -> None:
    state = one_request(gate(replace(CRAWL, policy_interval_s=10.0)), NOW, OK)
    assert with_limits(state, CRAWL).next_fetch_at == NOW + 1.0


def test_a_lower_concurrency_waits_for_those_under_way() -> None:
    state = started(started(gate(PAIR), NOW, 0.0), NOW + 1.0, 0.0)
    state = finished(with_limits(state, CRAWL), 1, OK, NOW + 2.0)
    assert may_start(state, NOW + 9.0) == Wait(inf, WaitReason.CONCURRENCY)


@pytest.mark.parametrize("answer", [AnswerKind.RATE_LIMITED, AnswerKind.UNAVAILABLE])
def test_a_refusal_blocks_the_host_for_as_long_as_it_says(answer: AnswerKind) -> None:
    state = one_request(gate(FAST_FOUR), NOW, Observation(answer, retry_after_s=90.0))
    assert may_start(state, NOW + 89.9) == Wait(NOW + 90.0, WaitReason.BLOCK)
    assert may_start(state, NOW + 90.0) is START


@pytest.mark.parametrize("observation", [REFUSED, refused_for(0.0), refused_for(-5.0), refused_for(nan)])
def test_refusals_without_a_wait_block_by_fibonacci(observation: Observation) -> None:
    state, now, waits = gate(FAST_FOUR), NOW, []
    for _ in range(18):
        state = one_request(state, now, observation)
        waits.append(state.block.until - now)
        now = state.block.until
    assert waits[:8] == [1, 1, 2, 3, 5, 8, 13, 21]
    assert waits[13:] == [377, 600, 600, 600, 600]


def test_a_burst_of_refusals_counts_once() -> None:
    state = gate(FAST_FOUR)
    for _ in range(4):
        state = started(state, NOW, 0.0)
    for number in (1, 2, 3, 4):
        state = finished(state, number, REFUSED, NOW + 0.1 * number)
    assert state.block.step == 1
    assert state.block.until == NOW + 0.1 + 1.0


def test_a_later_answer_of_the_burst_may_lengthen_the_block_but_not_shorten_it() -> None:
    state = gate(FAST_FOUR)
    for _ in range(3):
        state = started(state, NOW, 0.0)
    state = finished(state, 1, refused_for(10.0), NOW)
    state = finished(state, 2, refused_for(60.0), NOW + 1.0)
    state = finished(state, 3, refused_for(5.0), NOW + 2.0)
    assert (state.block.until, state.block.step) == (NOW + 61.0, 1)


def test_a_success_that_started_before_the_block_does_not_clear_it() -> None:
    state = started(started(gate(FAST_FOUR), NOW, 0.0), NOW, 0.0)
    state = finished(state, 1, refused_for(30.0), NOW + 1.0)
    state = finished(state, 2, OK, NOW + 2.0)
    assert may_start(state, NOW + 3.0) == Wait(NOW + 31.0, WaitReason.BLOCK)
    assert state.block.step == 1


def test_a_success_that_started_after_the_block_clears_block_and_counter() -> None:
    state = one_request(gate(FAST_FOUR), NOW, refused_for(30.0))
    state = one_request(state, NOW + 30.0, OK)
    assert (to_memory(state).blocked_until, to_memory(state).backoff_step) == (None, 0)
    state = one_request(state, NOW + 31.0, REFUSED)
    assert state.block.until == NOW + 32.0


def test_a_straggler_that_blocks_again_is_not_cleared_by_who_started_before_it_ended() -> None:
    state = started(started(gate(FAST_FOUR), NOW, 0.0), NOW, 0.0)
    state = finished(state, 1, REFUSED, NOW)  # blocks for one second
    state = started(state, NOW + 1.0, 0.0)
    state = finished(state, 2, refused_for(60.0), NOW + 1.5)
    state = finished(state, 3, OK, NOW + 2.0)
    assert may_start(state, NOW + 2.0) == Wait(NOW + 61.5, WaitReason.BLOCK)


@pytest.mark.parametrize("answer", [AnswerKind.OTHER, AnswerKind.FAILED, AnswerKind.UNSENT])
def test_what_is_neither_success_nor_refusal_leaves_the_counter_alone(answer: AnswerKind) -> None:
    state = one_request(gate(FAST_FOUR), NOW, REFUSED)
    state = one_request(state, NOW + 1.0, Observation(answer))
    assert state.block.step == 1


@pytest.mark.parametrize(
    ("retry_after_s", "until"), [(30 * 86_400.0, NOW + 30 * 86_400.0), (1e30, NOW + 366 * 86_400.0)]
)
def test_a_very_long_rest_is_kept_up_to_a_year(retry_after_s: float, until: float) -> None:
    state = one_request(gate(FAST_FOUR), NOW, refused_for(retry_after_s))
    assert may_start(state, until - 1.0) == Wait(until, WaitReason.BLOCK)


def test_after_an_unclean_end_the_first_request_waits_one_full_delay_and_only_the_first() -> None:
    state = gate(CRAWL, GateMemory(unclean_end_at=NOW - 0.25))
    assert may_start(state, NOW) == Wait(NOW + 0.75, WaitReason.UNCLEAN_END)
    state = with_limits(state, replace(CRAWL, policy_interval_s=5.0))
    assert may_start(state, NOW + 1.0) == Wait(NOW + 4.75, WaitReason.UNCLEAN_END)
    assert to_memory(state).unclean_end_at == NOW - 0.25
    state = one_request(state, NOW + 4.75, OK)
    assert to_memory(state).unclean_end_at is None


def test_an_unclean_end_long_ago_costs_nothing() -> None:
    assert may_start(gate(CRAWL, GateMemory(unclean_end_at=NOW - 1.0)), NOW) is START


def test_an_unclean_end_in_the_future_counts_from_now() -> None:
    assert gate(CRAWL, GateMemory(unclean_end_at=NOW + 1e6)).next_fetch_at == NOW + 1.0


@pytest.mark.parametrize(
    ("memory", "first_at"),
    [
        (GateMemory(), -inf),
        (GateMemory(next_fetch_at=NOW - 50.0, last_start_at=NOW - 51.0), NOW - 50.0),
        # The last holder's door was quicker than ours, or slower.
        (GateMemory(next_fetch_at=NOW + 0.2, last_start_at=NOW - 0.2), NOW + 0.8),
        (GateMemory(next_fetch_at=NOW + 9.0, last_start_at=NOW - 1.0), NOW + 9.0),
        # Where the row has no last start, it can have been as late as now.
        (GateMemory(next_fetch_at=NOW + 0.2), NOW + 1.0),
        (GateMemory(next_fetch_at=NOW - 0.2), NOW + 0.8),
        # Wrong clocks and broken rows.
        (GateMemory(next_fetch_at=NOW + 1e9, last_start_at=NOW - 5.0), NOW + 1.0),
        (GateMemory(next_fetch_at=NOW + 1e9, last_start_at=NOW + 1e9), NOW + 1.0),
        (GateMemory(next_fetch_at=nan, last_start_at=inf, unclean_end_at=nan), -inf),
    ],
)
def test_a_new_holder_takes_up_the_wait_where_the_last_one_left_it(memory: GateMemory, first_at: float) -> None:
    assert gate(CRAWL, memory).next_fetch_at == moment(first_at)


def test_a_new_holder_keeps_the_block_the_counter_and_the_pace() -> None:
    memory = GateMemory(
        blocked_until=NOW + 40.0,
        backoff_step=4,
        adaptive_delay_s=6.0,
        latency_baseline_s=0.1,
        latency_recent_s=0.8,
    )
    state = gate(CRAWL, memory)
    assert may_start(state, NOW) == Wait(NOW + 40.0, WaitReason.BLOCK)
    assert to_memory(state) == memory
    state = one_request(state, NOW + 40.0, REFUSED)
    assert state.block.until == NOW + 45.0  # the fifth of 1, 1, 2, 3, 5
    assert state.delay == DelayInForce(6.0, DelaySource.ADAPTIVE)


def test_a_broken_row_cannot_break_the_gate() -> None:
    memory = GateMemory(nan, inf, -7, nan, -1.0, nan, -inf, nan)
    state = gate(CRAWL, memory)
    assert may_start(state, NOW) is START
    assert to_memory(state) == GateMemory()
    assert gate(CRAWL, GateMemory(adaptive_delay_s=1e9)).delay.seconds == 60.0
    assert gate(CRAWL, GateMemory(blocked_until=1e30)).block.until == NOW + 366 * 86_400.0


def test_nothing_starts_once_the_lease_is_over() -> None:
    state = opened(GateMemory(), CRAWL, NOW, 0.0, lease_ends_at=NOW + 10.0)
    assert may_start(state, NOW + 9.9) is START
    assert may_start(state, NOW + 10.0) == Wait(inf, WaitReason.LEASE_OVER)
    assert may_start(with_lease(state, NOW + 20.0), NOW + 10.0) is START


def test_a_slowing_host_lengthens_the_wait_under_way() -> None:
    state = gate(CRAWL)._replace(pace=Pace(0.0, 0.1, 0.1))
    for second in range(0, 400, 40):
        state = one_request(state, NOW + second, Observation(AnswerKind.SUCCESS, latency_s=5.0))
    assert state.delay.source is DelaySource.ADAPTIVE
    assert state.next_fetch_at == NOW + 360 + state.pace.adaptive_delay_s
    assert state.pace.adaptive_delay_s > 1.0


def answered_together(state: GateState, latencies_s: list[float], now: float) -> GateState:
    """The gate after requests that began together and were answered together."""
    first = state.starts + 1
    for _latency_s in latencies_s:
        state = started(state, now, 0.0)
    for number, latency_s in enumerate(latencies_s, first):
        state = finished(state, number, Observation(AnswerKind.SUCCESS, latency_s=latency_s), now + max(latencies_s))
    return state


@given(st.integers(1, 64), st.floats(0.05, 60.0))
def test_one_stall_slows_no_host_however_many_requests_it_held_up(requests: int, stall_s: float) -> None:
    state = gate(CRAWL)._replace(pace=Pace(0.0, 0.05, 0.05))
    assert answered_together(state, [stall_s] * requests, NOW).pace.adaptive_delay_s == 0.0


@pytest.mark.parametrize("requests", [1, 2, 16, 64])
def test_a_host_that_stays_slow_is_slowed_down_with_any_number_of_requests_in_flight(requests: int) -> None:
    state = gate(CRAWL)._replace(pace=Pace(0.0, 0.1, 0.1))
    for turn in range(6):
        state = answered_together(state, [5.0] * requests, NOW + 100.0 * turn)
    assert state.pace.adaptive_delay_s > 1.0


def test_a_host_that_is_slow_every_other_time_is_slowed_down_though_quick_answers_come_first() -> None:
    state = gate(CRAWL)._replace(pace=Pace(0.0, 0.1, 0.1))
    for turn in range(12):
        state = answered_together(state, [0.1] * 8 + [5.0] * 8, NOW + 100.0 * turn)
    assert state.pace.adaptive_delay_s > 1.0


def test_responses_one_after_another_all_count() -> None:
    state, pace_alone = gate(CRAWL)._replace(pace=Pace(0.0, 0.1, 0.1)), Pace(0.0, 0.1, 0.1)
    for turn, latency_s in enumerate([0.1, 3.0, 4.0, 0.1, 0.1, 5.0, 0.2, 6.0]):
        state = answered_together(state, [latency_s], NOW + 100.0 * turn)
        pace_alone = pace.adapted(pace_alone, latency_s, state.floor.seconds)
        assert state.pace == pace_alone


@pytest.mark.parametrize(
    "answer", [AnswerKind.OTHER, AnswerKind.FAILED, AnswerKind.RATE_LIMITED, AnswerKind.UNAVAILABLE]
)
def test_quick_errors_do_not_make_a_host_look_quick_but_slow_ones_make_it_look_slow(answer: AnswerKind) -> None:
    state = started(gate(CRAWL)._replace(pace=Pace(0.0, 0.5, 0.5)), NOW, 0.0)
    assert finished(state, 1, Observation(answer, latency_s=0.001), NOW).pace == state.pace
    slow = finished(state, 1, Observation(answer, latency_s=30.0), NOW).pace
    assert slow.latency_recent_s is not None
    assert slow.latency_recent_s > 0.5


def test_a_clock_that_goes_back_is_read_as_one_that_stood_still() -> None:
    state = one_request(gate(PAIR), NOW, refused_for(30.0), took_s=0.5)
    back = rebased(state, NOW - 86_400.0)
    assert back.next_fetch_at == NOW - 86_400.0 + 0.5
    assert back.block.until == NOW - 86_400.0 + 30.0
    assert rebased(state, NOW + 1.0) == state


def test_starts_and_ends_on_a_clock_that_went_back_are_rebased_too() -> None:
    state = started(gate(PAIR), NOW, 0.0)
    state = started(state, NOW - 500.0, 0.0)
    assert state.next_fetch_at == NOW - 499.0
    state = finished(state, 1, refused_for(5.0), NOW - 900.0)
    assert state.next_fetch_at == NOW - 899.0
    assert state.block.until == NOW - 895.0
    # By the clock the second one started long after the block was set; by its number it did not.
    assert finished(state, 2, OK, NOW).block.until == NOW - 895.0


def test_an_unused_slot_is_given_back_but_its_delay_is_spent() -> None:
    state = one_request(gate(), NOW, UNSENT)
    assert state.in_flight == 0
    assert may_start(state, NOW + 0.5) == Wait(NOW + 1.0, WaitReason.DELAY)


@pytest.mark.parametrize(
    ("arrived_s", "took_s", "counts_from_s"),
    [
        (0.0, 0.9, 0.0),
        (0.4, 0.9, 0.4),
        (50.0, 0.9, 0.9),
        (inf, 0.9, 0.9),
        (nan, 0.9, 0.0),
        (-3.0, 0.9, 0.0),
        (1.0, 0.0, 0.0),
    ],
)
def test_the_delay_counts_from_when_the_host_was_reached_but_not_from_the_future(
    arrived_s: float, took_s: float, counts_from_s: float
) -> None:
    state = one_request(gate(), NOW, Observation(AnswerKind.SUCCESS, arrived_s=arrived_s), took_s)
    assert state.next_fetch_at == moment(NOW + counts_from_s + 1.0)
    assert to_memory(state).last_start_at == moment(NOW + counts_from_s)
    assert with_limits(state, replace(CRAWL, policy_interval_s=5.0)).next_fetch_at == moment(NOW + counts_from_s + 5.0)


def test_the_late_arrival_of_an_earlier_request_moves_nothing() -> None:
    state = started(started(gate(PAIR), NOW, 0.0), NOW + 1.0, 0.0)
    state = finished(state, 1, Observation(AnswerKind.SUCCESS, arrived_s=1.5), NOW + 1.5)
    assert state.next_fetch_at == NOW + 2.0


@pytest.mark.parametrize(
    ("latency_s", "usual_s", "delay_s", "within_s"),
    [
        (0.002, 0.002, 0.2, 0.002),  # a quick host: its whole answering time
        (0.04, 0.04, 0.2, 0.04),
        (0.8, 0.8, 1.0, 0.05),  # always slow: that falls out of the difference
        (0.8, 0.8, 10.0, 0.5),  # a twentieth of the delay
        (0.9, 0.8, 1.0, 0.15),  # a little later than usual
        (0.09, 0.01, 0.25, 0.09),  # far later than usual: all of it
        (3.0, 0.1, 1.0, 1.0),  # but no more than one delay
        (0.03, 0.03, 0.0, 0.03),
        (0.3, None, 1.0, 0.3),  # nothing is known yet
        (3.0, None, 1.0, 1.0),
        (0.01, 0.8, 1.0, 0.01),
    ],
)
def test_a_host_counts_from_when_it_may_have_looked_at_its_clock(
    latency_s: float, usual_s: float | None, delay_s: float, within_s: float
) -> None:
    assert pace.reached_within(latency_s, usual_s, delay_s) == pytest.approx(within_s)


@given(
    usual_s=st.floats(0, 2),
    delay_s=st.floats(0.2, 10),
    before=st.lists(st.floats(0, 0.5), min_size=2, max_size=2),
    after=st.lists(st.floats(0, 0.5), min_size=2, max_size=2),
)
def test_two_looks_at_the_clock_are_a_delay_apart_where_a_hosts_own_work_takes_its_usual_time(
    usual_s: float, delay_s: float, before: list[float], after: list[float]
) -> None:
    """A host looks when a request has waited `before`, works for its usual time, and the answer is held up `after`."""
    latency_s = before[0] + usual_s + after[0]
    gap_s = delay_s + pace.reached_within(latency_s, usual_s, delay_s) + before[1] - before[0]
    assert gap_s >= delay_s - 1e-9 or before[0] > delay_s


moments = st.none() | st.floats(0, 1e9)
memories = st.builds(
    GateMemory,
    next_fetch_at=moments,
    blocked_until=moments,
    backoff_step=st.integers(0, 9),
    adaptive_delay_s=st.floats(0, 60),
    unclean_end_at=moments,
    last_start_at=moments,
)


@given(memories, memories)
def test_of_two_memories_the_stricter_holds_in_every_part(one: GateMemory, other: GateMemory) -> None:
    """A host that is taken again after its lease was lost is asked no sooner than either memory allows."""
    both = pace.stricter_memory(one, other)
    for name in (
        "next_fetch_at",
        "blocked_until",
        "backoff_step",
        "adaptive_delay_s",
        "unclean_end_at",
        "last_start_at",
    ):
        said = [getattr(each, name) for each in (one, other) if getattr(each, name) is not None]
        assert getattr(both, name) == max(said, default=None)
