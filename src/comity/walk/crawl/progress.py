"""What a run has done so far, and how it ended: counters that a caller may read at any time, and the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.evidence import EvidenceType
from comity.model.fetch import FailureKind
from comity.model.frontier import IMAGE_PRIORITY
from comity.model.host import HostError
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
from comity.model.run import EndReason, HostLoad
from comity.model.traps import NO_PAGES
from comity.reports.runs import IdleHost
from comity.rules.endings import brought_nothing, count_reasons, run_reason, sentence_for
from comity.rules.responses import is_login_address
from comity.walk.session.leased_host import LeasedHost

_KINDS_MOST: Final = 50  # kinds of errors that are counted separately in a run
_URLS_A_KIND: Final = 3
_OTHER: Final = "other"
LEASE_LOST = "lease lost"
"""The status in the summary of a host whose lease was lost and which could not be leased again."""


@dataclass(slots=True)
class Fault:
    """Errors of one kind: how many, and the first URLs."""

    code: str
    count: int = 0
    urls: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Progress:
    """Counters that a crawl updates and a caller reads."""

    started_at: float
    begun: int = 0  # visits of pages, including those in progress
    held: int = 0  # pages of the budget that are in progress or not yet settled
    pages: int = 0
    errors: int = 0
    refused: int = 0
    unchanged: int = 0  # of the pages, those that have not changed since they were last seen
    images_found: int = 0
    images_stored: int = 0
    images_failed: int = 0
    unconverted: int = 0  # extracted values that could not be converted, and are null
    bytes_received: int = 0
    links_found: int = 0
    hosts_active: int = 0
    hosts_waiting: int = 0
    hosts_blocked: int = 0
    hosts_done: int = 0
    queued: int = 0
    warnings: list[str] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)  # errors by their codes; together they are `errors`
    left_out: int = 0  # URLs, by patterns
    left_out_by: dict[str, int] = field(default_factory=dict)  # by pattern; together they are `left_out`
    waits_for: str | None = None  # why the run waits, while the frontier does not answer
    loads: Callable[[], Sequence[HostLoad]] = tuple  # what each open host still has to do, as of now

    def note_fault(self, code: str, url: str) -> None:
        """Count an error under its code; of very many kinds the last are counted together."""
        fault = self.faults.get(code)
        if fault is None:
            code = code if len(self.faults) < _KINDS_MOST else _OTHER
            fault = self.faults.setdefault(code, Fault(code))
        fault.count += 1
        if len(fault.urls) < _URLS_A_KIND and url not in fault.urls:
            fault.urls.append(url)

    def note_left_out(self, counts: Mapping[str, int]) -> None:
        """Count URLs that patterns left out; of very many patterns the last are counted together."""
        for pattern, count in counts.items():
            kept = pattern if pattern in self.left_out_by or len(self.left_out_by) < _KINDS_MOST else _OTHER
            self.left_out_by[kept] = self.left_out_by.get(kept, 0) + count
            self.left_out += count


@dataclass(frozen=True, slots=True)
class HostSummary:
    """How one host ended: `code` is an `EndReason`, `reason` adds details in words, if there are any."""

    host: str
    status: str
    pages: int
    errors: int
    queued: int
    reason: str | None
    seconds: float = 0.0  # that it was open
    next_run_at: float | None = None  # when it is due again, if it waits
    code: str = EndReason.NOTHING_LEFT
    too_deep: int = 0  # links in the frontier that are deeper than the run follows
    pages_in_all: int | None = None  # that were ever fetched, by this and earlier runs; known at the end of a run


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended: `code` is an `EndReason`, `reason` the same in words."""

    run_id: str
    status: str
    code: str
    reason: str
    pages: int
    errors: int
    refused: int
    bytes_received: int
    seconds: float
    hosts: tuple[HostSummary, ...]
    warnings: tuple[str, ...]
    unchanged: int = 0
    images_found: int = 0
    images_stored: int = 0
    images_failed: int = 0
    unconverted: int = 0
    """Extracted values that could not be converted to the type of their column, and are null."""
    endings: dict[str, int] = field(default_factory=dict)
    """How many hosts ended for each reason, also those that were not leased."""
    faults: tuple[Fault, ...] = ()
    """Errors by kind, the most frequent first."""
    left_out: int = 0
    """URLs that patterns left out in this run."""
    left_out_by: dict[str, int] = field(default_factory=dict)
    """The same by pattern, the most frequent first."""
    idle: tuple[IdleHost, ...] = ()
    """Hosts that were requested and not leased: why, until when, and what would change it."""

    @property
    def brought_nothing(self) -> bool:
        """Whether no page came although some were wanted."""
        return brought_nothing(self.pages, self.errors + self.refused, map(EndReason, self.endings))


