"""Which sockets are open, to which host, and which of them are dead: libcurl does not say.

Noted when a socket is opened, with its inode, because a descriptor's number alone may long mean another file.
libcurl looks for dead connections only once a second. In between it would send a request into one and then,
unseen by the gate, send it again; so the ends that our event loop hears of are remembered by local port and remote
address, and a transfer that is about to use such a connection is warned in time. The port alone does not identify a
connection: the kernel gives it to connections to different addresses at the same time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import ada_url

_DEAD_MOST: Final = 20_000  # ended connections that are remembered; libcurl drops them itself within a second or so


class Ends(NamedTuple):
    """What identifies a connection of this machine."""

    address: str
    port: int
    local_port: int


class _Noted(NamedTuple):
    inode: int
    address: tuple[str, int]  # that was dialled
    host: str  # with its port, as the URL has it
    is_plain: bool  # HTTP without TLS


class Connections:
    """The sockets that were opened for libcurl and may still be open."""

    def __init__(self) -> None:
        self._noted: dict[int, _Noted] = {}
        # Thousands of hosts may have a connection each: one that is forgotten must not look at those of all others.
        self._of_host: dict[str, set[int]] = {}
        self.dead: dict[Ends, None] = {}  # in the order of their ends

    def note(self, descriptor: int, url: str, address: tuple[str, int]) -> None:
        """Remember a socket that was just opened for a URL, to be connected to an address."""
        self._drop(descriptor)  # the number was another socket's, which is closed
        host = ada_url.URL(url).host.removeprefix("www.")
        self._noted[descriptor] = _Noted(os.fstat(descriptor).st_ino, address, host, url.startswith("http:"))
        self._of_host.setdefault(host, set()).add(descriptor)

    def count(self) -> int:
        """How many are still open."""
        for descriptor in tuple(self._noted):
            self._is_open(descriptor)
        return len(self._noted)

    def shut(self, host: str, is_idle: Callable[[int], bool]) -> int:
        """Shut down the idle sockets of a host: libcurl drops such a connection by itself. Gives their number."""
        ended = 0
        for descriptor in tuple(self._of_host.get(host.lower().removeprefix("www."), ())):
            if self._is_open(descriptor) and is_idle(descriptor):
                self._bury(descriptor, shut_down=True)
                self._drop(descriptor)
                ended += 1
        return ended

    def note_end(self, descriptor: int, ended: bool) -> None:
        """A kept connection ended, or something came on it unasked, which for plain HTTP is as good as its end."""
        if not self._is_open(descriptor):
            return
        if ended or self._noted[descriptor].is_plain:  # with TLS it may be a session ticket
            self._bury(descriptor)

    def _bury(self, descriptor: int, *, shut_down: bool = False) -> None:
        # A copy shares the connection, but not the descriptor, which libcurl goes on to own.
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as kept:
            self.dead[Ends(*self._noted[descriptor].address, kept.getsockname()[1])] = None
            if len(self.dead) > _DEAD_MOST:
                del self.dead[next(iter(self.dead))]
            if shut_down:
                kept.shutdown(socket.SHUT_RDWR)

    def _is_open(self, descriptor: int) -> bool:
        """Whether a descriptor is still the socket that was noted; one that is not is forgotten."""
        noted = self._noted.get(descriptor)
        if noted is not None and noted.inode != _inode(descriptor):
            self._drop(descriptor)
            return False
        return noted is not None

    def _drop(self, descriptor: int) -> None:
        noted = self._noted.pop(descriptor, None)
        if noted is not None:
            others = self._of_host[noted.host]
            others.discard(descriptor)
            if not others:
                del self._of_host[noted.host]


def _inode(descriptor: int) -> int | None:
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return None
