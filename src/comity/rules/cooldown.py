"""How long a host is left alone, and when Comity stops coming back by itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from comity.model.host import BlockReason, HostStatus

MAX_AUTOMATIC_RETRIES = 3
REFRESH_AFTER = timedelta(days=14)

COOLDOWNS: Mapping[BlockReason, timedelta] = {
    BlockReason.LOGIN_REQUIRED: timedelta(days=30),
    BlockReason.RATE_LIMITED: timedelta(days=7),
    BlockReason.FORBIDDEN: timedelta(days=14),
    BlockReason.SERVER_ERRORS: timedelta(days=7),
    # robots.txt itself is read again at its own age; a change wakes the host sooner.
    BlockReason.ROBOTS_DENIED: timedelta(days=90),
    # Nothing was refused: retry when the cached robots.txt expires.
    BlockReason.ROBOTS_UNREACHABLE: timedelta(hours=12),
    BlockReason.DNS_FAILURE: timedelta(days=7),
    BlockReason.CONNECTION_FAILURE: timedelta(days=7),
    # Our own refusal; allowing the network lifts it at once.
    BlockReason.ADDRESS_REFUSED: timedelta(days=7),
}

UNCOUNTED_REASONS = frozenset({BlockReason.ROBOTS_UNREACHABLE})
UNREACHABLE_REASONS = frozenset({BlockReason.DNS_FAILURE, BlockReason.CONNECTION_FAILURE, BlockReason.ADDRESS_REFUSED})
# Reasons that do not affect other schemes and ports of the same host.
ORIGIN_REASONS = frozenset({BlockReason.DNS_FAILURE, BlockReason.CONNECTION_FAILURE, BlockReason.ROBOTS_UNREACHABLE})


def status_for(reason: BlockReason) -> HostStatus:
    """Whether a reason means that the host blocks us or that it is unreachable."""
    return HostStatus.UNREACHABLE if reason in UNREACHABLE_REASONS else HostStatus.BLOCKED


def cooldown_ends_at(now: datetime, reason: BlockReason, retries_so_far: int) -> datetime | None:
    """When the host is retried automatically; None once the automatic retries are used up.

    A robots.txt that cannot be read is not a refusal: it is retried without limit.
    """
    if retries_so_far >= MAX_AUTOMATIC_RETRIES and reason not in UNCOUNTED_REASONS:
        return None
    return now + COOLDOWNS[reason]


def reason_for_status(http_status: int) -> BlockReason:
    """The block reason for repeated responses with this status."""
    if http_status == 429:
        return BlockReason.RATE_LIMITED
    if http_status == 401:
        return BlockReason.LOGIN_REQUIRED
    if http_status >= 500:
        return BlockReason.SERVER_ERRORS
    return BlockReason.FORBIDDEN
