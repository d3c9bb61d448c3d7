"""Hostile pages while 50 other hosts are served: does the event loop stall?

    python bench/stalls.py [--hosts 50] [--pages 60] [--delay 0.2] [--text]

Each hostile page is the first page of a host of its own: the pages that decision 0009 is about (vast trees from little
text, deep nesting, many attributes, links and entities, ten megabytes of tags) and the answers of tests/hostile. The
crawler looks at its own event loop every 5 ms. Prints the longest time between two looks, by the clock and in CPU of
the loop's thread (which other programs on the machine do not change), and the longest gap of the other hosts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from _site import build_pages, host_address, pinned  # noqa: E402

PORT = 18780
LOOK_EVERY_S = 0.005
LINK = "<a href=/found>found</a>"
FORMATS = "".join(f"<b a{number}>" for number in range(700))
HARD = {
    "nested": LINK + "<div>" * 100_000,
    "attributes": LINK + "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">",
    "flat, 10 MB": LINK + "<i>x</i>" * 1_200_000,
    "entities": LINK + "&amp;" * 200_000,
    "links": "".join(f"<a href=/n/{number}>x</a>" for number in range(30_000)) + LINK,
    "tables": LINK + "<table><tr><td>" * 60_000,
    "reopened": LINK + "<p>" + FORMATS + "<p>x" * 13_000,
    "reopened, 8 KB": LINK + "<p>" + "".join(f"<b a{n}>" for n in range(300)) + "<p>x" * 1_400,
    "reopened, 1.6 MB": LINK + "<p>" + FORMATS + "<p>x" * 413_000,
    "closed late": LINK + "<p>" + FORMATS + "<p>x" * 13_000 + "</b>" * 700,
    "script": LINK + "<script>" + "x<!--" * 100_000,
    "comment": LINK + "<!--" + "-" * 1_000_000,
    # As much as is read on the event loop where text is wanted.
    "deep prose": LINK + ("<pre>" + "word " * 16) * 5_990,
    "deep headers": LINK + ("<header>" + "word " * 15) * 5_990,
    "long classes": LINK + "".join(f"<p class='{'com-ment ar-ticle ' * 10}{n}'>w" for n in range(2_500)),
    "links in spans": LINK + "<span>" * 500 + '<a href="/found">w</a>' * 2_700,
}
# Runs at the start of the crawler: looks at its event loop, and writes what it found at the end.
WATCH = """
import os
if os.environ.get("COMITY_BENCH_STALLS"):
    import asyncio
    import json
    import time
    from pathlib import Path

    from comity.walk.crawl.crawl import Crawl

    run = Crawl.run

    async def watched(self):
        loop, found = asyncio.get_running_loop(), []
        last = [time.monotonic(), time.thread_time()]

        def look():
            now = [time.monotonic(), time.thread_time()]
            found.append((now[0] - last[0], now[1] - last[1]))
            last[:] = now
            nonlocal timer
            timer = loop.call_later({every}, look)

        timer = loop.call_later({every}, look)
        try:
            return await run(self)
        finally:
            timer.cancel()
            most = {{"looks": len(found), "clock_s": max(found)[0], "cpu_s": max(each[1] for each in found)}}
            most["late"] = sum(each[0] > 0.1 for each in found)
            most["busy"] = sum(each[1] > 0.1 for each in found)
            Path(os.environ["COMITY_BENCH_STALLS"]).write_text(json.dumps(most))

    Crawl.run = watched
