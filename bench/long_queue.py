"""A host with a very long queue: does a page cost more with 1,000,000 URLs waiting than with 10,000?

    python bench/long_queue.py [--sizes 10000,1000000] [--pages 5000] [--repeats 3] [--links near|far]

One host on the loopback with as many pages as are queued, 20 links each: to the pages that follow, or to any of them
(then every link is new to the crawl, which costs more whatever the queue). The queue is filled by SQL,
then `comity crawl` takes some pages of it. Prints the time a page took, start-up apart, and the peak memory.
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

HERE = Path(__file__).parent
PORT = 18090
HOST = f"127.0.9.1:{PORT}"


def pinned(core: int) -> Any:
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


def fill(state: Path, urls: int) -> None:
    """Make the state, with the host seeded and its queue as long as asked for."""
    from comity.assemble import open_state
    from comity.database import hosts
    from comity.database.frontier import rows as frontier_table
    from comity.model.frontier import FrontierEntry
    from comity.operate.seeds import add_seeds
    from comity.rules.canonical import url_key
    from comity.rules.seed_list import read_seed
    from comity.settings import read_settings

    with open_state(read_settings(state=str(state))) as opened:
        add_seeds(opened.database, opened.clock, [read_seed(f"http://{HOST}/p/0")], source="cli")
        with opened.database.write() as connection:
            row = hosts.get(connection, HOST)
            assert row is not None
            for first in range(0, urls, 10_000):
                batch = [f"http://{HOST}/p/{number}" for number in range(first, min(first + 10_000, urls))]
                added = frontier_table.add(
                    connection, row.id, None, [FrontierEntry(url, url_key(url), 1) for url in batch]
                )
                hosts.add_discovered(connection, {row.id: added}, opened.clock.now())


def measure(state: Path, pages: int) -> tuple[float, float]:
    """Seconds a page took inside the run, and peak memory in MB; only as many pages as asked for are taken."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        command = [str(Path(sys.executable).parent / "comity"), "crawl", f"http://{HOST}/p/0", "--state", str(state)]
        command += ["--into", f"{folder}/pages", "--max-pages", str(pages), "--delay", "0", "--per-host", "16"]
        command += ["--concurrency", "64", "--no-sitemaps", "--allow-network", "127.0.0.0/8", "--json"]
        environment = os.environ | {"ENABLE_PER_DOMAIN_BUDGET": "false"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, preexec_fn=pinned(1))
        out, _ = process.communicate(timeout=600)
        if process.returncode:
            raise SystemExit(f"the crawl failed with status {process.returncode}")
        summary = json.loads(out)["summary"]
        assert summary["pages"] == pages, summary
    return summary["seconds"] / pages, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", default="10000,1000000")
    options.add_argument("--pages", type=int, default=5000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--links", choices=("near", "far"), default="near")
    chosen = options.parse_args()
    medians: list[float] = []
    for size in map(int, chosen.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
            master = Path(text) / "state.db"
            began = time.monotonic()
            subprocess.run([sys.executable, __file__, "--fill", str(master), str(size)], check=True)
            filled_s = time.monotonic() - began
            serving = [sys.executable, __file__, "--serve", str(size), chosen.links]
            origin = subprocess.Popen(serving, stdout=subprocess.PIPE, preexec_fn=pinned(0))
            try:
                assert origin.stdout is not None
                origin.stdout.readline()
                times = []
                for turn in range(chosen.repeats):
                    state = Path(text) / f"turn{turn}.db"
                    subprocess.run(["cp", str(master), str(state)], check=True)
                    os.sync()  # so that no measurement pays for the copy afterwards
                    each_s, rss_mb = measure(state, chosen.pages)
                    times.append(each_s * 1e6)
                    state.unlink()
            finally:
                origin.kill()
                origin.wait()
        medians.append(statistics.median(times))
        shown = ", ".join(f"{each:.0f}" for each in times)
        print(f"{size:>9} queued: {shown} µs a page, {rss_mb:.0f} MB (filled in {filled_s:.1f} s)", flush=True)
    if len(medians) > 1:
        print(f"{chosen.sizes}: {medians[-1] / medians[0]:.2f} times the time a page (medians)")


async def serve(pages: int, far: bool) -> None:
    """The origin: any page of the host, made when it is asked for."""
    import asyncio
    import random

    words = ["".join(random.choices("etaoinshrdlu", k=random.randint(2, 9))) for _ in range(2000)]
    texts = [" ".join(random.choices(words, k=1200)) for _ in range(997)]

    class Origin(asyncio.Protocol):
        answered = 0

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def data_received(self, data: bytes) -> None:
            path = data.split(b" ", 2)[1].decode()
            Origin.answered += 1
            status = "200 OK" if path.startswith("/p/") or path in ("/count", "/robots.txt") else "404 Not Found"
            if status != "200 OK":  # a sitemap
                body = b""
            elif path == "/count":
                body = str(Origin.answered).encode()
            elif path == "/robots.txt":
                body = b"User-agent: *\nAllow: /\n"
            else:
                number = int(path.removeprefix("/p/"))
                chance = random.Random(number)
                linked = [chance.randrange(pages) for _ in range(20)] if far else range(number + 1, number + 21)
                links = "".join(f'<a href="/p/{each % pages}">more</a>' for each in linked)
                text = texts[number % len(texts)]
                body = f"<!doctype html><title>{path}</title><p>{words[number % 2000]} {text}</p>{links}".encode()
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)

    loop = asyncio.get_running_loop()
    await loop.create_server(Origin, HOST.partition(":")[0], PORT, backlog=1024)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fill"]:
        fill(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--serve"]:
        import uvloop

        uvloop.run(serve(int(sys.argv[2]), sys.argv[3] == "far"))
    else:
        main()
