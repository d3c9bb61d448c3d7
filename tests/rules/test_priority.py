"""What makes a host deserve the next free worker: each part of the sum on its own, and their order together."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.priority import HostSignals, PriorityWeights, priority_score, rate

NOW = datetime(2026, 2, 7, tzinfo=UTC)
NOTHING = PriorityWeights(0, 1000, 0, 0, 500, 0, 0)
JUST_CRAWLED = HostSignals(last_crawled_at=NOW)
signals = st.builds(
    HostSignals,
    pages_discovered=st.integers(0, 10**9),
    pages_crawled=st.integers(0, 10**9),
    images_found=st.integers(0, 10**9),
    images_stored=st.integers(0, 10**9),
    errors=st.integers(0, 10**9),
    seed_rank=st.none() | st.integers(0, 10**9),
    last_crawled_at=st.none() | st.integers(0, 8 * 10**8).map(lambda waited_s: NOW - timedelta(seconds=waited_s)),
)


@pytest.mark.parametrize(
    ("weights", "host", "score"),
    [
        # A yield of two images a page is worth 2,000 points.
        (replace(NOTHING, image_yield=1000), HostSignals(pages_crawled=100, images_stored=200), 2000),
        (replace(NOTHING, image_yield=1000), HostSignals(pages_crawled=3, images_stored=1), 333),
        (replace(NOTHING, image_yield=1000), HostSignals(pages_crawled=0, images_stored=5), 0),
        # Pages that remain count twice, up to 500 of them.
        (replace(NOTHING, page_remaining=2), HostSignals(pages_discovered=40, pages_crawled=10), 60),
        (replace(NOTHING, page_remaining=2), HostSignals(pages_discovered=500), 1000),
        (replace(NOTHING, page_remaining=2), HostSignals(pages_discovered=50_000, pages_crawled=100), 1000),
        (replace(NOTHING, page_remaining=2), HostSignals(pages_discovered=10, pages_crawled=10), 0),
        # Half of the pages failing costs 250 points.
        (replace(NOTHING, error_rate=500), HostSignals(pages_crawled=100, errors=50), -250),
        (replace(NOTHING, error_rate=500), HostSignals(pages_crawled=100, errors=100), -500),
        (replace(NOTHING, error_rate=500), HostSignals(errors=7), 0),
        # Thirty days of waiting are worth 150 points.
        (replace(NOTHING, day_waiting=5), HostSignals(last_crawled_at=NOW - timedelta(days=30)), 150),
        (replace(NOTHING, day_waiting=5), JUST_CRAWLED, 0),
        (replace(NOTHING, day_waiting=5), HostSignals(last_crawled_at=NOW - timedelta(hours=12)), 2),
        # A host that was never crawled waits since the year 2000.
        (replace(NOTHING, day_waiting=5), HostSignals(), (NOW - datetime(2000, 1, 1, tzinfo=UTC)).days * 5),
        # The rank: nearly all of the weight for the first, half of it at rank 1,000, none without a rank.
        (replace(NOTHING, seed_rank=1000), HostSignals(seed_rank=1), 999),
        (replace(NOTHING, seed_rank=1000), HostSignals(seed_rank=1000), 500),
        (replace(NOTHING, seed_rank=1000), HostSignals(seed_rank=1_000_000), 1),
        (replace(NOTHING, seed_rank=1000), HostSignals(), 0),
    ],
)
def test_each_part_of_the_score_has_its_weight(weights: PriorityWeights, host: HostSignals, score: int) -> None:
    assert priority_score(host, weights, NOW) == score


def test_the_default_weights_are_those_of_the_specification() -> None:
    weights = PriorityWeights()
    assert (weights.image_yield, weights.page_remaining, weights.pages_remaining_cap) == (1000, 2, 500)
    assert (weights.error_rate, weights.day_waiting) == (500, 5)


def test_the_parts_are_summed() -> None:
    host = HostSignals(
        pages_discovered=150,
        pages_crawled=100,
        images_stored=50,
        errors=10,
        seed_rank=1000,
        last_crawled_at=NOW - timedelta(days=2),
    )
    assert priority_score(host, PriorityWeights(), NOW) == 500 + 500 + 100 - 50 + 10


@given(st.integers(1, 10**8), st.integers(1, 10**8))
def test_a_better_rank_never_scores_less(one: int, other: int) -> None:
    better, worse = sorted((one, other))
    scores = [priority_score(replace(JUST_CRAWLED, seed_rank=rank), PriorityWeights(), NOW) for rank in (better, worse)]
    assert scores[0] >= scores[1] >= 0


def test_rank_one_is_the_best_and_no_rank_the_worst() -> None:
    scores = [
        priority_score(replace(JUST_CRAWLED, seed_rank=rank), PriorityWeights(), NOW) for rank in (1, 10, 1000, None)
    ]
    assert scores == sorted(set(scores), reverse=True)


@given(signals)
def test_a_score_always_fits_in_its_column(host: HostSignals) -> None:
    assert -(2**31) <= priority_score(host, PriorityWeights(), NOW) < 2**31


@given(signals, st.integers(1, 10**6))
def test_waiting_longer_never_makes_a_host_wait_longer(host: HostSignals, more_s: int) -> None:
    later = NOW + timedelta(seconds=more_s)
    assert priority_score(host, PriorityWeights(), later) >= priority_score(host, PriorityWeights(), NOW)


@given(st.integers(-(10**6), 10**6))
def test_a_rank_written_by_hand_cannot_break_the_sum(rank: int) -> None:
    score = priority_score(replace(JUST_CRAWLED, seed_rank=rank), PriorityWeights(), NOW)
    assert 0 <= score <= 1000


def test_a_rate_is_unknown_before_the_first_page() -> None:
    assert rate(5, 0) is None
    assert rate(0, 4) == 0.0
    assert rate(3, 4) == 0.75
