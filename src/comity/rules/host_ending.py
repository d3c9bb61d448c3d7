"""How a host is left when a run gives its lease back."""

from __future__ import annotations

from dataclasses import dataclass

from comity.model.host import BlockReason, HostEnding, HostStatus
from comity.rules.cooldown import reason_for_status, status_for

_CAUSES = {"dns_failure": BlockReason.DNS_FAILURE, "address_refused": BlockReason.ADDRESS_REFUSED}


@dataclass(frozen=True, slots=True)
class HostRecord:
    """What a run saw of a host."""

    pages: int
    login_walls: int  # pages that asked for a login instead of what was asked for
    refused_by_robots: int
    robots_unreachable: bool
    errors_in_a_row: int
    last_error: tuple[str, int | None, str] | None  # code, status, sentence
    queued: int
    pages_before: int = 0
    login_pages: int = 0  # pages that were login pages by their own address: they say nothing either way


def host_ending(record: HostRecord, max_errors_in_a_row: int) -> HostEnding:
    """Name the status that the host is left in, and why.

    Exhausted means that the frontier is empty and nothing is in flight; a run that ended for any other reason
    leaves the host active, to go on from its frontier.
    """
    if record.errors_in_a_row >= max_errors_in_a_row and record.last_error is not None:
        return _left_alone(record.last_error)
    if record.robots_unreachable and record.pages == 0:
        # What is queued stays so: a site whose robots.txt cannot be read today may answer tomorrow.
        if record.last_error is not None and record.last_error[1] is None:
            return _left_alone(record.last_error)
        return HostEnding(HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE, "robots.txt could not be read")
    if record.queued:
        return HostEnding(HostStatus.ACTIVE)
    if record.pages == 0 and record.pages_before == 0:
        if record.last_error is not None and _is_refusal(record.last_error[1]):
            return _left_alone(record.last_error)
        if record.refused_by_robots:
            return HostEnding(HostStatus.BLOCKED, BlockReason.ROBOTS_DENIED, "robots disallow")
    if record.login_walls and record.login_walls + record.login_pages >= record.pages and record.pages_before == 0:
        return HostEnding(HostStatus.BLOCKED, BlockReason.LOGIN_REQUIRED, "every page asks for a login")
    return HostEnding(HostStatus.EXHAUSTED)


def _left_alone(error: tuple[str, int | None, str]) -> HostEnding:
    code, http_status, sentence = error
    if http_status is not None:
        reason = reason_for_status(http_status)
    else:
        reason = _CAUSES.get(code, BlockReason.CONNECTION_FAILURE)
    return HostEnding(status_for(reason), reason, sentence)


def _is_refusal(http_status: int | None) -> bool:
    """Whether an error speaks for the whole host: no answer at all, or one that turns us away."""
    return http_status is None or http_status in (401, 403, 429) or http_status >= 500
