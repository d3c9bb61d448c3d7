"""Which sockets are open, to which host, and which of them are dead: libcurl does not say.

Noted when a socket is opened, with its inode, because a descriptor's number alone may long mean another file.
libcurl looks for dead connections only once a second. In between it would send a request into one and then,
unseen by the gate, send it again; so the ends that our event loop hears of are remembered by local port, and a
transfer that is about to use such a connection is warned in time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress

import ada_url


class Connections:
    """The sockets that were opened for libcurl and may still be open."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[int, str]] = {}
        self.dead_ports: set[int] = set()

    def note(self, descriptor: int, url: str) -> None:
        """Remember a socket that was just opened for a URL."""
        self._noted[descriptor] = (os.fstat(descriptor).st_ino, url)

    def count(self) -> int:
        """How many are still open."""
        self._drop_closed()
        return len(self._noted)

    def shut(self, host: str, is_idle: Callable[[int], bool]) -> int:
        """Shut down the idle sockets of a host: libcurl drops such a connection by itself. Gives their number."""
        self._drop_closed()
        wanted = {host.lower(), host.lower().removeprefix("www.")}
        ended = 0
        for descriptor, (_, url) in tuple(self._noted.items()):
            if is_idle(descriptor) and ada_url.URL(url).host.removeprefix("www.") in wanted:
                self._bury(descriptor, shut_down=True)
                del self._noted[descriptor]
                ended += 1
        return ended

    def note_end(self, descriptor: int, ended: bool) -> None:
        """A kept connection ended, or something came on it unasked, which for plain HTTP is as good as its end."""
        inode, url = self._noted.get(descriptor, (None, ""))
        if inode is None or inode != _inode(descriptor):
            return
        if ended or url.startswith("http:"):  # with TLS it may be a session ticket
            self._bury(descriptor)

    def _bury(self, descriptor: int, *, shut_down: bool = False) -> None:
        # A copy shares the connection, but not the descriptor, which libcurl goes on to own.
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as kept:
            self.dead_ports.add(kept.getsockname()[1])
            if shut_down:
                kept.shutdown(socket.SHUT_RDWR)

    def _drop_closed(self) -> None:
        for descriptor, (inode, _) in tuple(self._noted.items()):
            if _inode(descriptor) != inode:
                del self._noted[descriptor]


def _inode(descriptor: int) -> int | None:
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return None