"""


class Answering(asyncio.Protocol):
    """Light pages on most hosts, and one hostile page on each of the others; notes the gaps of the former."""

    pages: ClassVar[dict[bytes, bytes]] = {}
    hard: ClassVar[dict[str, bytes]] = {}
    last_at: ClassVar[dict[str, float]] = {}
    longest_s: ClassVar[float] = 0.0
    least_s: ClassVar[float] = inf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.name = transport.get_extra_info("sockname")[0]
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1]
            hard = Answering.hard.get(self.name)
            if hard is None:
                self._note_gap(path)
                answer = Answering.pages.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                body = hard if path == b"/" else b"<title>found</title><p>ok"
                body = b"User-agent: *\nAllow: /\n" if path == b"/robots.txt" else body
                answer = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                answer += body
            self.transport.write(answer)

    def _note_gap(self, path: bytes) -> None:
        now, before = monotonic(), Answering.last_at.get(self.name)
        if before is not None and path != b"/robots.txt":
            Answering.longest_s = max(Answering.longest_s, now - before)
            Answering.least_s = min(Answering.least_s, now - before)
        if path != b"/robots.txt":
            Answering.last_at[self.name] = now


def hard_address(number: int) -> str:
    """The address of a hostile host."""
    return f"127.0.200.{1 + number}"


async def serve(hosts: int, pages: int) -> None:
    """Answer until stdin is closed; then print the gaps."""
    from tests.hostile.web import HostileWeb

    Answering.pages = build_pages(pages)
    Answering.hard = {hard_address(n): body.encode() for n, body in enumerate(HARD.values())}
    loop = asyncio.get_running_loop()
    for address in [*(host_address(n) for n in range(hosts)), *Answering.hard]:
        await loop.create_server(Answering, address, PORT, backlog=1024)
    with HostileWeb() as hostile:
        print(hostile.url("/all"), flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
    print(json.dumps([Answering.longest_s, Answering.least_s]), flush=True)


def measure(hosts: int, pages: int, delay_s: float, *more: str) -> dict[str, Any]:
    """One crawl of everything."""
    command = [sys.executable, __file__, "--serve", str(hosts), str(pages)]
    pipe = subprocess.PIPE
    origin = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, preexec_fn=pinned(0))
    try:
        assert origin.stdout is not None
        hostile = origin.stdout.readline().strip()
        if not hostile:
            raise SystemExit(f"The origin did not start; is port {PORT} in use?")
        with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
            work = Path(text)
            (work / "watch").mkdir()
            (work / "watch" / "sitecustomize.py").write_text(WATCH.format(every=LOOK_EVERY_S))
            seeds = [f"http://{host_address(n)}:{PORT}/p/0" for n in range(hosts)]
            seeds += [f"http://{hard_address(n)}:{PORT}/" for n in range(len(HARD))]
            (work / "seeds.txt").write_text("\n".join([*seeds, hostile]))
            crawl = [str(Path(sys.executable).parent / "comity"), "crawl", "--seeds", str(work / "seeds.txt")]
            crawl += ["--delay", str(delay_s), "--into", str(work / "pages"), "--allow-network", "127.0.0.0/8"]
            crawl += ["--concurrency", "64", "--no-sitemaps", "--json", "--max-pages", str(hosts * pages + 200)]
            crawl += more
            left_out = "PYTHONDONTWRITEBYTECODE"
            environment = {name: value for name, value in os.environ.items() if name != left_out}
            environment |= {"COMITY_STATE": str(work / "state.db"), "PYTHONPATH": str(work / "watch")}
            environment |= {"COMITY_BENCH_STALLS": str(work / "stalls.json"), "COMITY_RETRIES": "0"}
            environment |= {
                "COMITY_FIRST_BYTE_TIMEOUT": "2",
                "COMITY_IDLE_TIMEOUT": "2",
                "COMITY_FETCH_TIMEOUT": "5",
            }
            done = subprocess.run(
                crawl, env=environment, capture_output=True, text=True, timeout=300, preexec_fn=pinned(1)
            )
            if not done.stdout:
                raise SystemExit(done.stderr[-800:])
            found: dict[str, Any] = json.loads((work / "stalls.json").read_text())
            found["pages"] = json.loads(done.stdout)["summary"]["pages"]
        rest, _ = origin.communicate("", timeout=20)
        found["longest_gap_s"], found["least_gap_s"] = json.loads(rest.strip().splitlines()[-1])
    finally:
        origin.kill()
        origin.wait(10)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=50)
    options.add_argument("--pages", type=int, default=60)
    options.add_argument("--delay", type=float, default=0.2)
    options.add_argument("--text", action="store_true", help="also store the main content of pages")
    chosen = options.parse_args()
    found = measure(chosen.hosts, chosen.pages, chosen.delay, *(["--text"] if chosen.text else []))
    print(
        f"{chosen.hosts} hosts at {chosen.delay} s and {len(HARD)} hostile pages, {found['pages']:,} pages: longest "
        f"stall {found['clock_s'] * 1000:.0f} ms by the clock, {found['cpu_s'] * 1000:.0f} ms of CPU "
        f"(over 100 ms: {found['late']} and {found['busy']} of {found['looks']:,} looks); gaps of the other hosts "
        f"{found['least_gap_s'] * 1000:.1f}–{found['longest_gap_s'] * 1000:.0f} ms"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        import uvloop

        uvloop.run(serve(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
