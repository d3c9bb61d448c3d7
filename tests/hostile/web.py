"""A hostile web on loopback: every way in which a server can hurt a crawler, with a log of what was asked when.

    with HostileWeb() as web:
        web.url("/bomb/gzip")              # http://127.0.0.1:PORT/bomb/gzip
        web.url("/ok", host="a.test")      # with FetchSettings(resolve=web.resolve("a.test"))
        web.log.of("a.test")               # the arrivals at one host, in order

Runs in a thread with an event loop of its own, speaks raw bytes, and knows nothing of the product. Routes are in
the modules beside this one; `add` and `page` set more on one web only; `robots` maps hosts to a kind of robots.txt.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.servers.arrivals import arrived_at, listen

CERTIFICATES = Path(__file__).parent / "certificates"
MAX_REQUEST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as the server saw it; times are seconds, monotonic."""

    at: float
    method: str
    path: str
    host: str
    connection: int
    headers: Mapping[str, str]
    resumed: bool = False


@dataclass(slots=True)
class RequestLog:
    """What arrived, in order; safe to read from another thread."""

    arrivals: list[Arrival] = field(default_factory=list)
    connections: int = 0

    def of(self, host: str) -> list[Arrival]:
        """The arrivals at one host (without port)."""
        return [arrival for arrival in tuple(self.arrivals) if arrival.host.rsplit(":", 1)[0] == host]

    def paths(self, host: str | None = None) -> list[str]:
        """The paths asked for, at one host or at all."""
        return [arrival.path for arrival in (tuple(self.arrivals) if host is None else self.of(host))]

    def gaps_s(self, host: str) -> list[float]:
        """The pauses between two requests at one host."""
        times = [arrival.at for arrival in self.of(host)]
        return [later - earlier for earlier, later in pairwise(times)]

    def clear(self) -> None:
        """Forget all."""
        self.arrivals.clear()
        self.connections = 0


class Exchange:
    """One request, and the means to answer it well or badly."""

    def __init__(
        self, web: HostileWeb, arrival: Arrival, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.web = web
        self.arrival = arrival
        self.method = arrival.method
        self.headers = arrival.headers
        parts = urlsplit(arrival.path)
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.reader = reader
        self.writer = writer
        self.keep_alive = True

    def number(self, name: str, default: float) -> float:
        """A number from the query."""
        return float(self.query.get(name, default))

    async def send(self, data: bytes) -> None:
        """Write raw bytes; ends the handler when the client has gone."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self,
        body: bytes = b"",
        status: str = "200 OK",
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),),
    ) -> None:
        """A well-formed answer."""
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
        lines.append(f"Content-Length: {len(body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        await self.send(head if self.method == "HEAD" else head + body)

    async def answer_and_close(self, data: bytes) -> None:
        """Raw bytes, then an orderly end of the connection."""
        self.keep_alive = False
        await self.send(data)

    def reset(self) -> None:
        """End the connection the rude way, with a TCP reset."""
        self.keep_alive = False
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def until_gone(self) -> None:
        """Say nothing more until the client hangs up."""
        self.keep_alive = False
        await self.reader.read()


Handler = Callable[[Exchange], Awaitable[None]]
ROUTES: dict[str, Handler] = {}


def route(*paths: str) -> Callable[[Handler], Handler]:
    """Serve these paths; one that ends in `/` serves all below it."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            ROUTES[path] = handler
        return handler

    return register


class HostileWeb:
    """A server of all routes on one loopback port, from `start` to `stop`."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0, certificate: str | None = None) -> None:
        from tests.hostile import bodies, bombs, heads, redirects, robots, statuses  # noqa: F401 - they fill ROUTES

        self.address = address
        self.port = port
        self.certificate = certificate
        self.log = RequestLog()
        self.robots: dict[str, str] = {}
        self.counters: dict[str, int] = {}
        self._own_routes: dict[str, Handler] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="hostile-web", daemon=True)
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> HostileWeb:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def scheme(self) -> str:
        """`https` if a certificate was given."""
        return "https" if self.certificate else "http"

    @property
    def authority(self) -> str:
        """Address and port, as they stand in a URL."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def url(self, path: str, host: str | None = None) -> str:
        """The URL of a path, at the bare address or under a name."""
        return f"{self.scheme}://{self.authority if host is None else f'{host}:{self.port}'}{path}"

    def resolve(self, *hosts: str) -> dict[str, str]:
        """Names that are to lead here, for the fetcher's settings."""
        return dict.fromkeys(hosts, self.address)

    def add(self, path: str, handler: Handler) -> None:
        """Serve one more path, on this web only."""
        self._own_routes[path] = handler

    def page(self, path: str, body: str | bytes, status: str = "200 OK", *headers: tuple[str, str]) -> None:
        """Serve a plain page, on this web only."""
        content = body.encode() if isinstance(body, str) else body

        async def serve(exchange: Exchange) -> None:
            await exchange.answer(content, status, headers or (("Content-Type", "text/html; charset=utf-8"),))

        self.add(path, serve)

    def start(self) -> HostileWeb:
        """Listen; returns when the port is known."""
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the hostile web did not start")
        return self

    def stop(self) -> None:
        """End every connection and the thread; may be called again."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(60)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        context = server_context(self.certificate) if self.certificate else None
        server = await asyncio.start_server(
            self._on_connection,
            sock=listen(self.address, self.port),
            ssl=context,
            backlog=1024,
            limit=MAX_REQUEST_BYTES,
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.log.connections += 1
        try:
            await self._converse(reader, writer, self.log.connections)
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass  # the client went away, or the web is being stopped
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        tls = writer.get_extra_info("ssl_object")
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                return
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
            headers = {name.lower(): value for name, value in fields.items()}
            resumed = bool(tls and tls.session_reused)
            arrival = Arrival(arrived_at(writer), method, target, headers.get("host", ""), connection, headers, resumed)
            self.log.arrivals.append(arrival)
            exchange = Exchange(self, arrival, reader, writer)
            await self._handler(exchange.path)(exchange)
            if not exchange.keep_alive or writer.is_closing():
                return

    def _handler(self, path: str) -> Handler:
        for routes in (self._own_routes, ROUTES):
            if path in routes:
                return routes[path]
            below = path
            while "/" in below:
                below = below.rsplit("/", 1)[0]
                if below + "/" in routes and below:
                    return routes[below + "/"]
        return _not_found


async def _not_found(exchange: Exchange) -> None:
    await exchange.answer(b"no such page", "404 Not Found")


def server_context(name: str, protocols: tuple[str, ...] = ()) -> ssl.SSLContext:
    """A TLS context with one of the test certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{name}.pem", CERTIFICATES / f"{name}.key")
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
