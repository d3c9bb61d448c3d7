"""Hosts by the time at which they come due."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.walk.crawl.dispatcher import ReadyHeap


def test_hosts_come_out_when_they_are_due_and_longest_due_first() -> None:
    heap: ReadyHeap[str] = ReadyHeap()
    for host, at in (("late", 30.0), ("early", 10.0), ("middle", 20.0)):
        heap.push(host, at)
    assert heap.next_at() == 10.0
    assert heap.pop_due(9.9) == []
    assert heap.pop_due(20.0) == ["early", "middle"]
    assert (heap.next_at(), len(heap)) == (30.0, 1)


def test_equal_times_come_out_in_the_order_in_which_they_went_in() -> None:
    heap: ReadyHeap[str] = ReadyHeap()
    for host in "dbca":
        heap.push(host, 1.0)
    assert heap.pop_due(1.0) == ["d", "b", "c", "a"]


def test_the_last_word_about_a_host_counts() -> None:
    heap: ReadyHeap[str] = ReadyHeap()
    heap.push("host", 1.0)
    heap.push("host", 5.0)
    assert heap.pop_due(4.0) == []
    heap.push("host", 2.0)
    assert heap.pop_due(10.0) == ["host"]
    assert heap.pop_due(10.0) == []


def test_a_parked_host_comes_due_only_when_pushed_again() -> None:
    heap: ReadyHeap[str] = ReadyHeap()
    heap.push("host", 1.0)
    heap.push("host", inf)
    assert "host" in heap
    assert heap.next_at() == inf
    assert heap.pop_due(1e300) == []
    heap.push("host", 3.0)
    assert heap.pop_due(3.0) == ["host"]


def test_a_removed_host_does_not_come_out() -> None:
    heap: ReadyHeap[str] = ReadyHeap()
    heap.push("host", 1.0)
    assert heap.remove("host")
    assert not heap.remove("host")
    assert heap.next_at() == inf
    assert heap.pop_due(9.0) == []


def test_a_full_heap_says_so_and_still_takes_a_new_time_for_a_host_it_has() -> None:
    heap: ReadyHeap[int] = ReadyHeap(capacity=2)
    assert heap.push(1, 1.0)
    assert heap.push(2, 1.0)
    assert not heap.push(3, 1.0)
    assert heap.push(2, 9.0)
    assert heap.pop_due(5.0) == [1]
    assert heap.push(3, 1.0)


def test_no_more_come_out_than_are_asked_for() -> None:
    heap: ReadyHeap[int] = ReadyHeap()
    for host in range(10):
        heap.push(host, float(host))
    assert heap.pop_due(100.0, limit=3) == [0, 1, 2]
    assert len(heap) == 7


def test_a_host_cannot_come_due_at_no_time() -> None:
    with pytest.raises(ValueError, match="not a number"):
        ReadyHeap[str]().push("host", nan)


def test_overtaken_entries_do_not_pile_up() -> None:
    heap: ReadyHeap[int] = ReadyHeap()
    for turn in range(10_000):
        heap.push(turn % 5, float(turn))
    for host in range(1_000, 2_000):
        heap.push(host, 1e9)
        heap.remove(host)
    assert len(heap._heap) <= 2 * 5 + 64
    assert heap.pop_due(1e8) == [0, 1, 2, 3, 4]


operations = st.lists(
    st.tuples(st.sampled_from(["push", "park", "remove", "pop"]), st.integers(0, 8), st.integers(0, 50)),
    max_size=200,
)


@given(operations)
def test_it_behaves_like_a_dictionary_that_is_searched(steps: list[tuple[str, int, int]]) -> None:
    heap: ReadyHeap[int] = ReadyHeap()
    model: dict[int, tuple[float, int]] = {}
    for turn, (step, host, at) in enumerate(steps):
        if step == "pop":
            due = sorted((place, one) for one, place in model.items() if place[0] <= at)
            assert heap.pop_due(at) == [one for _, one in due]
            for _, one in due:
                del model[one]
        elif step == "remove":
            assert heap.remove(host) == (model.pop(host, None) is not None)
        else:
            model[host] = (inf if step == "park" else float(at), turn)
            heap.push(host, model[host][0])
        assert heap.next_at() == min((place[0] for place in model.values()), default=inf)
        assert len(heap) == len(model)
