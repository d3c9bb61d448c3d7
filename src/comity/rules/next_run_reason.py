"""Why a source runs next when it does: its row and its last log entry go in, a sentence comes out (S0, spec 6.3).

The schedule explains itself in the log when it plans a run. What an operator does afterwards (add, resume, edit) moves
the time without a log entry, so a time that is not the planned one is the operator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from comity.model.source import Source, SourceStatus


class PlannedRun(Protocol):
    """The part of a log entry that planned the next run."""

    @property
    def ran_at(self) -> datetime:
        """When the run was."""
        ...

    @property
    def next_run_at(self) -> datetime | None:
        """When the schedule planned the next one."""
        ...

    @property
    def next_run_reason(self) -> str | None:
        """Why, in a sentence."""
        ...


class NextRunOrigin(StrEnum):
    """What decided about the next run."""

    SCHEDULE = "schedule"
    OPERATOR = "operator"
    FIRST_RUN = "first_run"
    NOT_ACTIVE = "not_active"


@dataclass(frozen=True, slots=True)
class NextRunReason:
    """When a source runs next, and why."""

    next_run_at: datetime | None
    is_due: bool
    origin: NextRunOrigin
    reason: str
    planned_at: datetime | None = None
    """When the schedule decided: at the end of that run."""


_NOT_RUN = {
    SourceStatus.PAUSED: "it is paused, and runs again when it is resumed",
    SourceStatus.BLOCKED: "it is blocked, and runs again when it is resumed",
    SourceStatus.DELETED: "it is deleted, and does not run again",
}


def explain_next_run(source: Source, last: PlannedRun | None, now: datetime) -> NextRunReason:
    """Explain the next run; `last` is the latest log entry of the source, if it has run."""
    if source.status is not SourceStatus.ACTIVE:
        said = f" ({source.last_crawl_message})" if source.last_crawl_message else ""
        reason = _NOT_RUN[source.status] + said
        return NextRunReason(None, False, NextRunOrigin.NOT_ACTIVE, reason)
    planned = source.next_run_at
    is_due = planned is None or planned <= now
    if last is None:
        reason = "it has not run yet: a new source is due at once"
        return NextRunReason(planned, is_due, NextRunOrigin.FIRST_RUN, reason)
    if planned is not None and planned == last.next_run_at:
        reason = last.next_run_reason or "the schedule gave no reason"
        return NextRunReason(planned, is_due, NextRunOrigin.SCHEDULE, reason, last.ran_at)
    reason = "it was resumed or edited after its last run"
    if not is_due:
        reason += ": a shorter frequency counts from the last run, and a time window moves the run to its opening"
    return NextRunReason(planned, is_due, NextRunOrigin.OPERATOR, reason)
