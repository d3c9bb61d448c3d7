"""Spending a budget of visits exactly, and for the least wait."""

from __future__ import annotations

from math import inf, sqrt
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comity.model.schedule import Claim, RevisitLimits
from comity.rules.revisit import allocate, visits_per_day

WIDE = RevisitLimits(1e-6, 1e6)
LIMITS = st.builds(RevisitLimits, st.floats(0.1, 2), st.floats(2, 60))
CLAIMS = st.lists(st.builds(Claim, st.sampled_from("abc"), st.floats(0.0001, 1000), LIMITS), min_size=1, max_size=40)


def spent(claims: list[Claim], budget: float, caps: dict[str, float] | None = None) -> list[float]:
    allocation = allocate(claims, budget, caps)
    return [visits_per_day(allocation, claim) for claim in claims]


def total_wait(claims: list[Claim], visits: list[float]) -> float:
    return sum(claim.value / (2 * rate) for claim, rate in zip(claims, visits, strict=True))


def test_without_limits_visits_follow_the_square_root() -> None:
    claims = [Claim("a", 1.0, WIDE), Claim("b", 4.0, WIDE), Claim("c", 25.0, WIDE)]
    assert spent(claims, 16.0) == pytest.approx([2.0, 4.0, 10.0])


def test_importance_and_rate_weigh_alike() -> None:
    claims = [Claim("a", 9.0 * 1.0, WIDE), Claim("b", 3.0 * 3.0, WIDE)]
    assert spent(claims, 4.0) == pytest.approx([2.0, 2.0])


def test_what_a_limit_holds_back_goes_to_the_others() -> None:
    claims = [Claim("a", 100.0, RevisitLimits(0.5, 100)), Claim("b", 1.0, RevisitLimits(0.5, 100))]
    assert spent(claims, 3.0) == pytest.approx([2.0, 1.0])
    slow = [Claim("a", 100.0, RevisitLimits(0.01, 10)), Claim("b", 0.0, RevisitLimits(0.01, 10))]
    assert spent(slow, 3.0) == pytest.approx([2.9, 0.1])


def test_a_capped_host_leaves_its_visits_to_the_other_hosts() -> None:
    claims = [Claim("big", 4.0, WIDE), Claim("big", 1.0, WIDE), Claim("other", 1.0, WIDE)]
    assert spent(claims, 10.0, {"big": 3.0}) == pytest.approx([2.0, 1.0, 7.0])
    assert spent(claims, 10.0, {"big": 100.0}) == pytest.approx([5.0, 2.5, 2.5])


def test_a_host_s_cap_is_kept_even_where_it_forbids_the_longest_intervals() -> None:
    claims = [Claim("big", 1.0, RevisitLimits(0.5, 1.0)) for _ in range(10)]
    assert sum(spent(claims, 100.0, {"big": 2.0})) == pytest.approx(2.0)


def test_a_budget_under_the_longest_intervals_thins_all_alike() -> None:
    claims = [Claim("a", 9.0, RevisitLimits(0.5, 1.0)), Claim("b", 1.0, RevisitLimits(0.5, 2.0))]
    assert spent(claims, 0.75) == pytest.approx([0.5, 0.25])
    assert spent(claims, 0.0) == [0.0, 0.0]


def test_a_budget_that_cannot_be_spent_is_spare() -> None:
    allocation = allocate([Claim("a", 1.0, RevisitLimits(0.5, 30))] * 3, 10.0)
    assert allocation.overall.pace == inf
    assert allocation.spare_per_day == pytest.approx(4.0)
    assert allocate([], 5.0).spare_per_day == 5.0


@given(CLAIMS, st.floats(0.01, 200), st.dictionaries(st.sampled_from("ab"), st.floats(0.01, 50)))
def test_the_budget_is_spent_to_the_last_visit_within_every_limit_and_cap(
    claims: list[Claim], budget: float, caps: dict[str, float]
) -> None:
    allocation = allocate(claims, budget, caps)
    visits = [visits_per_day(allocation, claim) for claim in claims]
    assert sum(visits) == pytest.approx(budget - allocation.spare_per_day)
    for host, cap in caps.items():
        of_host = sum(rate for claim, rate in zip(claims, visits, strict=True) if claim.host == host)
        assert of_host <= cap * (1 + 1e-9)
    for claim, rate in zip(claims, visits, strict=True):
        assert rate <= 1 / claim.limits.shortest_days * (1 + 1e-9)


@given(st.lists(st.builds(Claim, st.just("a"), st.floats(0.0001, 1000), LIMITS), min_size=2, max_size=40),
       st.floats(0.05, 0.95), st.integers(0, 2**32))  # fmt: skip
def test_no_move_of_visits_between_two_sources_waits_less(claims: list[Claim], share: float, seed: int) -> None:
    least, most = (
        sum(1 / claim.limits.longest_days for claim in claims), sum(1 / claim.limits.shortest_days for claim in claims)
    )  # fmt: skip
    assume(least < most)
    visits = spent(claims, least + share * (most - least))
    chance = Random(seed)
    giver, taker = chance.sample(range(len(claims)), 2)
    amount = min(
        visits[giver] - 1 / claims[giver].limits.longest_days, 1 / claims[taker].limits.shortest_days - visits[taker]
    ) * chance.random()  # fmt: skip
    moved = list(visits)
    moved[giver] -= amount
    moved[taker] += amount
    assert total_wait(claims, moved) >= total_wait(claims, visits) * (1 - 1e-9)


@given(CLAIMS, st.floats(0.5, 50), st.floats(1, 3))
def test_more_budget_takes_visits_from_nobody(claims: list[Claim], budget: float, factor: float) -> None:
    less, more = spent(claims, budget), spent(claims, budget * factor)
    assert all(after >= before * (1 - 1e-9) for before, after in zip(less, more, strict=True))


def test_equal_limits_clip_the_square_root_exactly() -> None:
    chance = Random(1)
    claims = [Claim(str(n), chance.lognormvariate(-2, 2), RevisitLimits(0.5, 30)) for n in range(500)]
    allocation = allocate(claims, 150.0)
    expected = [min(2.0, max(1 / 30, allocation.overall.pace * sqrt(claim.value))) for claim in claims]
    assert [visits_per_day(allocation, claim) for claim in claims] == pytest.approx(expected)
    assert sum(expected) == pytest.approx(150.0)
