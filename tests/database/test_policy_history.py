"""What a policy said and since when: also where it was edited by hand-written SQL, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import select, text

from comity.database import policies
from comity.database.ledger import policy_history
from tests.database.states import BEGINNING, State

Entry = tuple[str, int | None]


def history(state: State) -> list[Entry]:
    """Each entry's host and interval, None where the policy was taken away."""
    statement = select(policy_history).order_by(policy_history.c.id)
    with state.database.read() as connection:
        rows = connection.execute(statement).all()
    return [(row.host, None if row.is_deleted else row.min_request_interval_ms) for row in rows]


def run(state: State, statement: str) -> None:
    with state.database.write() as connection:
        connection.execute(text(statement))


def test_every_edit_by_hand_is_remembered(state: State) -> None:
    run(state, "INSERT INTO domain_policies (host) VALUES ('a.example')")
    run(state, "UPDATE domain_policies SET min_request_interval_ms = 10")
    run(state, "UPDATE domain_policies SET max_concurrency = 4")
    run(state, "UPDATE domain_policies SET host = 'b.example'")
    run(state, "DELETE FROM domain_policies")
    assert history(state) == [
        ("a.example", 3000),
        ("a.example", 10),
        ("a.example", 10),
        ("a.example", None),
        ("b.example", 10),
        ("b.example", None),
    ]


def test_what_changes_no_limit_is_no_edit(state: State) -> None:
    run(state, "INSERT INTO domain_policies (host) VALUES ('a.example')")
    run(state, "UPDATE domain_policies SET last_seen_status = '200', max_pages = 99")
    run(state, "UPDATE domain_policies SET min_request_interval_ms = 3000")
    with state.database.write() as connection:
        policies.note_status(connection, "a.example", "404")
    assert history(state) == [("a.example", 3000)]


def test_an_edit_holds_from_when_it_says_or_else_from_when_it_was_made(state: State) -> None:
    with state.database.write() as connection:
        policies.put(connection, "a.example", {"min_request_interval_ms": 500}, BEGINNING)
        policies.put(connection, "a.example", {"min_request_interval_ms": 600}, BEGINNING + timedelta(hours=1))
    before = datetime.now(UTC) - timedelta(minutes=1)
    run(state, "UPDATE domain_policies SET min_request_interval_ms = 700")
    with state.database.read() as connection:
        found = connection.execute(select(policy_history).order_by(policy_history.c.id)).all()
    assert [row.valid_from for row in found[:2]] == [BEGINNING, BEGINNING + timedelta(hours=1)]
    assert found[2].valid_from > before
    assert [row.min_request_interval_ms for row in found] == [500, 600, 700]
