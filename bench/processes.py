"""Several processes on one embedded state: what a second one brings, and how long each waits for SQLite's one writer.

    python bench/processes.py [--processes 1,2] [--hosts 48] [--pages 200] [--delay 0] [--repeats 1] [--short]
                              [--core-each]

One crawl of the same web with each number of processes; nginx serves it from the same cores. Prints pages a second,
CPU of crawler and origin a page, how much of the machine was left over, and the share of its time that a process spent
in `BEGIN IMMEDIATE`, where it waits for other writers, and from there to the end of the commit: the worst and the
mean of the processes. `--short` is for many processes: tiny pages, so that little is done between two transactions.
More processes than cores wait for cores as well, also while they hold the lock: a `--delay` leaves cores over, as they
would have on a larger machine. One process uses more than one core, since zstd and SQLite work beside its event loop:
`--core-each` gives a crawl as many cores as it has processes, so that the ratio says what a further core brings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from _site import CORES, build_pages, host_address
from hosts import PORT, RUN_S_MOST, TICKS_S, cpu_of, origin

# Runs at the start of every Python process of a crawl, and keeps one line of figures up to date in a file of its own.
WATCH = """
import os
import time
from pathlib import Path

folder = os.environ.get("COMITY_BENCH_WAITS")
if folder:
    class Figures:
        began = time.monotonic()
        waited = held = busy = longest = 0.0
        since = None
        count = 0
        file = None

    from comity.database import connection as state

    begin = state._begin_to_write

    def begin_to_write(connection):
        began = time.monotonic()
        begin(connection)
        now = time.monotonic()
        Figures.waited += now - began
        Figures.longest = max(Figures.longest, now - began)
        connection.info["comity_since"] = now, time.thread_time()

    state._begin_to_write = begin_to_write

    def write():
        if Figures.file is None:
            Figures.file = os.open(Path(folder) / str(os.getpid()), os.O_CREAT | os.O_RDWR)
        figures = (Figures.waited, Figures.held, Figures.longest, Figures.count, Figures.busy)
        line = " ".join(str(each) for each in (time.monotonic() - Figures.began, *figures))
        os.pwrite(Figures.file, line.ljust(120).encode(), 0)

    from sqlalchemy.engine.default import DefaultDialect
    commit = DefaultDialect.do_commit

    def do_commit(self, connection):
        commit(self, connection)
        since = connection.info.pop("comity_since", None)
        if since is not None:
            Figures.held += time.monotonic() - since[0]
            Figures.busy += time.thread_time() - since[1]
            Figures.count += 1
            write()

    DefaultDialect.do_commit = do_commit
"""


@dataclass(frozen=True)
class Figures:
    """One crawl."""

    processes: int
    rate: float
    cpu_ms: float  # of the crawler, a page
    origin_ms: float
    left_over: float  # share of the cores that was idle
    waits: list[float]  # share of its time that each process waited for another writer
    holds: list[float]
    hold_ms: float  # a page, and of this
    hold_cpu_ms: float  # CPU
    longest_ms: float


def short_pages(pages: int) -> dict[bytes, bytes]:
    """Pages of half a kilobyte, as `build_pages` gives them."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    found = {}
    for number in range(pages):
        links = "".join(f'<a href="/p/{(number * 3 + step) % pages}">{step}</a>' for step in range(1, 4))
        text = f"<!doctype html><title>{number}</title><p>Page {number} {'short ' * 40}</p>{links}"
        found[f"/p/{number}".encode()] = head + gzip.compress(text.encode(), 6, mtime=0)
    found[b"/robots.txt"] = head + b"User-agent: *\nDisallow: /private/\n"
    return found


def idle_s() -> float:
    """Seconds that the cores of this machine were idle, all together."""
    wanted = {f"cpu{core}" for core in CORES}
    fields = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return sum(int(each[4]) + int(each[5]) for each in fields if each[0] in wanted) / TICKS_S


