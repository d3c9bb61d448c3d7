"""`comity queue` and `comity bots`: policies, jobs, results and bots on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doors.command_line import CommandLine

URL = "https://shop.example/product/1"


def test_a_policy_from_adding_to_deleting(with_state: CommandLine) -> None:
    comity = with_state
    added = comity.json("queue", "policies", "add", URL, "--priority", "9", "--crawl-config", '{"price": ".p"}')
    assert (added["url"], added["priority"], added["domain"]) == (URL, 9, "shop.example")
    assert comity.json("queue", "policies", "edit", URL, "--frequency-hours", "6")["frequency_hours"] == 6
    assert comity.json("queue", "policies", "show", added["id"])["crawl_config"] == {"price": ".p"}
    assert comity.json("queue", "policies", "edit", URL, "--crawl-config", "")["crawl_config"] is None
    assert "0 policies changed, 1 unchanged" in comity.done("queue", "policies", "enable", URL).out
    assert comity.json("queue", "policies", "disable", URL)["changed"] == 1
    assert comity.json("queue", "policies", "list", "--enabled") == []
    assert comity.json("queue", "policies", "run-now", URL)["items"][0]["reason"] == "it is disabled; enable it first"
    assert comity.json("queue", "policies", "enable", URL)["changed"] == 1
    assert comity.json("queue", "stats")["policies"] == {"total": 1, "enabled": 1, "due": 1, "failing": 0}
    assert comity.json("queue", "policies", "prices", URL) == []
    assert comity.json("queue", "policies", "delete", URL)["changed"] == 1
    missing = comity("queue", "policies", "show", URL)
    assert missing.code == 1
    assert "there is no policy" in missing.err
    assert "comity queue policies list" in missing.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("queue", "policies", "add", "shop.example"), "must start with http"),
        (("queue", "policies", "add", URL, "--priority", "2000"), "--priority: must be between 0 and 1,000"),
        (("queue", "policies", "add", URL, "--schedule", "daily"), "schedule"),
        (("queue", "policies", "add", URL, "--crawl-config", "[]"), "must be a JSON object"),
        (("queue", "policies", "list", "--sort", "x"), "--sort: must be one of"),
        (("queue", "jobs", "list", "--status", "lockd"), "locked"),
        (("queue", "jobs", "show", "x"), "is not the id of a job"),
        (("queue", "results", "show", "x"), "is not the id of a result"),
        (("queue", "policies", "import", "missing.csv"), "cannot be read"),
        (("queue", "policies", "export", "out.xml"), "must end in .csv, .json or .jsonl"),
        (("bots", "add", "a b"), "BOT: must have"),
        (("bots", "add", "a", "--in-hand", "-1"), "--in-hand: must be"),
        (("bots", "limit", "a"), "nothing to change"),
    ],
)
def test_wrong_input_is_explained_and_nothing_is_written(
    with_state: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    answer = with_state(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err, answer.err
    assert with_state.rows("SELECT count(*) FROM crawl_policies") == [(0,)]


def test_a_file_is_imported_with_a_report_and_exported_again(with_state: CommandLine) -> None:
    comity = with_state
    Path("bad.csv").write_text(f"url,priority\n{URL},5\nhttps://b.example/,high\n")
    refused = comity("queue", "policies", "import", "bad.csv")
    assert refused.code == 2
    assert "must be a whole number" in refused.out
    assert "Nothing was changed" in refused.out
    assert comity.rows("SELECT count(*) FROM crawl_policies") == [(0,)]
    Path("good.jsonl").write_text(json.dumps({"url": URL, "enabled": False}) + "\n" + '{"url": "https://b.example/"}\n')
    assert comity.json("queue", "policies", "import", "good.jsonl", "--dry-run")["is_written"] is False
    assert comity.json("queue", "policies", "import", "good.jsonl")["counts"] == {"added": 2}
    for name in ("out.csv", "out.json", "out.jsonl"):
        assert comity.json("queue", "policies", "export", name) == {"file": name, "rows": 2}
        assert comity.json("queue", "policies", "import", name)["counts"] == {"already_there": 2}
    assert comity.done("queue", "policies", "export", "-").out.startswith("id,url,")


def test_a_job_is_moved_by_hand_with_its_history(with_state: CommandLine) -> None:
    comity = with_state
    comity.json("queue", "policies", "add", URL)
    comity.rows(
        "INSERT INTO crawl_jobs (id, policy_id, domain_id, url) "
        "SELECT '0b8c9a1e5d5f4a539a573f1f8c1d2e3f', id, domain_id, url FROM crawl_policies"
    )
    [job] = comity.json("queue", "jobs", "list", "--status", "pending")
    assert comity.json("queue", "jobs", "expire", job["id"], "--reason", "a test")["changed"] == 1
    assert comity.json("queue", "jobs", "pending", job["id"])["changed"] == 1
    assert comity.json("queue", "jobs", "reset", job["id"])["items"][0]["reason"] == "it is pending, not locked"
    moves = comity.json("queue", "jobs", "show", job["id"])["moves"]
    assert [(move["after"], move["actor"], move["reason"]) for move in moves] == [
        ("expired", "operator", "a test"),
        ("pending", "operator", "an operator marked it pending"),
    ]
    shown = comity.done("queue", "jobs", "show", job["id"]).out
    assert "a test" in shown
    assert comity("queue", "jobs", "reset", "00000000-0000-4000-8000-000000000000").code == 1
    assert comity.json("queue", "jobs", "export", "jobs.csv")["rows"] == 1
    assert comity.json("queue", "results", "list") == comity.json("queue", "results", "list", "--late") == []
    stats = comity.done("queue", "stats").out
    assert "shop.example" in stats


def test_the_list_shows_until_when_a_job_waits_and_why_in_short(with_state: CommandLine) -> None:
    comity = with_state
    comity.json("queue", "policies", "add", URL)
    comity.rows(
        "INSERT INTO crawl_jobs (id, policy_id, domain_id, url, not_before, error_msg) "
        "SELECT '0b8c9a1e5d5f4a539a573f1f8c1d2e3f', id, domain_id, url, '2097-01-02 03:04:05.000000', ? "
        "FROM crawl_policies",
        "no answer " * 400,
    )
    shown = comity.done("queue", "jobs", "list").out
    assert f"{URL} · not before 2097-01-02 03:04 · no answer" in shown
    assert shown.count("no answer") == 20
    assert comity.done("queue", "jobs", "show", "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f").out.count("no answer") == 400


def test_a_bot_from_adding_to_revoking(with_state: CommandLine) -> None:
    comity = with_state
    answer = comity("bots", "add", "shop-1", "--in-hand", "5", "--note", "price team")
    assert answer.code == 0
    key = answer.out.partition("key  ")[2].strip()
    assert key.startswith("cmty_")
    assert "cannot be shown again" in answer.err
    assert key not in str(comity.rows("SELECT * FROM bots"))
    assert comity("bots", "add", "shop-1").code == 2
    assert comity.json("bots", "limit", "shop-1", "--in-hand", "0", "--per-minute", "60")["max_jobs_in_hand"] is None
    assert [bot["bot_id"] for bot in comity.json("bots", "list", "--status", "active")] == ["shop-1"]
    assert comity.json("bots", "revoke", "shop-1")["status"] == "revoked"
    assert comity("bots", "resume", "shop-1").code == 1
    assert comity.json("bots", "new-key", "shop-1")["key"] != key
    assert comity.json("bots", "show", "shop-1")["status"] == "active"
    assert "price team" in comity.done("bots", "show", "shop-1").out


@pytest.mark.parametrize("width", [60, 80])
def test_tables_fit(with_state: CommandLine, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    comity = with_state
    comity.json("queue", "policies", "add", f"{URL}/{'a-long-path/' * 8}")
    comity.rows(
        "INSERT INTO crawl_jobs (id, policy_id, domain_id, url) "
        "SELECT '0b8c9a1e5d5f4a539a573f1f8c1d2e3f', id, domain_id, url FROM crawl_policies"
    )
    comity("bots", "add", "b" * 60, "--note", "n" * 200)
    monkeypatch.setenv("COLUMNS", str(width))
    for command in (
        ("queue", "policies", "list"),
        ("queue", "jobs", "list"),
        ("queue", "jobs", "show", "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"),
        ("queue", "stats"),
        ("bots", "list"),
        ("bots", "show", "b" * 60),
    ):
        for line in comity.done(*command).lines:
            assert len(line) <= width or "/" in line, (command, line)
