"""The adaptive schedule of policies: by the changes of price and stock, within half and eight times the frequency."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.queue.job_timing import Seen, has_changed, plan_next

HOUR = 3600.0
NOTHING = Seen(None, None, None)
TEN = Seen(Decimal(10), "EUR", True)


def after_visits(changes: list[bool], hours: float = 24.0) -> tuple[float, dict[str, Any] | None]:
    """How long the wait is, in hours, after visits at the planned times, each of which sees a change or not."""
    statistics: dict[str, Any] | None = None
    now, wait, price = 1e9, hours * HOUR, 10
    before, last = NOTHING, None
    for changed in [True, *changes]:
        price += changed
        after = Seen(Decimal(price), "EUR", True)
        plan = plan_next(statistics, before, after, now, frequency_hours=hours, last_success_at=last)
        statistics, wait, before, last = plan.change_statistics, plan.next_run_at - now, after, now
        now = plan.next_run_at
    return wait / HOUR, statistics


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (TEN, TEN, False),
        (TEN, TEN._replace(price=Decimal("10.00")), False),
        (TEN, TEN._replace(price=Decimal("10.01")), True),
        (TEN, TEN._replace(currency="USD"), True),
        (TEN, TEN._replace(currency=None), False),
        (TEN, TEN._replace(in_stock=False), True),
        (TEN, TEN._replace(in_stock=None, price=None), False),
        (NOTHING, TEN, False),
    ],
)
def test_what_counts_as_a_change(before: Seen, after: Seen, changed: bool) -> None:
    assert has_changed(before, after) is changed


def test_a_page_that_never_changes_is_asked_ever_less_and_one_that_always_does_more() -> None:
    few, _ = after_visits([False] * 3)
    quiet, statistics = after_visits([False] * 30)
    busy, _ = after_visits([True] * 30)
    assert 24 < few < quiet <= 8 * 24
    assert quiet == pytest.approx(8 * 24)
    assert busy == pytest.approx(12)
    assert statistics is not None
    assert statistics["visits"] == 30


def test_the_first_result_is_no_observation() -> None:
    plan = plan_next(None, NOTHING, TEN, 1e9, frequency_hours=24, last_success_at=None)
    assert plan.change_statistics["visits"] == 0
    assert 12 * HOUR <= plan.next_run_at - 1e9 <= 24 * HOUR


def test_a_result_without_price_and_stock_teaches_nothing() -> None:
    first = plan_next(None, NOTHING, TEN, 1e9, frequency_hours=24, last_success_at=None)
    empty = plan_next(first.change_statistics, TEN, NOTHING, 1e9 + 5 * HOUR, frequency_hours=24, last_success_at=1e9)
    assert empty.change_statistics == first.change_statistics


def test_importance_shortens_the_wait() -> None:
    def wait(importance: float) -> float:
        plan = plan_next(None, NOTHING, TEN, 0.0, frequency_hours=24, last_success_at=None, importance=importance)
        return plan.next_run_at

    assert wait(0.25) == pytest.approx(2 * wait(1.0))


BROKEN = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["changes", "exposure_days", "visits", "last_look_at"]),
        st.one_of(st.none(), st.text(max_size=5), st.integers(), st.floats()),
    ),
)


@given(BROKEN, st.sampled_from([1, 6, 24, 720]), st.booleans(), st.floats(0.001, 1000), st.floats(0, 2e9))
def test_the_wait_is_bounded_whatever_the_row_says(
    statistics: dict[str, Any] | None, hours: int, changed: bool, importance: float, last: float
) -> None:
    after = TEN._replace(in_stock=not changed)
    plan = plan_next(statistics, TEN, after, 1e9, frequency_hours=hours, last_success_at=last, importance=importance)
    assert 0.5 * hours * HOUR - 1 <= plan.next_run_at - 1e9 <= 8 * hours * HOUR + 1