def measure(processes: int, hosts: int, pages: int, delay_s: float, *, short: bool, core_each: bool) -> Figures:
    """One crawl with so many processes."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        work = Path(text)
        watched, waits = work / "watch", work / "waits"
        watched.mkdir()
        waits.mkdir()
        (watched / "sitecustomize.py").write_text(WATCH)
        seeds = work / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        command = [str(Path(sys.executable).parent / "comity"), "crawl", "--seeds", str(seeds), "--delay", str(delay_s)]
        command += ["--per-host", "16", "--concurrency", "64", "--max-pages", "0", "--no-sitemaps", "--json"]
        command += ["--processes", str(processes), "--into", str(work / "pages"), "--allow-network", "127.0.0.0/8"]
        left_out = ("PYTHONDONTWRITEBYTECODE", "COMITY_DATABASE_URL")
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {"COMITY_STATE": str(work / "state.db"), "PYTHONPATH": str(watched)}
        environment["COMITY_BENCH_WAITS"] = str(waits)
        made = short_pages(pages) if short else build_pages(pages)
        with origin(work, hosts, made, plain=True, cores=set(CORES)) as (_log, served_by):
            said, errors = work / "said.txt", work / "errors.txt"
            with said.open("w") as out, errors.open("w") as err:
                before_s, origin_before_s = idle_s(), cpu_of(served_by)
                began = time.monotonic()
                crawl = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
                if core_each:  # it has only begun to start: its threads and processes inherit this
                    os.sched_setaffinity(crawl.pid, CORES[-processes:])
                limit = threading.Timer(RUN_S_MOST, crawl.kill)
                limit.start()
                _pid, status, used = os.wait4(crawl.pid, 0)
                took_s = time.monotonic() - began
                limit.cancel()
                crawl.returncode = os.waitstatus_to_exitcode(status)
                idle = idle_s() - before_s
                origin_s = cpu_of(served_by) - origin_before_s
        if crawl.returncode:
            raise SystemExit(errors.read_text()[-800:])
        summary = json.loads(said.read_text())["summary"]
        found = [[float(each) for each in file.read_text().split()] for file in waits.iterdir()]
    if summary["pages"] != hosts * pages:
        raise SystemExit(f"not every page once: {summary['pages']} of {hosts * pages}")
    # The parent writes twice or so; the processes that crawl write all the time.
    busiest = sorted(found, key=lambda each: -each[4])[:processes]
    return Figures(
        processes,
        summary["pages"] / summary["seconds"],
        (used.ru_utime + used.ru_stime) / summary["pages"] * 1000,
        origin_s / summary["pages"] * 1000,
        idle / took_s / len(CORES),
        [waited / lasted for lasted, waited, *_rest in busiest],
        [held / lasted for lasted, _waited, held, *_rest in busiest],
        sum(each[2] for each in busiest) / summary["pages"] * 1000,
        sum(each[5] for each in busiest) / summary["pages"] * 1000,
        max(each[3] for each in busiest) * 1000,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--processes", default="1,2")
    options.add_argument("--hosts", type=int, default=48)
    options.add_argument("--pages", type=int, default=200)
    options.add_argument("--delay", type=float, default=0.0)
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--short", action="store_true", help="tiny pages")
    options.add_argument("--core-each", action="store_true", help="as many cores for a crawl as it has processes")
    chosen = options.parse_args()
    print(
        f"{'processes':>9}{'pages/s':>9}{'CPU ms':>8}{'origin ms':>11}{'idle':>6}"
        f"{'waits, worst':>14}{'mean':>7}{'longest ms':>12}{'holds, mean':>13}{'ms/page':>9}{'CPU ms':>9}"
    )
    rates: dict[int, list[float]] = {}
    for _round in range(chosen.repeats):
        for processes in map(int, chosen.processes.split(",")):
            extent = processes, chosen.hosts, chosen.pages, chosen.delay
            each = measure(*extent, short=chosen.short, core_each=chosen.core_each)
            rates.setdefault(processes, []).append(each.rate)
            print(
                f"{processes:>9}{each.rate:>9.0f}{each.cpu_ms:>8.2f}{each.origin_ms:>11.2f}{each.left_over:>6.0%}"
                f"{max(each.waits):>14.1%}{statistics.mean(each.waits):>7.1%}{each.longest_ms:>12.0f}"
                f"{statistics.mean(each.holds):>13.1%}{each.hold_ms:>9.3f}{each.hold_cpu_ms:>9.3f}",
                flush=True,
            )
    first, *others = rates
    for other in others:
        ratio = statistics.median(rates[other]) / statistics.median(rates[first])
        print(f"{other} processes: {ratio:.2f} times the pages of {first}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
