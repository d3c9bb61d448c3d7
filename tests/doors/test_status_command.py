"""`comity status`: for people once, for people live, and for programs."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.doors.command_line import PATIENCE_S, CommandLine
from tests.doors.test_terminals import ANY_CODE


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S.%f")


@pytest.fixture
def busy(with_state: CommandLine) -> CommandLine:
    """One worker, one that ran out, hosts that wait and one that comes back."""
    columns = {"status": "active", "lease_token": 1}
    with_state.add_host("a.example", claimed_by="box-1:77:5:ff", claim_expires_at=at(1790), frontier_size=12, **columns)
    with_state.add_host("b.example", claimed_by="box-2:88:5:ff", claim_expires_at=at(-5), **columns)
    with_state.add_host("c.example", status="pending")
    with_state.add_host("d.example", status="blocked", block_reason_code="forbidden", next_crawl_after=at(7500))
    row = "INSERT INTO fetches (domain, page_url, url_key, outcome, error, bytes_received, crawled_at) VALUES"
    with_state.rows(f"{row} ('a.example', 'https://a.example/', 1, 'fetched', NULL, 2500, ?)", at(-20))
    with_state.rows(f"{row} ('a.example', 'https://a.example/x', 2, 'gone', 'http_404', 0, ?)", at(-20))
    return with_state


def test_a_person_sees_who_works_what_waits_and_what_went_wrong(busy: CommandLine) -> None:
    lines = busy.done("status").lines
    assert lines[0].endswith("UTC  1 worker · 1 host held · 12 URLs queued · 0.0 pages/s")
    assert lines[1] == "1 lease expired and not taken over yet; the next free worker takes over."
    words = [line.split() for line in lines]
    assert ["box-1", "77", "working", "1", "-"] in [each[:5] for each in words]
    assert ["box-2", "88", "ran", "out", "1"] in [each[:5] for each in words]
    assert ["pending", "1", "1"] in words
    assert ["blocked", "1", "-"] in words
    assert ["fetched", "1", "1"] in words
    assert ["received", "2.5", "kB", "2.5", "kB"] in words
    assert ["http_404", "1", "a.example"] in [each[:3] for each in words]
    assert ["d.example", "blocked", "forbidden", "in", "2", "h"] in words


def test_one_url_is_counted_in_the_singular(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="active", frontier_size=1)
    assert " · 1 URL queued · " in with_state.done("status").lines[0]


def test_a_program_gets_one_document(busy: CommandLine) -> None:
    told = busy.json("status")
    assert told["claims"] == {"held": 1, "stuck": 1, "silent": 0}
    assert {worker["holder"]: worker["state"] for worker in told["workers"]} == {
        "box-1:77:5:ff": "working",
        "box-2:88:5:ff": "ran out",
    }
    assert told["frontier"] == {"urls": 12, "is_exact": True}
    assert told["throughput"]["minute"]["outcomes"] == {"fetched": 1, "gone": 1}
    assert [line["host"] for line in told["due_next"]] == ["d.example"]
    assert told["errors"][0]["code"] == "http_404"
    assert told["at"].endswith("Z")


def test_a_state_that_does_not_exist_is_not_made(comity: CommandLine) -> None:
    assert comity.json("status")["hosts"] == []
    assert "No hosts yet." in comity.done("status").out
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize("words", [("--watch", "--json"), ("--watch",), ("more",)])
def test_what_cannot_be_is_refused(comity: CommandLine, words: tuple[str, ...]) -> None:
    answer = comity("status", *words)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1


def test_what_a_worker_calls_itself_cannot_steer_the_terminal(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="active", lease_token=1, claimed_by="\x1b[2Jevil", claim_expires_at=at(60))
    assert "\x1b" not in with_state.done("status").out


def test_it_is_redrawn_until_somebody_ends_it(busy: CommandLine) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "is_terminal": True}
    process = busy.started("status", "--watch", environment={"TERM": "xterm"}, **streams)
    os.close(theirs)
    received, changed, ended = b"", False, False
    ends_at = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < ends_at and select.select([ours], [], [], PATIENCE_S)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            received += piece
            if not changed and b"pending" in received:
                busy.add_host("later.example", status="unreachable")
                changed = True
            if not ended and b"unreachable" in received:
                os.write(ours, b"\x03")
                ended = True
        assert process.wait(PATIENCE_S) == 0
    finally:
        os.close(ours)
        process.kill()
        process.wait(PATIENCE_S)
    text = ANY_CODE.sub("", received.decode())
    assert "Ctrl-C to exit" in text
    assert "Traceback" not in text
    assert received.decode().rstrip().endswith("\x1b[?25h")  # the cursor is back
