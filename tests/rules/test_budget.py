"""Budgets end runs cleanly, with a reason, and warn once before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.run import Budget, BudgetReason, BudgetWarning, Exhausted, Spent, WithinBudget
from comity.rules.budget import check

BEGAN = 1_000_000.0
EVERYTHING = Budget(pages_per_run=100, pages_per_host=50, minutes_per_run=10.0)


@pytest.mark.parametrize(
    ("spent", "elapsed_s", "kind", "reason"),
    [
        (Spent(BEGAN), 0, WithinBudget, None),
        (Spent(BEGAN, pages=79), 0, WithinBudget, None),
        (Spent(BEGAN, pages=80), 0, BudgetWarning, BudgetReason.PAGE_LIMIT),
        (Spent(BEGAN, pages=99), 0, BudgetWarning, BudgetReason.PAGE_LIMIT),
        (Spent(BEGAN, pages=100), 0, Exhausted, BudgetReason.PAGE_LIMIT),
        (Spent(BEGAN, pages=1_000), 0, Exhausted, BudgetReason.PAGE_LIMIT),
        (Spent(BEGAN, host_pages=39), 0, WithinBudget, None),
        (Spent(BEGAN, host_pages=40), 0, BudgetWarning, BudgetReason.HOST_PAGE_LIMIT),
        (Spent(BEGAN, host_pages=50), 0, Exhausted, BudgetReason.HOST_PAGE_LIMIT),
        (Spent(BEGAN), 479.9, WithinBudget, None),
        (Spent(BEGAN), 480, BudgetWarning, BudgetReason.TIME_LIMIT),
        (Spent(BEGAN), 600, Exhausted, BudgetReason.TIME_LIMIT),
        (Spent(BEGAN), -1e9, WithinBudget, None),
        # What ends the run is named before what ends only the host's part of it; ends before warnings.
        (Spent(BEGAN, pages=100, host_pages=50), 600, Exhausted, BudgetReason.PAGE_LIMIT),
        (Spent(BEGAN, host_pages=50), 600, Exhausted, BudgetReason.TIME_LIMIT),
        (Spent(BEGAN, pages=90, host_pages=50), 0, Exhausted, BudgetReason.HOST_PAGE_LIMIT),
    ],
)
def test_each_limit_warns_at_four_fifths_and_ends_at_its_end(
    spent: Spent, elapsed_s: float, kind: type, reason: BudgetReason | None
) -> None:
    verdict = check(EVERYTHING, spent, BEGAN + elapsed_s)
    assert type(verdict) is kind
    assert getattr(verdict, "reason", None) == reason


def test_a_warning_is_given_once() -> None:
    spent = Spent(BEGAN, pages=85)
    first = check(EVERYTHING, spent, BEGAN)
    assert isinstance(first, BudgetWarning)
    assert check(EVERYTHING, replace(spent, warned=spent.warned | {first.reason}), BEGAN) == WithinBudget()


def test_a_second_limit_still_gets_its_own_warning() -> None:
    spent = Spent(BEGAN, pages=85, host_pages=45, warned=frozenset({BudgetReason.PAGE_LIMIT}))
    verdict = check(EVERYTHING, spent, BEGAN)
    assert isinstance(verdict, BudgetWarning)
    assert verdict.reason is BudgetReason.HOST_PAGE_LIMIT


def test_the_sentences_name_the_limit() -> None:
    budget = Budget(pages_per_run=200, minutes_per_run=60.0)
    ended = check(budget, Spent(BEGAN, pages=200), BEGAN)
    assert isinstance(ended, Exhausted)
    assert ended.sentence == "Stopped: the limit of 200 pages per run was reached."
    warned = check(budget, Spent(BEGAN), BEGAN + 54 * 60)
    assert isinstance(warned, BudgetWarning)
    assert warned.sentence == "90 % of the limit of 60 minutes per run is used."


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.floats(0, 1e12))
def test_zero_is_no_limit(pages: int, host_pages: int, elapsed_s: float) -> None:
    assert check(Budget(), Spent(BEGAN, pages, host_pages), BEGAN + elapsed_s) == WithinBudget()


@given(st.integers(1, 10_000), st.integers(0, 20_000))
def test_a_run_ends_exactly_at_its_limit(limit: int, pages: int) -> None:
    ended = isinstance(check(Budget(pages_per_run=limit), Spent(BEGAN, pages), BEGAN), Exhausted)
    assert ended == (pages >= limit)
