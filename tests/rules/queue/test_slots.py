"""Slots of a host: no two starts closer than the delay, whoever makes them and whenever in their windows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.gate import AnswerKind, DoorProfile, GateMemory, Observation, WaitReason
from comity.model.queue import QUEUE_PROFILE, Slot
from comity.rules.politeness.pace import limits_for
from comity.rules.queue import slots
from comity.rules.queue.slots import HORIZON_S, WINDOW_S, plan

NOW = 1_770_000_000.0
LIMITS = limits_for(QUEUE_PROFILE)
SUCCESS = Observation(AnswerKind.SUCCESS)
REFUSED = Observation(AnswerKind.RATE_LIMITED, retry_after_s=120.0)


def test_the_first_slot_of_an_unknown_host_is_now_and_the_next_a_delay_after_its_window() -> None:
    planned, memory = plan(GateMemory(), LIMITS, NOW, 3)
    assert planned == [
        Slot(NOW, NOW + 1, 1.0, "door"),
        Slot(NOW + 2, NOW + 3, 1.0, "door"),
        Slot(NOW + 4, NOW + 5, 1.0, "door"),
    ]
    assert memory.next_fetch_at == NOW + 6
    assert plan(memory, LIMITS, NOW, 1)[0] == [Slot(NOW + 6, NOW + 7, 1.0, "door")]


def test_slots_end_with_the_horizon_and_then_memory_is_as_it_was() -> None:
    planned, memory = plan(GateMemory(), LIMITS, NOW, 100)
    assert len(planned) == 16
    assert planned[-1].not_before == NOW + HORIZON_S
    assert plan(memory, LIMITS, NOW, 5) == ([], memory)


@pytest.mark.parametrize(
    ("limits", "delay", "source"),
    [
        (limits_for(QUEUE_PROFILE, policy_interval_s=3.0), 3.0, "policy"),
        (limits_for(QUEUE_PROFILE, policy_interval_s=3.0, crawl_delay_s=7.5), 7.5, "robots"),
        (limits_for(QUEUE_PROFILE, policy_interval_s=0.2), 1.0, "door"),
    ],
)
def test_the_strictest_limit_is_the_delay_of_a_slot(limits: object, delay: float, source: str) -> None:
    first, second = plan(GateMemory(), limits, NOW, 2)[0]  # type: ignore[arg-type]
    assert (first.delay_s, first.delay_source) == (delay, source)
    assert second.not_before == first.start_by + delay


def test_a_blocked_host_and_one_left_uncleanly_wait() -> None:
    blocked = GateMemory(blocked_until=NOW + 20)
    assert plan(blocked, LIMITS, NOW, 1)[0][0].not_before == NOW + 20
    assert slots.next_start(blocked, LIMITS, NOW) == (NOW + 20, WaitReason.BLOCK)
    assert plan(GateMemory(blocked_until=NOW + 31), LIMITS, NOW, 1)[0] == []
    left = GateMemory(unclean_end_at=NOW - 0.25)
    assert plan(left, LIMITS, NOW, 1)[0][0].not_before == NOW + 0.75
    assert slots.next_start(GateMemory(), LIMITS, NOW) == (NOW, None)


def test_a_reported_start_brings_the_next_slot_forward_only_behind_the_last() -> None:
    (first, last), memory = plan(GateMemory(), LIMITS, NOW, 2)
    of_first = slots.end(memory, LIMITS, first, NOW + 0.4, observation=SUCCESS, started_at=NOW + 0.1)
    assert of_first.next_fetch_at == memory.next_fetch_at
    of_last = slots.end(of_first, LIMITS, last, NOW + 2.5, observation=SUCCESS, started_at=NOW + 2.25)
    assert of_last.next_fetch_at == NOW + 3.25
    # Without a report it may have started at the end of its window, or just now.
    assert slots.end(of_first, LIMITS, last, NOW + 2.5, observation=SUCCESS).next_fetch_at == NOW + 3.5
    assert slots.end(of_first, LIMITS, last, NOW + 9, observation=SUCCESS).next_fetch_at == NOW + 4


def test_a_start_after_its_window_is_followed_by_a_whole_delay() -> None:
    (slot,), memory = plan(GateMemory(), LIMITS, NOW, 1)
    ended = slots.end(memory, LIMITS, slot, NOW + 9, observation=SUCCESS, started_at=NOW + 8.5)
    assert ended.next_fetch_at == NOW + 9.5
    assert slots.start_for_ledger(slot, NOW + 8.5, NOW + 9) == slot.start_by


def test_a_slot_given_back_before_it_began_is_free_again() -> None:
    (_, last), memory = plan(GateMemory(), LIMITS, NOW, 2)
    given_back = slots.end(memory, LIMITS, last, NOW + 1, observation=None)
    assert plan(given_back, LIMITS, NOW + 1, 1)[0] == [last]
    # Once it has begun, the request may have been made.
    later = slots.end(memory, LIMITS, last, NOW + 2.5, observation=None)
    assert later.next_fetch_at == NOW + 3.5


def test_a_refusal_blocks_the_host_and_only_a_later_slot_clears_the_block() -> None:
    (first, second), memory = plan(GateMemory(), LIMITS, NOW, 2)
    blocked = slots.end(memory, LIMITS, first, NOW + 0.5, observation=REFUSED)
    assert blocked.blocked_until == NOW + 120.5
    still = slots.end(blocked, LIMITS, second, NOW + 2.5, observation=SUCCESS)
    assert still.blocked_until == NOW + 120.5
    after = NOW + 100
    (third,), planned = plan(still, LIMITS, after, 1)
    assert third.not_before == NOW + 120.5
    assert slots.end(planned, LIMITS, third, NOW + 121, observation=SUCCESS).blocked_until is None
    # A burst of refusals to slots planned before the block counts once.
    again = slots.end(blocked, LIMITS, second, NOW + 2.5, observation=Observation(AnswerKind.UNAVAILABLE))
    assert again.backoff_step == blocked.backoff_step == 1


times = st.floats(0.0, 30.0, allow_nan=False)
delays = st.sampled_from([0.0, 0.25, 1.0, 3.0, 12.5])


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[str, float, float, int]]:
    kinds = st.sampled_from(["plan", "plan", "end", "release", "refuse", "die"])
    return draw(st.lists(st.tuples(kinds, st.floats(0.0, 8.0), st.floats(0.0, 1.0), st.integers(1, 6)), max_size=40))


@given(stories(), delays, st.booleans())
def test_no_two_starts_are_closer_than_the_delay(
    story: list[tuple[str, float, float, int]], delay: float, reports: bool
) -> None:
    """Clients plan slots, start anywhere in their windows, report or die; memory goes through microseconds."""
    limits = limits_for(DoorProfile(interval_s=delay, random_delay_s=None, max_concurrency=1))
    now, memory = NOW, GateMemory()
    opened: list[tuple[Slot, float]] = []  # with the start that its client will make
    starts: list[float] = []
    for kind, passed, where, count in story:
        now += passed
        if kind == "plan":
            planned, memory = plan(memory, limits, now, count)
            for slot in planned:
                assert slot.not_before >= now
                assert slot.not_before <= now + HORIZON_S
                opened.append((slot, slot.not_before + where * WINDOW_S))
        elif kind == "die" and opened:
            starts += [start for _, start in opened if start <= now]
            opened = []
            memory = memory._replace(unclean_end_at=now)
        elif opened:
            slot, start = opened.pop(0)
            if kind == "release" and now < slot.not_before:
                memory = slots.end(memory, limits, slot, now, observation=None)
                continue
            now = max(now, start)
            starts.append(start)
            seen = SUCCESS if kind == "end" else Observation(AnswerKind.UNAVAILABLE, retry_after_s=2.0)
            memory = slots.end(memory, limits, slot, now, observation=seen, started_at=start if reports else None)
        memory = _stored(memory)
    for earlier, later in pairwise(sorted(starts)):
        assert later - earlier >= delay - 1e-5


def _stored(memory: GateMemory) -> GateMemory:
    def kept(value: float | None) -> float | None:
        return None if value is None else round(value, 6)

    return memory._replace(
        next_fetch_at=kept(memory.next_fetch_at),
        blocked_until=kept(memory.blocked_until),
        unclean_end_at=kept(memory.unclean_end_at),
        last_start_at=kept(memory.last_start_at),
    )


def test_a_block_that_is_reported_before_the_window_counts_from_the_start_in_the_ledger() -> None:
    """A bot that does not wait for its window must not make the block look shorter than the site asked for."""
    slot = Slot(NOW + 5, NOW + 6, 1.0, "door")
    memory = slots.end(GateMemory(next_fetch_at=NOW + 7), LIMITS, slot, NOW, observation=REFUSED)
    start = slots.start_for_ledger(slot, None, NOW)
    assert memory.blocked_until is not None
    assert memory.blocked_until >= start + 120.0
