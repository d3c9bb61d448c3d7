"""What does sharing cost? One crawl on the embedded default, and on PostgreSQL and Valkey with one and two processes.

    python bench/shared.py [--hosts 50] [--pages 200] [--repeats 2]

The site and the terms are those of bench/crawl.py. Servers are private, from the tests' own launchers: PostgreSQL syncs
every commit, Valkey syncs its append-only file every second. Origin, crawlers and servers share the machine's cores,
so that two processes show what a second core brings only where there are more than two. What the two frontier stores
take and give at 10,000,000 URLs, and the memory of a million in Redis, is measured by
`bench/frontier.py --sizes 10000000 --stores postgresql,redis+postgresql`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from _site import PORT, Site, host_address  # noqa: E402
from frontier import EverySecond  # noqa: E402

from tests.servers.postgres import PostgresServer  # noqa: E402

COMITY = Path(sys.executable).parent / "comity"
KINDS = {"embedded": 1, "shared": 1, "shared, 2 processes": 2}


def crawl(folder: Path, hosts: int, processes: int, more: dict[str, str]) -> dict[str, float]:
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"http://{host_address(number)}:{PORT}/p/0\n" for number in range(hosts)))
    command = [str(COMITY), "crawl", "--seeds", str(seeds), "--delay", "0", "--per-host", "16", "--max-pages", "0"]
    command += ["--concurrency", "64", "--into", str(folder / "pages"), "--allow-network", "127.0.0.0/8", "--json"]
    command += ["--processes", str(processes)] if processes > 1 else []
    command += ["--no-sitemaps"]
    environment = {**os.environ, "COMITY_STATE": str(folder / "state.db"), **more}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200)
    if done.returncode:
        raise SystemExit(done.stderr[-1000:])
    summary = json.loads(done.stdout)["summary"]
    return {"pages": summary["pages"], "rate": summary["pages"] / summary["seconds"]}


def measure(kind: str, site: Site, hosts: int) -> float:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-")))
        more: dict[str, str] = {}
        if kind != "embedded":
            postgres = stack.enter_context(PostgresServer(settings={"shared_buffers": "256MB"}))
            valkey = stack.enter_context(EverySecond())
            more = {"COMITY_DATABASE_URL": postgres.create_database(), "COMITY_REDIS_URL": valkey.url()}
            subprocess.run([str(COMITY), "db", "upgrade"], check=True, env={**os.environ, **more}, capture_output=True)
        found = crawl(folder, hosts, KINDS[kind], more)
    seen = site.report()
    if seen["most"] != 1 or seen["distinct"] != found["pages"]:
        raise SystemExit(f"not every page once: {seen}")
    return found["rate"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=200)
    options.add_argument("--repeats", type=int, default=2)
    chosen = options.parse_args()
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    site = Site(chosen.hosts, chosen.pages)
    try:
        for _round in range(chosen.repeats):
            for kind in KINDS:
                rates[kind].append(measure(kind, site, chosen.hosts))
                print(f"{kind}: {rates[kind][-1]:.0f} pages/s", flush=True)
    finally:
        site.close()
    embedded = statistics.median(rates["embedded"])
    print(f"\n{'kind':<22}{'best/s':>8}{'median/s':>10}{'of embedded':>13}")
    for kind, each in rates.items():
        middle = statistics.median(each)
        print(f"{kind:<22}{max(each):>8.0f}{middle:>10.0f}{middle / embedded:>13.2f}")


if __name__ == "__main__":
    main()
