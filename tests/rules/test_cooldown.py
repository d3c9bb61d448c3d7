"""How long a host is left alone, by the reason, and when Comity stops coming back by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.host import BlockReason, HostStatus
from comity.rules.endings import (
    COOLDOWNS,
    MAX_AUTOMATIC_RETRIES,
    REFRESH_AFTER,
    cooldown_ends_at,
    reason_for_status,
    status_for,
)

NOW = datetime(2026, 2, 7, 12, tzinfo=UTC)
DURATIONS = {
    BlockReason.LOGIN_REQUIRED: timedelta(days=30),
    BlockReason.RATE_LIMITED: timedelta(days=7),
    BlockReason.FORBIDDEN: timedelta(days=14),
    BlockReason.SERVER_ERRORS: timedelta(days=7),
    BlockReason.ROBOTS_DENIED: timedelta(days=90),
    BlockReason.ROBOTS_UNREACHABLE: timedelta(hours=12),
    BlockReason.DNS_FAILURE: timedelta(days=7),
    BlockReason.CONNECTION_FAILURE: timedelta(days=7),
    BlockReason.ADDRESS_REFUSED: timedelta(days=7),
}


@pytest.mark.parametrize("reason", BlockReason)
@pytest.mark.parametrize("retries", range(MAX_AUTOMATIC_RETRIES))
def test_each_reason_has_its_own_cooldown(reason: BlockReason, retries: int) -> None:
    assert cooldown_ends_at(NOW, reason, retries) == NOW + DURATIONS[reason]


def test_no_reason_is_without_a_cooldown() -> None:
    assert set(COOLDOWNS) == set(BlockReason) == set(DURATIONS)
    assert REFRESH_AFTER.days == 14
    assert MAX_AUTOMATIC_RETRIES == 3


@given(st.sampled_from(BlockReason), st.integers(3, 10**6))
def test_after_three_automatic_retries_the_host_is_left_alone(reason: BlockReason, retries: int) -> None:
    if reason is BlockReason.ROBOTS_UNREACHABLE:
        # Nothing was refused: the file is looked at again at each refresh, for as long as it takes.
        assert cooldown_ends_at(NOW, reason, retries) == NOW + DURATIONS[reason]
    else:
        assert cooldown_ends_at(NOW, reason, retries) is None


@pytest.mark.parametrize("reason", BlockReason)
def test_a_host_that_cannot_be_found_is_unreachable_and_one_that_refuses_is_blocked(reason: BlockReason) -> None:
    gone = reason in (BlockReason.DNS_FAILURE, BlockReason.CONNECTION_FAILURE, BlockReason.ADDRESS_REFUSED)
    assert status_for(reason) is (HostStatus.UNREACHABLE if gone else HostStatus.BLOCKED)


@pytest.mark.parametrize(
    ("http_status", "reason"),
    [
        (401, BlockReason.LOGIN_REQUIRED),
        (403, BlockReason.FORBIDDEN),
        (410, BlockReason.FORBIDDEN),
        (429, BlockReason.RATE_LIMITED),
        (500, BlockReason.SERVER_ERRORS),
        (503, BlockReason.SERVER_ERRORS),
        (599, BlockReason.SERVER_ERRORS),
    ],
)
def test_a_refusing_status_names_its_reason(http_status: int, reason: BlockReason) -> None:
    assert reason_for_status(http_status) is reason
