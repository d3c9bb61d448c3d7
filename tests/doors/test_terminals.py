"""At a terminal: colour, tables that fit, questions, and bars for what takes long."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import PATIENCE_S, STATE, CommandLine
from tests.walk.site import Web, tree

COLOUR = re.compile(r"\x1b\[(3\d|4\d|9\d|38;[0-9;]+)m")
CTRL_C = b"\x03"
ANY_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def at_terminal(
    comity: CommandLine,
    *arguments: str,
    columns: int = 100,
    typed: bytes = b"",
    prompt: bytes = b"[y/N]: ",
    **environment: str,
) -> tuple[int, str]:
    """Run a command with a terminal on all its streams; gives the exit code and what the terminal received."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "is_terminal": True}
    process = comity.started(*arguments, environment={"TERM": "xterm-256color"} | environment, **streams)
    os.close(theirs)
    received, is_typed = b"", False
    try:
        ends_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends_at:
            if not select.select([ours], [], [], 2.0)[0]:
                # Python loses a Ctrl-C in the moment before it begins to read a line; who typed it types it again.
                if typed == CTRL_C and is_typed:
                    os.write(ours, typed)
                continue
            if not (piece := _read(ours)):
                break
            received += piece
            if typed and not is_typed and prompt in received:  # not before it is asked for
                os.write(ours, typed)
                is_typed = True
        return process.wait(PATIENCE_S), received.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)
        process.kill()
        process.wait(PATIENCE_S)


def _read(terminal: int) -> bytes:
    """What came since; nothing once the last process on the terminal is gone."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.fixture
def hosts(with_state: CommandLine) -> CommandLine:
    with_state.add_host("short.example", status="active", pages_crawled=2, pages_discovered=3)
    with_state.add_host("a-rather-long-name.that-does-not-fit.into-a-narrow-window.example", status="blocked")
    return with_state


def test_a_status_has_its_colour_unless_colour_is_unwanted(hosts: CommandLine) -> None:
    code, text = at_terminal(hosts, "domains", "list")
    assert code == 0
    assert "\x1b[32mactive\x1b[0m" in text
    code, text = at_terminal(hosts, "domains", "list", NO_COLOR="1")
    assert code == 0
    assert not COLOUR.search(text)
    assert "active" in text


def test_a_name_too_long_for_the_window_has_a_line_of_its_own(hosts: CommandLine) -> None:
    _, text = at_terminal(hosts, "domains", "list", columns=80)
    lines = ANY_CODE.sub("", text).splitlines()
    assert lines[0].split()[0] == "DOMAIN"
    place = lines.index("a-rather-long-name.that-does-not-fit.into-a-narrow-window.example")
    assert lines[place + 1].split() == ["blocked", "0/0", "0", "-", "-"]
    assert lines[place + 1].index("blocked") == lines[0].index("STATUS")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("typed", "code", "left"), [(b"n\n", 1, 1), (b"\n", 1, 1), (b"\x03", 130, 1), (b"y\n", 0, 0)])
def test_going_back_is_asked_about(hosts: CommandLine, typed: bytes, code: int, left: int) -> None:
    got, text = at_terminal(hosts, "db", "downgrade", "base", typed=typed)
    assert got == code
    assert "This deletes data. [y/N]:" in text
    assert len(hosts.rows("SELECT name FROM sqlite_master WHERE name = 'domains'")) == left


def test_a_long_list_shows_how_far_it_is_and_cleans_up(comity: CommandLine) -> None:
    Path("long.txt").write_text("".join(f"h{number}.example\n" for number in range(25_000)))
    code, text = at_terminal(comity, "seeds", "load", "long.txt")
    assert code == 0
    assert "Checking" in text
    assert "Storing" in text
    assert "25,000 new hosts." in text.splitlines()[-1]
    assert comity.rows("SELECT count(*) FROM domains") == [(25_000,)]


def test_a_short_list_shows_no_bar(comity: CommandLine) -> None:
    Path("short.txt").write_text("a.example\n")
    code, text = at_terminal(comity, "seeds", "load", "short.txt")
    assert code == 0
    assert text.startswith("1 new host.")
    assert STATE.exists()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_crawl_shows_which_hosts_hold_it_up_and_how_long_it_takes(
    comity: CommandLine, web: Web, columns: int
) -> None:
    sites = [web.site(tree(12)), web.site(tree(6))]
    seeds = [site.url() for site in sites]
    options = ("--delay", "0.15", "--no-sitemaps", "--allow-network", "127.0.0.0/8")
    code, text = at_terminal(comity, "crawl", *seeds, *options, columns=columns)
    assert code == 0
    frames = [ANY_CODE.sub("", frame) for frame in re.split(r"(?:\x1b\[2K|\x1b\[1A)+", text)]
    shown = [frame.strip("\r\n").splitlines() for frame in frames if "slowest: " in frame]
    assert shown
    assert max(len(line) for frame in shown for line in frame) <= columns
    heights = [len(frame) for frame in shown]
    assert heights == sorted(heights)  # it never gets lower
    joined = "\n".join(line for frame in shown for line in frame)
    assert re.search(r"slowest: 127\.0\.0\.1:\d+ 0\.15 s each, \d+ queued", joined)
    assert "blocked: none" in joined
    assert re.search(r"(at least|about) \d+ s to go", joined)
    assert "slowest" not in frames[-1]  # it is gone when the summary comes
    assert "18 pages in " in frames[-1]


def test_the_history_of_the_sql_prompt_has_no_secrets(comity: CommandLine) -> None:
    lines = [
        "SELECT 1 AS before;",
        "CREATE SECRET s (TYPE http,",
        "BEARER_TOKEN 'hush');",
        "SET http_proxy_password = 'hush';",
        "SELECT 2 AS after;",
        ".quit",
    ]
    typed = "".join(f"{line}\n" for line in lines).encode()
    code, text = at_terminal(comity, "sql", "shop.duckdb", typed=typed, prompt=b"comity> ")
    assert (code, "after" in text) == (0, True), text
    kept = Path("shop.comity.history").read_text().splitlines()
    assert [line for line in kept if line.startswith("SELECT")] == [lines[0], lines[4]]
    assert not any(b"hush" in path.read_bytes() for path in Path().rglob("*") if path.is_file())
