"""Pages a second through CRAWL beside `comity crawl`, in one run, and the most memory that each took.

    make bench ONLY=sql [ARGS="--hosts 10 --pages 200 --repeats 3"]
    make bench ONLY=sql ARGS="--memory 100000"

Both crawl the same sites from the same server, one after the other in turns; the table says medians and ratios.
`--memory` crawls so many pages of 4 KB with one CRAWL statement, made by the server as they are requested, and prints
the resident memory of the process at each tenth of them. The answer decides whether the memory of a statement grows
with its pages.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

_CRAWL = """
import json, resource, sys, time
import comity
def most_mb():  # ru_maxrss of a new process has that of its parent, too
    with open("/proc/self/status") as status:
        return int(status.read().partition("VmHWM:")[2].split(None, 1)[0]) / 1024
seeds, folder, networks = json.loads(sys.argv[1]), sys.argv[2], ["127.0.0.0/8"]
base = most_mb()
began = time.perf_counter()
if sys.argv[3] == "sql":
    with comity.sql.connect(f"{folder}/web.duckdb", allow_networks=networks, contact="bench@example.org") as connection:
        listed = ", ".join(f"'{seed}'" for seed in seeds)
        connection.execute(
            f"CRAWL (SELECT unnest([{listed}])) INTO pages "
            "WITH (follow_links true, default_crawl_delay 0, max_parallel_per_domain 16, max_total_connections 64, "
            "max_crawl_pages 0)"
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
cpu_s = used.ru_utime + used.ru_stime
print(json.dumps({"pages": pages, "s": took, "cpu_s": cpu_s, "mb": most_mb(), "base_mb": base}))
"""


def environment() -> dict[str, str]:
    """That of the crawls: without compiled modules, compiling them would take a tenth of a short crawl's time."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(kind: str, seeds: list[str]) -> dict[str, float]:
    """One crawl in a process of its own."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        command = [sys.executable, "-c", _CRAWL, json.dumps(seeds), folder, kind]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800, env=environment())
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def serve(pages: int, hosts: int, port: Any, served: Any) -> None:
    """Sites on loopback in a process of its own: a tree of pages on each address, ten links a page."""
    words = "lorem ipsum dolor sit amet " * 120

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                number = head.split(b" ", 2)[1].decode().removeprefix("/p")
                is_page = number.isdecimal() and int(number) < pages
                body = b"not here"
                if is_page:
                    served.value += 1
                    first = 10 * int(number) + 1
                    links = "".join(f"<a href=/p{each}>{each}</a> " for each in range(first, min(first + 10, pages)))
                    body = f"<title>{number}</title><p>{number} {words}</p>{links}".encode()
                status = b"200 OK" if is_page else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
                    % (status, len(body), body)
                )
                await writer.drain()

    async def listen() -> None:
        addresses = [f"127.0.0.{number + 1}" for number in range(hosts)]
        first = await asyncio.start_server(converse, addresses[0], 0)
        number = first.sockets[0].getsockname()[1]
        others = [await asyncio.start_server(converse, address, number) for address in addresses[1:]]
        port.value = number
        await asyncio.gather(*(server.serve_forever() for server in (first, *others)))

    asyncio.run(listen())


def resident_mb(pid: int) -> float:
    """The memory that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split(None, 1)[0]) / 1024


def print_memory(pages: int, hosts: int) -> None:
    """Crawl many small pages with one statement and print how its memory goes."""
    port, served = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
    per_host = pages // hosts
    origin = multiprocessing.Process(target=serve, args=(per_host, hosts, port, served), daemon=True)
    origin.start()
    curve: list[tuple[int, float]] = []
    try:
        while not port.value:
            time.sleep(0.05)
        seeds = [f"http://127.0.0.{number + 1}:{port.value}/p0" for number in range(hosts)]
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", _CRAWL, json.dumps(seeds), folder, "sql"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
            most = 0.0
            while process.poll() is None:
                with suppress(OSError, ValueError, IndexError):  # it may just have ended
                    now = resident_mb(process.pid)
                    most = max(most, now)
                if served.value >= (len(curve) + 1) * per_host * hosts // 10:
                    curve.append((served.value, most))
                    print(
                        f"{served.value:8} pages requested  {now:5.0f} MB, most since the line before {most:5.0f}",
                        flush=True,
                    )
                    most = 0.0
                time.sleep(0.05)
            print(f"     end            most since the line before {most:5.0f} MB")
            assert process.stdout is not None
            found = json.loads(process.stdout.read().splitlines()[-1])
    finally:
        origin.terminate()
    rate = found["pages"] / found["s"]
    over = found["mb"] - found["base_mb"]
    print(f"{found['pages']} pages, {rate:.0f} pages/s; peak {found['mb']:.0f} MB, {over:.0f} MB over an idle process")


def main() -> None:
    """Crawl in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, metavar="PAGES", help="crawl so many small pages and print the memory")
    options = parser.parse_args()
    if options.memory:
        print_memory(options.memory, options.hosts)
        return
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
