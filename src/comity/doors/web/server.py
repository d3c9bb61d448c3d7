"""The application as a server on a socket, with connections bounded in time and bytes.

uvicorn itself does not limit how long the head of a request may take, how much of a refused body it reads, how long a
client may leave a response unread, or how many idle connections there are.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from comity.doors.web.access import is_loopback
from comity.doors.web.application import access_settings, build_application
from comity.doors.web.errors import error_response
from comity.doors.web.middleware import SECURITY_HEADERS
from comity.model.errors import BadInput, ComityError

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.run.serve import ServedWorker
    from comity.settings import Settings
    from comity.upkeep.due_sources import Result
    from comity.walk.request import OnWait

DATABASE_CONNECTIONS: Final = 20  # one for each thread that may use one, so that none waits for another
MAX_CONNECTIONS: Final = 500
HEAD_TIMEOUT_S: Final = 10.0
RESPONSE_READ_TIMEOUT_S: Final = 30.0
# A client that is still sending its body when it is refused would not see the response if the connection were reset,
# so a little more is read and discarded (RFC 9112 §9.6).
LINGER_BYTES: Final = 1 << 20
LINGER_S: Final = 2.0
_MAX_HEAD_BYTES: Final = 65_536
_SHUTDOWN_TIMEOUT_S: Final = 10  # for responses that are in progress


class WebServer(uvicorn.Server):
    """uvicorn without its signal handlers: the command installs its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Accept no more requests, finish those in progress, and return from `serve`."""
        self.should_exit = True
        services = getattr(getattr(self.config.app, "state", None), "services", None)
        if services is not None:
            services.live.close()  # streams do not end by themselves


def is_dev(settings: Settings, host: str) -> bool:
    """Whether this is a development server: as configured, or else if it listens on a loopback address."""
    return settings.env == "dev" if settings.env is not None else is_loopback(host)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; raises `ComityError` if that fails."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise BadInput(f"--host: {host[:80]!r} is not an address of this machine") from None
    family, _, _, _, address = found[0]
    try:
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        why = os.strerror(error.errno) if error.errno else error  # `create_server` adds the address to `strerror`
        raise ComityError(f"cannot listen on {host} port {port}: {why}{advice}") from None
    # Connections inherit this. Otherwise the second packet of a response waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build_server(
    state: State,
    host: str,
    *,
    schedules: bool,
    on_result: Callable[[Result], None] = lambda _result: None,
    on_wait: OnWait | None = None,
    worker: ServedWorker | None = None,
) -> WebServer:
    """Build a server of the application on an open state."""
    settings = state.settings
    access = access_settings(settings, is_dev=is_dev(settings, host))
    return WebServer(
        uvicorn.Config(
            build_application(state, access, schedules=schedules, on_result=on_result, on_wait=on_wait, worker=worker),
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
            http=BoundedHttpConnection,
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            ws="none",
        )
    )


class BoundedHttpConnection(H11Protocol):
    """One HTTP/1.1 connection. Uses h11, which bounds the size of the head; httptools does not."""

    waiting_since: float | None = None  # when it started to wait for the head of a request
    _linger_bytes = 0  # that may still arrive after the response to a refused body
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the connection that has been idle longest if there are too many, and start to wait for a head."""
        _evict_idle(self.connections)
        super().connection_made(transport)
        self.transport = _LingeringTransport(transport, self)  # type: ignore[assignment]
        self._await_head(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop every timer."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_waiting()
        self._set_read_timer(None)

    def data_received(self, data: bytes) -> None:
        """Parse what arrives, or discard it if the connection is closing."""
        if self.transport.is_closing():
            self._linger_bytes -= len(data)
            if self._linger_bytes <= 0:
                self.transport.abort()
            return
        super().data_received(data)
        if self._is_responding():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Close the connection if the body was not read to its end: the rest would be parsed as the next request."""
        if not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_responding():
            self._await_head(self.timeout_keep_alive + HEAD_TIMEOUT_S)

    def pause_writing(self) -> None:
        """Give a client that does not read the response some time to start."""
        super().pause_writing()
        self._set_read_timer(self.loop.call_later(RESPONSE_READ_TIMEOUT_S, self.transport.abort))

    def resume_writing(self) -> None:
        """The client is reading again."""
        super().resume_writing()
        self._set_read_timer(None)

    def linger(self, transport: asyncio.Transport) -> bool:
        """Half-close the connection if the client is still sending; False if it can be closed at once."""
        if self.conn.their_state is not h11.SEND_BODY or self._linger_bytes or not transport.can_write_eof():
            return False
        self._linger_bytes = LINGER_BYTES
        self._stop_waiting()
        transport.write_eof()
        transport.resume_reading()
        self._head_timer = self.loop.call_later(LINGER_S, transport.abort)
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer malformed HTTP with an `ErrorResponse`, and close the connection."""
        response = error_response(400, "bad_request", msg[:1].lower() + msg[1:].rstrip("."))
        security = ((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items())
        headers = [*response.raw_headers, *security, (b"connection", b"close")]
        head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self, within_s: float) -> None:
        self._stop_waiting()
        self.waiting_since = self.loop.time()
        self._head_timer = self.loop.call_later(within_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.waiting_since = None
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _set_read_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._read_timer = timer


class _LingeringTransport:
    """A transport whose `close` lets the client read the response first."""

    def __init__(self, transport: asyncio.Transport, connection: BoundedHttpConnection) -> None:
        self._transport = transport
        self._connection = connection
        self._is_closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether it is closed or closing."""
        return self._is_closing or self._transport.is_closing()

    def close(self) -> None:
        """Close it once the client has stopped sending, within bounds."""
        if not self._is_closing and not self._transport.is_closing() and self._connection.linger(self._transport):
            self._is_closing = True
            return
        self._is_closing = True
        self._transport.close()


def _evict_idle(connections: set[Any]) -> None:
    """Close the connection that has waited longest for a request, if the limit is reached."""
    if len(connections) + 1 < MAX_CONNECTIONS:
        return
    idle = [each for each in connections if isinstance(each, BoundedHttpConnection) and each.waiting_since is not None]
    if idle:
        oldest = min(idle, key=lambda each: each.waiting_since or 0.0)
        oldest.transport.abort()
        connections.discard(oldest)
