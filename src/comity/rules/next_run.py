"""The default schedule of sources: when a source is read next, why, and within which time window.

Takes a source's row, the result of its run, the time and a chance; returns a NextRun. docs/schedules.md says how the
rules are interpreted where they leave a choice.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final, Protocol

from comity.model.dataclass import dataclass
from comity.model.schedule import NextRun, ScheduleRule, SourcePace, SourceRun, TimeWindow, WindowRefused
from comity.model.source import Source, SourceStatus
from comity.model.wording import counted

BASE_DAYS: Final = {"un": 1.0, "ingo": 2.0, "ngo": 3.0, "academic": 7.0}
OTHER_BASE_DAYS: Final = 3.0
BUSY_CHANGES: Final = 10
SHORTEST_DAYS: Final = 0.5
QUIET_RUNS: Final = 3
LONGEST_QUIET_DAYS: Final = 14.0
FIRST_BACKOFF_DAYS: Final = 0.25
LONGEST_BACKOFF_DAYS: Final = 7.0
JITTER: Final = 0.15
_DOUBLINGS_THAT_MATTER: Final = 32  # keeps a huge counter from overflowing a float
# No row can push a time out of the calendar.
_LONGEST_BASE_DAYS: Final = 3650.0
_SHAPE: Final = re.compile(r"([^\s-]+) ?- ?([^\s-]+)", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{2}):(\d{2})", re.ASCII)
_LONGEST_TEXT: Final = 32
_DAY_MINUTES: Final = 24 * 60
_DAY: Final = timedelta(days=1)
_STEP: Final = timedelta(hours=1)
_RESOLUTION: Final = timedelta(seconds=1)
# Zones change their offset a few times a year; no real zone has more changes than this before an opening.
_MOST_OFFSET_CHANGES: Final = 16


@dataclass(frozen=True, slots=True)
class Frequency:
    """How long to wait before jitter and window, the counters after the run, and why."""

    days: float
    consecutive_failures: int
    consecutive_nochange: int
    rule: ScheduleRule
    reason: str


def compute_next_run(
    pace: SourcePace, run: SourceRun, *, finished_at: datetime, chance: float, zone: tzinfo | None = None
) -> NextRun:
    """When a source is read again; `chance` is a number from 0 up to 1, `zone` that of the organisation if known."""
    frequency = frequency_after(pace, run)
    planned = finished_at.astimezone(UTC) + timedelta(days=frequency.days * jitter_factor(chance))
    next_run_at, remark = within_window(planned, pace.time_window, zone)
    return NextRun(
        next_run_at,
        frequency.days,
        frequency.consecutive_failures,
        frequency.consecutive_nochange,
        frequency.rule,
        f"{frequency.reason}{describe_jitter(chance)}{remark}",
    )


def frequency_after(pace: SourcePace, run: SourceRun) -> Frequency:
    """The rules without the clock: how long to wait after this run.

    The rules in their order:

    - base: crawl_frequency_days, else by org_type (un 1 day, ingo 2, ngo 3, academic 7, any other 3);
    - ten or more postings inserted or updated: one day less than base, but at least half a day;
    - none: one more quiet run; from the third in a row, one day more than base, but at most 14 days;
    - failure: 6 hours, doubled for each failure in a row before this one, but at most 7 days.

    Then `compute_next_run` moves the time by up to 15 % by chance, and into the time window if it lies outside.
    """
    if not run.succeeded:
        days = backoff_days(pace.consecutive_failures)
        failures = pace.consecutive_failures + 1
        reason = f"failure {failures} in a row: back off for {format_days(days)}"
        return Frequency(days, failures, pace.consecutive_nochange, ScheduleRule.FAILURE, reason)
    base, origin = base_days(pace.crawl_frequency_days, pace.org_type)
    changes = run.inserted + run.updated
    if changes >= BUSY_CHANGES:
        days = max(SHORTEST_DAYS, base - 1)
        reason = f"busy, {counted(changes, 'posting')} new or changed: {format_days(days)}, a day less than {origin}"
        if days != base - 1:
            reason += f", but at least {format_days(SHORTEST_DAYS)}"
        return Frequency(days, 0, 0, ScheduleRule.BUSY, reason)
    if changes > 0:
        reason = f"{changes} {'posting' if changes == 1 else 'postings'} new or changed: {format_days(base)}, {origin}"
        return Frequency(base, 0, 0, ScheduleRule.STEADY, reason)
    quiet = pace.consecutive_nochange + 1
    if quiet < QUIET_RUNS:
        reason = f"nothing new, {quiet} in a row (slower from {QUIET_RUNS}): {format_days(base)}, {origin}"
        return Frequency(base, 0, quiet, ScheduleRule.STEADY, reason)
    days = min(LONGEST_QUIET_DAYS, base + 1)
    reason = f"nothing new, {quiet} in a row: {format_days(days)}, a day more than {origin}"
    if days != base + 1:
        reason += f", but at most {format_days(LONGEST_QUIET_DAYS)}"
    return Frequency(days, 0, quiet, ScheduleRule.QUIET, reason)


def base_days(crawl_frequency_days: float | None, org_type: str | None) -> tuple[float, str]:
    """The base of a source, and in words where it comes from."""
    if crawl_frequency_days is not None and crawl_frequency_days > 0:
        days = min(float(crawl_frequency_days), _LONGEST_BASE_DAYS)
        return days, f"the source's own base of {format_days(days)}"
    kind = (org_type or "").strip().lower()
    if kind in BASE_DAYS:
        return BASE_DAYS[kind], f"the base of {format_days(BASE_DAYS[kind])} for {kind}"
    return OTHER_BASE_DAYS, f"the general base of {format_days(OTHER_BASE_DAYS)}"


def backoff_days(failures_before: int) -> float:
    """How long to wait after a failure, depending on how many failures in a row came before it."""
    doublings = min(max(0, failures_before), _DOUBLINGS_THAT_MATTER)
    return min(LONGEST_BACKOFF_DAYS, FIRST_BACKOFF_DAYS * 2.0**doublings)


def jitter_factor(chance: float) -> float:
    """From a chance of 0 up to 1 to a factor between 0.85 and 1.15."""
    if not 0.0 <= chance <= 1.0:
        raise ValueError(f"a chance must be between 0 and 1, not {chance}")
    return 1.0 + JITTER * (2.0 * chance - 1.0)


def within_window(planned: datetime, text: str | None, zone: tzinfo | None) -> tuple[datetime, str]:
    """The planned time, or the window's next opening; and in words what the window did, if there is one."""
    if text is None or not text.strip():
        return planned, ""
    window = parse_time_window(text)
    if isinstance(window, WindowRefused):
        return planned, f"; time window ignored: {window.reason}"
    if zone is None:
        return planned, f"; time window {window} ignored: the organisation's time zone is not known"
    if is_open(window, planned, zone):
        return planned, f"; inside the time window {window} ({zone})"
    opening = opening_at_or_after(window, planned, zone)
    if opening is None:
        return planned, f"; time window {window} ignored: it never opens in {zone}"
    return opening, f"; moved to the next opening of the time window {window} ({zone})"


