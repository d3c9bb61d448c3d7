"""What the politeness ledger costs a crawl: the same crawl with it and without, in turns, and the cost of one row.

    python bench/ledger.py [--hosts 50] [--pages 400] [--repeats 5]

Delay 0, 16 requests at once for each host, one core each for origin and crawler: with any real delay the cost is
hidden by the waiting. Prints pages per second and CPU per page of both, and the loss in per cent.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from _site import host_address
from crawl import HERE, PORT, Site, commands, pinned

from comity.database.connection import open_database
from comity.database.ledger import ledger
from comity.database.schema import upgrade
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerRow, Purpose

ROWS = 20_000
BATCH = 200


def one_crawl(site: Site, hosts: int, *, has_ledger: bool) -> tuple[float, float]:
    """Pages per second, and microseconds of CPU per page."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        folder = Path(text)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        arguments = commands(folder, seeds)["comity"][1:]
        program = ["-m", "comity"] if has_ledger else [str(HERE / "_without_ledger.py")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        subprocess.run(
            [sys.executable, *program, *arguments],
            preexec_fn=pinned(1),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=900,
        )
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pages = site.report()["distinct"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return pages / seconds, cpu / max(pages, 1) * 1e6


def cost_of_a_row() -> float:
    """Microseconds to chain and insert one request, in batches as a crawl settles them, into a SQLite file."""
    host_id, delay = uuid4(), DelayInForce(1.0, DelaySource.DOOR)
    rows = [
        LedgerRow(
            host_id,
            "example.com",
            1,
            number,
            f"https://example.com/some/folder/page-{number}.html",
            Purpose.PAGE,
            1.8e9 + number,
            1.8e9 + number + 0.2,
            delay,
            1,
            None,
            None,
            "0" * 32,
            3,
            "Allow: /",
            200,
            None,
            None,
        )
        for number in range(1, ROWS + 1)
    ]
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        database = open_database(Path(folder) / "state.db")
        upgrade(database)
        began = time.process_time()
        with database.write() as connection:
            for start in range(0, ROWS, BATCH):
                ledger.append_requests(connection, None, rows[start : start + BATCH])
        seconds = time.process_time() - began
        database.close()
    return seconds / ROWS * 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=400)
    options.add_argument("--repeats", type=int, default=5)
    chosen = options.parse_args()
    print(f"one row: {cost_of_a_row():.1f} µs", flush=True)
    figures: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    site = Site(chosen.hosts, chosen.pages)
    try:
        for turn in range(chosen.repeats):
            for has_ledger in (True, False) if turn % 2 else (False, True):
                figures[has_ledger].append(one_crawl(site, chosen.hosts, has_ledger=has_ledger))
                rate, cpu = figures[has_ledger][-1]
                print(f"{'with' if has_ledger else 'without'}: {rate:.0f} pages/s, {cpu:.0f} µs/page", flush=True)
    finally:
        site.close()
    rates = {key: statistics.median(rate for rate, _cpu in runs) for key, runs in figures.items()}
    cpus = {key: statistics.median(cpu for _rate, cpu in runs) for key, runs in figures.items()}
    slower, dearer = 1 - rates[True] / rates[False], cpus[True] / cpus[False] - 1
    print(f"pages per second: {rates[True]:.0f} with, {rates[False]:.0f} without: {slower:.1%} less")
    print(f"CPU per page: {cpus[True]:.0f} µs with, {cpus[False]:.0f} µs without: {dearer:.1%} more")


if __name__ == "__main__":
    main()
