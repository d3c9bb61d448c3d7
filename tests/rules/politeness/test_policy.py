"""What each limit of a policy applies to."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.host import HostPolicy
from comity.rules.politeness.policy import LIMITS, Reach, page_bytes_for_any_door, reach_of, reaches


@pytest.mark.parametrize(
    ("limit", "by_default", "once_set"),
    [
        ("max_concurrency", Reach.EVERY_DOOR, Reach.EVERY_DOOR),
        ("min_request_interval_ms", Reach.EVERY_DOOR, Reach.EVERY_DOOR),
        ("max_pages", Reach.SOURCE_RUNS, Reach.SOURCE_RUNS),
        ("max_kb_per_page", Reach.SOURCE_RUNS, Reach.EVERY_DOOR),
        ("allow_js", Reach.NO_DOOR, Reach.NO_DOOR),
    ],
)
def test_what_a_limit_applies_to(limit: str, by_default: Reach, once_set: Reach) -> None:
    assert reach_of(limit, is_page_size_set=False) is by_default
    assert reach_of(limit, is_page_size_set=True) is once_set
    assert reaches(is_page_size_set=False)[limit] == by_default


def test_every_limit_of_a_policy_is_in_the_table() -> None:
    others = {"host", "last_seen_status", "is_page_size_set", "request_options", "include", "exclude"}
    assert set(LIMITS) == {field.name for field in fields(HostPolicy)} - others
    with pytest.raises(ValueError, match="is not a policy limit"):
        reach_of("host", is_page_size_set=False)


@given(st.integers(1, 1_000_000), st.booleans())
def test_a_page_size_that_was_not_set_leaves_the_door_its_own(kilobytes: int, is_set: bool) -> None:
    policy = HostPolicy("a.example", max_kb_per_page=kilobytes, is_page_size_set=is_set)
    assert page_bytes_for_any_door(policy) == (kilobytes * 1024 if is_set else None)
    assert page_bytes_for_any_door(None) is None
