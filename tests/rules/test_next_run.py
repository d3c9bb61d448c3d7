"""The default schedule of sources, rule by rule and at every boundary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comity.model.schedule import ScheduleRule, SourcePace, SourceRun
from comity.rules.next_run import (
    base_days,
    compute_next_run,
    frequency_after,
    is_open,
    jitter_factor,
    parse_time_window,
    within_window,
)

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
EVEN = 0.5  # a chance that leaves the time as it is
PARIS = ZoneInfo("Europe/Paris")


def ok(inserted: int = 0, updated: int = 0) -> SourceRun:
    return SourceRun(True, inserted, updated)


@pytest.mark.parametrize(
    ("own", "org_type", "days"),
    [
        (None, "un", 1),
        (None, "ingo", 2),
        (None, "ngo", 3),
        (None, "academic", 7),
        (None, " UN ", 1),
        (None, "company", 3),
        (None, None, 3),
        (None, "", 3),
        (5, "un", 5),
        (1, "academic", 1),
        (0, "un", 1),
        (-2, None, 3),
        (float("nan"), None, 3),
        (float("inf"), None, 3650),
    ],
)
def test_the_base_is_the_source_s_own_or_that_of_its_kind(own: float | None, org_type: str | None, days: float) -> None:
    assert base_days(own, org_type)[0] == days


@pytest.mark.parametrize(
    ("base", "inserted", "updated", "days", "rule"),
    [
        (3, 9, 0, 3, ScheduleRule.STEADY),
        (3, 10, 0, 2, ScheduleRule.BUSY),
        (3, 0, 10, 2, ScheduleRule.BUSY),
        (3, 4, 5, 3, ScheduleRule.STEADY),
        (3, 5, 5, 2, ScheduleRule.BUSY),
        (3, 1, 0, 3, ScheduleRule.STEADY),
        (2, 500, 0, 1, ScheduleRule.BUSY),
        (1.5, 10, 0, 0.5, ScheduleRule.BUSY),
        (1, 10, 0, 0.5, ScheduleRule.BUSY),
        (0.5, 10, 0, 0.5, ScheduleRule.BUSY),
        (30, 10, 0, 29, ScheduleRule.BUSY),
    ],
)
def test_ten_changes_are_busy_and_nine_are_not(
    base: float, inserted: int, updated: int, days: float, rule: ScheduleRule
) -> None:
    frequency = frequency_after(SourcePace(base, consecutive_nochange=2), ok(inserted, updated))
    assert (frequency.days, frequency.rule, frequency.consecutive_nochange) == (days, rule, 0)


@pytest.mark.parametrize(
    ("base", "quiet_before", "days", "rule"),
    [
        (3, 0, 3, ScheduleRule.STEADY),
        (3, 1, 3, ScheduleRule.STEADY),
        (3, 2, 4, ScheduleRule.QUIET),
        (3, 3, 4, ScheduleRule.QUIET),
        (3, 40, 4, ScheduleRule.QUIET),
        (13, 2, 14, ScheduleRule.QUIET),
        (14, 2, 14, ScheduleRule.QUIET),
        (30, 1, 30, ScheduleRule.STEADY),
        (30, 2, 14, ScheduleRule.QUIET),
    ],
)
def test_the_third_quiet_run_in_a_row_slows_down(
    base: float, quiet_before: int, days: float, rule: ScheduleRule
) -> None:
    frequency = frequency_after(SourcePace(base, consecutive_nochange=quiet_before), ok())
    assert (frequency.days, frequency.rule) == (days, rule)
    assert frequency.consecutive_nochange == quiet_before + 1


@pytest.mark.parametrize(
    ("failures_before", "hours"),
    [
        (0, 6),
        (1, 12),
        (2, 24),
        (3, 48),
        (4, 96),
        (5, 168),
        (6, 168),
        (7, 168),
        (8, 168),
        (9, 168),
        (10, 168),
        (10**9, 168),
    ],
)
def test_failures_back_off_by_doubling_up_to_a_week(failures_before: int, hours: float) -> None:
    pace = SourcePace(3, consecutive_failures=failures_before, consecutive_nochange=2)
    decision = compute_next_run(pace, SourceRun(False, 50, 50), finished_at=NOW, chance=EVEN)
    assert decision.next_run_at == NOW + timedelta(hours=hours)
    assert decision.rule is ScheduleRule.FAILURE
    # A failure says nothing of change: the quiet runs before it still count.
    assert (decision.consecutive_failures, decision.consecutive_nochange) == (failures_before + 1, 2)


def test_a_success_ends_the_failures() -> None:
    for run in (ok(), ok(1), ok(10)):
        assert frequency_after(SourcePace(3, consecutive_failures=4), run).consecutive_failures == 0


@pytest.mark.parametrize(("chance", "hours"), [(0.0, 61.2), (0.25, 66.6), (0.5, 72.0), (0.75, 77.4), (1.0, 82.8)])
def test_jitter_is_fifteen_percent_either_way(chance: float, hours: float) -> None:
    decision = compute_next_run(SourcePace(3), ok(1), finished_at=NOW, chance=chance)
    assert abs(decision.next_run_at - NOW - timedelta(hours=hours)) < timedelta(milliseconds=1)
    assert decision.frequency_days == 3


def test_jitter_applies_to_back_off_and_after_the_caps() -> None:
    decision = compute_next_run(SourcePace(3, consecutive_failures=9), SourceRun(False), finished_at=NOW, chance=1.0)
    assert decision.next_run_at == NOW + timedelta(days=7 * 1.15)


@pytest.mark.parametrize("chance", [-0.01, 1.01, float("nan")])
def test_a_chance_that_is_none_is_refused(chance: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        jitter_factor(chance)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # The plan is 2026-03-05 12:00 UTC, 13:00 in Paris.
        ("22:00-05:00", datetime(2026, 3, 5, 21, 0, tzinfo=UTC)),
        ("13:00-14:00", datetime(2026, 3, 5, 12, 0, tzinfo=UTC)),
        ("12:00-13:00", datetime(2026, 3, 6, 11, 0, tzinfo=UTC)),
        ("13:01-14:00", datetime(2026, 3, 5, 12, 1, tzinfo=UTC)),
        ("20:00-14:00", datetime(2026, 3, 5, 12, 0, tzinfo=UTC)),
        ("00:00-06:00", datetime(2026, 3, 5, 23, 0, tzinfo=UTC)),
    ],
)
def test_outside_its_window_a_run_waits_for_the_opening_in_the_organisation_s_zone(
    window: str, expected: datetime
) -> None:
    pace = SourcePace(1, time_window=window)
    assert compute_next_run(pace, ok(1), finished_at=NOW, chance=EVEN, zone=PARIS).next_run_at == expected


@pytest.mark.parametrize(
    ("window", "zone", "word"),
    [
        ("22:00-05:00", None, "zone is not known"),
        ("nights", PARIS, "not a time window"),
        ("", PARIS, ""),
        ("  ", None, ""),
        (None, PARIS, ""),
    ],
)
def test_a_window_that_cannot_be_honoured_is_ignored_and_the_reason_says_so(
    window: str | None, zone: ZoneInfo | None, word: str
) -> None:
    planned, remark = within_window(NOW, window, zone)
    assert planned == NOW
    assert word in remark
    assert bool(remark) == bool(word)


@pytest.mark.parametrize(
    ("pace", "run", "chance", "reason"),
    [
        (SourcePace(org_type="un"), ok(12, 3), 0.5, "busy, 15 postings new or changed: 12 h, a day less than the base "
         "of 1 day for un, but at least 12 h; jitter +0.0 %"),
        (SourcePace(5), ok(1), 0.75, "1 posting new or changed: 5 days, the source's own base of 5 days; "
         "jitter +7.5 %"),
        (SourcePace(), ok(), 0.5, "nothing new, 1 in a row (slower from 3): 3 days, the general base of 3 days; "
         "jitter +0.0 %"),
        (SourcePace(20, consecutive_nochange=2), ok(), 0.5, "nothing new, 3 in a row: 14 days, a day more than the "
         "source's own base of 20 days, but at most 14 days; jitter +0.0 %"),
        (SourcePace(consecutive_failures=2), SourceRun(False), 0.0, "failure 3 in a row: back off for 1 day; "
         "jitter -15.0 %"),
    ],
)  # fmt: skip
def test_every_decision_is_explained(pace: SourcePace, run: SourceRun, chance: float, reason: str) -> None:
    assert compute_next_run(pace, run, finished_at=NOW, chance=chance).reason == reason


def test_the_reason_tells_of_the_window() -> None:
    pace = SourcePace(1, time_window="22:00-05:00")
    moved = compute_next_run(pace, ok(1), finished_at=NOW, chance=EVEN, zone=PARIS)
    assert moved.reason.endswith("moved to the next opening of the time window 22:00-05:00 (Europe/Paris)")
    stays = compute_next_run(pace, ok(1), finished_at=NOW + timedelta(hours=10), chance=EVEN, zone=PARIS)
    assert stays.reason.endswith("inside the time window 22:00-05:00 (Europe/Paris)")


PACES = st.builds(
    SourcePace,
    st.none() | st.integers(1, 60),
    st.sampled_from([None, "un", "ingo", "ngo", "academic", "other"]),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from([None, "22:00-05:00", "09:00-17:00", "23:59-00:00", "rubbish"]),
)
RUNS = st.builds(SourceRun, st.booleans(), st.integers(0, 50), st.integers(0, 50))
START = datetime(2024, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 6 * 366 * 86_400).map(lambda second: START + timedelta(seconds=second))
ZONES = st.sampled_from([None, PARIS, ZoneInfo("America/New_York"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("UTC")])


@given(PACES, RUNS, TIMES, st.floats(0, 1), ZONES)
def test_whatever_happens_the_next_run_is_ahead_bounded_and_inside_the_window(
    pace: SourcePace, run: SourceRun, now: datetime, chance: float, zone: ZoneInfo | None
) -> None:
    decision = compute_next_run(pace, run, finished_at=now, chance=chance, zone=zone)
    wait = decision.next_run_at - now
    assert timedelta(days=0.25 * 0.84) < wait < timedelta(days=60 * 1.16 + 2)
    assert (decision.consecutive_failures == 0) == run.succeeded
    window = None if pace.time_window is None else parse_time_window(pace.time_window)
    if zone is not None and pace.time_window not in (None, "rubbish"):
        assert is_open(window, decision.next_run_at, zone)  # type: ignore[arg-type]
    else:
        assert abs(wait / timedelta(days=decision.frequency_days) - 1) <= 0.1500001


@given(PACES, st.integers(0, 50), st.integers(0, 50))
def test_more_changes_never_mean_a_longer_wait(pace: SourcePace, fewer: int, more: int) -> None:
    fewer, more = sorted((fewer, more))
    # Beyond it, the cap of 14 days on quiet sources is shorter than their base.
    assume(base_days(pace.crawl_frequency_days, pace.org_type)[0] <= 13)
    assert frequency_after(pace, ok(more)).days <= frequency_after(pace, ok(fewer)).days