_SAME_PAGE = frozenset({str(EvidenceType.NO_HTTPS), *map(str, NO_PAGES)})  # another address is visited in its place
_NOT_REFUSED = _SAME_PAGE | {str(EvidenceType.LEFT_OUT)}  # what patterns leave out is counted as such
_OURS = frozenset(str(kind) for kind in FailureKind if kind.is_ours)
_REFUSALS = (EvidenceType.BLOCKED_BY_ROBOTS, EvidenceType.TAKEN_DOWN)  # links that were not let into the frontier


def note_outcome(host: LeasedHost, outcome: Outcome, progress: Progress) -> None:
    """Count an outcome for its host and for the run."""
    tally = host.tally
    if outcome.entry.priority <= IMAGE_PRIORITY:
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
            if len(evidence) > 1:  # the first is that robots.txt allows it
                progress.refused += sum(item.type in _REFUSALS for item in evidence)
            if isinstance(outcome, Fetched):
                progress.unconverted += outcome.unconverted
            if isinstance(outcome, Fetched) and outcome.is_login_wall:
                tally.login_walls += 1
            elif is_login_address(outcome.entry.url):
                tally.login_pages += 1
        case Postponed():
            tally.robots_unread += outcome.code == "robots_unreachable"
            if outcome.code in _OURS:
                progress.errors += 1
                progress.note_fault(outcome.code, outcome.entry.url)
        case Refused():
            if outcome.trail.requests:  # it was requested, and led where we do not go
                _note_error(host, outcome, progress)
            elif outcome.code not in _NOT_REFUSED:
                progress.refused += 1
                tally.refused_by_robots += outcome.code.startswith("robots")
                tally.refused_as_trap += outcome.code == "trap"
                if outcome.code == FailureKind.ADDRESS_REFUSED:
                    tally.last_error = HostError(outcome.code, None, outcome.reason, outcome.address)
        case Gone() | RateLimited():
            status = outcome.answer.status
            _note_error(host, outcome, progress)
            if _concerns(host, outcome):
                tally.last_error = HostError(f"http_{status}", status, f"the server answered {status}")
                # A missing page says nothing about the host; a refusal does.
                if status not in (401, 403, 429, 503):
                    tally.errors_in_a_row = 0
                elif outcome.entry.attempts == 0:
                    tally.errors_in_a_row += 1
        case Failed():
            _note_error(host, outcome, progress)
            if _concerns(host, outcome):
                tally.last_error = HostError(outcome.code, outcome.status, outcome.reason)
                # The same page tried again is still one page that fails.
                tally.errors_in_a_row += outcome.entry.attempts == 0
        case _:
            _note_error(host, outcome, progress)


def _note_error(host: LeasedHost, outcome: Outcome, progress: Progress) -> None:
    host.tally.errors += 1
    progress.errors += 1
    progress.note_fault(fault_code(outcome), outcome.entry.url)


def fault_code(outcome: Outcome) -> str:
    """What went wrong, as `fetches.error` begins."""
    if isinstance(outcome, Gone | RateLimited):
        return f"http_{outcome.answer.status}"
    return str(getattr(outcome, "code", _OTHER))