def describe_jitter(chance: float) -> str:
    """What jitter did, to end a reason with."""
    percent = round((jitter_factor(chance) - 1.0) * 100, 1)
    return f"; jitter {percent:+.1f} %"


def format_days(days: float) -> str:
    """A time for people: `6 h`, `1 day`, `2.5 days`."""
    if days < 1:
        return f"{days * 24:.3g} h"
    return "1 day" if days == 1 else f"{days:.4g} days"


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
    """Explain the next run; `last` is the latest log entry of the source, if it has run.

    The schedule explains itself in the log when it plans a run. What an operator does afterwards (add, resume, edit)
    moves the time without a log entry, so a time that is not the planned one is the operator's.
    """
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


def parse_time_window(text: str) -> TimeWindow | WindowRefused:
    """Parse a window as a user typed it; an error is one line."""
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT:
        return WindowRefused(f"a time window is written HH:MM-HH:MM; this text has {len(stripped)} characters")
    shape = _SHAPE.fullmatch(stripped)
    if shape is None:
        return WindowRefused(f"{stripped!r} is not a time window: write HH:MM-HH:MM, as in 22:00-05:00")
    start, end = (_minute_of(word, is_end=is_end) for word, is_end in ((shape[1], False), (shape[2], True)))
    for minute in (start, end):
        if isinstance(minute, WindowRefused):
            return minute
    assert isinstance(start, int)
    assert isinstance(end, int)
    if start == end % _DAY_MINUTES:
        return WindowRefused(
            f"{stripped!r} ends when it starts: omit the window to allow the whole day, or write a later end"
        )
    return TimeWindow(start, end % _DAY_MINUTES)


