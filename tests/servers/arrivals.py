"""When requests arrive, by the kernel's own clock: a server that waits for a core still knows when it was asked."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import Any

_SO_TIMESTAMPNS = 35  # socket(7); Python has no name for it


class StampedSocket(socket.socket):
    """A socket that knows when the kernel received what was read last, however late the reader was."""

    received_at: float | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        number, address = self._accept()  # type: ignore[attr-defined]  # as socket.socket.accept does
        return StampedSocket(self.family, self.type, self.proto, fileno=number), address

    def recv(self, most: int, flags: int = 0, /) -> bytes:
        data, notes, _, _ = self.recvmsg(most, socket.CMSG_SPACE(16), flags)
        for level, kind, content in notes:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                seconds, nanoseconds = struct.unpack("qq", content)
                self.received_at = _monotonic(seconds + nanoseconds / 1e9)
        return data


def _monotonic(at: float) -> float:
    """A time of the wall clock, a moment ago, on the monotonic clock."""
    for _ in range(20):
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        if after - before < 0.0002:  # no other thread came between the two clocks
            break
    return after - max(0.0, wall - at)


def listen(address: str, port: int) -> StampedSocket:
    """A listening socket; connections that it accepts note when each request arrived."""
    listening = StampedSocket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)  # inherited by what is accepted
    listening.bind((address, port))
    return listening


def arrived_at(connection: asyncio.BaseTransport | asyncio.StreamWriter) -> float:
    """When the last bytes of this connection arrived, in monotonic seconds; with TLS, when they were read."""
    raw = getattr(connection.get_extra_info("socket"), "_sock", None)
    stamp = raw.received_at if isinstance(raw, StampedSocket) else None
    return time.monotonic() if stamp is None else stamp