def forget_outcomes(host: LeasedHost, outcomes: Sequence[Outcome], progress: Progress) -> int:
    """Undo the counts of outcomes that could not be stored; returns how many of them were pages."""
    pages = errors = 0
    for outcome in outcomes:
        if outcome.entry.is_image or isinstance(outcome, Postponed):
            continue
        if isinstance(outcome, Fetched | NotModified):
            pages += 1
        elif not isinstance(outcome, Refused) or outcome.trail.requests:
            errors += 1
            fault = progress.faults.get(fault_code(outcome)) or progress.faults.get(_OTHER)
            if fault is not None:
                fault.count -= 1
                if not fault.count:
                    del progress.faults[fault.code]
    host.tally.pages -= pages
    progress.pages -= pages
    host.tally.errors -= errors
    progress.errors -= errors
    return pages


def _note_image(host: LeasedHost, outcome: Outcome, progress: Progress) -> None:
    """An image is not a page: its outcome says nothing about the host, unless the host cannot be reached."""
    tally = host.tally
    match outcome:
        case ImageFetched() | NotModified():
            tally.errors_in_a_row = 0
        case Failed():
            progress.images_failed += outcome.entry.attempts == 0
            if _concerns(host, outcome) and outcome.status is None:
                tally.last_error = HostError(outcome.code, outcome.status, outcome.reason)
                tally.errors_in_a_row += outcome.entry.attempts == 0
        case Gone() | Rejected() | RateLimited():
            progress.images_failed += outcome.entry.attempts == 0
        case Refused():
            progress.refused += outcome.code not in _NOT_REFUSED
        case _:
            pass


def _concerns(host: LeasedHost, outcome: Outcome) -> bool:
    """Whether an answer came from the host itself, and not from one that a redirect led to."""
    requests = outcome.trail.requests
    return not requests or requests[-1].host_id == host.lease.host_id


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What ended a run as a whole; without a `reason` its hosts ended one by one."""

    status: str
    reason: EndReason | None
    detail: str | None = None


def summary_of(
    progress: Progress,
    run_id: str,
    end: RunEnd,
    lines: Iterable[HostSummary],
    idle: Sequence[IdleHost],
    now: float,
    forgotten: Mapping[EndReason, int] | None = None,
) -> RunSummary:
    """Sum a run up at its end. `forgotten` counts the ends of hosts whose lines are not stored.

    Its reason is chosen from the ends of its hosts.
    """
    hosts = _joined(lines)
    left = [EndReason(line.code) for line in hosts] + [EndReason(host.code) for host in idle]
    endings = count_reasons(chain(left, Counter(forgotten or {}).elements()))
    reason = run_reason(end.reason, endings)
    endings = endings or {reason: 1}
    detail = end.detail if reason is end.reason else None
    if detail is None and len(hosts) == 1 and not idle:
        detail = hosts[0].reason
    return RunSummary(
        run_id=run_id,
        status=end.status,
        code=str(reason),
        reason=sentence_for(reason, endings, detail),
        pages=progress.pages,
        errors=progress.errors,
        refused=progress.refused,
        bytes_received=progress.bytes_received,
        seconds=now - progress.started_at,
        hosts=hosts,
        warnings=tuple(progress.warnings),
        unchanged=progress.unchanged,
        images_found=progress.images_found,
        images_stored=progress.images_stored,
        images_failed=progress.images_failed,
        unconverted=progress.unconverted,
        endings={str(each): count for each, count in endings.items()},
        faults=tuple(sorted(progress.faults.values(), key=lambda fault: (-fault.count, fault.code))),
        left_out=progress.left_out,
        left_out_by=dict(sorted(progress.left_out_by.items(), key=lambda each: (-each[1], each[0]))),
        idle=tuple(idle),
    )


def _joined(lines: Iterable[HostSummary]) -> tuple[HostSummary, ...]:
    """One line for each host, by name: of a host that was leased again the last end counts, with all its pages."""
    found: dict[str, HostSummary] = {}
    for line in lines:
        known = found.get(line.host)
        found[line.host] = line if known is None else later(known, line)
    return tuple(found[host] for host in sorted(found))


def later(known: HostSummary, line: HostSummary) -> HostSummary:
    """The line of a host that ended twice."""
    return replace(
        line,
        pages=known.pages + line.pages,
        errors=known.errors + line.errors,
        seconds=round(known.seconds + line.seconds, 3),
    )