def is_open(window: TimeWindow, at: datetime, zone: tzinfo) -> bool:
    """Whether local wall-clock time is inside the window."""
    return _wait(window, at.astimezone(zone)) == timedelta(0)


def opening_at_or_after(window: TimeWindow, at: datetime, zone: tzinfo) -> datetime | None:
    """The time itself if the window is open then, else the next time at which it opens; None if it never does.

    A window such as "22:00-05:00" follows local wall-clock time. In the night when clocks are set back, an hour that
    comes twice is open twice; when they are set forward, a window that would have opened in the missing hour opens when
    the hour is skipped, unless it also ends there. Results are instants in UTC.
    """
    instant = at.astimezone(UTC)
    for _ in range(_MOST_OFFSET_CHANGES):
        wait = _wait(window, instant.astimezone(zone))
        if not wait:
            return instant
        # While the offset stays the same, the wall clock runs evenly; where it jumps, read the clock again.
        jump = _first_offset_change(zone, instant, instant + wait)
        if jump is None:
            return instant + wait
        instant = jump
    return None


def _minute_of(word: str, *, is_end: bool) -> int | WindowRefused:
    clock = _CLOCK.fullmatch(word)
    if clock is None:
        return WindowRefused(f"{word!r} is not a time of day: write two digits, a colon and two digits, as in 09:30")
    hours, minutes = int(clock[1]), int(clock[2])
    if minutes > 59:
        return WindowRefused(f"{word!r} is not a time of day: minutes are 00 to 59")
    if hours > 23 and not (is_end and (hours, minutes) == (24, 0)):
        return WindowRefused(f"{word!r} is not a time of day: hours are 00 to 23 (a window may end at 24:00)")
    return hours * 60 + minutes


def _wait(window: TimeWindow, local: datetime) -> timedelta:
    """How long until the window opens by an even wall clock; nothing while it is open."""
    now = timedelta(hours=local.hour, minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    start, end = timedelta(minutes=window.start_minute), timedelta(minutes=window.end_minute)
    since_start = (now - start) % _DAY
    return timedelta(0) if since_start < (end - start) % _DAY else _DAY - since_start


def _first_offset_change(zone: tzinfo, after: datetime, until: datetime) -> datetime | None:
    """The first second after one instant and up to another at which the zone's offset is a new one."""
    before = _offset(zone, after)
    low = after
    while low < until:
        high = min(low + _STEP, until)
        if _offset(zone, high) != before:
            return _boundary(zone, low, high)
        low = high
    return None


def _boundary(zone: tzinfo, low: datetime, high: datetime) -> datetime:
    """Between an instant before a change and one after it, the whole second of the change."""
    before = _offset(zone, low)
    while high - low > _RESOLUTION:
        middle = low + (high - low) / 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    whole = high.replace(microsecond=0)
    return whole if whole > low else high


def _offset(zone: tzinfo, at: datetime) -> timedelta | None:
    return at.astimezone(zone).utcoffset()
