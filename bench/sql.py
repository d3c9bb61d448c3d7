"""Pages a second through CRAWL beside `comity crawl`, in one run, and the most memory that each took.

    make bench ONLY=sql [ARGS="--hosts 10 --pages 200 --repeats 3"]

Both crawl the same sites from the same server, one after the other in turns; the table says medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

_CRAWL = """
import json, resource, sys, time
import comity
seeds, folder, networks = json.loads(sys.argv[1]), sys.argv[2], ["127.0.0.0/8"]
began = time.perf_counter()
if sys.argv[3] == "sql":
    with comity.sql.connect(f"{folder}/web.duckdb", allow_networks=networks, contact="bench@example.org") as connection:
        listed = ", ".join(f"'{seed}'" for seed in seeds)
        connection.execute(
            f"CRAWL (SELECT unnest([{listed}])) INTO pages "
            "WITH (follow_links true, default_crawl_delay 0, max_parallel_per_domain 16, max_total_connections 64)"
        )
        pages = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
else:
    run = comity.crawl(
        *seeds, state=f"{folder}/state.db", into=f"{folder}/pages", delay=0, per_host=16, concurrency=64,
        sitemaps=False, allow_networks=networks, contact="bench@example.org", user_agent="Bench/1.0",
    )
    with run:
        pages = sum(1 for _page in run)
took = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"pages": pages, "s": took, "cpu_s": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}))
"""


def run(kind: str, seeds: list[str]) -> dict[str, float]:
    """One crawl in a process of its own."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        command = [sys.executable, "-c", _CRAWL, json.dumps(seeds), folder, kind]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Crawl in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    from tests.walk.site import Web, page

    with Web() as web:
        body = "<p>" + "lorem ipsum dolor sit amet " * 400 + "</p>"
        seeds = []
        for number in range(options.hosts):
            links = [f"/p{each}" for each in range(1, options.pages)]
            routes = {path: page("/", *links[:20], body=body) for path in links}
            address = f"127.0.{number // 250}.{number % 250 + 1}"
            site = web.site({"/start": page(*links, body=body), **routes}, address=address)
            seeds.append(site.url("/start"))
        found: dict[str, list[dict[str, float]]] = {"crawl": [], "sql": []}
        for _repeat in range(options.repeats):
            for kind in found:
                found[kind].append(run(kind, seeds))
    rates = {}
    print(f"{options.hosts} hosts x {options.pages} pages, medians of {options.repeats}")
    for kind, runs in found.items():
        rates[kind] = statistics.median(each["pages"] / each["s"] for each in runs)
        cpu = statistics.median(1000 * each["cpu_s"] / each["pages"] for each in runs)
        memory = max(each["mb"] for each in runs)
        rate = f"{rates[kind]:8.0f} pages/s  {cpu:6.2f} s of CPU per 1,000"
        print(f"{kind:6} {rate}  {memory:5.0f} MB  {runs[0]['pages']} pages")
    print(f"sql / crawl: {rates['sql'] / rates['crawl']:.2f}")


if __name__ == "__main__":
    main()
