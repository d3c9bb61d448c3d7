"""A ledger that somebody changed by SQL: Comity finds it, and so does the script that a stranger runs."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from comity.database import ledger
from comity.reports.politeness import verify_politeness
from tests.database.states import State
from tests.reports.ledgers import START, Checked, checked, doctor, exported, honest, request, script, spelled

OF = "FROM politeness_ledger WHERE domain_id = {a}"
COLUMNS = (
    "lease_token, request_number, url, purpose, started_at, ended_at, delay_s, delay_source, max_concurrency, "
    "policy_interval_ms, policy_max_concurrency, robots_version, rule_line, rule, status, retry_after_s, "
    "blocked_until, has_fetch"
)


def changed(what: str, sequence: int = 4) -> tuple[str, ...]:
    return (f"UPDATE politeness_ledger SET {what} WHERE domain_id = {{a}} AND sequence = {sequence}",)


# What is done, the statements, what Comity finds, what the script finds in the export of the same state.
DOCTORINGS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "delete a row in the middle": ((f"DELETE {OF} AND sequence = 4",), "row_missing", "row_missing"),
    "delete the first row": ((f"DELETE {OF} AND sequence = 1",), "row_missing", "row_missing"),
    "delete the last row": ((f"DELETE {OF} AND sequence = 9",), "row_missing", "row_missing"),
    "delete all rows of a host": ((f"DELETE {OF}",), "row_missing", "row_missing"),
    "delete all rows of a host and its head": (
        (
            f"DELETE {OF}",
            "DELETE FROM ledger_notes WHERE domain_id = {a}",
            "DELETE FROM ledger_chains WHERE domain_id = {a}",
        ),
        "ledger_missing",
        "ledger_missing",
    ),
    "delete a row and close the gap in the numbers": (
        (
            f"DELETE {OF} AND sequence = 9",
            "UPDATE ledger_chains SET requests = 8 WHERE domain_id = {a}",
        ),
        "row_altered",
        "row_altered",
    ),
    "delete the last row and set the head back": (
        (
            f"DELETE {OF} AND sequence = 9",
            "UPDATE ledger_chains SET requests = 8, request_digest = (SELECT digest "
            f"{OF} AND sequence = 8) WHERE domain_id = {{a}}",
        ),
        "fetch_without_request",
        "fetch_without_request",
    ),
    "insert a row": (
        (f"INSERT INTO politeness_ledger (domain_id, {COLUMNS}) SELECT domain_id, {COLUMNS} {OF} AND sequence = 1",),
        "row_inserted",
        "row_inserted",
    ),
    "insert a row at the end with a digest of its own": (
        (
            f"INSERT INTO politeness_ledger (domain_id, sequence, digest, {COLUMNS}) "
            f"SELECT domain_id, 10, digest, {COLUMNS} {OF} AND sequence = 1",
            "UPDATE ledger_chains SET requests = 10 WHERE domain_id = {a}",
        ),
        "row_altered",
        "row_altered",
    ),
    "start a request earlier": (changed("started_at = '2026-02-07 11:59:00+00'", 2), "row_altered", "row_altered"),
    "end a request before it starts": (
        changed("ended_at = '2026-02-07 11:59:00+00'", 4),
        "ends_before_start",
        "ends_before_start",
    ),
    "lower a delay": (changed("delay_s = 0.5"), "row_altered", "row_altered"),
    "change an address": (changed("url = 'https://a.example/elsewhere'"), "row_altered", "row_altered"),
    "change a rule": (changed("rule = 'Allow: /', rule_line = 2"), "row_altered", "row_altered"),
    "turn a 429 into a 200": (changed("status = 200", 5), "row_altered", "row_altered"),
    "change a purpose": (changed("purpose = 'robots'"), "row_altered", "row_altered"),
    "change a sequence": (changed("sequence = 40"), "row_missing", "row_missing"),
    "change a digest": (changed("digest = '00000000000000000000000000000000'"), "row_altered", "row_altered"),
    "swap two rows": (
        (*changed("sequence = 99", 3), *changed("sequence = 3", 4), *changed("sequence = 4", 99)),
        "row_altered",
        "row_altered",
    ),
    "change the lease": (changed("lease_token = 5"), "row_altered", "row_altered"),
    "change the number within the lease": (changed("request_number = 40"), "row_altered", "row_altered"),
    "forget the pause that was asked for": (changed("blocked_until = NULL", 5), "block_too_short", "block_too_short"),
    "forget Retry-After": (changed("retry_after_s = NULL", 5), "row_altered", "row_altered"),
    "copy rows of another host": (
        (
            f"DELETE {OF} AND sequence = 4",
            f"INSERT INTO politeness_ledger (domain_id, sequence, digest, {COLUMNS}) "
            f"SELECT {{a}}, sequence, digest, {COLUMNS} FROM politeness_ledger "
            "WHERE domain_id = {b} AND sequence = 4",
        ),
        "row_altered",
        "row_altered",
    ),
    "change the text of a robots.txt": (
        ("UPDATE robots_versions SET body = {body}",),
        "robots_altered",
        "robots_altered",
    ),
    "drop a robots.txt": (("DELETE FROM robots_versions",), "robots_missing", "robots_missing"),
    "drop the note of a robots.txt": (
        ("DELETE FROM ledger_notes WHERE domain_id = {a}",),
        "robots_unknown",
        "robots_unknown",
    ),
    "change the note of a robots.txt": (
        ("UPDATE ledger_notes SET valid_from = '2020-01-01 00:00:00+00' WHERE domain_id = {a}",),
        "row_altered",
        "row_altered",
    ),
    "lower a policy in its history": (
        ("UPDATE policy_history SET min_request_interval_ms = 10 WHERE host = 'a.example'",),
        "policy_mismatch",
        "policy_mismatch",
    ),
    "delete the history of a policy": (
        ("DELETE FROM policy_history WHERE host = 'a.example'",),
        "policy_mismatch",
        "policy_mismatch",
    ),
    "move a policy to a later day": (
        ("UPDATE policy_history SET valid_from = '2026-03-01 00:00:00+00' WHERE host = 'a.example'",),
        "policy_mismatch",
        "policy_mismatch",
    ),
    "delete a visit": (
        ("DELETE FROM fetches WHERE page_url = 'https://a.example/3'",),
        "request_without_fetch",
        "request_without_fetch",
    ),
    "insert a visit": (
        (
            "INSERT INTO fetches (domain_id, domain, page_url, url_key, outcome, crawled_at) "
            "VALUES ({a}, 'a.example', 'https://a.example/x', 1, 'fetched', '2026-02-07 12:00:01+00')",
        ),
        "fetch_without_request",
        "fetch_without_request",
    ),
    "enter a visit twice": (
        (
            "INSERT INTO fetches (domain_id, domain, page_url, url_key, outcome, crawled_at) SELECT domain_id, domain, "
            "page_url, url_key, outcome, crawled_at FROM fetches WHERE page_url = 'https://a.example/3'",
        ),
        "fetch_without_request",
        "fetch_without_request",
    ),
    "change the head": (
        ("UPDATE ledger_chains SET request_digest = '00000000000000000000000000000001' WHERE domain_id = {a}",),
        "row_altered",
        "row_altered",
    ),
    "delete the head": (("DELETE FROM ledger_chains WHERE domain_id = {a}",), "ledger_missing", "ledger_missing"),
    "say that a visit was never stored": (
        (
            "DELETE FROM fetches WHERE page_url = 'https://a.example/3'",
            "UPDATE politeness_ledger SET has_fetch = {no} WHERE domain_id = {a} AND sequence = 3",
        ),
        "row_altered",
        "row_altered",
    ),
}


# What does not touch the record itself, and so is not in an export.
PRESENT: dict[str, tuple[tuple[str, ...], str]] = {
    "rename the chain": (("UPDATE ledger_chains SET host = 'c.example' WHERE domain_id = {a}",), "row_altered"),
    "call a host folded": (("UPDATE ledger_chains SET merged_into = {b} WHERE domain_id = {a}",), "row_altered"),
    "forget the last edit of a policy": (
        (
            "UPDATE domain_policies SET min_request_interval_ms = 1 WHERE host = 'a.example'",
            "DELETE FROM policy_history WHERE min_request_interval_ms = 1",
        ),
        "policy_mismatch",
    ),
    "edit the cached robots.txt": (
        (
            "INSERT INTO robots_cache (origin, host, robots_txt, version, noted) "
            "VALUES ('https://a.example', 'a.example', 'User-agent: *', '00', '11')",
        ),
        "robots_altered",
    ),
}


def filled_in(state: State, ids: dict[str, UUID], statement: str) -> str:
    native = state.database.engine.dialect.name == "postgresql"
    body = "'\\x557365722d6167656e743a202a0a'" if native else "x'557365722d6167656e743a202a0a'"
    a, b = (spelled(state, host_id) for host_id in ids.values())
    statement = statement.format(a=a, b=b, body=body, no="false" if native else "0")
    return statement if native else statement.replace("+00'", ".000000'")


def test_an_honest_ledger_stands(state: State, tmp_path: Path) -> None:
    honest(state)
    assert checked(state, tmp_path) == Checked(set(), set())
    assert [(audit.host, audit.requests, audit.remarks) for audit in verify_politeness(state.database)] == [
        ("a.example", 9, ()),
        ("b.example", 9, ()),
    ]


@pytest.mark.parametrize("kind", DOCTORINGS)
def test_doctoring_is_found(state: State, tmp_path: Path, kind: str) -> None:
    statements, by_comity, by_script = DOCTORINGS[kind]
    ids = honest(state)
    doctor(state, *(filled_in(state, ids, statement) for statement in statements))
    found = checked(state, tmp_path)
    assert by_comity in found.by_comity
    assert by_script in found.by_script


@pytest.mark.parametrize("kind", PRESENT)
def test_doctoring_beside_the_record_is_found(state: State, tmp_path: Path, kind: str) -> None:
    statements, by_comity = PRESENT[kind]
    ids = honest(state)
    doctor(state, *(filled_in(state, ids, statement) for statement in statements))
    assert by_comity in checked(state, tmp_path).by_comity


def test_deleting_a_host_does_not_delete_its_proof(state: State, tmp_path: Path) -> None:
    ids = honest(state)
    doctor(state, "DELETE FROM domains WHERE domain = 'a.example'")
    assert {audit.host for audit in verify_politeness(state.database)} == set(ids)
    assert checked(state, tmp_path) == Checked(set(), set())


def shifted(state: State) -> str:
    hour = "interval '1 hour'"
    if state.database.engine.dialect.name == "postgresql":
        return f"UPDATE politeness_ledger SET started_at = started_at - {hour}, ended_at = ended_at - {hour}"
    sooner = "strftime('%Y-%m-%d %H:%M:%f', {0}, '-1 hour') || '000'"
    return (
        f"UPDATE politeness_ledger SET started_at = {sooner.format('started_at')}, "
        f"ended_at = {sooner.format('ended_at')}"
    )


def test_all_times_shifted_are_found(state: State, tmp_path: Path) -> None:
    honest(state)
    doctor(state, shifted(state))
    found = checked(state, tmp_path)
    assert "row_altered" in found.by_comity & found.by_script
    assert "robots_unknown" in found.by_comity & found.by_script


def rewritten(state: State, host_id: UUID) -> None:
    """An attacker who knows the format: all rows of a host are replaced by others that fit each other."""
    key = spelled(state, host_id)
    doctor(
        state,
        f"DELETE FROM politeness_ledger WHERE domain_id = {key}",
        f"UPDATE ledger_chains SET requests = 0, request_digest = '' WHERE domain_id = {key}",
        "DELETE FROM fetches WHERE domain = 'a.example'",
    )
    rows = [request(host_id, "a.example", number, START + 60.0 * number) for number in range(1, 10)]
    with state.database.write() as connection:
        ledger.append_requests(connection, None, rows)


def test_a_chain_that_was_made_anew_is_found_by_an_anchor_alone(state: State, tmp_path: Path) -> None:
    ids = honest(state)
    anchor = exported(state, tmp_path / "earlier.jsonl")
    assert checked(state, tmp_path, anchor) == Checked(set(), set())
    rewritten(state, ids["a.example"])
    assert checked(state, tmp_path) == Checked(set(), set()), "nothing in the state itself can show it"
    assert checked(state, tmp_path, anchor) == Checked({"anchor_mismatch"}, {"anchor_mismatch"})


def test_a_ledger_that_went_on_fits_its_anchor(state: State, tmp_path: Path) -> None:
    ids = honest(state)
    anchor = exported(state, tmp_path / "earlier.jsonl")
    host_id = ids["b.example"]
    more = [request(host_id, "b.example", number, START + 1000.0 + 2 * number, lease_token=3) for number in (1, 2)]
    with state.database.write() as connection:
        ledger.append_requests(connection, None, more)
    assert checked(state, tmp_path, anchor) == Checked(set(), set())


def test_a_host_that_was_deleted_as_a_whole_is_missed_by_an_anchor(state: State, tmp_path: Path) -> None:
    ids = honest(state)
    anchor = exported(state, tmp_path / "earlier.jsonl")
    key = spelled(state, ids["a.example"])
    tables = ("politeness_ledger", "ledger_notes", "ledger_chains", "fetches")
    doctor(state, *(f"DELETE FROM {table} WHERE domain_id = {key}" for table in tables))
    doctor(state, "DELETE FROM domains WHERE domain = 'a.example'")
    assert checked(state, tmp_path, anchor) == Checked({"anchor_mismatch"}, {"anchor_mismatch"})


def test_an_export_that_was_cut_or_edited_is_found(state: State, tmp_path: Path) -> None:
    honest(state)
    file = exported(state, tmp_path / "ledger.jsonl")
    lines = file.read_text().splitlines(keepends=True)

    def found(*changed_lines: str) -> set[str]:
        file.write_text("".join(changed_lines))
        return {finding[0] for _host, finding in script().verify(str(file))}

    assert found(*lines) == set()
    assert "file_cut" in found(*lines[:-1])
    last = max(number for number, line in enumerate(lines) if json.loads(line)["kind"] == "request")
    assert "file_cut" in found(*lines[:last], *lines[last + 1 :])
    at = next(number for number, line in enumerate(lines) if json.loads(line)["kind"] == "request")
    assert "row_altered" in found(*lines[:at], lines[at].replace("robots.txt", "robots.tx"), *lines[at + 1 :])
