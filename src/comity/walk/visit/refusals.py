"""Why a URL is not fetched now: a denial, or a host that cannot be requested, becomes an outcome with its evidence."""

from __future__ import annotations

from math import inf
from typing import Final

from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import FetchFailure
from comity.model.frontier import FoundBy, QueuedUrl
from comity.model.gate import SLOT_TIMEOUT_MESSAGE, SlotTimeout, Wait
from comity.model.outcome import Postponed, Refused, Trail
from comity.model.robots import RobotsVerdict
from comity.model.traps import NO_PAGES, TrapRefusal
from comity.rules.admission import DenialCode, Denied
from comity.rules.canonical import WebAddress
from comity.rules.url_patterns import LeftOut
from comity.walk.evidence import (
    is_left_out_kept,
    is_worth_storing,
    left_out_evidence,
    robots_evidence,
    taken_down,
    trap_evidence,
)
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext

SLOT_TIMEOUT: Final = "slot_timeout"
_BUSY_FOR_S: Final = 2.0  # the first time that a host is held by another worker; doubled each time
_MOST_BUSY_HOSTS: Final = 1000


def denied(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, denial: Denied, trail: Trail, context: VisitContext
) -> Refused | Postponed:
    """What a denial means for the URL that is visited, with its evidence."""
    now, why = context.clock(), denial.evidence
    if isinstance(why, FetchFailure):
        return not_requested(host, entry, address, why, trail)
    if isinstance(why, TrapRefusal):  # more is known of its kind than when it was queued
        if is_worth_storing(why):
            trail.evidence.append(trap_evidence(host, address, why, now))
        return Refused(entry, trail, "trap" if why.code not in NO_PAGES else str(why.code), why.reason, now)
    if isinstance(why, LeftOut):
        found = (FoundBy.UNKNOWN, 0) if address.key == entry.key else (FoundBy.REDIRECT, entry.key)
        host.note_left_out(address, why, found, entry.depth, is_image=entry.is_image)
        if is_left_out_kept(host):
            trail.evidence.append(left_out_evidence(host, address, why, now))
        return Refused(entry, trail, str(DenialCode.LEFT_OUT), _there(entry, address, why.reason), now)
    if not isinstance(why, RobotsVerdict):
        trail.evidence.append(taken_down(host, address, str(why), now))
        return Refused(entry, trail, "taken_down", _there(entry, address, f"taken down: {why}"), now)
    trail.evidence.append(robots_evidence(host, address, why, now))
    if denial.code is DenialCode.ROBOTS:
        return Refused(entry, trail, "robots_denied", _there(entry, address, why.reason), now)
    if address.host == host.name:
        # Nothing was forbidden: the URL is still to be visited once the file can be read.
        return Postponed(entry, trail, "robots_unreachable", host.robots[address.origin].expires_at)
    return Refused(entry, trail, "robots_unreachable", _there(entry, address, why.reason), now)


def busy(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, trail: Trail, context: VisitContext, *, leads: str
) -> Postponed:
    """Postpone a URL because another host, to which it `leads`, cannot be requested now; longer each time."""
    times = host.tally.busy_elsewhere
    if len(times) >= _MOST_BUSY_HOSTS:
        times.clear()
    earlier = times.get(address.host, 0)
    times[address.host] = earlier + 1
    wait_s = _BUSY_FOR_S * 2.0 ** min(earlier, 8)
    now, host_id = context.clock(), host.lease.host_id
    content = {"code": "host_busy", "reason": f"{leads} {address.url[:500]}, whose host is held by another worker"}
    trail.evidence.append(
        Evidence(host_id, entry.url, entry.key, EvidenceType.POSTPONED, content, {"url": entry.url}, "high", now)
    )
    return Postponed(entry, trail, "host_busy", now + wait_s)


def unsent(host: LeasedHost, entry: QueuedUrl, failure: FetchFailure, trail: Trail, context: VisitContext) -> Postponed:
    """Postpone a URL because its request did not reach the host: the proxy failed, or a secret is missing."""
    wait_s = host.note_our_failure(failure.kind, failure.detail)
    now, content = context.clock(), {"code": str(failure.kind), "reason": failure.detail}
    trail.evidence.append(
        Evidence(
            host.lease.host_id,
            entry.url,
            entry.key,
            EvidenceType.POSTPONED,
            content,
            {"url": entry.url},
            "high",
            now,
        )
    )
    return Postponed(entry, trail, str(failure.kind), now + wait_s)


def postponed(entry: QueuedUrl, trail: Trail, why: Wait | SlotTimeout | None) -> Postponed:
    """Postpone a URL until the gate of its host may open."""
    if isinstance(why, Wait):
        return Postponed(entry, trail, str(why.reason), why.until)
    return Postponed(entry, trail, "slot_timeout")


def not_started(
    host: LeasedHost, entry: QueuedUrl, trail: Trail, why: Wait | SlotTimeout | None, context: VisitContext
) -> Refused | Postponed:
    """A request that the gate did not let start: where a slot has a time-out of its own, that is an error."""
    if isinstance(why, SlotTimeout) and host.gate.limits.slot_timeout_s < inf:
        return slot_timed_out(host, entry, trail, context)
    return postponed(entry, trail, why)


def slot_timed_out(host: LeasedHost, entry: QueuedUrl, trail: Trail, context: VisitContext) -> Refused:
    """Refuse a URL because all slots of its host were taken for too long: it is not fetched in this run."""
    now, content = context.clock(), {"code": SLOT_TIMEOUT, "reason": SLOT_TIMEOUT_MESSAGE}
    host_id, metadata = host.lease.host_id, {"url": entry.url}
    trail.evidence.append(
        Evidence(host_id, entry.url, entry.key, EvidenceType.POSTPONED, content, metadata, "high", now)
    )
    return Refused(entry, trail, SLOT_TIMEOUT, SLOT_TIMEOUT_MESSAGE, now)


def not_requested(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, failure: FetchFailure, trail: Trail
) -> Refused:
    """Refuse a URL because a crawler never requests its address, with evidence."""
    at, reason = failure.started_at, failure.detail
    content = {"reason": reason, "address": failure.address}
    trail.evidence.append(
        Evidence(
            host.lease.host_id,
            address.url,
            address.key,
            EvidenceType.ADDRESS_REFUSED,
            content,
            {"url": address.url},
            "high",
            at,
        )
    )
    return Refused(entry, trail, str(failure.kind), _there(entry, address, reason), at, failure.address)


def _there(entry: QueuedUrl, address: WebAddress, reason: str) -> str:
    """A reason, with the address that it is about if a redirect led there."""
    return reason if address.key == entry.key else f"redirected to {address.url[:500]}: {reason}"
