"""`comity work` as a command: what it refuses, and what it says when there is nothing to do."""

from __future__ import annotations

import json

import pytest

from tests.doors.command_line import CommandLine


@pytest.mark.parametrize(
    "words",
    [
        ("--processes", "0"),
        ("--processes", "65"),
        ("--hosts", "0"),
        ("--concurrency", "0"),
        ("--delay", "-1"),
        ("--max-minutes", "-1"),
        ("--state", ":memory:"),
        ("--into", "pages.exe"),
        ("--metrics", "nowhere"),
        ("--metrics", "127.0.0.1:70000"),
        ("https://example.com/",),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(comity: CommandLine, words: tuple[str, ...]) -> None:
    answer = comity("work", "--idle-exit", *words)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert list(comity.folder.iterdir()) == []


def test_an_empty_table_is_no_failure_and_no_run(with_state: CommandLine) -> None:
    answer = with_state("work", "--idle-exit", "--json")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_state_that_cannot_be_opened_at_the_start_is_told_at_once(comity: CommandLine) -> None:
    answer = comity("work", "--json", "--state", "postgresql://somebody:secret@127.0.0.1:1/none")
    assert (answer.code, answer.out) == (1, "")
    told = json.loads(answer.err)
    assert told["error"] == "state_unavailable"
    assert "secret" not in answer.err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_log_of_json_lines_ends_with_one(comity: CommandLine, processes: str) -> None:
    answer = comity("work", "--processes", processes, "--state", "postgresql://somebody:secret@127.0.0.1:1/none")
    last = json.loads(answer.err.splitlines()[-1])
    assert (answer.code, last["event"], last["level"]) == (1, "worker_failed", "error")
    assert last["error"] == "state_unavailable"
    assert "secret" not in answer.err
