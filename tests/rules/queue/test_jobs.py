"""Retries, priorities, breakers, allowances and the table of a submit's answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.queue import BotError, JobStatus, Submission
from comity.rules.queue.bot_limits import BreakerTerms, allowance, bot_after, site_after
from comity.rules.queue.job_timing import (
    LEAST_PRIORITY,
    LONGEST_BACKOFF_S,
    MOST_AGE,
    MOST_PRIORITY,
    JobGivenUp,
    JobRetry,
    after_failure,
    aged_priority,
    backoff_s,
    first_priority,
)
from comity.rules.queue.product import plain_price
from comity.rules.queue.submission import FormerLock, SubmitDecision, SubmittedJob, judge, submission_digest

NOW = 1_770_000_000.0
JOB = UUID(int=7)


@pytest.mark.parametrize(("retry_count", "minutes"), [(0, 5), (1, 10), (2, 20)])
def test_a_retry_waits_twice_as_long_as_the_one_before(retry_count: int, minutes: int) -> None:
    assert after_failure(retry_count, 3, 5, NOW) == JobRetry(NOW + minutes * 60, retry_count + 1)


def test_the_fourth_failure_is_permanent_and_pushes_the_policy() -> None:
    assert after_failure(3, 3, 5, NOW) == JobGivenUp(NOW + 40 * 60)
    assert after_failure(3, 3, 5, NOW, failures_before=1) == JobGivenUp(NOW + 80 * 60)
    assert after_failure(0, 0, 0, NOW) == JobGivenUp(NOW)


def test_retry_after_makes_a_wait_longer_and_never_shorter() -> None:
    assert after_failure(0, 3, 5, NOW, retry_after_s=3600.0) == JobRetry(NOW + 3600, 1)
    assert after_failure(0, 3, 5, NOW, retry_after_s=1.0) == JobRetry(NOW + 300, 1)


@given(st.integers(0, 10_000), st.integers(0, 10**9))
def test_a_back_off_is_bounded_and_never_shrinks(minutes: int, doublings: int) -> None:
    assert 0 <= backoff_s(minutes, doublings) <= backoff_s(minutes, doublings + 1) <= LONGEST_BACKOFF_S


@pytest.mark.parametrize(
    ("priority", "importance", "failures", "expected"),
    [
        (5, 1.0, 0, 5),
        (5, 2.0, 0, 10),
        (5, 1.0, 3, 2),
        (5, 1.0, 100, 0),
        (5, float("nan"), 0, 5),
        (9999, 10.0, 0, MOST_PRIORITY),
    ],
)
def test_the_first_priority(priority: int, importance: float, failures: int, expected: int) -> None:
    assert first_priority(priority, importance, failures) == expected


@given(st.integers(-5000, 5000), st.floats(0, 1e9))
def test_ageing_is_bounded_and_says_when_it_changes(first: int, waited_s: float) -> None:
    priority, next_s = aged_priority(first, waited_s)
    assert LEAST_PRIORITY <= priority <= MOST_PRIORITY
    assert priority <= max(LEAST_PRIORITY, min(MOST_PRIORITY, first + MOST_AGE))
    if next_s is not None:
        assert next_s > waited_s
        assert aged_priority(first, next_s)[0] >= priority


def test_a_bot_is_quarantined_after_failures_in_a_row_for_longer_each_time() -> None:
    terms = BreakerTerms(bot_failures=3, bot_pause_s=60.0)

    def after(failures: int, times: int = 0, *, succeeded: bool = False, site: int = 0) -> Any:
        return bot_after(
            succeeded=succeeded, failures=failures, times_quarantined=times, site_failures=site, now=NOW, terms=terms
        )

    assert (after(0).failures, after(0).quarantined_until) == (1, None)
    assert after(2).quarantined_until == NOW + 60
    assert after(2, 1).quarantined_until == NOW + 120
    assert after(2, 50).quarantined_until == NOW + terms.longest_s
    assert after(2, succeeded=True).failures == 0
    assert (after(2, site=3).failures, after(2, site=3).quarantined_until) == (2, None)


def test_a_site_is_parked_at_every_so_many_failures() -> None:
    terms = BreakerTerms(site_failures=3, site_pause_s=60.0)
    found = [site_after(succeeded=False, failures=number, now=NOW, terms=terms) for number in range(6)]
    assert found == [(1, None), (2, None), (3, NOW + 60), (4, None), (5, None), (6, NOW + 120)]
    assert site_after(succeeded=True, failures=5, now=NOW, terms=terms) == (0, None)


@given(
    st.integers(0, 200),
    st.integers(0, 100),
    st.one_of(st.none(), st.integers(1, 50)),
    st.one_of(st.none(), st.integers(1, 50)),
    st.floats(-100, 100),
    st.integers(0, 60),
)
def test_an_allowance_keeps_every_limit(
    wanted: int, in_hand: int, most: int | None, per_minute: int | None, started_s: float, pulled: int
) -> None:
    found = allowance(
        wanted,
        NOW,
        in_hand=in_hand,
        most_in_hand=most,
        most_per_minute=per_minute,
        minute_started_at=NOW + started_s,
        pulled_this_minute=pulled,
    )
    assert 0 <= found.jobs <= min(wanted, 100)
    assert most is None or found.jobs == 0 or in_hand + found.jobs <= most
    assert per_minute is None or found.jobs == 0 or found.pulled_this_minute + found.jobs <= per_minute
    assert (found.jobs < min(wanted, 100)) == (found.retry_after_s is not None)  # it says when there will be more


def view(status: JobStatus, locked_by: str | None = None, **columns: Any) -> SubmittedJob:
    lock = (
        {"locked_at": NOW - 100, "lock_ends_at": NOW + 500} if locked_by else {"locked_at": None, "lock_ends_at": None}
    )
    values = {"lock_ttl_s": 600, "submitted_by": None, "submission_digest": None} | lock | columns
    return SubmittedJob(JOB, status, locked_by, **values)


LOCKED, DONE, PENDING, EXPIRED = JobStatus.LOCKED, JobStatus.DONE, JobStatus.PENDING, JobStatus.EXPIRED
BEFORE = {"submitted_by": "a", "submission_digest": "d"}
FORMER = FormerLock(NOW - 700)


@pytest.mark.parametrize(
    ("job", "former", "answer", "code"),
    [
        (view(LOCKED, "a"), None, SubmitDecision.ACCEPT, None),
        (view(LOCKED, "a", **BEFORE), None, SubmitDecision.ACCEPT, None),  # its retry came to the same
        (view(LOCKED, "a", lock_ends_at=NOW), None, SubmitDecision.LATE, BotError.LOCK_EXPIRED),
        (view(LOCKED, "b"), None, SubmitDecision.REFUSE, BotError.NOT_ASSIGNED),
        (view(LOCKED, "b"), FORMER, SubmitDecision.LATE, BotError.LOCK_EXPIRED),
        (view(LOCKED, "b", **BEFORE), FORMER, SubmitDecision.REPEAT, None),
        (view(EXPIRED), FORMER, SubmitDecision.LATE, BotError.LOCK_EXPIRED),
        (view(EXPIRED), None, SubmitDecision.REFUSE, BotError.JOB_NOT_LOCKED),
        (view(PENDING), None, SubmitDecision.REFUSE, BotError.JOB_NOT_LOCKED),
        (view(DONE, **BEFORE), None, SubmitDecision.REPEAT, None),
        (view(DONE, submitted_by="a", submission_digest="e"), None, SubmitDecision.REFUSE, BotError.JOB_NOT_LOCKED),
        (view(DONE, submitted_by="b", submission_digest="d"), None, SubmitDecision.REFUSE, BotError.JOB_NOT_LOCKED),
    ],
)
def test_the_answers_to_a_submit(
    job: SubmittedJob, former: FormerLock | None, answer: SubmitDecision, code: BotError | None
) -> None:
    judged = judge(job, "a", "d", NOW, former)
    assert (judged.answer, judged.code) == (answer, code)


def test_the_message_of_a_late_submit_is_that_of_the_contract() -> None:
    judged = judge(view(EXPIRED), "a", "d", 1736234405.0, FormerLock(1736233505.0))
    assert judged.message == "Job lock expired 5 minutes ago. Pull job again to re-acquire lock."
    assert judged.details == {
        "job_id": str(JOB),
        "locked_at": "2025-01-07T07:05:05Z",
        "lock_ttl": 600,
        "current_time": "2025-01-07T07:20:05Z",
    }


def test_the_digest_goes_by_content_and_not_by_spelling() -> None:
    one = Submission("a", JOB, True, price=Decimal("99.90"), parsed_data={"b": 1, "a": {"y": 2, "x": 1}}, raw_html="x")
    same = Submission("a", JOB, True, price=Decimal("99.9"), parsed_data={"a": {"x": 1, "y": 2}, "b": 1}, raw_html="x")
    assert submission_digest(one) == submission_digest(same)
    others = [
        Submission("a", JOB, True, price=Decimal("99.91"), parsed_data=one.parsed_data, raw_html="x"),
        Submission("a", JOB, True, price=one.price, parsed_data=one.parsed_data, raw_html="y"),
        Submission("a", JOB, True, price=one.price, parsed_data=one.parsed_data),
        Submission("a", JOB, False, price=one.price, parsed_data=one.parsed_data, raw_html="x"),
        Submission("a", JOB, True, price=one.price, parsed_data={"b": 1}, raw_html="x"),
    ]
    assert len({submission_digest(each) for each in (one, *others)}) == 6


@pytest.mark.parametrize(
    ("stored", "plain"),
    [
        ("19.9900", "19.99"),
        ("18.5000", "18.50"),
        ("20.0000", "20"),
        ("0.0000", "0"),
        ("100.0000", "100"),
        ("0.0001", "0.0001"),
        ("1.2500", "1.25"),
        ("99999999999999.9999", "99999999999999.9999"),
        ("99999999999990.0000", "99999999999990"),
    ],
)
def test_a_price_has_no_zeros_that_only_its_column_adds(stored: str, plain: str) -> None:
    assert str(plain_price(Decimal(stored))) == plain
