"""How a run ended: the reason is the true one, whatever its hosts were left for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.host import BlockReason
from comity.model.run import DONE, PRECEDENCE, SENTENCES, BudgetReason, EndReason, sentence_of
from comity.rules.endings import HostRunEnd, brought_nothing, count_reasons, host_reason, run_reason, sentence_for

R = EndReason


def test_every_reason_has_a_sentence_and_a_place() -> None:
    assert set(SENTENCES) == set(PRECEDENCE) == set(EndReason)
    assert len(set(SENTENCES.values())) == len(EndReason)
    assert {str(reason) for reason in (*BlockReason, *BudgetReason)} <= {str(reason) for reason in EndReason}
    assert max(len(reason) for reason in EndReason) <= 50, "the column of the table"
    assert sentence_of("page_limit") == R.PAGE_LIMIT.sentence
    assert sentence_of("an older word") == "an older word"


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (HostRunEnd(0), R.NOTHING_LEFT),
        (HostRunEnd(0, too_deep=3), R.TOO_DEEP),
        (HostRunEnd(5), R.PUT_OFF),
        (HostRunEnd(5, too_deep=3), R.PUT_OFF),
        (HostRunEnd(5, asked_to_wait=True), R.ASKED_TO_WAIT),
        (HostRunEnd(0, asked_to_wait=True), R.NOTHING_LEFT),
        (HostRunEnd(5, robots_unread=True), R.ROBOTS_UNREACHABLE),
        (HostRunEnd(5, spent=BudgetReason.HOST_PAGE_LIMIT), R.HOST_PAGE_LIMIT),
        (HostRunEnd(5, spent=BudgetReason.HOST_PAGE_LIMIT, asked_to_wait=True), R.HOST_PAGE_LIMIT),
        (HostRunEnd(0, spent=BudgetReason.HOST_PAGE_LIMIT), R.NOTHING_LEFT),
        (HostRunEnd(5, spent=BudgetReason.TIME_LIMIT), R.TIME_LIMIT),
        (HostRunEnd(5, ended_by=R.STOPPED), R.STOPPED),
        (HostRunEnd(0, ended_by=R.STOPPED), R.NOTHING_LEFT),
        (HostRunEnd(5, block=BlockReason.SERVER_ERRORS), R.SERVER_ERRORS),
        (HostRunEnd(0, block=BlockReason.FORBIDDEN), R.FORBIDDEN),
        (HostRunEnd(1, block=BlockReason.DNS_FAILURE, ended_by=R.TIME_LIMIT), R.DNS_FAILURE),
    ],
)
def test_a_host_is_left_for_the_reason_that_holds(left: HostRunEnd, reason: EndReason) -> None:
    assert host_reason(left) is reason


@given(
    st.builds(
        HostRunEnd,
        queued=st.integers(0, 3),
        too_deep=st.integers(0, 3),
        block=st.none() | st.sampled_from(BlockReason),
        spent=st.none() | st.sampled_from(BudgetReason),
        asked_to_wait=st.booleans(),
        robots_unread=st.booleans(),
        ended_by=st.none() | st.sampled_from([R.STOPPED, R.TIME_LIMIT, R.PAGE_LIMIT]),
    )
)
def test_nothing_left_is_said_only_where_nothing_is(left: HostRunEnd) -> None:
    if host_reason(left) is R.NOTHING_LEFT:
        assert (left.queued, left.too_deep) == (0, 0)
    if left.queued:
        assert host_reason(left) not in DONE


@pytest.mark.parametrize(
    ("ended_by", "hosts", "reason"),
    [
        (None, {}, R.NOTHING_LEFT),
        (None, {R.NOTHING_LEFT: 3}, R.NOTHING_LEFT),
        (None, {R.NOTHING_LEFT: 3, R.TOO_DEEP: 1}, R.TOO_DEEP),
        (None, {R.NOTHING_LEFT: 3, R.ALREADY_DONE: 1}, R.ALREADY_DONE),
        (None, {R.NOTHING_LEFT: 99, R.HOST_PAGE_LIMIT: 1, R.ASKED_TO_WAIT: 5}, R.HOST_PAGE_LIMIT),
        (None, {R.DNS_FAILURE: 2, R.PUT_OFF: 1}, R.PUT_OFF),
        (R.TIME_LIMIT, {R.TIME_LIMIT: 1, R.NOTHING_LEFT: 4}, R.TIME_LIMIT),
        (R.TIME_LIMIT, {R.NOTHING_LEFT: 4}, R.NOTHING_LEFT),
        (R.PAGE_LIMIT, {R.NOT_TAKEN: 4}, R.PAGE_LIMIT),
        (R.STOPPED, {R.NOTHING_LEFT: 4}, R.STOPPED),
        (R.FAILED, {R.NOTHING_LEFT: 4}, R.FAILED),
        (R.TAKEN_DOWN, {}, R.TAKEN_DOWN),
    ],
)
def test_a_run_ends_for_the_first_reason_of_its_hosts(
    ended_by: EndReason | None, hosts: dict[EndReason, int], reason: EndReason
) -> None:
    assert run_reason(ended_by, hosts) is reason


@given(st.lists(st.sampled_from(EndReason), max_size=8))
def test_a_run_says_nothing_left_only_where_every_host_does(reasons: list[EndReason]) -> None:
    hosts = count_reasons(reasons)
    assert sum(hosts.values()) == len(reasons)
    assert list(hosts) == sorted(hosts, key=PRECEDENCE.__getitem__)
    if run_reason(None, hosts) is R.NOTHING_LEFT:
        assert set(hosts) <= {R.NOTHING_LEFT}


def test_other_reasons_are_counted() -> None:
    hosts = {R.HOST_PAGE_LIMIT: 2, R.ASKED_TO_WAIT: 1, R.NOTHING_LEFT: 1}
    assert sentence_for(R.HOST_PAGE_LIMIT, hosts) == (
        "the limit of pages per host was reached (2 of 4 hosts); 1 host: the host asked Comity to wait; "
        "1 host: nothing left to visit"
    )
    assert sentence_for(R.STOPPED, {R.STOPPED: 1, R.NOTHING_LEFT: 1}) == "stopped by the operator"
    assert sentence_for(R.FAILED, {R.NOT_TAKEN: 1}, "the disk is full") == "the disk is full"
    assert sentence_for(R.NOTHING_LEFT, {R.NOTHING_LEFT: 3}) == "nothing left to visit"
    assert sentence_for(R.PAGE_LIMIT, {R.PAGE_LIMIT: 1}, "the limit of 9 was reached") == "the limit of 9 was reached"


@pytest.mark.parametrize(
    ("pages", "tried", "hosts", "is_nothing"),
    [
        (1, 5, [R.DNS_FAILURE], False),
        (0, 0, [R.DNS_FAILURE], True),
        (0, 0, [R.TAKEN_DOWN], True),
        (0, 1, [R.NOTHING_LEFT], True),  # the only page is gone
        (0, 0, [R.NOTHING_LEFT], False),  # a refresh that found nothing stale
        (0, 0, [R.ALREADY_DONE], False),
        (0, 0, [R.ALREADY_DONE, R.ROBOTS_DENIED], True),
        (0, 0, [], False),
        (0, 0, [R.ASKED_TO_WAIT], True),
        (0, 0, [R.HELD_ELSEWHERE], False),
        (0, 1, [R.HELD_ELSEWHERE], True),
    ],
)
def test_a_run_that_brought_nothing_is_known(pages: int, tried: int, hosts: list[EndReason], is_nothing: bool) -> None:
    assert brought_nothing(pages, tried, hosts) is is_nothing
