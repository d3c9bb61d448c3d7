"""Replaying the ledger: each breach is found where it is, and a polite ledger has none."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.politeness.audit import Breach, LedgerLine, audit

DELAY_S = 1.0


def line(number: int, started_at: float, **changes: object) -> LedgerLine:
    plain = LedgerLine(
        number=number,
        url=f"https://example.com/{number}",
        lease_token=1,
        started_at=started_at,
        ended_at=started_at + 0.2,
        delay_s=DELAY_S,
        max_concurrency=1,
        rule=None,
        blocked_until=None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def breaches(*lines: LedgerLine) -> list[tuple[Breach, int]]:
    return [(violation.breach, violation.number) for violation in audit(lines)]


def test_a_polite_ledger_has_no_violation() -> None:
    assert breaches(line(1, 0.0), line(2, 1.0), line(3, 2.5, rule="Allow: /")) == []
    assert breaches() == []


def test_a_request_inside_the_delay_that_was_in_force_when_it_started() -> None:
    assert breaches(line(1, 0.0), line(2, 0.9)) == [(Breach.TOO_SOON, 2)]
    assert breaches(line(1, 0.0), line(2, 0.9, delay_s=0.5)) == []
    assert breaches(line(1, 0.0, delay_s=9.0), line(2, 1.0)) == [], "what came before asked for less peace since"
    assert breaches(line(1, 0.0), line(2, 0.9999999)) == [], "times are stored to the microsecond"


def test_more_at_once_than_allowed() -> None:
    slow = line(1, 0.0, ended_at=5.0)
    assert breaches(slow, line(2, 1.0)) == [(Breach.TOO_MANY_AT_ONCE, 2)]
    two = [line(number, float(number), ended_at=number + 1.5, max_concurrency=2) for number in range(5)]
    assert breaches(*two) == []
    assert breaches(*two, line(9, 5.0, max_concurrency=1)) == [(Breach.TOO_MANY_AT_ONCE, 9)]


def test_a_request_while_the_host_had_asked_for_patience() -> None:
    refused = line(1, 0.0, blocked_until=10.2)
    assert breaches(refused, line(2, 5.0), line(3, 10.2)) == [(Breach.INSIDE_A_BLOCK, 2)]
    assert breaches(refused, line(2, 0.1, max_concurrency=2, delay_s=0.0)) == [], "it was under way before the answer"
    longer = line(2, 11.0, blocked_until=60.0)
    assert breaches(refused, longer, line(3, 30.0)) == [(Breach.INSIDE_A_BLOCK, 3)]


def test_the_longest_of_several_blocks_holds() -> None:
    lines = [
        line(1, 0.0, blocked_until=100.0, max_concurrency=2, delay_s=0.0),
        line(2, 0.1, blocked_until=5.0, max_concurrency=2, delay_s=0.0),
        line(3, 50.0),
    ]
    assert breaches(*lines) == [(Breach.INSIDE_A_BLOCK, 3)]


def test_a_hand_that_comes_after_the_next_lease() -> None:
    assert breaches(line(1, 0.0, lease_token=2), line(2, 1.0, lease_token=1)) == [(Breach.LATE_HAND, 2)]
    assert breaches(line(1, 0.0, lease_token=1), line(2, 1.0, lease_token=2)) == []


@pytest.mark.parametrize("rule", ["Disallow: /private", "disallow:/", "DISALLOW: /"])
def test_a_request_that_robots_forbids(rule: str) -> None:
    assert breaches(line(1, 0.0, rule=rule)) == [(Breach.DISALLOWED, 1)]


def test_every_violation_says_what_was_wrong_in_a_sentence() -> None:
    bad = [
        line(1, 0.0, lease_token=2, blocked_until=50.0),
        line(2, 0.1, lease_token=1, rule="Disallow: /"),
        line(3, 0.2, ended_at=9.0),
        line(4, 0.3),
    ]
    bad.append(line(5, 9.0, status=429, retry_after_s=30.0, blocked_until=10.0, ended_at=8.0))
    found = list(audit(bad))
    assert {violation.breach for violation in found} == {
        Breach.TOO_SOON,
        Breach.TOO_MANY_AT_ONCE,
        Breach.INSIDE_A_BLOCK,
        Breach.LATE_HAND,
        Breach.DISALLOWED,
        Breach.ENDS_BEFORE_START,
        Breach.BLOCK_TOO_SHORT,
    }
    assert all(violation.sentence and violation.url for violation in found)


@given(
    st.lists(st.floats(0.0, 5.0), min_size=1, max_size=30),
    st.floats(0.0, 3.0),
)
def test_the_audit_finds_a_gap_exactly_where_there_is_one(pauses: list[float], delay_s: float) -> None:
    starts = list(accumulate(pauses))
    lines = [line(number, at, ended_at=at, delay_s=delay_s) for number, at in enumerate(starts)]
    expected = [number for number in range(1, len(starts)) if starts[number] - starts[number - 1] < delay_s - 3e-6]
    allowed = [number for number in range(1, len(starts)) if starts[number] - starts[number - 1] < delay_s]
    found = [violation.number for violation in audit(lines) if violation.breach is Breach.TOO_SOON]
    assert set(expected) <= set(found) <= set(allowed)


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 4.0)), max_size=30), st.integers(1, 3))
def test_the_audit_counts_at_once_as_brute_force_does(requests: list[tuple[float, float]], most: int) -> None:
    lines, at = [], 0.0
    for number, (pause, length) in enumerate(requests):
        at += pause
        lines.append(line(number, at, ended_at=at + length, delay_s=0.0, max_concurrency=most))
    found = {violation.number for violation in audit(lines) if violation.breach is Breach.TOO_MANY_AT_ONCE}
    for one in lines:
        before = [other for other in lines if other.number < one.number]
        certainly = sum(other.ended_at > one.started_at + 3e-6 for other in before)
        perhaps = sum(other.ended_at > one.started_at for other in before)
        if certainly >= most:
            assert one.number in found
        if perhaps < most:
            assert one.number not in found
