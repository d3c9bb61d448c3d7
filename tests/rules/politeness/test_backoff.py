"""Request retries."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.gate import DOOR_PROFILES, Door, GiveUp, GiveUpReason, RetryAt
from comity.rules.politeness.backoff import retry_decision, retry_delay


def test_the_waits_are_the_fibonacci_numbers_from_one() -> None:
    assert [retry_delay(attempt) for attempt in range(1, 11)] == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]


@pytest.mark.parametrize(
    ("attempt", "cap_s", "delay_s"),
    [(1, 600, 1), (2, 600, 1), (3, 600, 2), (7, 600, 13), (15, 600, 600), (14, 600, 377), (3, 1.5, 1.5), (1, 0, 0)],
)
def test_retries_wait_by_fibonacci_up_to_the_cap(attempt: int, cap_s: float, delay_s: float) -> None:
    assert retry_delay(attempt, cap_s) == delay_s


def test_a_huge_attempt_costs_no_more_than_the_cap() -> None:
    assert retry_delay(10**12) == 600.0


@given(st.integers(1, 60), st.floats(0.1, 1e6))
def test_the_wait_never_falls_with_the_attempt_and_never_passes_the_cap(attempt: int, cap_s: float) -> None:
    assert retry_delay(attempt, cap_s) <= retry_delay(attempt + 1, cap_s) <= cap_s
    uncapped_s = retry_delay(attempt, inf) + retry_delay(attempt + 1, inf)
    assert retry_delay(attempt + 2, cap_s) == min(uncapped_s, cap_s)


@pytest.mark.parametrize("status", [None, 0, -1, 429, 500, 502, 503, 504, 599])
def test_refusals_for_now_server_errors_and_dead_connections_are_tried_five_times(status: int | None) -> None:
    decisions = [retry_decision(status, done) for done in range(6)]
    assert decisions[:5] == [RetryAt(1.0), RetryAt(1.0), RetryAt(2.0), RetryAt(3.0), RetryAt(5.0)]
    assert decisions[5] == GiveUp(GiveUpReason.RETRIES_SPENT)


@pytest.mark.parametrize("status", [200, 204, 301, 304, 400, 401, 403, 404, 408, 410, 418, 428, 430, 451, 499, 600])
def test_every_other_status_is_final(status: int) -> None:
    assert retry_decision(status, 0) == GiveUp(GiveUpReason.FINAL_STATUS)


def test_sources_try_twice() -> None:
    limit = DOOR_PROFILES[Door.SOURCES].retry_limit
    assert isinstance(retry_decision(500, 1, limit), RetryAt)
    assert retry_decision(500, 2, limit) == GiveUp(GiveUpReason.RETRIES_SPENT)


@pytest.mark.parametrize(
    ("retry_after_s", "delay_s"), [(None, 2.0), (0.0, 2.0), (1.0, 2.0), (7.0, 7.0), (90_000.0, 90_000.0)]
)
def test_the_sites_own_wait_lengthens_and_is_not_capped(retry_after_s: float | None, delay_s: float) -> None:
    assert retry_decision(429, 2, 5, retry_after_s) == RetryAt(delay_s)
