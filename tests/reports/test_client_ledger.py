"""Rows of jobs and grants: honest ones pass both checkers, doctored ones are found by both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from comity.database import ledger
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.reports.politeness import verify_politeness
from comity.rules.ledger_chain import content_digest
from tests.database.states import State
from tests.reports.ledgers import START, Checked, checked, doctor, request, robots_note, spelled

HOST = "shop.example"
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n\nUser-agent: acmebot\nDisallow: /own\nCrawl-delay: 2\n"
VERSION = content_digest(ROBOTS)
NO_POLICY: dict[str, Any] = {"policy_interval_ms": None, "policy_max_concurrency": None, "robots_version": VERSION}


def of_client(host_id: UUID, number: int, at: float, **changes: Any) -> LedgerRow:
    """What a client reported of a request under lease 2."""
    values = {"lease_token": 2, "purpose": Purpose.GRANT, "ended_at": at + 5.0, **NO_POLICY, **changes}
    return request(host_id, HOST, number, at, **values)


def without_request(host_id: UUID, kind: NoteKind, number: int, at: float) -> LedgerNote:
    detail = {"number": number, "purpose": "grant", "url": f"https://{HOST}/{number}", "client": "acme"}
    return LedgerNote(host_id, HOST, 2, kind, None, None, at, at + 1.0, json.dumps(detail))


def clients(state: State, *more: Callable[[UUID], LedgerRow]) -> UUID:
    """A host whose robots.txt Comity read, and that a client with grants then asked six times.

    Of these one was given back unused, and one was never reported. The requests took longer than the delay, and so
    overlap; the last was answered with 429.
    """
    host_id = state.add(HOST, lease_token=2)
    first = request(
        host_id, HOST, 1, START, url=f"https://{HOST}/robots.txt", purpose=Purpose.ROBOTS, **NO_POLICY
    )._replace(robots_version=None)
    allowed = {"rule_line": None, "rule": None}
    rows = [
        first,
        of_client(host_id, 1, START + 2.0),
        of_client(host_id, 3, START + 5.5, purpose=f"{Purpose.GRANT}:acmebot", url=f"https://{HOST}/private/1"),
        of_client(host_id, 5, START + 14.0, purpose=f"{Purpose.JOB}", **allowed),
        of_client(
            host_id,
            6,
            START + 17.0,
            ended_at=START + 17.2,
            status=429,
            retry_after_s=60.0,
            blocked_until=START + 77.3,
        ),
    ]
    rows += [make(host_id) for make in more]
    with state.database.write() as connection:
        ledger.keep_versions(connection, {VERSION: ROBOTS})
        ledger.append_notes(connection, [robots_note(host_id, HOST, START + 0.3, version=VERSION)])
        ledger.append_requests(connection, None, rows)
        ledger.append_notes(connection, [without_request(host_id, NoteKind.UNUSED, 4, START + 11.0)])
        ledger.append_notes(connection, [without_request(host_id, NoteKind.UNREPORTED, 2, START + 8.0)])
    return host_id


def changed(what: str, sequence: int) -> tuple[str, ...]:
    return (f"UPDATE politeness_ledger SET {what} WHERE domain_id = {{id}} AND sequence = {sequence}",)


DOCTORINGS: dict[str, tuple[tuple[str, ...], str]] = {
    "call a grant a request for robots.txt": (changed("purpose = 'robots'", 3), "row_altered"),
    "take a product token away": (changed("purpose = 'grant'", 3), "disallowed"),
    "give a product token": (changed("purpose = 'grant:otherbot'", 2), "row_altered"),
    "start a request in another window": (changed("started_at = '2026-02-07 12:00:03+00'", 3), "too_soon"),
    "lower the delay of a grant": (changed("delay_s = 0.5", 3), "delay_too_short"),
    "turn the 429 of a grant into a 200": (changed("status = 200", 5), "row_altered"),
    "shorten the pause after a grant": (changed("blocked_until = '2026-02-07 12:00:20+00'", 5), "block_too_short"),
    "renumber a grant": (changed("request_number = 9", 4), "request_unrecorded"),
    "delete the row of a job": (
        ("DELETE FROM politeness_ledger WHERE domain_id = {id} AND purpose = 'job'",),
        "row_missing",
    ),
    "delete the note of a grant that was not reported": (
        ("DELETE FROM ledger_notes WHERE domain_id = {id} AND kind = 'unreported'",),
        "row_missing",
    ),
    "delete that note and set the head back": (
        (
            "DELETE FROM ledger_notes WHERE domain_id = {id} AND sequence = 3",
            "UPDATE ledger_chains SET notes = 2, note_digest = (SELECT digest FROM ledger_notes "
            "WHERE domain_id = {id} AND sequence = 2) WHERE domain_id = {id}",
        ),
        "request_unrecorded",
    ),
    "say that an unreported grant was not used": (
        ("UPDATE ledger_notes SET kind = 'unused' WHERE domain_id = {id} AND kind = 'unreported'",),
        "row_altered",
    ),
    "change the number in a note": (
        ("UPDATE ledger_notes SET detail = '{{\"number\": 1}}' WHERE domain_id = {id} AND kind = 'unused'",),
        "row_altered",
    ),
}

# What a client may report, or a dishonest server record, in a chain that is whole.
MISCONDUCT: dict[str, tuple[Callable[[UUID], LedgerRow], str]] = {
    "inside the pause that a grant's answer asked for": (
        lambda host: of_client(host, 7, START + 40.0),
        "inside_a_block",
    ),
    "too soon after the grant before": (lambda host: of_client(host, 7, START + 15.0), "too_soon"),
    "what robots.txt forbids to the client's token": (
        lambda host: of_client(host, 7, START + 80.0, purpose="grant:acmebot", url=f"https://{HOST}/own/1"),
        "disallowed",
    ),
    "what robots.txt forbids to Comity": (
        lambda host: of_client(host, 7, START + 80.0, purpose="job", url=f"https://{HOST}/private/1"),
        "disallowed",
    ),
    "with a delay shorter than robots.txt asks for": (
        lambda host: of_client(host, 7, START + 80.0, delay=DelayInForce(1.0, DelaySource.DOOR)),
        "delay_too_short",
    ),
    "on an origin whose robots.txt was not read": (
        lambda host: of_client(host, 7, START + 80.0, url=f"http://{HOST}/1"),
        "robots_unknown",
    ),
    "with a lease that was over": (lambda host: of_client(host, 2, START + 80.0, lease_token=1), "late_hand"),
}


def test_honest_jobs_and_grants_pass(state: State, tmp_path: Path) -> None:
    clients(state)
    assert checked(state, tmp_path) == Checked(set(), set())
    (audit,) = verify_politeness(state.database)
    assert audit.requests == 5
    assert audit.remarks == (
        "jobs or grants that ran out without a report: 1; their requests may have been made between "
        "2026-02-07 12:00:08Z and 2026-02-07 12:00:09Z, each in its own window",
    )


@pytest.mark.parametrize("kind", DOCTORINGS)
def test_doctoring_is_found(state: State, tmp_path: Path, kind: str) -> None:
    statements, breach = DOCTORINGS[kind]
    host_id = clients(state)
    filled = [statement.format(id=spelled(state, host_id)) for statement in statements]
    if state.database.engine.dialect.name != "postgresql":
        filled = [statement.replace("+00'", ".000000'") for statement in filled]
    doctor(state, *filled)
    found = checked(state, tmp_path)
    assert breach in found.by_comity
    assert breach in found.by_script


@pytest.mark.parametrize("kind", MISCONDUCT)
def test_misconduct_of_a_client_is_found(state: State, tmp_path: Path, kind: str) -> None:
    make, breach = MISCONDUCT[kind]
    clients(state, make)
    found = checked(state, tmp_path)
    assert breach in found.by_comity
    assert breach in found.by_script
