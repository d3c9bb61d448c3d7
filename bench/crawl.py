"""A whole crawl beside Scrapy: 50 hosts × 400 pages, delay 0, every page kept, one core each for origin and crawler.

    python bench/crawl.py [--hosts 50] [--pages 400] [--repeats 3] [--only comity]

Scrapy runs tuned, with and without JOBDIR, in an environment of its own that is made on the first run. `wget2` (C, its
pages as files, no state) runs too if it is installed and named: --only comity,wget2.
Prints pages per second, CPU and peak memory of each, and the ratios; checks that every page was asked for exactly once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _site import host_address

PORT = 18080
HERE = Path(__file__).parent
PEERS = HERE / "results" / "peers"


def pinned(core: int) -> Any:
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


class Site:
    """The origin, on a core of its own."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "_site.py"), str(PORT), str(hosts), str(pages)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=pinned(0),
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit("the origin did not start")

    def report(self) -> dict[str, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("report\n")
        self.process.stdin.flush()
        answer: dict[str, int] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def scrapy_python() -> Path:
    """An interpreter with Scrapy, made once."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "scrapy"], check=True)
    return python


def commands(folder: Path, seeds: Path) -> dict[str, list[str]]:
    comity = Path(sys.executable).parent / "comity"
    limits = ["--delay", "0", "--per-host", "16", "--concurrency", "64", "--max-pages", "0", "--json"]
    where = ["--seeds", str(seeds), "--state", str(folder / "state.db"), "--into", str(folder / "pages")]
    found = {"comity": [str(comity), "crawl", *where, *limits, "--allow-network", "127.0.0.0/8"]}
    spider = [str(HERE / "_scrapy_spider.py"), str(seeds), str(folder)]
    found["scrapy"] = ["SCRAPY", *spider]
    found["scrapy-jobdir"] = ["SCRAPY", *spider, str(folder / "job")]
    files = str(folder / "files")
    found["wget2"] = ["wget2", "-q", "-r", "-l", "inf", "--max-threads=64", "-P", files, "-i", str(seeds)]
    return found


def measure(name: str, site: Site, hosts: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        folder = Path(text)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        command = commands(folder, seeds)[name]
        if command[0] == "SCRAPY":
            command[0] = str(scrapy_python())
        # As installed programs are run: with the byte code of the run before.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            preexec_fn=pinned(1),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        _out, problems = process.communicate(timeout=900)
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode:
            raise SystemExit(f"{name} failed: {problems[-500:]}")
    seen = site.report()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "seconds": seconds,
        "pages": seen["distinct"],
        "twice": seen["requests"] - seen["distinct"],
        "rate": seen["distinct"] / seconds,
        "cpu_us": cpu / max(seen["distinct"], 1) * 1e6,
        "rss_mb": after.ru_maxrss / 1024,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=400)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", default="comity,scrapy-jobdir,scrapy")
    chosen = options.parse_args()
    names = chosen.only.split(",")
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    site = Site(chosen.hosts, chosen.pages)
    try:
        for _round in range(chosen.repeats):
            for name in names:
                figures[name].append(measure(name, site, chosen.hosts))
                print(name, {key: round(value, 1) for key, value in figures[name][-1].items()}, flush=True)
    finally:
        site.close()
    wanted = chosen.hosts * chosen.pages
    print(f"\n{'crawler':<16}{'best/s':>9}{'median/s':>10}{'CPU µs':>9}{'RSS MB':>8}{'pages':>8}{'twice':>7}")
    for name, runs in figures.items():
        rates = [run["rate"] for run in runs]
        print(
            f"{name:<16}{max(rates):>9.0f}{statistics.median(rates):>10.0f}"
            f"{min(run['cpu_us'] for run in runs):>9.0f}{max(run['rss_mb'] for run in runs):>8.0f}"
            f"{min(run['pages'] for run in runs):>8.0f}{max(run['twice'] for run in runs):>7.0f}"
            + ("" if min(run["pages"] for run in runs) == wanted else "   NOT ALL PAGES")
        )
    if "comity" in figures:
        ours = statistics.median(run["rate"] for run in figures["comity"])
        for name, runs in figures.items():
            if name != "comity":
                print(f"comity / {name}: {ours / statistics.median(run['rate'] for run in runs):.2f} (medians)")


if __name__ == "__main__":
    main()
