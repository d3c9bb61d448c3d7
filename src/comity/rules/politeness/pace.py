"""When the next request to a host may start: a state machine without clock or randomness.

Takes a GateState and the current time; returns a verdict or the next GateState. Invariants:

- two starts are at least one delay apart, measured from start to start, with the delay in force when the later one
  starts: max(policy interval, robots.txt, adaptive delay, the door's own interval);
- a 429 or 503 blocks the host for all requests; a success clears the block only if it started after the block was
  set, and requests that were in flight when it was set do not count twice. "After" compares start numbers, not times;
- after a lease that ended without release, the first start comes one full delay after that end;
- nothing starts after the lease ends;
- a clock that goes back counts as one that stood still: no wait gets shorter, and none becomes endless.

Adaptive delay: a host that responds more slowly than usual gets fewer requests. With x the response time:

    x'       = min(x, 3 · max(recent, 50 ms))               one outlier cannot do much
    recent   = recent + 0.2 · (x' − recent)                 moving average over some 5 requests
    excess   = max(0, recent − 1.5 · max(baseline, 50 ms))  beyond what is usual for this host
    target   = min(floor + 4 · excess, max(60 s, floor))
    delay    = delay + 0.5 · (target − delay) upwards, 0.05 downwards; starts from the floor
    baseline = baseline + w · (x' − baseline)               w = 0.1 downwards, 0.01 upwards

From a steady state one outlier of any size lifts `recent` to 1.4 · baseline, inside the tolerance of 1.5, so it takes
at least two slow responses in a row. Requests that overlap say the same thing about the host at the same moment: of
those that started before a slow response was counted, no other slow one counts; the same holds for quick ones.
Otherwise one stall would count once for each request in flight. A host that stays slow becomes its own new baseline
after some hundred responses that count.
The delay drops to 0, "none of its own", when it is back at the floor.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite
from typing import Final

from comity.model.gate import (
    AnswerKind,
    Block,
    DelayInForce,
    DelaySource,
    DoorProfile,
    GateLimits,
    GateMemory,
    GateState,
    Observation,
    Pace,
    Start,
    Wait,
    WaitReason,
)
from comity.rules.politeness.backoff import RETRY_AFTER_CEILING_S, retry_delay

START: Final = Start()
NO_BLOCK: Final = Block()
NO_DELAY: Final = DelayInForce(0.0, DelaySource.NONE)
LONGEST_DELAY_S: Final = 31 * 86_400.0
CARRIED_AHEAD_S: Final = 600.0  # a row's next_fetch_at further ahead comes from a wrong clock
STEP_MOST: Final = 1_000
REACHED_WITHIN_S: Final = 0.05
REACHED_OF_DELAY: Final = 0.05
ADAPTIVE_DELAY_CAP_S: Final = 60.0
OUTLIER_FACTOR: Final = 3.0
LEAST_LATENCY_S: Final = 0.05  # below this, a change in response time means nothing
TOLERANCE: Final = 1.5
GAIN: Final = 4.0
RECENT_WEIGHT: Final = 0.2
RISE_WEIGHT: Final = 0.5
FALL_WEIGHT: Final = 0.05
BASELINE_FALL_WEIGHT: Final = 0.1
BASELINE_RISE_WEIGHT: Final = 0.01


def limits_for(
    profile: DoorProfile,
    *,
    policy_interval_s: float | None = None,
    policy_max_concurrency: int | None = None,
    crawl_delay_s: float | None = None,
) -> GateLimits:
    """Combine the door's profile, the operator's policy and robots.txt; the strictest wins."""
    concurrency = profile.max_concurrency
    if policy_max_concurrency is not None:
        concurrency = min(concurrency, policy_max_concurrency)
    return GateLimits(
        policy_interval_s=_usable(policy_interval_s),
        door_interval_s=_usable(profile.interval_s),
        crawl_delay_s=_usable(crawl_delay_s),
        random_delay_s=profile.random_delay_s,
        max_concurrency=max(1, concurrency),
        max_retry_backoff_s=profile.max_retry_backoff_s,
        slot_timeout_s=profile.slot_timeout_s,
        max_adaptive_delay_s=profile.max_adaptive_delay_s,
    )


def observed(
    status: int | None, latency_s: float | None, retry_after_s: float | None, arrived_s: float = 0.0
) -> Observation:
    """What a status says about the host; None or 0 and below is a request without an answer."""
    if status is None or status <= 0:
        answer = AnswerKind.FAILED
    elif status == 429:
        answer = AnswerKind.RATE_LIMITED
    elif status == 503:
        answer = AnswerKind.UNAVAILABLE
    # A missing page costs a site no more than others; a 401 or 403 may be the refusal of an overloaded site.
    elif 200 <= status < 400 or status in (404, 410):
        answer = AnswerKind.SUCCESS
    else:
        answer = AnswerKind.OTHER
    asks_to_wait = answer is AnswerKind.RATE_LIMITED or answer is AnswerKind.UNAVAILABLE
    return Observation(answer, latency_s, retry_after_s if asks_to_wait else None, arrived_s)


def reached_within(latency_s: float, usual_latency_s: float | None, delay_s: float) -> float:
    """How long after our sending a host may have looked at its clock, so that its own log shows no gap under the delay.

    It did somewhere between our sending and its answer. What it always takes falls out of the difference between two
    requests, so of that 50 ms or a twentieth of the delay are enough; what comes on top may all lie before its look.
    """
    if usual_latency_s is None:
        return min(latency_s, max(REACHED_WITHIN_S, delay_s))
    margin_s = max(REACHED_WITHIN_S, REACHED_OF_DELAY * delay_s) + max(0.0, latency_s - usual_latency_s)
    return min(latency_s, margin_s, max(REACHED_WITHIN_S, delay_s))


def opened(memory: GateMemory, limits: GateLimits, now: float, jitter: float, lease_ends_at: float = inf) -> GateState:
    """The gate of a new holder, from what the row remembers; impossible times are read cautiously."""
    adaptive_s = _known(memory.adaptive_delay_s, 0.0)
    pace = Pace(
        min(max(0.0, adaptive_s), ADAPTIVE_DELAY_CAP_S),
        _usable(memory.latency_baseline_s),
        _usable(memory.latency_recent_s),
    )
    floor = _floor(limits)
    delay = _in_force(limits, floor, pace.adaptive_delay_s, jitter)
    carried_until = _known(memory.next_fetch_at, -inf)
    last_start_at = min(_known(memory.last_start_at, carried_until), now)
    if carried_until > now + delay.seconds + CARRIED_AHEAD_S:
        carried_until = now + delay.seconds
    unclean_end_at = min(_known(memory.unclean_end_at, -inf), now)
    until = min(_known(memory.blocked_until, -inf), now + RETRY_AFTER_CEILING_S)
    return GateState(
        limits,
        floor,
        delay,
        jitter,
        max(carried_until, max(last_start_at, unclean_end_at) + delay.seconds),
        last_start_at,
        carried_until,
        unclean_end_at,
        lease_ends_at,
        now,
        Block(until, 0, min(max(0, memory.backoff_step), STEP_MOST)),
        pace,
        0,  # in flight
        0,  # starts
    )


def stricter_memory(one: GateMemory, other: GateMemory) -> GateMemory:
    """Of two stored gates of one host, the values that allow a request later."""

    def latest(first: float | None, second: float | None) -> float | None:
        return max((each for each in (first, second) if each is not None), default=None)

    return one._replace(
        next_fetch_at=latest(one.next_fetch_at, other.next_fetch_at),
        blocked_until=latest(one.blocked_until, other.blocked_until),
        backoff_step=max(one.backoff_step, other.backoff_step),
        adaptive_delay_s=max(one.adaptive_delay_s, other.adaptive_delay_s),
        unclean_end_at=latest(one.unclean_end_at, other.unclean_end_at),
        last_start_at=latest(one.last_start_at, other.last_start_at),
    )


def to_memory(state: GateState) -> GateMemory:
    """What the next holder must know."""
    pace = state.pace
    block = state.block
    return GateMemory(
        _or_none(state.next_fetch_at),
        _or_none(block.until),
        block.step,
        pace.adaptive_delay_s,
        pace.latency_baseline_s,
        pace.latency_recent_s,
        _or_none(state.unclean_end_at),
        _or_none(state.last_start_at),
    )


def may_start(state: GateState, now: float) -> Start | Wait:
    """Whether a request may start now, and if not, until when it must wait and why."""
    if (
        now >= state.next_fetch_at
        and now >= state.block.until
        and state.in_flight < state.limits.max_concurrency
        and now < state.lease_ends_at
    ):
        return START
    if now >= state.lease_ends_at:
        return Wait(inf, WaitReason.LEASE_OVER)
    until = next_start_at(state)
    if until == inf:
        return Wait(inf, WaitReason.CONCURRENCY)
    if state.block.until >= until:
        return Wait(until, WaitReason.BLOCK)
    if state.unclean_end_at + state.delay.seconds >= until:
        return Wait(until, WaitReason.UNCLEAN_END)
    return Wait(until, WaitReason.DELAY)


def next_start_at(state: GateState) -> float:
    """The earliest next start by delay and block; infinite while all slots are taken."""
    if state.in_flight >= state.limits.max_concurrency:
        return inf
    return max(state.next_fetch_at, state.block.until)


def started(state: GateState, now: float, jitter: float) -> GateState:
    """The gate after a request started: the slot and the whole delay after it are taken at once."""
    if now < state.seen_at:
        state = rebased(state, now)
    limits, floor, pace = state.limits, state.floor, state.pace
    delay = floor
    if limits.random_delay_s is not None or pace[0] > floor.seconds:
        delay = _in_force(limits, floor, pace[0], jitter)
    return GateState(
        limits,
        floor,
        delay,
        jitter,
        now + delay.seconds,
        now,
        -inf,  # carried_until: waited for
        -inf,  # unclean_end_at: waited for
        state.lease_ends_at,
        now,
        state.block,
        pace,
        state.in_flight + 1,
        state.starts + 1,
        state.slower_mark,
        state.quicker_mark,
    )


def finished(state: GateState, number: int, observation: Observation, now: float) -> GateState:
    """The gate after start number `number` ended; a slower host lengthens the current wait."""
    if now < state.seen_at:
        state = rebased(state, now)
    limits, floor, delay, block, pace = state.limits, state.floor, state.delay, state.block, state.pace
    last_start_at = state.last_start_at
    answer, latency_s, arrived_s = observation.answer, observation.latency_s, observation.arrived_s
    if arrived_s > 0.0 and number == state.starts and last_start_at < now:
        # The host counts from when it was reached, and so do we.
        last_start_at += arrived_s
        if last_start_at > now:
            last_start_at = now
    if answer is AnswerKind.SUCCESS:
        if number > block.mark:
            block = NO_BLOCK
    elif answer is AnswerKind.RATE_LIMITED or answer is AnswerKind.UNAVAILABLE:
        block = _refused(state, number, observation.retry_after_s, now)
    slower_mark, quicker_mark = state.slower_mark, state.quicker_mark
    if latency_s is not None and (answer is AnswerKind.SUCCESS or _tells_pace(answer, latency_s, pace)):
        is_slower = pace[2] is not None and latency_s > pace[2]
        if number > (slower_mark if is_slower else quicker_mark):
            pace = adapted(pace, latency_s, floor.seconds)
            if is_slower:
                slower_mark = state.starts
            else:
                quicker_mark = state.starts
            if pace[0] != state.pace[0]:
                delay = _in_force(limits, floor, pace[0], state.jitter)
    next_fetch_at = state.next_fetch_at
    if delay is not state.delay or last_start_at != state.last_start_at:
        next_fetch_at = _next_fetch_at(state, last_start_at, delay.seconds)
    return GateState(
        limits,
        floor,
        delay,
        state.jitter,
        next_fetch_at,
        last_start_at,
        state.carried_until,
        state.unclean_end_at,
        state.lease_ends_at,
        now,
        block,
        pace,
        state.in_flight - 1,
        state.starts,
        slower_mark,
        quicker_mark,
    )


def sent(state: GateState, number: int, at: float) -> GateState:
    """The gate after request number `number` was sent, which may be later than its start was granted."""
    if number != state.starts or at <= state.last_start_at:
        return state
    next_fetch_at = _next_fetch_at(state, at, state.delay.seconds)
    return state._replace(last_start_at=at, next_fetch_at=next_fetch_at)


def with_limits(state: GateState, limits: GateLimits) -> GateState:
    """The gate with new limits; a wait in progress becomes longer or shorter accordingly."""
    floor = _floor(limits)
    delay = _in_force(limits, floor, state.pace.adaptive_delay_s, state.jitter)
    next_fetch_at = _next_fetch_at(state, state.last_start_at, delay.seconds)
    return state._replace(limits=limits, floor=floor, delay=delay, next_fetch_at=next_fetch_at)


def with_lease(state: GateState, lease_ends_at: float) -> GateState:
    """The gate after a heartbeat, or after the lease was lost."""
    return state._replace(lease_ends_at=lease_ends_at)


def rebased(state: GateState, now: float) -> GateState:
    """Move every time back with a clock that went back, as if it had stood still since last seen."""
    back_s = state.seen_at - now
    if back_s <= 0.0:
        return state
    return state._replace(
        next_fetch_at=state.next_fetch_at - back_s,
        last_start_at=state.last_start_at - back_s,
        carried_until=state.carried_until - back_s,
        unclean_end_at=state.unclean_end_at - back_s,
        lease_ends_at=state.lease_ends_at - back_s,
        seen_at=now,
        block=state.block._replace(until=state.block.until - back_s),
    )


def _floor(limits: GateLimits) -> DelayInForce:
    return _longest(limits.policy_interval_s, limits.crawl_delay_s, limits.door_interval_s)


@lru_cache(maxsize=1024)
def _longest(policy_s: float | None, robots_s: float | None, door_s: float | None) -> DelayInForce:
    """The longest of the fixed delays, and what set it; of equal ones, the one that applies to more doors."""
    longest = NO_DELAY
    for seconds, source in (
        (policy_s, DelaySource.POLICY),
        (robots_s, DelaySource.ROBOTS),
        (door_s, DelaySource.DOOR),
    ):
        if seconds is not None and seconds > longest.seconds:
            longest = DelayInForce(seconds, source)
    return longest


def _in_force(limits: GateLimits, floor: DelayInForce, adaptive_s: float, jitter: float) -> DelayInForce:
    adaptive_s = min(adaptive_s, limits.max_adaptive_delay_s)
    if limits.random_delay_s is not None:
        least_s, most_s = limits.random_delay_s
        random_s = least_s + (most_s - least_s) * jitter
        if floor is NO_DELAY and adaptive_s > 0.0:
            # No interval is set: jitter is added to the adaptive delay.
            return DelayInForce(adaptive_s + random_s, DelaySource.ADAPTIVE)
        if random_s > floor.seconds and random_s > adaptive_s:
            return DelayInForce(random_s, DelaySource.RANDOM)
    if adaptive_s > floor.seconds:
        return DelayInForce(adaptive_s, DelaySource.ADAPTIVE)
    return floor


def _next_fetch_at(state: GateState, last_start_at: float, delay_s: float) -> float:
    return max(state.carried_until, max(last_start_at, state.unclean_end_at) + delay_s)


def _refused(state: GateState, number: int, retry_after_s: float | None, now: float) -> Block:
    """The block after a 429 or 503; one burst counts once, but its longest Retry-After holds."""
    block = state.block
    is_new = number > block.mark
    step = min(block.step + 1, STEP_MOST) if is_new else block.step
    until = block.until
    # "Retry-After: 0" with a refusal is no permission to continue at once.
    if retry_after_s is not None and retry_after_s > 0.0:
        until = max(until, now + min(retry_after_s, RETRY_AFTER_CEILING_S))
    elif is_new:
        until = max(until, now + retry_delay(step, state.limits.max_retry_backoff_s))
    if until == block.until and not is_new:
        return block
    return Block(until, state.starts, step)


def _tells_pace(answer: AnswerKind, latency_s: float, pace: Pace) -> bool:
    """Whether the response time of anything but a success counts: refusals are often quick, which means nothing."""
    return answer is not AnswerKind.UNSENT and pace[2] is not None and latency_s > pace[2]


def _usable(seconds: float | None) -> float | None:
    """A usable duration; hostile or broken ones count as missing, endless ones as a month."""
    if seconds is None or not seconds >= 0.0:
        return None
    return min(seconds, LONGEST_DELAY_S)


def _known(value: float | None, otherwise: float) -> float:
    return value if value is not None and isfinite(value) else otherwise


def _or_none(moment: float) -> float | None:
    return moment if isfinite(moment) else None


def adapted(pace: Pace, latency_s: float, floor_s: float) -> Pace:
    """The pace after one more response time; `floor_s` is the fixed delay under which it never acts."""
    delay_s, baseline_s, recent_s = pace
    if not 0.0 <= latency_s < inf:
        return pace
    if baseline_s is None or recent_s is None:
        return Pace(delay_s, latency_s, latency_s)
    usual_s = baseline_s if baseline_s > LEAST_LATENCY_S else LEAST_LATENCY_S
    clip_s = OUTLIER_FACTOR * (recent_s if recent_s > LEAST_LATENCY_S else LEAST_LATENCY_S)
    seen_s = latency_s if latency_s < clip_s else clip_s
    recent_s += RECENT_WEIGHT * (seen_s - recent_s)
    excess_s = recent_s - TOLERANCE * usual_s
    if excess_s > 0.0 or delay_s > 0.0:
        delay_s = _moved(delay_s, excess_s, floor_s)
    baseline_weight = BASELINE_FALL_WEIGHT if seen_s < baseline_s else BASELINE_RISE_WEIGHT
    return Pace(delay_s, baseline_s + baseline_weight * (seen_s - baseline_s), recent_s)


def _moved(delay_s: float, excess_s: float, floor_s: float) -> float:
    """One step of the delay towards its target: quickly up, slowly down."""
    most_s = max(ADAPTIVE_DELAY_CAP_S, floor_s)
    target_s = min(floor_s + GAIN * max(0.0, excess_s), most_s)
    current_s = min(max(delay_s, floor_s), most_s)
    weight = RISE_WEIGHT if target_s > current_s else FALL_WEIGHT
    moved_s = current_s + weight * (target_s - current_s)
    if excess_s <= 0.0 and moved_s <= floor_s * 1.01 + 0.01:
        return 0.0
    return moved_s
