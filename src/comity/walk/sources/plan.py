"""When a source is read again: the rules of its schedule, applied to its row and its run.

The adaptive schedule shares a budget of visits among all its sources; the shares are computed every ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from comity.database.sources import rows as sources_table
from comity.model.schedule import Allocation, Claim, RevisitState, SourcePace, SourceRun, TimeWindow
from comity.model.source import RunStatus, ScheduleName, Source
from comity.rules.canonical import resolve_link
from comity.rules.next_run import (
    base_days,
    compute_next_run,
    is_open,
    opening_at_or_after,
    parse_time_window,
    within_window,
)
from comity.rules.revisit import allocate, claim_of, compute_revisit, prior_belief
from comity.schedule.zones import find_zone
from comity.walk.sources.settle import Planned, RunEnded

_ALLOCATED_FOR: Final = timedelta(minutes=10)
_DAY_S: Final = 86_400.0
_LATE: Final = timedelta(minutes=15)  # three passes of the scheduler: a short window must not be missed every time


class SourcePlanner:
    """Plans when each source is read again; without a budget, adaptive ones get the visits of their base intervals."""

    def __init__(self, chance: Callable[[], float], visits_per_day: float | None = None) -> None:
        self._chance = chance
        self._visits_per_day = visits_per_day
        self._allocation: Allocation | None = None
        self._allocated_at: datetime | None = None

    def __call__(self, connection: Connection, ended: RunEnded) -> Planned:
        """The next time for a source, never before the time that the site asked to wait for."""
        source = ended.source
        if source.schedule is ScheduleName.ADAPTIVE:
            planned = self._adaptive(connection, ended)
        else:
            zone = find_zone(source.time_zone, source.country).zone
            found = compute_next_run(
                pace_of(source), _run(ended), finished_at=ended.now, chance=self._chance(), zone=zone
            )
            counters = found.consecutive_failures, found.consecutive_nochange
            planned = Planned(found.next_run_at, *counters, found.reason)
        if not ended.verdict.counts_as_visit and not ended.verdict.is_failure:
            # A page that was not trusted says nothing about how often it changes.
            planned = replace(
                planned,
                consecutive_nochange=source.consecutive_nochange,
                reason=f"{planned.reason}; not counted as a visit of the page",
            )
        if ended.until is not None:
            asked_for = datetime.fromtimestamp(ended.until, UTC)
            if asked_for > planned.next_run_at:  # the site named a time; the window opens at its own hour
                zone = find_zone(source.time_zone, source.country).zone
                opening, remark = within_window(asked_for, source.time_window, zone)
                said = f"{planned.reason}; not before {asked_for:%Y-%m-%d %H:%M} UTC, as the site asked{remark}"
                planned = replace(planned, next_run_at=opening, reason=said)
        return planned

    def _adaptive(self, connection: Connection, ended: RunEnded) -> Planned:
        source, verdict = ended.source, ended.verdict
        statistics = source.change_statistics or {}
        last = statistics.get("last_look_at")
        days = None if last is None else (ended.now - datetime.fromisoformat(last)).total_seconds() / _DAY_S
        found = compute_revisit(
            pace_of(source),
            _run(ended),
            _state(source.change_statistics, source.org_type),
            self._shares(connection, ended.now),
            host=_host(source.careers_url),
            finished_at=ended.now,
            days_since_last=days if verdict.counts_as_visit else None,
            chance=self._chance(),
            importance=source.importance,
            zone=find_zone(source.time_zone, source.country).zone,
        )
        state, run = found.state, found.next_run
        kept = {"changes": state.changes, "exposure_days": state.exposure_days, "visits": state.visits}
        seen = ended.now.astimezone(UTC).isoformat().replace("+00:00", "Z") if verdict.counts_as_visit else last
        return Planned(
            run.next_run_at,
            run.consecutive_failures,
            run.consecutive_nochange,
            run.reason,
            kept | {"last_look_at": seen},
        )

    def _shares(self, connection: Connection, now: datetime) -> Allocation:
        if self._allocation is None or self._allocated_at is None or now - self._allocated_at > _ALLOCATED_FOR:
            rows = sources_table.adaptive(connection)
            budget = self._visits_per_day
            if budget is None:
                budget = sum(1.0 / base_days(row.crawl_frequency_days, row.org_type)[0] for row in rows)
            self._allocation, self._allocated_at = allocate([_claim(row) for row in rows], budget), now
        return self._allocation


def missed_opening(source: Source, now: datetime) -> datetime | None:
    """When the time window of a due source opens again, if it missed the one that it was planned for.

    A time outside of its hours was set by an operator who wants it read then.
    """
    window = parse_time_window(source.time_window) if source.time_window else None
    zone = find_zone(source.time_zone, source.country).zone
    if not isinstance(window, TimeWindow) or zone is None or source.next_run_at is None:
        return None
    if is_open(window, now, zone) or is_open(window, now - _LATE, zone):
        return None
    return opening_at_or_after(window, now, zone) if is_open(window, source.next_run_at, zone) else None


def pace_of(source: Source) -> SourcePace:
    """The schedule of a source, from its row."""
    return SourcePace(
        crawl_frequency_days=source.crawl_frequency_days,
        org_type=source.org_type,
        consecutive_failures=source.consecutive_failures,
        consecutive_nochange=source.consecutive_nochange,
        time_window=source.time_window,
    )


def _run(ended: RunEnded) -> SourceRun:
    succeeded = ended.verdict.status is not RunStatus.FAIL
    return SourceRun(succeeded, ended.counts.inserted, ended.counts.updated)


def _claim(row: Any) -> Claim:
    return claim_of(_state(row.change_statistics, row.org_type), _host(row.careers_url), importance=row.importance)


def _state(statistics: dict[str, Any] | None, org_type: str | None) -> RevisitState:
    """What is known of a source's changes; what cannot be read counts as nothing."""
    try:
        assert statistics is not None
        changes, exposure_days, visits = (
            float(statistics["changes"]),
            float(statistics["exposure_days"]),
            int(statistics["visits"]),
        )
    except (AssertionError, KeyError, TypeError, ValueError):
        return prior_belief(org_type)
    return RevisitState(changes, exposure_days, visits) if changes > 0 < exposure_days else prior_belief(org_type)


def _host(url: str) -> str:
    address = resolve_link(url, url)
    return address.host if address is not None else url
