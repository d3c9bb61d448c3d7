"""How a host and a run end: takes what is known at the end, returns a status, an end reason, and when to retry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from comity.model.dataclass import dataclass
from comity.model.host import BlockReason, HostEnding, HostError, HostStatus
from comity.model.run import DONE, FAILURES, PRECEDENCE, STOPS, BudgetReason, EndReason

MAX_AUTOMATIC_RETRIES = 3
REFRESH_AFTER = timedelta(days=14)

COOLDOWNS: Mapping[BlockReason, timedelta] = {
    BlockReason.LOGIN_REQUIRED: timedelta(days=30),
    BlockReason.RATE_LIMITED: timedelta(days=7),
    BlockReason.FORBIDDEN: timedelta(days=14),
    BlockReason.SERVER_ERRORS: timedelta(days=7),
    # robots.txt itself is read again at its own age; a change wakes the host sooner.
    BlockReason.ROBOTS_DENIED: timedelta(days=90),
    # Nothing was refused, so retry when the cached robots.txt expires.
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


@dataclass(frozen=True, slots=True)
class HostRunEnd:
    """One host at the end of a run. `queued` counts URLs that may be visited, and sitemaps still to be read."""

    queued: int
    too_deep: int = 0
    block: BlockReason | None = None
    spent: BudgetReason | None = None
    asked_to_wait: bool = False  # by Retry-After, or by refusals without one
    robots_unread: bool = False
    ended_by: EndReason | None = None  # what ended the whole run meanwhile
    stopped_by: EndReason | None = None  # why it cannot be asked, if that is not the host's doing


def host_reason(left: HostRunEnd) -> EndReason:
    """Why a host's part of a run ended; "nothing left" only if nothing is."""
    if left.block is not None:
        return EndReason(str(left.block))
    if not left.queued:
        return EndReason.TOO_DEEP if left.too_deep else EndReason.NOTHING_LEFT
    if left.stopped_by is not None:
        return left.stopped_by
    if left.spent is not None:
        return EndReason(str(left.spent))
    if left.ended_by is not None:
        return left.ended_by
    if left.asked_to_wait:
        return EndReason.ASKED_TO_WAIT
    return EndReason.ROBOTS_UNREACHABLE if left.robots_unread else EndReason.PUT_OFF


def run_reason(ended_by: EndReason | None, hosts: Mapping[EndReason, int]) -> EndReason:
    """Why a run ended: what ended it as a whole, else the reasons of its hosts, by `PRECEDENCE`.

    A limit that was reached when nothing was left to do did not end the run.
    """
    if ended_by is not None and (ended_by in FAILURES | STOPS or not hosts or not DONE.issuperset(hosts)):
        return ended_by
    return min(hosts, key=PRECEDENCE.__getitem__, default=EndReason.NOTHING_LEFT)


def count_reasons(reasons: Iterable[EndReason]) -> dict[EndReason, int]:
    """How many hosts ended for each reason, in the order of `PRECEDENCE`."""
    found = Counter(reasons)
    return {reason: found[reason] for reason in sorted(found, key=PRECEDENCE.__getitem__)}


def sentence_for(reason: EndReason, hosts: Mapping[EndReason, int], detail: str | None = None) -> str:
    """The end of a run in words. `detail` says more than the reason's own sentence; other reasons are counted."""
    said = detail or reason.sentence
    total, others = sum(hosts.values()), {each: count for each, count in hosts.items() if each is not reason}
    if not others or reason in FAILURES | STOPS:  # which had nothing to do with the hosts
        return said
    if reason in hosts:
        said += f" ({hosts[reason]:,} of {total:,} hosts)"
    return "; ".join([said, *(f"{count:,} {_hosts(count)}: {each.sentence}" for each, count in others.items())])


def brought_nothing(pages: int, tried: int, hosts: Iterable[EndReason]) -> bool:
    """Whether no page was fetched although some were wanted: a command reports this by its exit code.

    Hosts that got no requests because they are done, or because another worker crawls them, are not a failure.
    """
    return pages == 0 and (tried > 0 or not (DONE | {EndReason.HELD_ELSEWHERE}).issuperset(hosts))


def _hosts(count: int) -> str:
    return "host" if count == 1 else "hosts"


_CAUSES = {
    "dns_failure": BlockReason.DNS_FAILURE,
    "address_refused": BlockReason.ADDRESS_REFUSED,
    "robots_unreachable": BlockReason.ROBOTS_UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class HostRecord:
    """What a run observed of a host."""

    pages: int
    login_walls: int  # responses that asked for a login instead of showing the page
    refused_by_robots: int
    robots_unreachable: bool
    errors_in_a_row: int
    last_error: HostError | None
    queued: int
    pages_before: int = 0
    login_pages: int = 0  # pages that are login pages by their URL: they prove nothing either way


def host_ending(record: HostRecord, max_errors_in_a_row: int) -> HostEnding:
    """The status of the host when its lease is released, and why.

    Exhausted means that the frontier is empty and nothing is in flight; a run that ended for any other reason
    leaves the host active, so that the next run continues from its frontier.
    """
    if record.errors_in_a_row >= max_errors_in_a_row and record.last_error is not None:
        return _left_alone(record.last_error)
    if record.robots_unreachable and record.pages == 0:
        # Queued URLs stay queued: a site whose robots.txt cannot be read today may respond tomorrow.
        if record.last_error is not None and record.last_error.status is None:
            return _left_alone(record.last_error)
        return HostEnding(HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE, "robots.txt could not be read")
    if record.queued:
        return HostEnding(HostStatus.ACTIVE)
    if record.pages == 0 and record.pages_before == 0:
        if record.last_error is not None and _is_refusal(record.last_error.status):
            return _left_alone(record.last_error)
        if record.refused_by_robots:
            return HostEnding(HostStatus.BLOCKED, BlockReason.ROBOTS_DENIED, "robots disallow")
    if record.login_walls and record.login_walls + record.login_pages >= record.pages and record.pages_before == 0:
        return HostEnding(HostStatus.BLOCKED, BlockReason.LOGIN_REQUIRED, "every page requires a login")
    return HostEnding(HostStatus.EXHAUSTED)


def _left_alone(error: HostError) -> HostEnding:
    if error.status is not None:
        reason = reason_for_status(error.status)
    else:
        reason = _CAUSES.get(error.code, BlockReason.CONNECTION_FAILURE)
    return HostEnding(status_for(reason), reason, error.sentence, error.refused_address)


def _is_refusal(http_status: int | None) -> bool:
    """Whether an error concerns the whole host: no response at all, or a refusal."""
    return http_status is None or http_status in (401, 403, 429) or http_status >= 500
