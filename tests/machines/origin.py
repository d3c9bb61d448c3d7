"""Many small sites in one process, with a log that knows nothing of the product.

    python -m tests.machines.origin LOG PORT PAGES ADDRESS…

Every address is a site of `PAGES` pages in a tree, each leading to three more. Port 0 is one that is free at all
addresses. Prints its port once it listens. When its input ends, it writes one JSON line a request to LOG: the site,
the path, the monotonic time of its arrival.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.servers.arrivals import StampedSocket, arrived_at, listen

ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def answer(status: str, body: bytes, kind: str) -> bytes:
    """A whole answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def pages(count: int) -> dict[bytes, bytes]:
    """The answers of a site, by path."""
    found = {b"/robots.txt": answer("200 OK", ROBOTS, "text/plain")}
    for number in range(count):
        below = [child for child in range(3 * number + 1, 3 * number + 4) if child < count]
        links = "".join(f'<a href="/p{child}">{child}</a>' for child in below)
        html = f"<!doctype html><title>page {number}</title><a href='/'>home</a><a href='/private/x'>x</a>{links}"
        path = b"/" if number == 0 else f"/p{number}".encode()
        found[path] = answer("200 OK", html.encode(), "text/html")
    return found


class Sites(asyncio.Protocol):
    """Answers from memory and notes what was asked, where and when."""

    def __init__(self, known: dict[bytes, bytes], log: list[tuple[str, str, float]]) -> None:
        self.known = known
        self.log = log
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.site = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        data = self.rest + data
        while True:
            head, separator, data = data.partition(b"\r\n\r\n")
            if not separator:
                self.rest = head
                return
            path = head.split(b" ", 2)[1]
            self.log.append((self.site, path.decode(), arrived_at(self.transport)))
            self.transport.write(self.known.get(path) or answer("404 Not Found", b"", "text/plain"))


def listen_at_all(addresses: list[str], port: int) -> list[StampedSocket]:
    """Listen at every address, on one port; what is free at the first may be taken at another."""
    for attempt in range(20):
        with ExitStack() as opened:
            first = opened.enter_context(listen(addresses[0], port))
            chosen = first.getsockname()[1]
            try:
                found = [first, *(opened.enter_context(listen(address, chosen)) for address in addresses[1:])]
            except OSError:
                if port or attempt == 19:
                    raise
                continue
            opened.pop_all()
            return found
    raise AssertionError("not reached")


async def serve(port: int, count: int, addresses: list[str]) -> list[tuple[str, str, float]]:
    """Serve until the input ends; gives the log."""
    loop = asyncio.get_running_loop()
    log: list[tuple[str, str, float]] = []
    known = pages(count)
    listening = listen_at_all(addresses, port)
    servers = [await loop.create_server(lambda: Sites(known, log), sock=each, backlog=256) for each in listening]
    print(listening[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()
    return log


if __name__ == "__main__":
    asked = asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
    Path(sys.argv[1]).write_text("".join(json.dumps(line) + "\n" for line in asked))
