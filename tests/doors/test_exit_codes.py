"""Whatever goes wrong outside is one line on stderr and an exit code; nobody ever sees a traceback."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from comity.doors.cli import exit_codes
from tests.doors.command_line import PATIENCE_S, STATE, CommandLine

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def obey_permissions() -> None:
    """In a child that is about to start: even root may not write where the mode forbids it."""
    library = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def is_being_written(state: Path) -> bool:
    """Whether somebody is within a transaction that writes."""
    connection = sqlite3.connect(state, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    else:
        return False
    finally:
        connection.close()


def assert_one_line(comity: CommandLine, arguments: list[str], said: str, code: int = 1) -> None:
    answer = comity(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("comity: ")
    assert said in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", [["domains", "list"], ["seeds", "add", "a.example"], ["db", "current"]])
def test_a_state_that_is_no_database_is_told_and_left_as_it_is(comity: CommandLine, command: list[str]) -> None:
    path = Path("state.txt")
    path.write_bytes(b"these are my notes\n" * 500)
    before = path.read_bytes()
    assert_one_line(comity, [*command, "--state", str(path)], "file is not a database")
    assert path.read_bytes() == before


def test_a_damaged_database_is_told(with_state: CommandLine) -> None:
    with_state.add_many(500)
    whole = STATE.read_bytes()
    STATE.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
    assert_one_line(with_state, ["domains", "list"], "cannot be used: database disk image is malformed")
    assert json.loads(with_state("domains", "list", "--json").err)["error"] == "state_unavailable"


def test_a_database_of_somebody_else_is_told(comity: CommandLine) -> None:
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE domains (mine)")
    connection.close()
    command = ["domains", "list", "--state", "other.db"]
    assert_one_line(comity, command, "other.db is a database of another program (domains)", code=2)


def test_a_folder_is_no_state(comity: CommandLine) -> None:
    Path("folder").mkdir()
    assert_one_line(comity, ["domains", "list", "--state", "folder"], "is a folder")
    assert_one_line(comity, ["seeds", "add", "a.example", "--state", "folder"], "is a folder")


def test_a_file_is_no_folder(comity: CommandLine) -> None:
    Path("file").write_text("")
    assert_one_line(comity, ["seeds", "add", "a.example", "--state", "file/state.db"], "cannot create the folder file")


@pytest.mark.parametrize("place", ["locked/state.db", "locked/deeper/state.db"])
def test_a_folder_that_may_not_be_written_is_told(comity: CommandLine, place: str) -> None:
    Path("locked").mkdir(mode=0o555)
    answer = comity.finished("seeds", "add", "a.example", "--state", place, preexec_fn=obey_permissions)
    assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert answer.err.startswith("comity: ")


def test_a_list_that_may_not_be_read_is_told(comity: CommandLine) -> None:
    Path("secret.txt").write_text("a.example\n")
    Path("secret.txt").chmod(0)
    answer = comity.finished("seeds", "load", "secret.txt", preexec_fn=obey_permissions)
    assert (answer.code, answer.err) == (2, "comity: cannot read secret.txt: Permission denied\n")


def test_a_server_that_does_not_answer_is_told_without_its_password(comity: CommandLine) -> None:
    url = "postgresql://somebody:secret@127.0.0.1:1/comity"
    assert_one_line(comity, ["domains", "list", "--state", url], "Connection refused")
    assert "secret" not in comity("domains", "list", "--state", url).err


def test_settings_that_make_no_sense_are_named(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_LEASE_MINUTES", "soon")
    assert_one_line(comity, ["domains", "list"], "COMITY_LEASE_MINUTES", code=2)


def test_a_reader_who_goes_away_ends_the_command_in_silence(with_state: CommandLine) -> None:
    with_state.add_many(3000)
    for command in (["domains", "list", "--limit", "3000"], ["domains", "list", "--json", "--limit", "3000"]):
        process = with_state.started(*command)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(PATIENCE_S) == exit_codes.OUTPUT_CLOSED


def test_a_full_disk_under_the_output_is_told(with_state: CommandLine) -> None:
    with open("/dev/full", "wb") as full:
        answer = with_state.finished("domains", "list", stdout=full)
    assert (answer.code, answer.err) == (1, "comity: the output cannot be written: No space left on device\n")


def test_without_any_output_the_work_is_done_all_the_same(comity: CommandLine) -> None:
    def close_both() -> None:
        os.close(1)
        os.close(2)

    answer = comity.finished("seeds", "add", "a.example", stdout=None, stderr=None, preexec_fn=close_both)
    assert answer.code == 0
    assert comity.rows("SELECT domain FROM domains") == [("a.example",)]


def test_ctrl_c_while_a_list_is_read_leaves_nothing(comity: CommandLine) -> None:
    process = comity.started("seeds", "load", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    # More than the pipe can hold: once it is taken, the command is reading.
    process.stdin.write(b"a.example\n" * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (exit_codes.INTERRUPTED, b"", b"comity: interrupted\n")
    assert list(comity.folder.iterdir()) == []


def test_ctrl_c_while_a_list_is_stored_leaves_nothing(comity: CommandLine) -> None:
    comity.done("db", "upgrade")
    Path("long.txt").write_text("".join(f"h{number}.example\n" for number in range(60_000)))
    process = comity.started("seeds", "load", "long.txt")
    end = time.monotonic() + PATIENCE_S
    while not is_being_written(STATE):
        assert process.poll() is None, "it was done before anybody could interrupt it"
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (exit_codes.INTERRUPTED, b"", b"comity: interrupted\n")
    assert comity.rows("SELECT count(*) FROM domains") == [(0,)]


def test_a_fault_of_our_own_is_one_line_too(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr("comity.reports.hosts.list_hosts", broken)
    assert_one_line(comity, ["domains", "list"], "unexpected ZeroDivisionError: first line; COMITY_TRACEBACK=1 shows")
    monkeypatch.setenv("COMITY_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in comity("domains", "list").err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_characters_gets_plainer_ones(with_state: CommandLine, encoding: str) -> None:
    with_state.add_host("a.example", status="blocked", block_reason="日本")
    answer = with_state.finished("domains", "list", environment={"PYTHONIOENCODING": encoding})
    assert (answer.code, answer.err) == (0, "")
    assert "  `- reason: ??" in answer.out
    document = with_state.finished("domains", "list", "--json", environment={"PYTHONIOENCODING": encoding}).document
    assert document[0]["block_reason"] == "日本"
