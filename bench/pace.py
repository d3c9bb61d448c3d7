"""How close to the least time that politeness allows: many hosts, a delay, and every host always asked on time.

    python bench/pace.py [--hosts 200] [--pages 100] [--delay 0.2] [--repeats 2] [--sitemaps]

The least time is pages × delay, since a host's pages follow one another. Prints how much longer the crawl took, and
the shortest gap in the origin's own log.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _site import PORT, Site, host_address, pinned


def measure(site: Site, hosts: int, pages: int, delay_s: float, *, sitemaps: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        folder = Path(text)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        command = [str(Path(sys.executable).parent / "comity"), "crawl", "--seeds", str(seeds), "--delay", str(delay_s)]
        command += ["--state", str(folder / "state.db"), "--into", str(folder / "pages"), "--json"]
        command += ["--allow-network", "127.0.0.0/8", "--concurrency", "64"]
        command += [] if sitemaps else ["--no-sitemaps"]
        # As installed programs are run: with the byte code of the run before.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(command, preexec_fn=pinned(1), capture_output=True, env=environment, timeout=900)
        if done.returncode:
            raise SystemExit(done.stderr.decode()[-500:])
        summary = json.loads(done.stdout)["summary"]
    seen = site.report()
    if summary["pages"] != hosts * pages or seen["most"] != 1:
        raise SystemExit(f"not every page once: {summary['pages']} of {hosts * pages}")
    return {"seconds": summary["seconds"], "least_gap_s": seen["least_gap_s"]}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=200)
    options.add_argument("--pages", type=int, default=100)
    options.add_argument("--delay", type=float, default=0.2)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--sitemaps", action="store_true", help="also look for sitemaps: two more requests a host")
    chosen = options.parse_args()
    least_s = chosen.pages * chosen.delay
    site = Site(chosen.hosts, chosen.pages)
    ratios = []
    try:
        for _round in range(chosen.repeats):
            found = measure(site, chosen.hosts, chosen.pages, chosen.delay, sitemaps=chosen.sitemaps)
            ratios.append(found["seconds"] / least_s)
            print(
                f"{chosen.hosts} hosts × {chosen.pages} pages at {chosen.delay} s: {found['seconds']:.2f} s, least "
                f"{least_s:.2f} s, {100 * (ratios[-1] - 1):+.1f} %; shortest gap {found['least_gap_s'] * 1000:.1f} ms",
                flush=True,
            )
    finally:
        site.close()
    print(
        f"over the least time: best {100 * (min(ratios) - 1):+.1f} %, "
        f"median {100 * (statistics.median(ratios) - 1):+.1f} %"
    )


if __name__ == "__main__":
    main()
