"""What the politeness ledger costs a crawl: the same crawl with it and without, in pairs, and the cost of one row.

    python bench/ledger.py [--hosts 50] [--pages 160] [--pairs 8]

Delay 0, 16 requests at once for each host, one core each for origin and crawler: with any real delay the cost is
hidden by the waiting. The two crawls of a pair follow each other, and the order is reversed from pair to pair. Each
pair gives two ratios, of CPU per page and of pages per second; the median of the pairs counts. What the machine does
beside it changes slowly and falls mostly on both crawls of a pair; the middle half of the ratios shows how much not.
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
from typing import NamedTuple
from uuid import UUID, uuid4

from _crawlers import comity_command
from _site import PORT, Site, host_address, pinned

from comity.database import ledger
from comity.database.connection import open_database
from comity.database.schema import upgrade
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerRow, Purpose

ROWS = 18_000
BATCH = 90  # of all hosts together: what a crawl of 30 hosts settles at once
HOSTS = 30


class Run(NamedTuple):
    """One crawl: pages per second, and microseconds of CPU per page, in all and for the ledger's statements."""

    rate: float
    cpu_us: float
    own_us: float


def one_crawl(site: Site, hosts: int, mode: str) -> Run:
    """Crawl everything, `with` the ledger or `without`."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        folder = Path(text)
        seeds, report = folder / "seeds.txt", folder / "used.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        program = [sys.executable, str(Path(__file__).with_name("_ledger_switch.py")), mode, str(report)]
        # As installed programs are run: with the byte code of the run before.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        subprocess.run(
            [*program, *comity_command(folder, seeds)[1:]],
            preexec_fn=pinned(1),
            stdout=subprocess.DEVNULL,
            env=environment,
            check=True,
            timeout=900,
        )
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own_s = float(report.read_text())
    pages = max(site.report()["distinct"], 1)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(pages / seconds, cpu_s / pages * 1e6, own_s / pages * 1e6)


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


def spread(name: str, costs: list[float]) -> str:
    """The median of some relative costs, with the middle half and all of them."""
    low, middle, high = statistics.quantiles(costs, n=4, method="inclusive")
    whole = f"middle half {low:+.1%} to {high:+.1%}, all {min(costs):+.1%} to {max(costs):+.1%}"
    return f"{name}: {middle:+.1%} (median of {len(costs)} pairs; {whole})"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=160)
    options.add_argument("--pairs", type=int, default=8)
    chosen = options.parse_args()
    costs = [cost_of_a_row() for _turn in range(5)]
    print(f"one row: {statistics.median(costs):.1f} µs, best {min(costs):.1f} µs", flush=True)
    pairs: list[dict[str, Run]] = []
    site = Site(chosen.hosts, chosen.pages)
    try:
        one_crawl(site, chosen.hosts, "with")  # fills the caches of the file system, and writes the byte code
        for turn in range(chosen.pairs):
            order = ("with", "without") if turn % 2 else ("without", "with")
            pairs.append({mode: one_crawl(site, chosen.hosts, mode) for mode in order})
            said = (f"{mode} {run.rate:.0f} pages/s, {run.cpu_us:.0f} µs/page" for mode, run in pairs[-1].items())
            print(f"pair {turn + 1}: {'; '.join(said)}", flush=True)
    finally:
        site.close()
    own = statistics.median(pair["with"].own_us for pair in pairs)
    whole = statistics.median(pair["with"].cpu_us for pair in pairs)
    print(f"the ledger's statements, without the commit: {own:.1f} of {whole:.0f} µs a page: {own / whole:.1%}")
    print(spread("CPU per page", [pair["with"].cpu_us / pair["without"].cpu_us - 1 for pair in pairs]))
    print(spread("time per page", [pair["without"].rate / pair["with"].rate - 1 for pair in pairs]))


if __name__ == "__main__":
    main()
