"""A small programmable web on loopback: several sites on several ports, each with a log of its own.

    with Web() as web:
        site = web.site({"/": page("/a", "/b"), "/a": Answer(503)}, robots="User-agent: *\\nDisallow: /b\\n")
        site.url("/a")          # http://127.0.0.1:PORT/a
        site.log                # every request: arrival, end, host, path, headers

A route is text or octets (an HTML page), an `Answer`, or a function from `Asked` to any of them. A site may have
a `fallback` for all other paths but robots.txt; without one they are 404. The log knows nothing of the product.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.servers.arrivals import arrived_at, listen

# The log has the kernel's times of arrival; what is left is the time between a sender's decision and its sending.
LOG_IS_EXACT_TO_S = 0.005
_LONGEST_HEAD = 65_536
_REASONS = {200: "OK", 301: "Moved", 302: "Found", 304: "Not Modified", 404: "Not Found", 429: "Too Many", 503: "Busy"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a route sees it; `count` is 1 when the path is asked for the first time."""

    path: str
    headers: Mapping[str, str]
    count: int
    method: str = "GET"
    body: bytes = b""


@dataclass(slots=True)
class Seen:
    """One line of a site's log; times are monotonic seconds, `ended_at` is None until the answer is sent."""

    at: float
    host: str
    path: str
    headers: Mapping[str, str]
    connection: int
    ended_at: float | None = None
    method: str = "GET"
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers; `drops` hangs up instead, with a reset; `held` is what the answer waits for."""

    status: int = 200
    body: bytes | str = ""
    type: str | None = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    is_gzipped: bool = False
    etag: str | None = None
    closes: bool = False
    drops: bool = False
    held: threading.Event | None = None


Route = str | bytes | Answer | Callable[[Asked], Any]


def page(*links: str, title: str = "", head: str = "", body: str = "") -> str:
    """An HTML page that leads to other pages."""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return (
        f"<!doctype html><html><head><title>{title or 'page'}</title>{head}</head><body>{anchors}{body}</body></html>"
    )


def redirect(location: str, status: int = 302) -> Answer:
    """An answer that sends on to another place."""
    return Answer(status, headers={"Location": location})


def tree(count: int, *, prefix: str = "/p", width: int = 3) -> dict[str, Route]:
    """A site of `count` pages, each leading to `width` more and back to the first."""
    routes: dict[str, Route] = {}
    for number in range(count):
        below = [f"{prefix}{child}" for child in range(width * number + 1, width * number + width + 1) if child < count]
        routes["/" if number == 0 else f"{prefix}{number}"] = page("/", *below, title=f"page {number}")
    return routes


class Site:
    """One site on one port."""

    def __init__(self, routes: Mapping[str, Route], robots: Route | None, fallback: Route | None, address: str) -> None:
        self.routes = dict(routes)
        if robots is not None:
            self.routes["/robots.txt"] = Answer(body=robots, type="text/plain") if isinstance(robots, str) else robots
        self.fallback = fallback
        self.address = address
        self.port = 0
        self.log: list[Seen] = []
        self._counts: Counter[str] = Counter()

    @property
    def host(self) -> str:
        """The host as the state spells it."""
        return f"{self.address}:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [seen.path for seen in list(self.log)]

    def pages(self) -> list[str]:
        """What was asked for, without robots.txt."""
        return [path for path in self.paths if path != "/robots.txt"]

    def of(self, path: str) -> list[Seen]:
        return [seen for seen in list(self.log) if seen.path == path]

    def gaps(self, since: float = 0.0) -> list[float]:
        """Seconds between the arrivals of one request and the next."""
        return gaps([seen for seen in list(self.log) if seen.at >= since])

    def overlaps(self) -> int:
        """How many requests came while an earlier one was still being answered."""
        log = list(self.log)
        return sum(later.at < (earlier.ended_at or later.at) for earlier, later in pairwise(log))

    def answer(self, seen: Seen) -> Answer:
        self._counts[seen.path] += 1
        route: Any = self.routes.get(seen.path, self.fallback if seen.path != "/robots.txt" else None)
        if callable(route):
            asked = Asked(seen.path, seen.headers, self._counts[seen.path], seen.method, seen.body)
            route = route(asked)
        if route is None:
            return Answer(404, page(title="not here"))
        return Answer(body=route) if isinstance(route, str | bytes) else route


def gaps(log: Sequence[Seen]) -> list[float]:
    """Seconds between the arrivals of one request and the next."""
    return [later.at - earlier.at for earlier, later in pairwise(log)]


class Web:
    """A thread with an event loop, and the sites it serves."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="test-web", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0

    def __enter__(self) -> Web:
        come_before_others()  # whoever holds the interpreter's lock must not be kept waiting, either
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def site(
        self,
        routes: Mapping[str, Route] | None = None,
        *,
        robots: Route | None = None,
        fallback: Route | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
        certificate: ssl.SSLContext | None = None,
    ) -> Site:
        """Serve one more site; with a certificate, by https."""
        site = Site(routes or {}, robots, fallback, address)
        asyncio.run_coroutine_threadsafe(self._serve(site, port, certificate), self._loop).result(60)
        return site

    def _run(self) -> None:
        come_before_others()
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _serve(self, site: Site, port: int, certificate: ssl.SSLContext | None) -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            self._connections += 1
            try:
                await self._converse(site, reader, writer, self._connections)
            finally:
                self._tasks.discard(task)

        listening = listen(site.address, port)
        server = await asyncio.start_server(handle, sock=listening, limit=_LONGEST_HEAD, ssl=certificate)
        site.port = server.sockets[0].getsockname()[1]
        self._servers.append(server)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _converse(
        self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                seen = _read_head(head, arrived_at(writer), connection)
                seen.body = await reader.readexactly(int(seen.headers.get("content-length", "0")))
                site.log.append(seen)
                answer = site.answer(seen)
                if answer.after_s:
                    await asyncio.sleep(answer.after_s)
                if answer.held is not None:
                    await _wait_for(answer.held)
                if answer.drops:
                    _reset(writer)
                    return
                encoded = _encoded(answer, seen)
                # Before it is sent: the next request may arrive while this thread still waits for a core.
                seen.ended_at = time.monotonic()
                writer.write(encoded)
                await writer.drain()
                if answer.closes:
                    return
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            for seen in site.log[-50:]:
                if seen.connection == connection and seen.ended_at is None:
                    seen.ended_at = time.monotonic()  # whoever asked has gone
            writer.close()


async def _wait_for(event: threading.Event) -> None:
    for _ in range(24_000):  # two minutes
        if event.is_set():
            return
        await asyncio.sleep(0.005)


# The priority with which the tests were started; processes that they start read it from the environment.
_NICENESS = int(os.environ.setdefault("COMITY_TEST_NICENESS", str(os.getpriority(os.PRIO_PROCESS, 0))))


def come_before_others(priority: int = -15) -> None:
    """Put this thread before all others where that is allowed: a log is as good as the moment of its writing.

    Tests that were started with a low priority stay there: others, which measure time, run beside them.
    """
    if _NICENESS > 0:
        return
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), priority)


def _read_head(head: bytes, at: float, connection: int) -> Seen:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    method, path, _ = first.split(" ")
    return Seen(at, headers.get("host", ""), path, headers, connection, method=method)


def _encoded(answer: Answer, seen: Seen) -> bytes:
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    status, headers = answer.status, dict(answer.headers)
    if answer.etag is not None:
        headers["ETag"] = answer.etag
        if seen.headers.get("if-none-match") == answer.etag:
            status, body = 304, b""
    if answer.is_gzipped and body:
        headers["Content-Encoding"] = "gzip"
        body = gzip.compress(body)
    if answer.type is not None and status != 304:
        headers.setdefault("Content-Type", answer.type)
    if status != 304:
        headers["Content-Length"] = str(len(body))
    if answer.closes:
        headers["Connection"] = "close"
    lines = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Answer')}",
        *(f"{name}: {text}" for name, text in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def _reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
