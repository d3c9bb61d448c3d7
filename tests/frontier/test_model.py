"""Each store against a frontier that is a dictionary, in whatever order things are done to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from comity.database.tables import DONE, DROPPED, QUEUED
from comity.frontier.store import HostSettlement, PutBack
from comity.model.frontier import FrontierEntry
from tests.frontier.rooms import NOW, Room, entry
from tests.sizes import sized

START = NOW.timestamp()
PATHS = [f"p{number}" for number in range(12)] + ["http://a.example/p1"]
paths = st.sampled_from(PATHS)
links = st.lists(st.builds(entry, paths, st.integers(0, 3), st.sampled_from([0, 0, 0, 1, -1])), max_size=6)
some = st.lists(paths, max_size=4, unique=True)
times = st.integers(-2, 10).map(lambda seconds: START + seconds / 2)
numbers = count()


@dataclass(slots=True)
class Remembered:
    """What the dictionary holds of a URL."""

    entry: FrontierEntry
    age: int
    state: int = QUEUED
    attempts: int = 0
    not_before: float | None = None


class FrontierMachine(RuleBasedStateMachine):
    """Two hosts; whatever is done to the store is done to dictionaries."""

    room: Room

    @initialize()
    def begin(self) -> None:
        self.now = START
        self.ages = count()
        self.hosts = [self.room.new_host(f"h{next(numbers)}.example") for _ in range(2)]
        self.known: dict[UUID, dict[int, Remembered]] = {host: {} for host in self.hosts}

    @rule(which=st.integers(0, 1), entries=links)
    def add(self, which: int, entries: list[FrontierEntry]) -> None:
        host = self.hosts[which]
        with self.room.store.change() as change:
            assert change.add(host, None, entries) == self._add(host, entries)

    def _add(self, host: UUID, entries: list[FrontierEntry]) -> int:
        before = len(self.known[host])
        for each in entries:
            if each.key not in self.known[host]:
                self.known[host][each.key] = Remembered(each, next(self.ages))
        return len(self.known[host]) - before

    @rule(
        which=st.integers(0, 1),
        entries=links,
        ended=some,
        put_off=st.lists(st.tuples(paths, times, st.integers(0, 1)), max_size=4, unique_by=lambda each: each[0]),
        announced=st.booleans(),
        fails=st.booleans(),
    )
    def settle(self, which: int, entries: Any, ended: Any, put_off: Any, announced: bool, fails: bool) -> None:
        host = self.hosts[which]
        keys = [entry(path).key for path in ended]
        back = [PutBack(entry(path).key, until, tries) for path, until, tries in put_off]
        settlement = HostSettlement(entries, keys[:3], keys[3:], back)
        try:
            with self.room.store.change({host: entries} if announced else None) as change:
                found = change.settle(host, None, settlement)
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            return
        assert found == self._add(host, entries)
        for number, key in enumerate(keys):
            if key in self.known[host]:
                self.known[host][key].state = DONE if number < 3 else DROPPED
        for key, until, tries in back:
            known = self.known[host].get(key)
            if known is not None and known.state == QUEUED:
                known.not_before = until
                known.attempts += tries

    @rule(which=st.integers(0, 1))
    def requeue(self, which: int) -> None:
        host = self.hosts[which]
        done = [each for each in self.known[host].values() if each.state == DONE]
        with self.room.store.change() as change:
            assert change.requeue_all(host) == len(done)
        for each in self.known[host].values():
            if each.state != DROPPED:
                each.state, each.attempts, each.not_before = QUEUED, 0, None

    @rule(which=st.integers(0, 1), chosen=some, priority=st.integers(-2, 2))
    def requeue_known(self, which: int, chosen: list[str], priority: int) -> None:
        host = self.hosts[which]
        keys = [entry(path).key for path in chosen]
        changed = [each for key in keys if (each := self.known[host].get(key)) and each.state == DONE]
        with self.room.store.change() as change:
            assert change.requeue_known(host, [(key, priority) for key in keys]) == len(changed)
        for each in changed:
            each.state, each.attempts, each.not_before = QUEUED, 0, None
            each.entry = each.entry._replace(priority=priority)

    @rule(which=st.integers(0, 1), chosen=some, states=st.permutations([QUEUED, DONE, DROPPED]))
    def change_state(self, which: int, chosen: list[str], states: list[int]) -> None:
        host, (before, after, _) = self.hosts[which], states
        keys = [entry(path).key for path in chosen]
        changed = [each for key in keys if (each := self.known[host].get(key)) and each.state == before]
        with self.room.store.change() as change:
            assert change.change_state(host, keys, before, after) == len(changed)
        for each in changed:
            each.state, each.attempts, each.not_before = after, 0, None

    @rule(which=st.integers(0, 1))
    def forget(self, which: int) -> None:
        with self.room.store.change() as change:
            change.forget(self.hosts[which])
        self.known[self.hosts[which]] = {}

    @rule(at=times)
    def clock(self, at: float) -> None:
        self.now = at

    @invariant()
    def the_store_and_the_dictionary_agree(self) -> None:
        now = datetime.fromtimestamp(self.now, UTC)
        for host, known in self.known.items():
            queued = [each for each in known.values() if each.state == QUEUED]
            ready = [each for each in queued if each.not_before is None or each.not_before <= self.now]
            ready.sort(key=lambda each: (-each.entry.priority, each.entry.depth, each.age))
            wanted = [
                (each.entry.url, each.entry.key, each.entry.depth, each.attempts, each.entry.priority) for each in ready
            ]
            assert [each[:5] for each in self.room.store.peek(host, 100, now)] == wanted
            assert [each[:5] for each in self.room.store.peek(host, 2, now)] == wanted[:2]
            put_off = [each.not_before for each in queued if each.not_before is not None]
            due_at = datetime.fromtimestamp(min(put_off), UTC) if put_off else None
            assert self.room.store.next_ready_at(host) == due_at
            assert sorted(self.room.store.keys(host, 100)) == sorted(known)
            states = [each.state for each in known.values()]
            done = [each.key for each in self.room.store.done(host, None, 100)]
            assert sorted(done) == sorted(key for key, each in known.items() if each.state == DONE)
            assert self.room.store.states(host) == {state: states.count(state) for state in set(states)}


def test_a_store_does_what_a_dictionary_would_do(room: Room) -> None:
    machine = type("Machine", (FrontierMachine,), {"room": room})
    chosen = settings(
        max_examples=sized(10, 50),
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
