"""The end of a run: its reason, chosen from the ends of its hosts, and its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from comity.model.run import EndReason
from comity.reports.idle import IdleHost
from comity.rules.endings import count_reasons, run_reason, sentence_for
from comity.walk.crawl.progress import HostSummary, Progress, RunSummary

LEASE_LOST = "lease lost"
"""The status in the summary of a host whose lease was lost and which could not be leased again."""


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
    """Sum a run up at its end. `forgotten` counts the ends of hosts whose lines are not kept."""
    hosts = joined(lines)
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


def joined(lines: Iterable[HostSummary]) -> tuple[HostSummary, ...]:
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
