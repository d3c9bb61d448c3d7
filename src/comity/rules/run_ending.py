"""How a run ended, as the ends of its hosts tell it. What is known of each host goes in; a reason comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from comity.model.budget import BudgetReason
from comity.model.end_reason import DONE, FAILURES, PRECEDENCE, STOPS, EndReason
from comity.model.host import BlockReason


@dataclass(frozen=True, slots=True)
class HostLeft:
    """How a host was left. `queued` counts URLs that may be visited, and sitemaps that are still to be read."""

    queued: int
    too_deep: int = 0
    block: BlockReason | None = None
    spent: BudgetReason | None = None
    asked_to_wait: bool = False  # by Retry-After, or by refusals without one
    robots_unread: bool = False
    ended_by: EndReason | None = None  # what ended the whole run meanwhile


def host_reason(left: HostLeft) -> EndReason:
    """Why a host was left: "nothing left" is said only where nothing is."""
    if left.block is not None:
        return EndReason(str(left.block))
    if not left.queued:
        return EndReason.TOO_DEEP if left.too_deep else EndReason.NOTHING_LEFT
    if left.spent is not None:
        return EndReason(str(left.spent))
    if left.ended_by is not None:
        return left.ended_by
    if left.asked_to_wait:
        return EndReason.ASKED_TO_WAIT
    return EndReason.ROBOTS_UNREACHABLE if left.robots_unread else EndReason.PUT_OFF


def run_reason(ended_by: EndReason | None, hosts: Mapping[EndReason, int]) -> EndReason:
    """Why a run ended: what ended it as a whole, else what its hosts were left for, by `PRECEDENCE`.

    A limit that was reached when nothing was left to do ended nothing.
    """
    if ended_by is not None and (ended_by in FAILURES | STOPS or not hosts or not DONE.issuperset(hosts)):
        return ended_by
    return min(hosts, key=PRECEDENCE.__getitem__, default=EndReason.NOTHING_LEFT)


def counted(reasons: Iterable[EndReason]) -> dict[EndReason, int]:
    """How many hosts were left for each reason, in the order of `PRECEDENCE`."""
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
    """Whether no page came although some were wanted: a command says so by its exit code.

    Hosts that are done, or that another worker crawls, and of which nothing was asked, are no failure.
    """
    return pages == 0 and (tried > 0 or not (DONE | {EndReason.HELD_ELSEWHERE}).issuperset(hosts))


def _hosts(count: int) -> str:
    return "host" if count == 1 else "hosts"
