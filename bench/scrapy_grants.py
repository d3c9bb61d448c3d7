"""What the Comity middleware costs a Scrapy spider: pages a second with it and without, on hosts with a delay of 0.

    python -m bench.scrapy_grants [--sites 40] [--pages 25] [--rounds 2]

Both make one request at a time to each host. With the middleware, each request waits for a grant of a `comity web`
process on SQLite, which commits it, and is reported. Everything runs on this machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.integrations.mixed import ROBOTS, SPIDER, Trial, free_port, serve
from tests.walk.site import Web, page


def crawl(folder: Path, urls: list[str], settings: dict[str, object]) -> tuple[float, float]:
    """Seconds from the spider's start to its end, as Scrapy counts them, and seconds of CPU that its process took."""
    folder.mkdir()
    names = folder / "urls"
    names.write_text("\n".join(urls))
    before = _cpu_s()
    subprocess.run([sys.executable, str(SPIDER), str(folder), json.dumps(settings), f"@{names}"], check=True)
    took = _cpu_s() - before
    stats = json.loads((folder / "stats.json").read_text())
    assert stats["downloader/response_status_count/200"] == len(urls), stats
    assert stats.get("comity/granted", 0) == (len(urls) if "COMITY_URL" in settings else 0), stats
    return stats["elapsed_ms"] / 1000, took


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=40)
    parser.add_argument("--pages", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    best: dict[str, float] = {}
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, Web() as web:
        folder = Path(name)
        routes = {f"/{number}": page(body="word " * 500) for number in range(options.pages)}
        sites = [web.site(routes, robots=ROBOTS) for _ in range(options.sites)]
        urls = [site.url(path) for path in routes for site in sites]
        trial = Trial(folder, f"sqlite:///{folder}/state.db", delay_s=0.0)
        port = free_port()
        server = serve(trial, port)
        same = {"CONCURRENT_REQUESTS": 4 * options.sites, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "LOG_LEVEL": "ERROR"}
        kinds = {
            "without the middleware": same | {"DOWNLOADER_MIDDLEWARES": {}},
            "with it": same | {"COMITY_URL": f"http://127.0.0.1:{port}"},
        }
        try:
            for turn in range(options.rounds):
                for kind, settings in kinds.items():
                    seconds, cpu_s = crawl(folder / f"{turn}-{len(kind)}", urls, settings)
                    best[kind] = max(best.get(kind, 0.0), len(urls) / seconds)
                    least[kind] = min(least.get(kind, cpu_s), cpu_s)
        finally:
            server.terminate()
            server.wait(60)
    for kind, speed in best.items():
        cpu_ms = 1000 * least[kind] / len(urls)
        print(f"{kind}: {speed:,.0f} pages/s, {cpu_ms:.1f} ms of the spider's CPU a page ({len(urls)} pages)")


if __name__ == "__main__":
    main()
