"""Sending hosts back to the start, and folding those that are one."""

from __future__ import annotations

import pytest

from tests.doors.command_line import CommandLine


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ("pending", "pending"),
        ("active", "active"),
        ("exhausted", "pending"),
        ("blocked", "pending"),
        ("unreachable", "pending"),
    ],
)
def test_a_host_of_any_status_can_be_reset(with_state: CommandLine, status: str, after: str) -> None:
    with_state.add_host(
        "host.example",
        status=status,
        block_reason="why",
        block_reason_code="forbidden",
        cooldown_count=2,
        consecutive_error_count=4,
        next_crawl_after="2999-01-01 00:00:00.000000",
        next_fetch_at="2999-01-01 00:00:00.000000",
    )
    (host_id,) = with_state.rows("SELECT id FROM domains")[0]
    for number, state in enumerate((1, 1, 0, 2)):
        with_state.rows(
            "INSERT INTO domain_frontier (domain_id, url, url_key, state) VALUES (?, ?, ?, ?)",
            host_id,
            f"https://host.example/{number}",
            number,
            state,
        )
    report = with_state.json("domains", "reset", "https://www.HOST.example/", "--reason", "manual review")
    assert report == {"domain": "host.example", "status_before": status, "status": after, "urls_requeued": 2}
    columns = "status, block_reason, block_reason_code, cooldown_count, consecutive_error_count, next_crawl_after"
    assert with_state.rows(f"SELECT {columns} FROM domains") == [(after, "reset: manual review", None, 0, 0, None)]
    assert with_state.column("host.example", "next_fetch_at") is not None
    assert with_state.rows("SELECT state FROM domain_frontier ORDER BY url_key") == [(0,), (0,), (0,), (2,)]


def test_a_reset_says_what_it_changed(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="blocked")
    with_state.add_host("b.example", status="active")
    assert (
        with_state.done("domains", "reset", "a.example").out == "a.example: blocked → pending, 0 URLs queued again.\n"
    )
    said = with_state.done("domains", "reset", "b.example").out
    assert said == "b.example: still active, cooldown and errors cleared, 0 URLs queued again.\n"


def test_a_host_that_is_being_crawled_is_not_reset(with_state: CommandLine) -> None:
    with_state.add_host("a.example", claimed_by="worker:7", claim_expires_at="2999-01-01 00:00:00.000000")
    answer = with_state("domains", "reset", "a.example")
    assert (answer.code, answer.out) == (1, "")
    assert "is being crawled by worker:7" in answer.err
    assert with_state.column("a.example", "version") == 0


def test_a_host_that_nobody_knows_cannot_be_reset_and_no_state_is_made(comity: CommandLine) -> None:
    answer = comity("domains", "reset", "a.example")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert list(comity.folder.iterdir()) == []


@pytest.fixture
def misspelled(with_state: CommandLine) -> CommandLine:
    """Rows that somebody wrote by hand, past all rules."""
    with_state.add_host("example.com", pages_crawled=3, first_seen_at="2024-01-01 00:00:00.000000")
    with_state.add_host("www.Example.com", pages_crawled=5, first_seen_at="2020-01-01 00:00:00.000000")
    with_state.add_host("Example.com.", pages_crawled=7, first_seen_at="2025-01-01 00:00:00.000000")
    with_state.add_host("Lonely.EXAMPLE", pages_crawled=1)
    with_state.add_host("not a host", pages_crawled=1)
    with_state.add_host("fine.example", pages_crawled=1)
    with_state.add_host("WWW.busy.example", claimed_by="worker:7", claim_expires_at="2999-01-01 00:00:00.000000")
    return with_state


ACTIONS = {
    "www.Example.com": ("example.com", "folded"),
    "Example.com.": ("example.com", "folded"),
    "Lonely.EXAMPLE": ("lonely.example", "renamed"),
    "not a host": ("not a host", "skipped"),
    "WWW.busy.example": ("busy.example", "skipped"),
}


def test_hosts_that_are_one_are_folded_into_the_earliest(misspelled: CommandLine) -> None:
    (kept,) = misspelled.rows("SELECT id FROM domains WHERE domain = 'www.Example.com'")[0]
    merged = misspelled.json("domains", "merge")
    assert {line["old"]: (line["new"], line["action"]) for line in merged} == ACTIONS
    assert {line["old"] for line in merged if not line["done"]} == {"not a host", "WWW.busy.example"}
    assert misspelled.rows("SELECT id, pages_crawled FROM domains WHERE domain = 'example.com'") == [(kept, 15)]
    names = {name for (name,) in misspelled.rows("SELECT domain FROM domains")}
    assert names == {"example.com", "lonely.example", "not a host", "fine.example", "WWW.busy.example"}
    assert {line["old"] for line in misspelled.json("domains", "merge")} == {"not a host", "WWW.busy.example"}


def test_a_dry_run_tells_the_same_and_changes_nothing(misspelled: CommandLine) -> None:
    before = misspelled.rows("SELECT * FROM domains")
    merged = misspelled.json("domains", "merge", "--dry-run")
    assert {line["old"]: (line["new"], line["action"]) for line in merged} == ACTIONS
    assert not any(line["done"] for line in merged)
    said = misspelled.done("domains", "merge", "--dry-run").lines
    assert said[0].split() == ["FROM", "TO", "WHAT"]
    assert said[-1] == "Dry run: nothing was changed."
    assert misspelled.rows("SELECT * FROM domains") == before


def test_a_merge_tells_why_it_left_a_host(misspelled: CommandLine) -> None:
    lines = misspelled.done("domains", "merge").lines
    below = {lines[index - 1].split()[0]: line for index, line in enumerate(lines) if "└─" in line}
    assert "is leased by worker:7" in below["WWW.busy.example"]
    assert "contains a space" in below["not"]
