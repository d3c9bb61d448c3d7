"""One host through many holders, on a clock that may go back: no start is early, none is put off for ever.

The machine keeps its own, plainer account of what was promised to the host, in true time, and holds every
granted start against it. It shares no code with the rules but the parsing of Retry-After.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from comity.gate import HostGate
from comity.model.gate import (
    DOOR_PROFILES,
    AnswerKind,
    Door,
    GateLimits,
    GateMemory,
    Observation,
    Reservation,
    Wait,
    WaitReason,
)
from comity.rules.politeness.backoff import parse_retry_after
from comity.rules.politeness.pace import CARRIED_AHEAD_S, limits_for
from tests.sizes import sized

LEASE_S = 1_800.0
SLACK_S = 1e-4  # what floats lose at this size of time, over all the moves of a clock
PARALLEL = {Door.SOURCES: 1, Door.AUDIT: 2, Door.CRAWL: 1, Door.SQL: 4}
FIBONACCI = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377]

doors = st.sampled_from(list(Door))
intervals = st.sampled_from([None, None, 0.0, 0.4, 3.0, 45.0])
concurrencies = st.sampled_from([None, 1, 2, 5])
crawl_delays = st.sampled_from([None, None, 0.5, 10.0])
steps_s = st.sampled_from([0.001, 0.1, 0.35, 1.0, 2.9, 10.0, 61.0, 700.0])


@dataclass
class Promise:
    """What the host was told, or told us, in true time."""

    blocked_until: float = -inf
    blocked_for: float = 0.0
    block_number: int = -1  # how many starts had been made when the block was set
    refusals: int = 0


@dataclass
class Holder:
    """A process with the lease, and the requests it has under way, as numbers of all starts ever made."""

    gate: HostGate
    lease_ends_at: float
    under_way: dict[int, Reservation] = field(default_factory=dict)
    starts: int = 0


def header_for(form: str, seconds: int, server_date: float) -> str:
    moment = datetime.fromtimestamp(server_date + seconds, UTC)
    return {
        "seconds": str(seconds),
        "list": f"1, {seconds}",
        "fixdate": moment.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        "rfc850": moment.strftime("%A, %d-%b-%y %H:%M:%S GMT"),
        "asctime": moment.strftime("%a %b %e %H:%M:%S %Y"),
    }[form]


class OneHost(RuleBasedStateMachine):
    """True time only moves forward; the clock that holders read may be set back."""

    @initialize(
        door=doors, interval_s=intervals, concurrency=concurrencies, crawl_delay_s=crawl_delays, keeps=st.booleans()
    )
    def begin(
        self,
        door: Door,
        interval_s: float | None,
        concurrency: int | None,
        crawl_delay_s: float | None,
        keeps: bool,
    ) -> None:
        self.true = 1_700_000_000.0
        self.back_s = [0.0]
        self.chance = 0.5
        self.row = GateMemory()
        self.row_keeps_last_start = keeps
        self.promise, self.row_promise = Promise(), Promise()
        self.last_start_at = -inf
        self.all_starts = 0
        self.stalled: list[Holder] = []
        self.terms = (door, interval_s, concurrency, crawl_delay_s)
        self.holder = self.new_holder()

    def wall(self) -> float:
        return self.true - self.back_s[0]

    def limits(self) -> GateLimits:
        door, interval_s, concurrency, crawl_delay_s = self.terms
        return limits_for(
            replace(DOOR_PROFILES[door], max_concurrency=PARALLEL[door]),
            policy_interval_s=interval_s,
            policy_max_concurrency=concurrency,
            crawl_delay_s=crawl_delay_s,
        )

    def new_holder(self) -> Holder:
        back_s = self.back_s
        gate = HostGate(
            self.limits(),
            self.row,
            clock=lambda: self.true - back_s[0],
            chance=lambda: self.chance,
            lease_ends_at=self.wall() + LEASE_S,
        )
        return Holder(gate, self.wall() + LEASE_S)

    def save(self) -> None:
        memory = self.holder.gate.memory()
        self.row = memory if self.row_keeps_last_start else memory._replace(last_start_at=None)
        self.row_promise = replace(self.promise)

    def delay_promised(self) -> float:
        door, interval_s, _, crawl_delay_s = self.terms
        own_s = {Door.SOURCES: 3.0, Door.CRAWL: 1.0, Door.AUDIT: 0.2, Door.SQL: 0.0}[door]
        adaptive_s = self.holder.gate.memory().adaptive_delay_s
        return max(own_s, interval_s or 0.0, crawl_delay_s or 0.0, adaptive_s)

    def note_start(self, reservation: Reservation) -> None:
        door, _, concurrency, _ = self.terms
        holder, promised_s = self.holder, self.promised_before
        assert self.true - self.last_start_at >= promised_s - SLACK_S, "inside the delay"
        assert self.true >= self.promise.blocked_until - SLACK_S, "inside a block"
        most = min(PARALLEL[door], concurrency or 9)
        assert len(holder.under_way) < most, "more at once than allowed"
        assert self.wall() < holder.lease_ends_at, "without a lease"
        assert reservation.delay.seconds >= promised_s - SLACK_S, "the ledger shows less than was promised"
        self.all_starts += 1
        holder.starts += 1
        holder.under_way[self.all_starts] = reservation
        self.last_start_at = self.true

    @rule(seconds=steps_s)
    def time_passes(self, seconds: float) -> None:
        self.true += seconds

    @rule(tries=st.integers(1, 4), chance=st.floats(0.0, 1.0))
    def tasks_try_to_start(self, tries: int, chance: float) -> None:
        self.chance = chance
        for _ in range(tries):
            self.promised_before = self.delay_promised()
            answer = self.holder.gate.try_reserve()
            if isinstance(answer, Reservation):
                self.note_start(answer)

    @rule(data=st.data(), chance=st.floats(0.0, 1.0))
    def a_task_starts_as_soon_as_it_may(self, data: st.DataObject, chance: float) -> None:
        at = self.holder.gate.next_start_at()
        if at < inf:
            early_s = data.draw(st.sampled_from([0.0, 0.0, 0.01]))
            self.true += max(0.0, at - self.wall() - early_s)
            self.tasks_try_to_start(1, chance)

    @rule(most=st.integers(2, 4), chance=st.floats(0.0, 1.0))
    def tasks_fill_the_slots(self, most: int, chance: float) -> None:
        for _ in range(most):
            at = self.holder.gate.next_start_at()
            # With every slot taken, no length of waiting may help.
            self.true += max(0.0, at - self.wall()) if at < inf else 61.0
            self.tasks_try_to_start(1, chance)

    @rule(latency_s=st.sampled_from([0.1, 0.1, 4.0, 20.0]), requests=st.integers(3, 8))
    def the_host_answers_at_its_pace(self, latency_s: float, requests: int) -> None:
        for _ in range(requests):
            at = self.holder.gate.next_start_at()
            if at < inf:
                self.true += max(0.0, at - self.wall())
                self.tasks_try_to_start(1, 0.5)
            self.true += 0.05
            for number in sorted(self.holder.under_way):
                self.succeed(number, latency_s, arrived_s=0.04)

    @rule(
        ends=st.lists(st.tuples(st.sampled_from(["ok", "none", "seconds"]), st.integers(0, 3)), min_size=2, max_size=4)
    )
    def a_burst_is_answered_in_any_order(self, ends: list[tuple[str, int]]) -> None:
        self.tasks_fill_the_slots(len(ends), 0.5)
        for kind, place in ends:
            if self.holder.under_way:
                number = sorted(self.holder.under_way)[place % len(self.holder.under_way)]
                if kind == "ok":
                    self.succeed(number, 0.1, arrived_s=0.0)
                else:
                    self.refuse(number, AnswerKind.RATE_LIMITED, kind, (2, 30, 7, 300)[place], 0)

    def succeed(self, number: int, latency_s: float | None, arrived_s: float) -> None:
        if number > self.promise.block_number:
            self.promise = Promise()
        if number == self.all_starts:
            self.last_start_at = min(self.last_start_at + arrived_s, self.true)
        self.finish_one(number, Observation(AnswerKind.SUCCESS, latency_s, None, arrived_s))

    def finish_one(self, number: int, observation: Observation) -> None:
        reservation = self.holder.under_way.pop(number)
        self.holder.gate.finish(reservation, observation)

    def pick(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.holder.under_way)))

    @precondition(lambda self: self.holder.under_way)
    @rule(
        data=st.data(),
        latency_s=st.sampled_from([None, 0.0, 0.08, 0.1, 1.5, 30.0]),
        arrived_s=st.sampled_from([0.0, 0.02, 0.9]),
    )
    def a_request_succeeds(self, data: st.DataObject, latency_s: float | None, arrived_s: float) -> None:
        self.succeed(self.pick(data), latency_s, arrived_s)

    @precondition(lambda self: self.holder.under_way)
    @rule(data=st.data(), answer=st.sampled_from([AnswerKind.OTHER, AnswerKind.FAILED, AnswerKind.UNSENT]))
    def a_request_fails_or_is_dropped(self, data: st.DataObject, answer: AnswerKind) -> None:
        self.finish_one(self.pick(data), Observation(answer, 0.5))

    @precondition(lambda self: self.holder.under_way)
    @rule(
        data=st.data(),
        answer=st.sampled_from([AnswerKind.RATE_LIMITED, AnswerKind.UNAVAILABLE]),
        form=st.sampled_from(["none", "garbage", "seconds", "list", "fixdate", "rfc850", "asctime"]),
        seconds=st.sampled_from([0, 2, 30, 3_000]),
        skew_s=st.integers(-4_000, 4_000),
    )
    def a_request_is_refused(
        self, data: st.DataObject, answer: AnswerKind, form: str, seconds: int, skew_s: int
    ) -> None:
        self.refuse(self.pick(data), answer, form, seconds, skew_s)

    def refuse(self, number: int, answer: AnswerKind, form: str, seconds: int, skew_s: int) -> None:
        server_date = float(int(self.true) + skew_s)
        if form in ("none", "garbage"):
            header, seconds = (None if form == "none" else "later"), 0
        else:
            header = header_for(form, seconds, server_date)
            seconds = max(seconds, 1) if form == "list" else seconds
        counts = number > self.promise.block_number
        if counts:
            self.promise.refusals += 1
        step = self.promise.refusals
        wait_s = float(seconds)
        if not seconds:
            wait_s = 0.0 if not counts else float(FIBONACCI[step - 1] if step <= 14 else 600)
        # A late answer of a burst that asks for no wait of its own changes nothing.
        lengthens = wait_s > 0.0 and self.true + wait_s > self.promise.blocked_until
        if counts or lengthens:
            self.promise.block_number = self.all_starts
        if lengthens:
            self.promise.blocked_until = self.true + wait_s
            self.promise.blocked_for = wait_s
        retry_after_s = parse_retry_after(header, self.wall(), server_date)
        self.finish_one(number, Observation(answer, 0.05, retry_after_s))
        assert self.holder.gate.memory().backoff_step == self.promise.refusals

    @rule(interval_s=intervals, concurrency=concurrencies, crawl_delay_s=crawl_delays)
    def the_operator_or_robots_change_the_terms(
        self, interval_s: float | None, concurrency: int | None, crawl_delay_s: float | None
    ) -> None:
        self.terms = (self.terms[0], interval_s, concurrency, crawl_delay_s)
        self.holder.gate.update_limits(self.limits())

    @rule()
    def a_batch_is_settled(self) -> None:
        self.save()

    @rule()
    def a_heartbeat_extends_the_lease(self) -> None:
        if self.wall() < self.holder.lease_ends_at:
            self.holder.lease_ends_at = self.wall() + LEASE_S
            self.holder.gate.extend_lease(self.holder.lease_ends_at)

    @precondition(lambda self: self.all_starts % 3 == 0)  # not so often that nothing else happens
    @rule(door=doors)
    def the_lease_is_released_and_another_door_takes_it(self, door: Door) -> None:
        for number in list(self.holder.under_way):
            self.finish_one(number, Observation(AnswerKind.UNSENT))
        self.save()
        self.holder.gate.close()
        self.terms = (door, *self.terms[1:])
        self.holder = self.new_holder()

    @precondition(lambda self: self.all_starts % 3 == 1)
    @rule(door=doors, is_stalled=st.booleans(), later_s=st.sampled_from([0.0, 0.1, 5.0]), new_interval_s=intervals)
    def the_holder_dies_or_stalls_and_the_lease_runs_out(
        self, door: Door, is_stalled: bool, later_s: float, new_interval_s: float | None
    ) -> None:
        ended = self.holder
        if is_stalled:
            self.stalled.append(ended)
            ends_at = max(ended.lease_ends_at, self.wall())
        else:
            ends_at = self.wall()  # freed at once by a process of the same machine
        self.true += ends_at - self.wall() + later_s
        self.row = self.row._replace(unclean_end_at=ends_at)
        # What the dead one had not saved is gone, also a block: only what the row shows can be kept.
        self.promise = replace(self.row_promise)
        self.terms = (door, *self.terms[1:])
        # The stalled one's clock was anchored when it began, and is not set back under it.
        self.back_s = [self.back_s[0]]
        self.holder = self.new_holder()
        # An edit right after must not lose what the new holder has to wait for.
        self.the_operator_or_robots_change_the_terms(new_interval_s, *self.terms[2:])

    @precondition(lambda self: self.stalled)
    @rule()
    def a_stalled_holder_wakes_up_and_tries(self) -> None:
        assert self.stalled[-1].gate.try_reserve() == Wait(inf, WaitReason.LEASE_OVER)

    @rule(seconds=st.sampled_from([0.01, 0.5, 30.0, 86_400.0, 1e8]), is_asked_then=st.booleans())
    def the_clock_is_set_back(self, seconds: float, is_asked_then: bool) -> None:
        self.back_s[0] += seconds
        if is_asked_then:
            self.it_is_never_stuck()

    @rule()
    def it_is_never_stuck(self) -> None:
        for number in list(self.holder.under_way):
            self.finish_one(number, Observation(AnswerKind.UNSENT))
        gate = self.holder.gate
        at, now = gate.next_start_at(), self.wall()
        # With chance at its largest; what a row carries may add a bounded wait before the first start.
        longest_s = self.delay_promised() + 0.5
        if self.holder.starts == 0:
            longest_s += CARRIED_AHEAD_S
        # A block is never longer than it was when set, whatever the clock does.
        longest_s = max(longest_s, self.promise.blocked_for)
        bound_s = longest_s + (self.back_total_s() if self.holder.starts == 0 else 0.0)
        assert at - now <= bound_s + SLACK_S, "stuck"
        gate.extend_lease(inf)
        self.holder.lease_ends_at = inf
        self.true += max(0.0, at - now) + SLACK_S
        self.promised_before = self.delay_promised()
        answer = gate.try_reserve()
        assert isinstance(answer, Reservation), f"allowed at {at}, but {answer}"
        self.note_start(answer)
        self.holder.lease_ends_at = self.wall() + LEASE_S
        gate.extend_lease(self.holder.lease_ends_at)

    def back_total_s(self) -> float:
        """How far a row written before a jump may lie ahead: only a block is not cut short by the new holder."""
        return self.back_s[0] if self.promise.blocked_until > -inf else 0.0

    @invariant()
    def a_block_that_runs_is_remembered(self) -> None:
        if self.promise.blocked_until > self.true:
            blocked_until = self.holder.gate.memory().blocked_until
            assert blocked_until is not None
            assert blocked_until >= self.promise.blocked_until - self.back_s[0] - SLACK_S

    @invariant()
    def the_gate_counts_what_is_under_way(self) -> None:
        assert self.holder.gate.in_flight == len(self.holder.under_way)


TestOneHost = OneHost.TestCase
TestOneHost.settings = settings(max_examples=sized(30, 300), stateful_step_count=40, deadline=None)
