"""What a run has done so far, for whoever looks on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from comity.model.evidence import EvidenceType
from comity.model.fetch import FailureKind
from comity.model.outcome import (
    Failed,
    Fetched,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
)
from comity.model.traps import NO_PAGES
from comity.rules.login_wall import is_login_address
from comity.walk.leased_host import LeasedHost


@dataclass(slots=True)
class Progress:
    """Counters that the walk moves and a door reads; nothing here decides anything."""

    started_at: float
    begun: int = 0  # pages, also those still under way: what budgets count
    pages: int = 0
    errors: int = 0
    refused: int = 0
    unchanged: int = 0  # of the pages, those that are as they were when they were seen before
    images_found: int = 0
    images_stored: int = 0
    images_failed: int = 0
    bytes_received: int = 0
    links_found: int = 0
    hosts_active: int = 0
    hosts_waiting: int = 0
    hosts_blocked: int = 0
    hosts_done: int = 0
    queued: int = 0
    warnings: list[str] = field(default_factory=list)
    waits_for: str | None = None  # what has to come back before anything goes on


@dataclass(frozen=True, slots=True)
class HostLineInSummary:
    """How one host was left."""

    host: str
    status: str
    pages: int
    errors: int
    queued: int
    reason: str | None
    seconds: float = 0.0  # that it was under way
    next_run_at: float | None = None  # when it is due again, if it waits


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended."""

    run_id: str
    status: str
    reason: str
    pages: int
    errors: int
    refused: int
    bytes_received: int
    seconds: float
    hosts: tuple[HostLineInSummary, ...]
    warnings: tuple[str, ...]
    unchanged: int = 0
    images_found: int = 0
    images_stored: int = 0
    images_failed: int = 0


def summary_of(
    progress: Progress, run_id: str, status: str, reason: str, lines: Iterable[HostLineInSummary], now: float
) -> RunSummary:
    """Sum a run up at its end."""
    return RunSummary(
        run_id=run_id,
        status=status,
        reason=reason,
        pages=progress.pages,
        errors=progress.errors,
        refused=progress.refused,
        bytes_received=progress.bytes_received,
        seconds=now - progress.started_at,
        hosts=tuple(sorted(lines, key=lambda line: line.host)),
        warnings=tuple(progress.warnings),
        unchanged=progress.unchanged,
        images_found=progress.images_found,
        images_stored=progress.images_stored,
        images_failed=progress.images_failed,
    )


_SAME_PAGE = frozenset({str(EvidenceType.NO_HTTPS), *map(str, NO_PAGES)})  # another address is visited in its place
_REFUSALS = (EvidenceType.BLOCKED_BY_ROBOTS, EvidenceType.TAKEN_DOWN)  # links that were not let into the frontier


def note_outcome(host: LeasedHost, outcome: Outcome, progress: Progress) -> None:
    """Keep count of how a host and the run fare."""
    tally = host.tally
    if outcome.entry.is_image:
        _note_image(host, outcome, progress)
        return
    match outcome:
        case Fetched() | NotModified():
            tally.pages += 1
            tally.errors_in_a_row = 0
            progress.pages += 1
            if outcome.entry.seen is not None:
                is_same = isinstance(outcome, NotModified) or outcome.content_hash == outcome.entry.seen.content_hash
                progress.unchanged += is_same
            if outcome.entry.depth == 0 and outcome.answer.redirect_count and not _concerns(host, outcome):
                tally.moved_to = outcome.answer.final_url
            evidence = outcome.trail.evidence
            if len(evidence) > 1:  # the first is that it may be asked
                progress.refused += sum(item.type in _REFUSALS for item in evidence)
            if isinstance(outcome, Fetched) and outcome.is_login_wall:
                tally.login_walls += 1
            elif is_login_address(outcome.entry.url):
                tally.login_pages += 1
        case Postponed():
            tally.robots_unread += outcome.code == "robots_unreachable"
        case Refused():
            if outcome.trail.requests:  # it was asked for, and led where we do not go
                tally.errors += 1
                progress.errors += 1
            elif outcome.code not in _SAME_PAGE:
                progress.refused += 1
                tally.refused_by_robots += outcome.code.startswith("robots")
                tally.refused_as_trap += outcome.code == "trap"
                if outcome.code == FailureKind.ADDRESS_REFUSED:
                    tally.last_error = (outcome.code, None, outcome.reason)
        case Gone() | RateLimited():
            status = outcome.answer.status
            progress.errors += 1
            tally.errors += 1
            if _concerns(host, outcome):
                tally.last_error = (f"http_{status}", status, f"the server answered {status}")
                # A missing page says nothing about the host; being turned away does.
                if status not in (401, 403, 429, 503):
                    tally.errors_in_a_row = 0
                elif outcome.entry.attempts == 0:
                    tally.errors_in_a_row += 1
        case Failed():
            progress.errors += 1
            tally.errors += 1
            if _concerns(host, outcome):
                tally.last_error = (outcome.code, outcome.status, outcome.reason)
                # The same page tried again is still one page that fails.
                tally.errors_in_a_row += outcome.entry.attempts == 0
        case _:
            tally.errors += 1
            progress.errors += 1


def _note_image(host: LeasedHost, outcome: Outcome, progress: Progress) -> None:
    """An image is no page: what becomes of it says nothing about the host, unless the host cannot be reached."""
    tally = host.tally
    match outcome:
        case ImageFetched() | NotModified():
            tally.errors_in_a_row = 0
        case Failed():
            progress.images_failed += outcome.entry.attempts == 0
            if _concerns(host, outcome) and outcome.status is None:
                tally.last_error = (outcome.code, outcome.status, outcome.reason)
                tally.errors_in_a_row += outcome.entry.attempts == 0
        case Gone() | Rejected() | RateLimited():
            progress.images_failed += outcome.entry.attempts == 0
        case Refused():
            progress.refused += 1
        case _:
            pass


def _concerns(host: LeasedHost, outcome: Outcome) -> bool:
    """Whether an answer came from the host itself, and not from one that a redirect led to."""
    requests = outcome.trail.requests
    return not requests or requests[-1].host_id == host.lease.host_id
