"""A small web for the scripts that measure anything but whole crawls: hosts on loopback addresses, served from memory.

`Site` runs it as a process of its own: `python bench/_site.py PORT HOSTS PAGES`. It prints `ready` once it listens,
and for each line `report` on its stdin a JSON line with what it served since the one before.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import ClassVar

PORT = 18080
CORES = sorted(os.sched_getaffinity(0))  # read at the start: a script may pin itself, too


def pinned(core: int) -> Callable[[], None]:
    """For `preexec_fn`: keep a process on one core, 0 for the origin and 1 for what is measured."""
    return lambda: os.sched_setaffinity(0, {CORES[core % len(CORES)]})


class Site:
    """The origin, on a core of its own."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(PORT), str(hosts), str(pages)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=pinned(0),
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit("The origin did not start.")

    def report(self) -> dict[str, int]:
        """What was served since the report before."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("report\n")
        self.process.stdin.flush()
        answer: dict[str, int] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """Stop it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def host_address(number: int) -> str:
    """The loopback address of a host; every host has one of its own."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def build_pages(count: int) -> dict[bytes, bytes]:
    """Pages of 15–60 KB with 50 links: navigation that is the same everywhere, and links that differ."""
    chance = random.Random(11)
    letters, often = "etaoinshrdlucmfwypvbgkjqxz", range(26, 0, -1)
    words = ["".join(chance.choices(letters, often, k=chance.randint(2, 11))) for _ in range(4000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    pages: dict[bytes, bytes] = {}
    navigation = "".join(f'<li><a class="nav" href="/p/{n}">Section {n}</a></li>' for n in range(20))
    for number in range(count):
        near = [(number * 2 + step) % count for step in range(1, 11)] + [chance.randrange(count) for _ in range(20)]
        paragraphs = []
        size, wanted = 0, chance.randint(15_000, 60_000)
        while size < wanted:
            text = " ".join(chance.choices(words, weights, k=80))
            link = near[len(paragraphs) % len(near)]
            more = f'<a href="/p/{link}">{words[link]}</a>'
            paragraphs.append(f'<p class="body text-{len(paragraphs)}">{text} {more}</p>')
            size += len(paragraphs[-1])
        more = "".join(f'<a href="/p/{link}">more</a> ' for link in near)
        html = (
            f"<!doctype html><html><head><title>Page {number}</title><meta name=description content='{words[number]}'>"
            f"<link rel=canonical href='/p/{number}'></head><body><nav><ul>{navigation}</ul></nav>"
            f"<main>{''.join(paragraphs)}</main>"
            f"<footer>{more}</footer></body></html>"
        )
        body = gzip.compress(html.encode(), 6, mtime=0)
        head = (
            f"HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"
            f'ETag: "p{number}"\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\nContent-Length: {len(body)}\r\n\r\n'
        )
        pages[f"/p/{number}".encode()] = head.encode() + body
    robots = b"User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\nAllow: /p/\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(robots)}\r\n\r\n"
    pages[b"/robots.txt"] = head.encode() + robots
    pages[b"/"] = pages[b"/p/0"]
    return pages


MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Origin(asyncio.Protocol):
    """Answers from memory and counts."""

    pages: ClassVar[dict[bytes, bytes]] = {}
    seen: ClassVar[dict[tuple[str, bytes], int]] = {}
    last_at: ClassVar[dict[str, float]] = {}
    least_gap_s: ClassVar[float] = inf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.name = transport.get_extra_info("sockname")[0]
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        data = self.rest + data
        while True:
            head, separator, data = data.partition(b"\r\n\r\n")
            if not separator:
                self.rest = head
                return
            path = head[4 : head.index(b" ", 4)]
            now = monotonic()
            Origin.least_gap_s = min(Origin.least_gap_s, now - Origin.last_at.get(self.name, -inf))
            Origin.last_at[self.name] = now
            key = (self.name, path)
            Origin.seen[key] = Origin.seen.get(key, 0) + 1
            self.transport.write(Origin.pages.get(path, MISSING))


async def serve(port: int, hosts: int, pages: int) -> None:
    Origin.pages = build_pages(pages)
    loop = asyncio.get_running_loop()
    for number in range(hosts):
        await loop.create_server(Origin, host_address(number), port, backlog=1024)
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line.strip() == b"report":
            pages_seen = {key: count for key, count in Origin.seen.items() if key[1] in Origin.pages}
            robots = [pages_seen.pop(key) for key in list(pages_seen) if key[1] == b"/robots.txt"]
            print(
                json.dumps(
                    {
                        "distinct": len(pages_seen),
                        "requests": sum(pages_seen.values()),
                        "most": max(pages_seen.values(), default=0),
                        "robots": sum(robots),
                        "least_gap_s": Origin.least_gap_s,
                    }
                ),
                flush=True,
            )
            Origin.seen.clear()
            Origin.last_at.clear()
            Origin.least_gap_s = inf


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
