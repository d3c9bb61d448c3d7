"""What the politeness ledger costs a crawl: the same crawl with it and without, in turns, and the cost of one row.

    python bench/ledger.py [--hosts 50] [--pages 400] [--repeats 5]

Delay 0, 16 requests at once for each host, one core each for origin and crawler: with any real delay the cost is
hidden by the waiting. Prints pages per second and CPU per page of both, and the loss in per cent: by medians, and the
best of each. Where other programs run beside it, CPU per page and the best runs say more than pages per second do.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import UUID, uuid4

from _crawlers import comity_command
from _site import PORT, Site, host_address, pinned

from comity.database.connection import open_database
from comity.database.ledger import ledger
from comity.database.schema import upgrade
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerRow, Purpose

ROWS = 18_000
BATCH = 90  # of all hosts together: what a crawl of 30 hosts settles at once
HOSTS = 30


def one_crawl(site: Site, hosts: int, *, has_ledger: bool) -> tuple[float, float]:
    """Pages per second, and microseconds of CPU per page."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        folder = Path(text)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        arguments = comity_command(folder, seeds)[1:]
        program = ["-m", "comity"] if has_ledger else [str(Path(__file__).with_name("_without_ledger.py"))]
        # As installed programs are run: with the byte code of the run before.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        subprocess.run(
            [sys.executable, *program, *arguments],
            preexec_fn=pinned(1),
            stdout=subprocess.DEVNULL,
            env=environment,
            check=True,
            timeout=900,
        )
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pages = site.report()["distinct"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return pages / seconds, cpu / max(pages, 1) * 1e6


def cost_of_a_row() -> float:
    """Microseconds of CPU to chain, insert and commit one request, in batches as a crawl settles them, into a file."""
    delay = DelayInForce(1.0, DelaySource.DOOR)
    hosts = sorted(uuid4() for _host in range(HOSTS))
    each = BATCH // HOSTS
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        database = open_database(Path(folder) / "state.db")
        upgrade(database)
        seconds = 0.0
        for first in range(1, ROWS // HOSTS, each):
            rows = [_row(host_id, number, delay) for host_id in hosts for number in range(first, first + each)]
            fetched = {host_id: {1.8e9 + number for number in range(first, first + each)} for host_id in hosts}
            began = time.process_time()
            with database.write() as connection:
                ledger.append_requests(connection, None, rows, fetched)
            seconds += time.process_time() - began
        database.close()
    return seconds / ROWS * 1e6


def _row(host_id: UUID, number: int, delay: DelayInForce) -> LedgerRow:
    return LedgerRow(
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=400)
    options.add_argument("--repeats", type=int, default=5)
    chosen = options.parse_args()
    costs = [cost_of_a_row() for _turn in range(5)]
    print(f"one row: {statistics.median(costs):.1f} µs, best {min(costs):.1f} µs", flush=True)
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
    for name, of_rates, of_cpus in (("medians", statistics.median, statistics.median), ("best", max, min)):
        rates = {key: of_rates([rate for rate, _cpu in runs]) for key, runs in figures.items()}
        cpus = {key: of_cpus([cpu for _rate, cpu in runs]) for key, runs in figures.items()}
        slower, dearer = 1 - rates[True] / rates[False], cpus[True] / cpus[False] - 1
        print(f"{name}: {rates[True]:.0f} pages/s with, {rates[False]:.0f} without: {slower:.1%} less")
        print(f"{name}: {cpus[True]:.0f} µs of CPU per page with, {cpus[False]:.0f} without: {dearer:.1%} more")


if __name__ == "__main__":
    main()
