"""Replaying long ledgers: in batches, host by host, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import insert

from comity.database.tables import politeness_ledger
from comity.reports.politeness import verify_politeness
from comity.rules.politeness_audit import Breach
from tests.database.states import BEGINNING, State


def enter(state: State, host_id: UUID, starts_s: list[float], **changes: Any) -> None:
    rows = [
        {
            "domain_id": host_id,
            "lease_token": 1,
            "url": f"https://example.com/{number}",
            "purpose": "page",
            "started_at": BEGINNING + timedelta(seconds=start_s),
            "ended_at": BEGINNING + timedelta(seconds=start_s),
            "delay_s": 1.0,
            "delay_source": "door",
            "max_concurrency": 1,
        }
        | changes
        for number, start_s in enumerate(starts_s)
    ]
    with state.database.write() as connection:
        connection.execute(insert(politeness_ledger), rows)


def test_a_ledger_of_many_batches_is_read_to_its_end_in_the_order_of_starts(state: State) -> None:
    """The one request that came too soon lies across the border of two batches, and was entered last."""
    host_id = state.add("example.com")
    starts = [float(number) for number in range(12_000)]
    del starts[5000]
    enter(state, host_id, starts)
    enter(state, host_id, [4999.5, 5000.5])
    (audit,) = verify_politeness(state.database)
    assert (audit.host, audit.requests) == ("example.com", 12_001)
    assert [violation.breach for violation in audit.violations] == [Breach.TOO_SOON] * 2
    assert [violation.started_at - BEGINNING.timestamp() for violation in audit.violations] == [4999.5, 5001.0]


def test_hosts_are_judged_apart(state: State) -> None:
    """Two hosts that are asked at the same moment do not disturb each other."""
    for name in ("a.example", "b.example"):
        enter(state, state.add(name), [0.0, 1.0, 2.0])
    assert [(audit.host, audit.requests, audit.violations) for audit in verify_politeness(state.database)] == [
        ("a.example", 3, ()),
        ("b.example", 3, ()),
    ]
    assert [audit.host for audit in verify_politeness(state.database, "b.example")] == ["b.example"]
    assert list(verify_politeness(state.database, "c.example")) == []


def test_more_violations_than_are_shown_are_still_counted_as_requests(state: State) -> None:
    enter(state, state.add("example.com"), [number * 0.1 for number in range(6_000)])
    (audit,) = verify_politeness(state.database)
    assert audit.requests == 6_000
    assert len(audit.violations) == 1_000


def test_an_empty_ledger_has_nothing_to_prove(state: State) -> None:
    state.add("example.com")
    assert list(verify_politeness(state.database)) == []
