"""The similarity hash tells texts with few changed words from texts that only share a frame."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.audit.similarity import NEAR_BITS, distance, near_duplicates, similarity_of
from tests.audit.memory import words_of

HASHES = st.lists(st.integers(min_value=0, max_value=2**64 - 1), max_size=40)


def changed(words: list[str], count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    copy = list(words)
    for at in chance.sample(range(len(words)), count):
        copy[at] = f"changed{chance.random()}"
    return copy


@given(st.lists(st.text()))
def test_a_hash_has_64_bits_and_depends_on_words_alone(words: list[str]) -> None:
    found = similarity_of(words)
    assert 0 <= found < 2**64
    assert found == similarity_of(iter(words)) == similarity_of(" ".join(words).casefold().split())


def test_texts_without_words_and_with_one() -> None:
    assert similarity_of([]) == similarity_of([" "]) == 0
    assert similarity_of(["one"]) != similarity_of(["other"])


@pytest.mark.parametrize(("words", "count"), [(150, 3), (400, 8), (1000, 20)])
def test_texts_with_few_changed_words_are_near(words: int, count: int) -> None:
    near = 0
    for seed in range(50):
        text = words_of(f"text {seed}", words)
        near += distance(similarity_of(text), similarity_of(changed(text, count, seed))) <= NEAR_BITS
    assert near >= 48


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.5])
def test_texts_that_share_up_to_half_are_not_near(shared: float) -> None:
    for seed in range(50):
        frame = words_of("the frame", int(300 * shared))
        rest = 300 - len(frame)
        one, other = (similarity_of(frame + words_of(f"{seed} {name}", rest)) for name in "ab")
        assert distance(one, other) > NEAR_BITS


@given(HASHES)
def test_groups_hold_every_hash_once_and_only_near_ones(hashes: list[int]) -> None:
    groups = near_duplicates(enumerate(hashes))
    members = [member for group in groups for member in group]
    assert len(members) == len(set(members))
    for group in groups:
        assert len(group) > 1
        assert group == sorted(group)
        assert all(distance(hashes[group[0]], hashes[each]) <= NEAR_BITS for each in group)


@given(
    st.integers(min_value=0, max_value=2**64 - 1),
    st.sets(st.integers(min_value=0, max_value=63), max_size=NEAR_BITS),
    HASHES,
)
def test_two_near_hashes_never_stay_apart(value: int, flipped: set[int], others: list[int]) -> None:
    near = value
    for bit in flipped:
        near ^= 1 << bit
    grouped = near_duplicates([("first", value), *enumerate(others), ("last", near)])
    assert any("last" in group for group in grouped)


def test_a_site_of_equal_hashes_is_one_group_and_one_of_strangers_is_none() -> None:
    assert near_duplicates((number, 77) for number in range(3_000)) == [list(range(3_000))]
    chance = random.Random(1)
    strangers = [(number, chance.getrandbits(64)) for number in range(3_000)]
    assert near_duplicates(strangers) == []


def test_hashes_made_to_collide_are_compared_with_a_bounded_number_of_groups() -> None:
    chance = random.Random(2)
    # All share the lowest block, and none is near to another.
    hashes = [(number, chance.getrandbits(57) << 7) for number in range(2_000)]
    assert near_duplicates(hashes) == []


def test_a_chain_of_small_changes_makes_no_group_of_unlike_texts() -> None:
    chain = [(1 << bits) - 1 for bits in range(0, 61, 4)]
    for group in near_duplicates((each, each) for each in chain):
        assert all(distance(group[0], each) <= NEAR_BITS for each in group)
