"""HTTP/2 over TLS, well-behaved or not; like `HostileWeb`, in a thread of its own and with a log."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, RequestReceived, WindowUpdated
from h2.exceptions import ProtocolError

from tests.hostile.web import server_context


@dataclass(frozen=True, slots=True)
class StreamArrival:
    """One request on one stream of one connection."""

    at: float
    path: str
    authority: str
    connection: int
    stream: int


class HostileHttp2:
    """Serves /ok, /big?bytes=, /hang, /reset-stream, /goaway, /drop, /header-flood and /continuation."""

    def __init__(self, address: str = "127.0.0.1", certificate: str = "good") -> None:
        self.address = address
        self.certificate = certificate
        self.port = 0
        self.log: list[StreamArrival] = []
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hostile-http2", daemon=True)

    def __enter__(self) -> HostileHttp2:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the HTTP/2 server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)

    def url(self, path: str, host: str | None = None) -> str:
        return f"https://{host or self.address}:{self.port}{path}"

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        context = server_context(self.certificate, ("h2",))
        server = await self._loop.create_server(lambda: _Connection(self), self.address, 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for connection in list(_Connection.open):
            connection.transport.abort()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    open: set[_Connection] = set()  # noqa: RUF012 - shared on purpose

    def __init__(self, server: HostileHttp2) -> None:
        self.server = server
        self.h2 = H2Connection(H2Configuration(client_side=False))
        self.unsent: dict[int, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.open.add(self)
        self.server.connections += 1
        self.number = self.server.connections
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, _: Exception | None) -> None:
        self.open.discard(self)

    def flush(self) -> None:
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        try:
            self.take(self.h2.receive_data(data))
        except ProtocolError:
            self.transport.abort()
            return
        if not self.transport.is_closing():
            self.flush()

    def take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, RequestReceived):
                self.on_request(event.stream_id, {name.decode(): value.decode() for name, value in event.headers})
            elif isinstance(event, ConnectionTerminated):
                self.transport.close()
                return
            elif isinstance(event, WindowUpdated):
                for stream in list(self.unsent):
                    self.push_body(stream)

    def on_request(self, stream: int, headers: dict[str, str]) -> None:
        parts = urlsplit(headers[":path"])
        self.server.log.append(
            StreamArrival(time.monotonic(), headers[":path"], headers[":authority"], self.number, stream)
        )
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/ok":
                self.respond(stream, b"over http/2")
            case "/big":
                self.respond(stream, b"x" * int(query["bytes"]))
            case "/hang":
                pass
            case "/short":  # announces more than it sends
                self.h2.send_headers(stream, [(":status", "200"), ("content-length", "1000")])
                self.h2.send_data(stream, b"x" * 10, end_stream=True)
            case "/reset-stream":
                self.h2.send_headers(stream, [(":status", "200"), ("content-type", "text/html")])
                self.h2.send_data(stream, b"half")
                self.h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
            case "/refuse":
                self.h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            case "/goaway":
                self.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
                self.flush()
                self.transport.close()
            case "/drop":
                self.transport.abort()
            case "/header-flood":
                fields = [(f"x-{number}", "y" * 20) for number in range(1000)]
                self.h2.send_headers(stream, [(":status", "200"), *fields], end_stream=True)
            case "/continuation":  # header frames that never end the header block
                self.flush()
                block = b"\x00\x05x-aaa\x05value" * 300
                self.transport.write(_frame(1, 0, stream, b"\x88" + block))
                for _ in range(2000):
                    self.transport.write(_frame(9, 0, stream, block))
            case _:
                self.respond(stream, b"no such page", "404")

    def respond(self, stream: int, body: bytes, status: str = "200") -> None:
        fields = [(":status", status), ("content-type", "text/html"), ("content-length", str(len(body)))]
        self.h2.send_headers(stream, fields)
        self.unsent[stream] = body
        self.push_body(stream)

    def push_body(self, stream: int) -> None:
        """Send as much as the client's window takes."""
        body = self.unsent.get(stream, b"")
        while True:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            piece, body = body[:room], body[room:]
            if not body:
                self.h2.send_data(stream, piece, end_stream=True)
                self.unsent.pop(stream, None)
                return
            if not piece:
                self.unsent[stream] = body
                return
            self.h2.send_data(stream, piece)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
