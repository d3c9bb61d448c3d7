"""The careers pages that bench/sources reads: so many hosts on loopback addresses, each page with its own postings.

Run as a process of its own: `python bench/_careers.py PORT HOSTS`. It prints `ready` once it listens, and for each line
`report` on its stdin a JSON line with what it served.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, defaultdict
from math import inf
from time import monotonic

from _site import host_address


def page(host: str, path: str) -> bytes:
    """Ten postings that only this page has."""
    posted = [
        {
            "@context": "https://schema.org/",
            "@type": "JobPosting",
            "title": f"Officer {host} {path} {number}",
            "url": f"{path}/{number}",
            "description": "Helps people who need it, and says so in a sentence or two.",
            "hiringOrganization": {"@type": "Organization", "name": f"House {host}"},
            "jobLocation": {"@type": "Place", "address": "Nairobi, Kenya"},
        }
        for number in range(10)
    ]
    body = (
        f'<!doctype html><html lang=en><head><title>Careers</title><script type="application/ld+json">'
        f"{json.dumps(posted)}</script></head><body><h1>Vacancies</h1></body></html>"
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Log:
    """What was asked of whom, and how close together."""

    def __init__(self) -> None:
        self.paths: Counter[tuple[str, str]] = Counter()
        self.last: dict[str, float] = {}
        self.gaps: dict[str, float] = defaultdict(lambda: inf)
        self.open = 0
        self.most_open = 0

    def note(self, host: str, path: str) -> None:
        now = monotonic()
        if host in self.last:
            self.gaps[host] = min(self.gaps[host], now - self.last[host])
        self.last[host] = now
        self.paths[host, path] += 1

    def report(self) -> dict[str, object]:
        pages = {key: count for key, count in self.paths.items() if key[1] != "/robots.txt"}
        return {
            "hosts": len(self.last),
            "pages": len(pages),
            "most_of_a_page": max(pages.values(), default=0),
            "robots": sum(count for key, count in self.paths.items() if key[1] == "/robots.txt"),
            "least_gap_s": min(self.gaps.values(), default=inf),
            "most_at_once": self.most_open,
        }


async def serve(port: int, hosts: int) -> None:
    log = Log()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                host = writer.get_extra_info("sockname")[0]
                log.note(host, path)
                log.open += 1
                log.most_open = max(log.most_open, log.open)
                await asyncio.sleep(0.01)
                none = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                writer.write(none if path == "/robots.txt" else page(host, path))
                await writer.drain()
                log.open -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    servers = [await asyncio.start_server(handle, host_address(number), port) for number in range(hosts)]
    print("ready", flush=True)
    while (await asyncio.to_thread(sys.stdin.readline)).strip() == "report":
        print(json.dumps(log.report()), flush=True)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
