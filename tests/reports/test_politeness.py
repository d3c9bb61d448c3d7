"""Replaying long ledgers: in batches, host by host, on both databases."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event, func, select, text

from comity.database import ledger
from comity.database.tables import politeness_ledger
from comity.model.gate import DelayInForce, DelaySource
from comity.reports.politeness import is_known, verify_politeness
from comity.rules.politeness.audit import Breach
from tests.database.states import BEGINNING, State
from tests.reports.ledgers import START, request, robots_note


def enter(state: State, host_id: UUID, starts_s: list[float], host: str = "example.com", **changes: Any) -> None:
    """Requests for which no robots.txt has any rule, and nobody made a policy."""
    plain = {"policy_interval_ms": None, "policy_max_concurrency": None, "robots_version": None}
    with state.database.write() as connection:
        detail = '{"access": "allow_all", "agent": "comitybot", "status": 404}'
        note = robots_note(host_id, host, START - 1.0, version=None, detail=detail, valid_until=START + 1e6)
        ledger.append_notes(connection, [note])
        of_host = select(func.count()).where(politeness_ledger.c.domain_id == host_id)
        known = connection.execute(of_host).scalar_one()
        rows = [
            request(host_id, host, known + number, START + start_s, **plain)._replace(
                delay=DelayInForce(1.0, DelaySource.DOOR), ended_at=START + start_s, **changes
            )
            for number, start_s in enumerate(starts_s, 1)
        ]
        ledger.append_requests(connection, None, rows)


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
        enter(state, state.add(name), [0.0, 1.0, 2.0], name)
    assert [(audit.host, audit.requests, audit.violations) for audit in verify_politeness(state.database)] == [
        ("a.example", 3, ()),
        ("b.example", 3, ()),
    ]
    assert [audit.host for audit in verify_politeness(state.database, "b.example")] == ["b.example"]
    assert list(verify_politeness(state.database, "c.example")) == []
    assert (is_known(state.database, "b.example"), is_known(state.database, "c.example")) == (True, False)


def test_more_violations_than_are_shown_are_still_counted_as_requests(state: State) -> None:
    enter(state, state.add("example.com"), [number * 0.1 for number in range(6_000)])
    (audit,) = verify_politeness(state.database)
    assert audit.requests == 6_000
    assert len(audit.violations) == 1_000


def test_an_empty_ledger_has_nothing_to_prove(state: State) -> None:
    state.add("example.com")
    assert list(verify_politeness(state.database)) == []


READERS = {
    "in the order of the chain": lambda connection, host_id: ledger.requests_from(connection, host_id, None, 10),
    "later in the chain": lambda connection, host_id: ledger.requests_from(connection, host_id, (3, 3), 10),
    "by start": lambda connection, host_id: list(ledger.requests_by_start(connection, host_id, 10)),
    "one digest": lambda connection, host_id: ledger.digest_at(connection, "requests", host_id, 2),
    "visits": lambda connection, host_id: ledger.visits_without_request(connection, "a.example", [host_id], 9),
    "pages": lambda connection, host_id: ledger.requests_without_visit(connection, "a.example", [host_id], 9),
}


@pytest.mark.parametrize("reader", READERS)
def test_one_host_is_read_by_an_index(state: State, reader: str) -> None:
    """However many other hosts the ledger has, and though it has one index only."""
    host_ids = [state.add(f"{number}.example") for number in range(40)]
    for number, host_id in enumerate(host_ids):
        enter(state, host_id, [float(start) for start in range(50)], f"{number}.example")
    native = state.database.engine.dialect.name == "postgresql"
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    with state.database.write() as connection:
        connection.execute(text("ANALYZE politeness_ledger"))
    with state.database.read() as connection:
        event.listen(connection, "before_cursor_execute", note)
        READERS[reader](connection, host_ids[0])
        event.remove(connection, "before_cursor_execute", note)
        first, parameters = next(each for each in sent if "politeness_ledger" in each[0])
        explain = "EXPLAIN" if native else "EXPLAIN QUERY PLAN"
        plan = [" ".join(map(str, row)) for row in connection.exec_driver_sql(f"{explain} {first}", parameters)]
    assert any("idx_politeness_ledger_chain" in step for step in plan), plan
    assert not any("Seq Scan on politeness_ledger" in step or "SCAN politeness_ledger" in step for step in plan), plan
