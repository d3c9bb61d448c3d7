"""HTTP/1.1 connections of the web door, each bounded in time and bytes.

uvicorn bounds none of these by itself: how long a request's head may take, how much of a body it reads that was
refused, how long a client may leave an answer unread, and how many connections wait for nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from comity.doors.web.guard import HEADERS
from comity.doors.web.refusals import refusal

MOST_CONNECTIONS: Final = 500
HEAD_WITHIN_S: Final = 10.0
ANSWER_READ_WITHIN_S: Final = 30.0
# A client that still sends its body when it is refused would not see the answer if its connection were reset, so a
# little more is read and discarded (RFC 9112 §9.6).
LINGER_BYTES: Final = 1 << 20
LINGER_S: Final = 2.0


class BoundedHttp(H11Protocol):
    """One connection. h11 bounds the head's size, unlike the other parser that uvicorn may find."""

    waits_since: float | None = None  # when it began to wait for the head of a request
    _lingers_for = 0  # bytes that may still come after the answer to a refused body
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room by closing the connection that has waited longest, if there are too many."""
        _make_room(self.connections)
        super().connection_made(transport)
        self.transport = _LingeringTransport(transport, self)  # type: ignore[assignment]
        self._await_head(HEAD_WITHIN_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop every timer."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_waiting()
        self._set_read_timer(None)

    def data_received(self, data: bytes) -> None:
        """Take what comes: into the parser, or to be discarded."""
        if self.transport.is_closing():
            self._lingers_for -= len(data)
            if self._lingers_for <= 0:
                self.transport.abort()
            return
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Close a connection whose request was not read to its end: the rest would be taken for the next request."""
        if not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self._await_head(self.timeout_keep_alive + HEAD_WITHIN_S)

    def pause_writing(self) -> None:
        """The client does not read: it has a while to begin."""
        super().pause_writing()
        self._set_read_timer(self.loop.call_later(ANSWER_READ_WITHIN_S, self.transport.abort))

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._set_read_timer(None)

    def linger(self, transport: asyncio.Transport) -> bool:
        """Half-close a connection whose client still sends; False if it can be closed at once."""
        if self.conn.their_state is not h11.SEND_BODY or self._lingers_for or not transport.can_write_eof():
            return False
        self._lingers_for = LINGER_BYTES
        self._stop_waiting()
        transport.write_eof()
        transport.resume_reading()
        self._head_timer = self.loop.call_later(LINGER_S, transport.abort)
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP in the one shape of refusals, and hang up."""
        answer = refusal(400, "bad_request", msg[:1].lower() + msg[1:].rstrip("."))
        headers = [*answer.raw_headers, *((name.lower().encode(), value.encode()) for name, value in HEADERS.items())]
        head = h11.Response(status_code=400, headers=[*headers, (b"connection", b"close")], reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self, within_s: float) -> None:
        self._stop_waiting()
        self.waits_since = self.loop.time()
        self._head_timer = self.loop.call_later(within_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.waits_since = None
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _set_read_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._read_timer = timer


class _LingeringTransport:
    """A transport whose `close` lets the client read the answer first."""

    def __init__(self, transport: asyncio.Transport, connection: BoundedHttp) -> None:
        self._transport = transport
        self._connection = connection
        self._is_closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether it is closed, or will be."""
        return self._is_closing or self._transport.is_closing()

    def close(self) -> None:
        """Close it, after what the client still sends, within bounds."""
        if not self._is_closing and not self._transport.is_closing() and self._connection.linger(self._transport):
            self._is_closing = True
            return
        self._is_closing = True
        self._transport.close()


def _make_room(connections: set[Any]) -> None:
    """Close the connection that has waited longest for a request, where there are as many as there may be."""
    if len(connections) + 1 < MOST_CONNECTIONS:
        return
    waiting = [each for each in connections if isinstance(each, BoundedHttp) and each.waits_since is not None]
    if waiting:
        oldest = min(waiting, key=lambda each: each.waits_since or 0.0)
        oldest.transport.abort()
        connections.discard(oldest)
