"""`comity db`: looking at the age of the tables and moving it."""

from __future__ import annotations

import json

import pytest

from comity.database.schema import head_revision
from tests.doors.command_line import STATE, CommandLine

HEAD = head_revision()


def test_looking_makes_nothing(comity: CommandLine) -> None:
    assert comity.json("db", "current") == {
        "revision": None,
        "head": HEAD,
        "is_current": False,
        "state": str(STATE),
    }
    text = comity.done("db", "current").out
    assert text.split() == ["revision", "none", "head", HEAD, "state", str(STATE), *text.split()[6:]]
    assert "comity db upgrade creates them" in text
    assert list(comity.folder.iterdir()) == []


def test_a_state_goes_forward_and_back(comity: CommandLine) -> None:
    up = comity.json("db", "upgrade")
    assert (up["revision_before"], up["revision"], up["is_current"]) == (None, HEAD, True)
    assert comity.done("db", "upgrade").out == f"{STATE} is already at {HEAD}.\n"
    assert comity.done("db", "current").out.split() == ["revision", HEAD, "head", HEAD, "state", str(STATE)]
    comity.done("seeds", "add", "example.com")
    down = comity.json("db", "downgrade", "base", "--yes")
    assert (down["revision_before"], down["revision"]) == (HEAD, None)
    assert comity.rows("SELECT name FROM sqlite_master WHERE name = 'domains'") == []
    assert comity.done("db", "upgrade", HEAD).out == f"{STATE}: no schema → {HEAD}.\n"
    assert comity.rows("SELECT count(*) FROM domains") == [(0,)]


def test_one_step_back_is_a_target(comity: CommandLine) -> None:
    comity.done("db", "upgrade")
    assert comity.json("db", "downgrade", "-1", "--yes")["revision_before"] == HEAD


def test_going_back_is_asked_about_and_a_program_must_say_yes(comity: CommandLine) -> None:
    comity.done("seeds", "add", "example.com")
    for options in ([], ["--json"]):
        answer = comity.finished("db", "downgrade", "base", *options)
        assert (answer.code, answer.out) == (2, "")
        assert "add --yes to confirm" in answer.err
    assert comity.rows("SELECT domain FROM domains") == [("example.com",)]


def test_there_is_nothing_to_take_back_where_no_state_is(comity: CommandLine) -> None:
    answer = comity("db", "downgrade", "base", "--yes")
    assert (answer.code, answer.err) == (1, f"comity: there is no state at {STATE}, so there is nothing to downgrade\n")
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize("target", ["nonsense", "-9", "+9"])
def test_a_target_that_does_not_exist_is_refused(with_state: CommandLine, target: str) -> None:
    for command in (("db", "downgrade", target, "--yes"), ("db", "upgrade", "nonsense")):
        answer = with_state(*command)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert with_state.json("db", "current")["revision"] == HEAD


@pytest.mark.parametrize(
    "command",
    [
        ("domains", "list"),
        ("domains", "info", "example.com"),
        ("domains", "merge"),
        ("seeds", "add", "example.com"),
        ("takedown", "list"),
        ("policy", "set", "example.com", "--max-pages", "1"),
        ("recalculate-priorities",),
        ("db", "upgrade"),
        ("db", "downgrade", "base", "--yes"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_state_of_a_newer_comity_is_left_alone(with_state: CommandLine, command: tuple[str, ...]) -> None:
    with_state.rows("UPDATE alembic_version SET version_num = '9999'")
    answer = with_state(*command)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"comity: the state at {STATE} was written by a newer Comity (schema 9999;")
    assert answer.err.count("\n") == 1
    assert json.loads(with_state(*command, "--json").err)["error"] == "schema_mismatch"
    assert with_state.rows("SELECT version_num FROM alembic_version") == [("9999",)]
    assert with_state.rows("SELECT count(*) FROM domains") == [(0,)]


def test_the_age_of_a_newer_state_can_be_looked_at(with_state: CommandLine) -> None:
    with_state.rows("UPDATE alembic_version SET version_num = '9999'")
    found = with_state.json("db", "current")
    assert (found["revision"], found["is_current"]) == ("9999", False)
    assert f"This version needs {HEAD}" in with_state.done("db", "current").out
