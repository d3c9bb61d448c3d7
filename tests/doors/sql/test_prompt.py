"""The prompt of `comity sql` at a terminal: editing, completion, history, commands, a progress bar and Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.doors.command_line import CommandLine
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Web, page

LIMIT_S = 60.0
WIDTH = 70
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What a user types and sees."""

    def __init__(self, end: int) -> None:
        self._end = end
        self.seen = ""

    def type(self, text: str, until: str) -> str:
        """Type something; what is shown up to `until`, without its styles."""
        os.write(self._end, text.encode())
        shown, ends_at = "", time.monotonic() + LIMIT_S
        while until not in shown:
            assert time.monotonic() < ends_at, (text, shown[-2000:])
            if select.select([self._end], [], [], 0.1)[0]:
                self.seen += os.read(self._end, 65_536).decode(errors="replace")
                shown = _STYLE.sub("", self.seen)
        self.seen = ""
        return shown


@contextmanager
def prompt(comity: CommandLine) -> Iterator[Terminal]:
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, WIDTH, 0, 0))

    def control() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    streams = {"stdin": its, "stdout": its, "stderr": its, "preexec_fn": control}
    process = comity.started("sql", "shop.duckdb", "--allow-network", "127.0.0.0/8", **streams)
    os.close(its)
    try:
        terminal = Terminal(ours)
        terminal.type("", "comity> ")
        yield terminal
        os.write(ours, b"\x04")  # Ctrl-D
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait(LIMIT_S)
        os.close(ours)


@pytest.mark.roomy
def test_a_prompt_at_a_terminal(comity: CommandLine) -> None:
    (comity.folder / "more.sql").write_text("CREATE TABLE read_from (x INTEGER);\n.tables\nSELECT 'read' AS r;\n")
    with prompt(comity) as terminal:
        assert "   ...> " in terminal.type("SELECT 1 AS one,\n", "   ...> ")
        assert "one  two" in terminal.type("2 AS two;\n", "comity> ")
        wide = terminal.type("SEL\t repeat('x', 300) AS wide, 'end' AS last;\n", "comity> ")
        assert "SELECT repeat" in wide
        assert "…  end" in wide
        assert max(map(len, wide.splitlines()[2:])) <= WIDTH
        read = terminal.type(".read more.sql\n", "comity> ")
        assert all(word in read for word in ("read_from", "read"))
        assert "list the tables" in terminal.type(".help\n", "comity> ")
        assert ".nope is not known" in terminal.type(".nope\n", "comity> ")
        assert "did you mean .tables?" in terminal.type(".tabels\n", "comity> ")
        terminal.type("CREATE VIEW seen AS SELECT 7 AS seven_of_nine;\n", "comity> ")
        assert "seven_of_nine FROM" in terminal.type("SELECT sev\t FROM seen;\n", "comity> ")
        assert "seen" in terminal.type(".tables\n", "comity> ")
        terminal.type("SELECT 'never closed\n", "   ...> ")
        terminal.type("\x03", "comity> ")
    history = (comity.folder / "shop.comity.history").read_text()
    assert "SELECT repeat('x', 300) AS wide, 'end' AS last;" in history


@pytest.mark.roomy
def test_ctrl_c_at_the_prompt_ends_a_crawl_and_keeps_what_came(comity: CommandLine) -> None:
    with Web() as web, prompt(comity) as terminal:
        site = web.site({f"/{place}": Answer(body=page(), after_s=0.2) for place in range(100)})
        crawl = (
            f"CRAWL (SELECT '{site.url('/')}' || i FROM range(100) r(i)) INTO pages "
            "WITH (default_crawl_delay 0, max_parallel_per_domain 2);\n"
        )
        terminal.type(crawl, "pages 2")  # the bar
        wait_until(lambda: len(site.pages()) > 4, LIMIT_S, "some pages")
        shown = terminal.type("\x03", "comity> ")
        assert "Stopped. The pages that arrived are in the table" in shown
        assert "true" in terminal.type("SELECT count(*) BETWEEN 2 AND 99 AS kept FROM pages;\n", "comity> ").lower()
