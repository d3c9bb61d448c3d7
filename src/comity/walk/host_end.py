"""How a host is left: for which reason, in which words, and until when. What the run knows of it goes in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from comity.model.host import HostEnding
from comity.model.run import EndReason, Exhausted
from comity.rules.endings import HostRunEnd, host_reason
from comity.walk.robots.in_force import RobotsInForce
from comity.walk.session.leased_host import LeasedHost


class LeftOver(NamedTuple):
    """What a host still has when it is left. A sitemap that is still to be read may name more pages than are queued."""

    queued: int
    unread_sitemaps: int
    due_at: datetime | None  # when the earliest URL that was put off is due
    too_deep: int = 0
    least_depth: int | None = None  # of those that are too deep


def reason_of(
    host: LeasedHost, ending: HostEnding, left: LeftOver, ended_by: EndReason | None, now: float
) -> EndReason:
    """Why a host is left; `ended_by` is what ended the whole run."""
    return host_reason(
        HostRunEnd(
            queued=left.queued + left.unread_sitemaps,
            too_deep=left.too_deep,
            block=ending.reason,
            spent=host.spent_budget.reason if host.spent_budget is not None else None,
            asked_to_wait=host.waits_until is not None or host.gate.blocked_until > now,
            robots_unread=bool(host.tally.robots_unread),
            ended_by=ended_by,
        )
    )


def in_words(
    code: EndReason,
    ending: HostEnding,
    left: LeftOver,
    spent: Exhausted | None,
    waits: datetime | None,
    max_depth: int,
) -> str | None:
    """What is particular about the end of a host; nothing where there is nothing to say."""
    if code is EndReason.TOO_DEEP:
        links = f"{left.too_deep:,} links lie" if left.too_deep != 1 else "1 link lies"
        return f"{links} deeper than --max-depth {max_depth}; a larger --max-depth goes on there"
    if spent is not None and str(spent.reason) == code:
        return spent.sentence
    if waits is not None:
        return f"{code.sentence}, until {waits:%Y-%m-%d %H:%M:%S} UTC"
    if ending.detail is not None or code is EndReason.NOTHING_LEFT:
        return ending.detail
    return code.sentence


def waits_until(host: LeasedHost, due_at: datetime | None) -> datetime | None:
    """When a host can be asked something again; None if that is now."""
    if host.waits_until is not None:
        return datetime.fromtimestamp(host.waits_until, UTC)
    if host.work or host.work.has_more or host.work.has_images:
        return None
    unread = [reading.expires_at for reading in readings(host) if reading.is_unreachable]
    if host.tally.robots_unread and unread:
        robots_at = datetime.fromtimestamp(min(unread), UTC)
        return robots_at if due_at is None else min(due_at, robots_at)
    return due_at


def readings(host: LeasedHost) -> list[RobotsInForce]:
    """The robots.txt of every origin that counts: not of https where http is visited instead."""
    return [reading for origin, reading in host.robots.items() if origin not in host.without_tls]


def robots_failure(host: LeasedHost) -> tuple[str, int | None, str] | None:
    """Why robots.txt of the host could not be read, if it could not."""
    return next((failure for reading in readings(host) if (failure := reading.failure) is not None), None)
