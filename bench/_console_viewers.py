"""What live viewers cost a crawl, for `console.py --viewers`.

A crawl of a site on the loopback runs on one core, with the console in the same process (`comity serve`) or apart
(`comity work` and `comity web`, on the same core). In turns, there is no viewer, and so many browsers follow the
dashboard, the page of crawls and the page of the host. Counted in each turn: the pages that the site served, and the
processor time of Comity's processes.
"""

from __future__ import annotations

import http.client
import os
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench import long_queue
from tests.servers.waiting import wait_until

_VIEWS = ("dashboard", "dashboard", "crawl", "crawl", f"host?host={long_queue.HOST}")
_SETTLING_S = 1.0  # between turns: streams open, or the last renders end
_MOST_PAGES_A_SECOND = 6_000  # of which there are enough for all turns
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Turn:
    """What was counted in one turn."""

    pages_a_second: float
    ms_a_page: float
    """Of the processor, for the crawl and the console together."""
    received: int


class Viewers:
    """Browsers that follow live regions and read what they are sent."""

    def __init__(self, port: int, count: int) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(count)]
        for number, each in enumerate(self._sockets):
            path = f"/admin/live?{urlencode({'view': _VIEWS[number % len(_VIEWS)]})}"
            each.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode())
            head = each.recv(1 << 16)
            assert head.startswith(b"HTTP/1.1 200"), head
            each.setblocking(False)
        self._ends = threading.Event()
        self.received = 0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._ends.wait(0.05):
            for each in select.select(self._sockets, [], [], 0)[0] if self._sockets else ():
                self.received += len(each.recv(1 << 18))

    def close(self) -> None:
        """Leave."""
        self._ends.set()
        self._thread.join()
        for each in self._sockets:
            each.close()


@contextmanager
def crawling(folder: Path, queued: int, *, apart: bool) -> Iterator[tuple[int, list[int]]]:
    """A crawl of so many pages with a console; gives the port and the ids of the processes."""
    state = folder / "state.db"
    long_queue.fill(state, queued)
    comity = str(Path(sys.executable).parent / "comity")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    environment |= {"COMITY_DELAY": "0", "COMITY_PER_HOST": "16", "ENABLE_PER_DOMAIN_BUDGET": "false"}
    # A site on the same machine responds late when the machine is busy. The gate would take that for a tired site and
    # slow down, to a few pages a second, for minutes: then neither the viewers nor the crawl would be measured.
    environment |= {"COMITY_MAX_DELAY": "0"}
    site = ["--allow-network", "127.0.0.0/8", "--state", str(state)]
    commands = [[comity, "serve", "--port", "0", *site]]
    if apart:
        commands = [[comity, "web", "--port", "0", "--state", str(state)], [comity, "work", *site]]
    with ExitStack() as stack:
        started = []
        for command in commands:
            process = subprocess.Popen(
                command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=long_queue.pinned(1)
            )
            stack.callback(process.wait, 60)
            stack.callback(process.send_signal, signal.SIGTERM)
            started.append(process)
        assert started[0].stderr is not None
        found = (re.search(r"http://[^ ;]+:(\d+)", line) for line in started[0].stderr)
        port = int(next(each for each in found if each)[1])
        for process in started:
            assert process.stderr is not None
            threading.Thread(target=process.stderr.read, daemon=True).start()
        yield port, [process.pid for process in started]


def served() -> int:
    """The requests that the site has answered."""
    connection = http.client.HTTPConnection(*long_queue.HOST.split(":"), timeout=30)
    connection.request("GET", "/count")
    number = int(connection.getresponse().read())
    connection.close()
    return number


def processor_s(processes: list[int]) -> float:
    """The processor time of some processes."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS


def turn(port: int, processes: list[int], viewers: int, seconds: float) -> Turn:
    """Let so many look for some seconds."""
    looking = Viewers(port, viewers)
    try:
        time.sleep(_SETTLING_S)
        pages, spent, began = served(), processor_s(processes), time.perf_counter()
        time.sleep(seconds)
        pages, spent, took = served() - pages, processor_s(processes) - spent, time.perf_counter() - began
        return Turn(pages / took, 1000 * spent / max(1, pages), looking.received)
    finally:
        looking.close()


def compare(count: int, rounds: int, seconds: float, *, apart: bool) -> float:
    """Take turns without and with viewers, and print them; gives the ratio of the median speeds."""
    serving = [sys.executable, str(Path(long_queue.__file__)), "--serve", "2000000", "near"]
    turns: dict[int, list[Turn]] = {0: [], count: []}
    with ExitStack() as stack:
        origin = subprocess.Popen(serving, stdout=subprocess.PIPE, preexec_fn=long_queue.pinned(0))
        stack.callback(origin.wait, 30)
        stack.callback(origin.kill)
        assert origin.stdout is not None
        origin.stdout.readline()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-")))
        queued = int((2 * rounds * (seconds + _SETTLING_S) + 10) * _MOST_PAGES_A_SECOND)
        port, processes = stack.enter_context(crawling(folder, queued, apart=apart))
        wait_until(lambda: served() > 500, 120, "the crawl begins")
        for number in range(rounds):
            for viewers in (0, count) if number % 2 == 0 else (count, 0):
                found = turn(port, processes, viewers, seconds)
                turns[viewers].append(found)
                print(
                    f"{viewers:4} viewers: {found.pages_a_second:7.1f} pages/s, {found.ms_a_page:.3f} ms of processor "
                    f"a page, {found.received / 1024:,.0f} KB sent",
                    flush=True,
                )
    speed = [statistics.median(each.pages_a_second for each in turns[viewers]) for viewers in (0, count)]
    cost = [statistics.median(each.ms_a_page for each in turns[viewers]) for viewers in (0, count)]
    where = "apart" if apart else "in one process"
    print(
        f"{where}, {count} viewers: {speed[1] / speed[0]:.3f} of the speed, {cost[1] / cost[0]:.3f} of the processor "
        f"time a page (medians of {rounds} turns each)",
        flush=True,
    )
    return speed[1] / speed[0]
