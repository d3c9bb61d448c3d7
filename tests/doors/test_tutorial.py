"""docs/tutorial.md: every block runs as it stands, in order, and prints what the page says."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.documents import all_blocks, blocks
from tests.doors.command_line import clean_environment
from tests.walk.forking import ForkServer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
FILE = re.compile(r"`(\w+\.\w+)`")
PORT = "8001"
WITHIN_S = 120
# What differs from run to run; everything else must be as it is printed.
MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms)\b"), "SECONDS"),
    (re.compile(r"\d+(\.\d+)?/s\b"), "RATE"),
    (re.compile(r"\b\d+(\.\d+)? k?B\b"), "BYTES"),
    (re.compile(r"[ \t]+"), " "),
)


def masked(text: str, *, without_counts: bool = False) -> list[str]:
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    if without_counts:
        text = re.sub(r"\b\d+ (page|URL|error)s?\b|\b\d+\b|─+", "N", text)
    return [line.strip() for line in text.strip().splitlines()]


def free_port() -> str:
    """A port of four digits, as the page has one: tables keep their widths."""
    for port in range(8100 + os.getpid() % 1000, 9999):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) != 0:
                return str(port)
    raise AssertionError("no port is free")


class Reader:
    """Someone who follows the page in a folder of their own, with two terminals."""

    def __init__(self, folder: Path, stack: ExitStack, forks: ForkServer) -> None:
        self.folder = folder
        self.port = free_port()
        python = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.environment = forks.on_the_path(clean_environment(python))
        del self.environment["COMITY_CONTACT"]  # the page sets it
        self._stack = stack
        self.printed = ""

    def local(self, text: str) -> str:
        return text.replace(PORT, self.port)

    def save(self, name: str, text: str) -> None:
        (self.folder / name).write_text(self.local(text), encoding="utf-8")

    def type(self, block: str) -> None:
        """Run the lines of a block one by one; what they print on stdout is kept."""
        self.printed = ""
        if block.endswith("\n^C\n"):
            self._interrupt(block.removesuffix("^C\n"))
        elif block == "python shop.py\n":
            self._open_shop(block)
        else:
            for line in block.splitlines():
                self._run(line)

    def _start(self, line: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {self.local(line)}"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(process)  # closes its pipes and waits, once it is killed
        self._stack.callback(process.kill)
        return process

    def _open_shop(self, line: str) -> None:
        self._start(line)
        last = time.monotonic() + WITHIN_S
        while True:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    return
            assert time.monotonic() < last, "the shop does not open"
            time.sleep(0.05)

    def _interrupt(self, line: str) -> None:
        process = self._start(line)
        assert process.stderr is not None
        for _ in range(3):  # a head, and two pages
            assert process.stderr.readline()
        process.send_signal(signal.SIGINT)
        self.printed, _ = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 130

    def _run(self, line: str) -> None:
        if line.startswith("export "):
            name, _, value = shlex.split(line, comments=True)[1].partition("=")
            self.environment[name] = value
            return
        done = subprocess.run(
            ["sh", "-c", self.local(line)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        self.printed += done.stdout


def follow(page: str, folder: Path, forks: ForkServer) -> Iterator[tuple[str, str]]:
    """Follow a page from top to bottom; yield what each `text` block says and what was really printed."""
    with ExitStack() as stack:
        reader = Reader(folder, stack, forks)
        for language, block, start, _end in all_blocks(page):
            if language in ("python", "fields"):
                reader.save(FILE.findall(page, 0, start)[-1], block)
            elif language == "sh":
                reader.type(block)
            elif language == "text":
                yield block, reader.printed.replace(reader.port, PORT)
            else:
                assert (language, block) == ("", "pip install comity\n")


@pytest.mark.roomy
def test_every_block_runs_and_prints_what_the_page_says(tmp_path: Path, fork_server: ForkServer) -> None:
    compared = 0
    for said, printed in follow(PAGE.read_text(encoding="utf-8"), tmp_path, fork_server):
        varies = compared < 2  # how far the first crawl comes before Ctrl-C, and how far the second has to go
        assert masked(printed, without_counts=varies) == masked(said, without_counts=varies)
        compared += 1
    assert compared > 8
    assert (tmp_path / "prices.csv").exists()


@pytest.mark.roomy
def test_the_first_five_minutes_of_the_readme(tmp_path: Path, fork_server: ForkServer) -> None:
    """The same shop stands for example.com; it is asked faster than a site of others would be."""
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    (block,) = (each for each in blocks(readme, "sh") if "export COMITY_CONTACT" in each)
    block = block[block.index("export COMITY_CONTACT") :]
    shop = blocks(PAGE.read_text(encoding="utf-8"), "python")[0]
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack, fork_server)
        reader.environment |= {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8", "COMITY_DELAY": "0.05"}
        reader.save("shop.py", shop)
        reader.type("python shop.py\n")
        local = re.sub(r"(https://)?example\.com", rf"http://127.0.0.1:{PORT}", block.replace("\\\n", " "))
        local = local.replace(f"reset http://127.0.0.1:{PORT}", f"reset 127.0.0.1:{PORT}")
        lines = [line for line in local.splitlines() if line]
        assert len(lines) > 8
        printed = {}
        for line in lines:
            reader.type(line + "\n")
            printed[line] = reader.printed
        reset = next(line for line in lines if "reset" in line)
        assert "200  Alarm clock" in printed[lines[3]]
        assert re.search(r"Night light +12\.00", printed[lines[lines.index(reset) + 2]])
        assert re.search(r"11 pages .* 11 unchanged", printed[lines[-1]])
