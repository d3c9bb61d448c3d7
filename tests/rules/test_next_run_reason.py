"""Why a source runs next when it does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from comity.model.source import Source, SourceStatus
from comity.rules.next_run import NextRunOrigin, explain_next_run

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
SOURCE = Source(id=UUID(int=1), careers_url="https://a.example/", status=SourceStatus.ACTIVE)


@dataclass(frozen=True)
class Logged:
    ran_at: datetime
    next_run_at: datetime | None
    next_run_reason: str | None


def test_a_new_source_is_due_at_once() -> None:
    found = explain_next_run(replace(SOURCE, next_run_at=NOW), None, NOW)
    assert (found.is_due, found.origin) == (True, NextRunOrigin.FIRST_RUN)
    assert explain_next_run(SOURCE, None, NOW).is_due, "a source without a time is due"


def test_the_schedule_explains_the_time_that_it_planned() -> None:
    at = NOW + timedelta(days=3)
    log = Logged(NOW - timedelta(hours=1), at, "nothing new, 3 in a row: 4 days")
    found = explain_next_run(replace(SOURCE, next_run_at=at), log, NOW)
    assert (found.origin, found.reason, found.is_due) == (NextRunOrigin.SCHEDULE, log.next_run_reason, False)
    assert found.planned_at == log.ran_at
    assert explain_next_run(replace(SOURCE, next_run_at=at), log, at).is_due


@pytest.mark.parametrize("moved", [NOW, NOW + timedelta(hours=2)])
def test_a_time_that_nothing_planned_is_the_operators(moved: datetime) -> None:
    log = Logged(NOW - timedelta(days=1), NOW + timedelta(days=2), "steady")
    found = explain_next_run(replace(SOURCE, next_run_at=moved), log, NOW)
    assert (found.origin, found.is_due) == (NextRunOrigin.OPERATOR, moved <= NOW)
    assert "resumed or edited" in found.reason


@pytest.mark.parametrize("status", [SourceStatus.PAUSED, SourceStatus.BLOCKED, SourceStatus.DELETED])
def test_what_is_not_active_says_what_holds_it(status: SourceStatus) -> None:
    source = replace(SOURCE, status=status, last_crawl_message="auto-paused after failures", next_run_at=NOW)
    found = explain_next_run(source, None, NOW)
    assert (found.next_run_at, found.is_due, found.origin) == (None, False, NextRunOrigin.NOT_ACTIVE)
    assert found.reason.endswith("(auto-paused after failures)")
