"""The sockets of libcurl: which it may open, which are open, to which host, and which of them are dead.

libcurl asks the address guard here for every socket, and it opens none to a forbidden address. The guard checks the
address that is about to be dialled, whatever name or look-up led to it, so a name that changes its address after a
check gains nothing. Behind a proxy, names are checked before they are handed over.

A socket is noted when it is opened, with its inode, because a descriptor's number alone may long mean another file.
libcurl looks for dead connections only once a second. In between it would send a request into one and then, unseen by
the gate, send it again; so the ends that our event loop sees are remembered by local port and remote address, and a
transfer that is about to use such a connection is warned in time. The port alone does not identify a connection: the
kernel gives it to connections to different addresses at the same time.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final, NamedTuple

import ada_url
import pycurl

from comity.rules.address_guard import AddressVerdict, Network, decide

_DEAD_MOST: Final = 20_000  # ended connections that are remembered; libcurl drops them itself within a second or so


class Ends(NamedTuple):
    """What identifies a connection of this machine."""

    address: str
    port: int
    local_port: int


class _Noted(NamedTuple):
    inode: int
    address: tuple[str, int]  # the address that was dialled
    host: str  # with its port, as in the URL
    is_plain: bool  # HTTP without TLS


class Connections:
    """The sockets that were opened for libcurl and may still be open."""

    def __init__(self) -> None:
        self._noted: dict[int, _Noted] = {}
        # Thousands of hosts may have a connection each: one that is forgotten must not look at those of all others.
        self._of_host: dict[str, set[int]] = {}
        self.dead: dict[Ends, None] = {}  # in the order in which they ended

    def note(self, descriptor: int, url: str, address: tuple[str, int]) -> None:
        """Remember a socket that was just opened for a URL, to be connected to an address."""
        self._drop(descriptor)  # the number was another socket's, which is closed
        host = ada_url.URL(url).host.removeprefix("www.")
        self._noted[descriptor] = _Noted(os.fstat(descriptor).st_ino, address, host, url.startswith("http:"))
        self._of_host.setdefault(host, set()).add(descriptor)

    def count(self) -> int:
        """How many sockets are still open."""
        for descriptor in tuple(self._noted):
            self._is_open(descriptor)
        return len(self._noted)

    def shut(self, host: str, is_idle: Callable[[int], bool]) -> int:
        """Shut down the idle sockets of a host: libcurl then drops such a connection. Returns how many."""
        ended = 0
        for descriptor in tuple(self._of_host.get(host.lower().removeprefix("www."), ())):
            if self._is_open(descriptor) and is_idle(descriptor):
                self._bury(descriptor, shut_down=True)
                self._drop(descriptor)
                ended += 1
        return ended

    def note_end(self, descriptor: int, ended: bool) -> None:
        """An idle connection ended, or received unrequested data, which for plain HTTP counts as its end."""
        if not self._is_open(descriptor):
            return
        if ended or self._noted[descriptor].is_plain:  # with TLS it may be a session ticket
            self._bury(descriptor)

    def _bury(self, descriptor: int, *, shut_down: bool = False) -> None:
        # A copy shares the connection, but not the descriptor, which still belongs to libcurl.
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


_REFUSE: Final[int] = pycurl.SOCKET_BAD
_FAMILIES: Final = frozenset({socket.AF_INET, socket.AF_INET6})
_ANSWER_WITHIN_S: Final = 2.0
_KEPT_S: Final = 60.0
_KEPT_MOST: Final = 10_000

_LookUp = Callable[[str], Awaitable[list[str]]]


class Dialler:
    """Opens the sockets of one transfer. `url`, `refused` and `dialled` are set for each request."""

    __slots__ = (
        "_address",
        "_allowed_networks",
        "_connections",
        "_opened",
        "dead",
        "dialled",
        "proxied",
        "refused",
        "refused_at",
        "url",
    )

    def __init__(self, allowed_networks: tuple[Network, ...], connections: Connections, *, proxied: bool) -> None:
        self._allowed_networks = allowed_networks
        self._connections = connections
        self.proxied = proxied  # by the proxy of the present request
        self.dead = connections.dead
        self._address = ("", 0)  # the address that is being dialled
        self._opened: socket.socket | None = None
        self.url = ""
        self.refused = ""  # why, if an address was refused
        self.refused_at = ""  # which
        self.dialled = False  # a new connection, not a reused one

    def attach(self, easy: pycurl.Curl) -> None:
        """Make a handle request its sockets here."""
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open_socket)
        easy.setopt(pycurl.SOCKOPTFUNCTION, self._on_socket)

    def is_dead(self, ends: Ends) -> bool:
        """Whether the idle connection between these ends is known to have ended."""
        if ends not in self.dead:
            return False
        if self.dialled:  # this is a new connection between the same ends
            del self.dead[ends]
            return False
        return True

    def _on_open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        if address.family not in _FAMILIES:
            self.refused = "only internet addresses are dialled"
            return _REFUSE
        if not self.proxied:  # behind a proxy this is the operator's own address
            verdict = decide(address.addr[0], self._allowed_networks)
            if not verdict.allowed:
                self.refused, self.refused_at = verdict.reason, address.addr[0]
                return _REFUSE
        try:
            self._opened = socket.socket(address.family, address.socktype, address.protocol)
        except OSError:
            return _REFUSE
        self._address = address.addr[:2]
        return self._opened

    def _on_socket(self, descriptor: int, _purpose: int) -> int:
        if self._opened is not None:  # pycurl has made its own copy
            self._opened.close()
            self._opened = None
        os.set_inheritable(descriptor, False)
        self.dialled = True
        self._connections.note(descriptor, self.url, self._address)
        return int(pycurl.SOCKOPT_OK)


async def look_up(host: str) -> list[str]:
    """The addresses of a name, by this machine's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_rest, address in found]


class ProxiedNames:
    """Looks up names, each at most once a minute, before they are handed to a proxy, and checks their addresses.

    A proxy looks up names itself, and we cannot see the result. So a name with a forbidden address is refused here
    first. A name that this machine cannot look up (many networks leave that to their proxy), or that has another
    address when the proxy looks it up, is sent anyway: the proxy itself must refuse private addresses.
    """

    def __init__(
        self, allowed_networks: tuple[Network, ...], look_up: _LookUp = look_up, kept_s: float = _KEPT_S
    ) -> None:
        self._allowed_networks = allowed_networks
        self._look_up = look_up
        self._kept_s = kept_s
        self._known: OrderedDict[str, tuple[float, AddressVerdict | None]] = OrderedDict()

    async def refusal(self, host: str) -> AddressVerdict | None:
        """Why a name must not be sent to the proxy; None if there is no reason."""
        known = self._known.get(host)
        if known is not None and monotonic() < known[0]:
            return known[1]
        verdict = await self._ask(host)
        self._known[host] = (monotonic() + self._kept_s, verdict)
        self._known.move_to_end(host)
        if len(self._known) > _KEPT_MOST:
            self._known.popitem(last=False)
        return verdict

    async def _ask(self, host: str) -> AddressVerdict | None:
        try:
            # Not `asyncio.timeout`: a visit takes its first step outside any task.
            addresses = await asyncio.wait_for(self._look_up(host), _ANSWER_WITHIN_S)
        except (OSError, UnicodeError, TimeoutError):
            return None
        # One forbidden address is enough: we do not choose which of them the proxy dials.
        verdicts = (decide(address, self._allowed_networks) for address in addresses)
        return next((verdict for verdict in verdicts if not verdict.allowed), None)
