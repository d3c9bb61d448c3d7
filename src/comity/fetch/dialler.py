"""The address guard: libcurl asks it for every socket, and it opens none to a forbidden address.

It checks the address that is about to be dialled, whatever name or look-up led to it, so a name that changes its
address after a check gains nothing. Behind a proxy, names are checked before they are handed over.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final

import pycurl

from comity.fetch.connections import Connections, Ends
from comity.rules.address_guard import AddressVerdict, Network, decide

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
        self._address = ("", 0)  # that is being dialled
        self._opened: socket.socket | None = None
        self.url = ""
        self.refused = ""  # why, if an address was refused
        self.refused_at = ""  # which
        self.dialled = False  # a connection of its own, not a kept one

    def attach(self, easy: pycurl.Curl) -> None:
        """Have a handle ask us for its sockets."""
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open_socket)
        easy.setopt(pycurl.SOCKOPTFUNCTION, self._on_socket)

    def is_dead(self, ends: Ends) -> bool:
        """Whether the kept connection between these ends is known to have ended."""
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

    A proxy looks up names itself, out of our sight. So a name with a forbidden address is refused here first. A name
    that this machine cannot look up (many networks leave that to their proxy), or that leads elsewhere when the proxy
    asks, is handed over anyway: the proxy has to keep to public addresses itself.
    """

    def __init__(
        self, allowed_networks: tuple[Network, ...], look_up: _LookUp = look_up, kept_s: float = _KEPT_S
    ) -> None:
        self._allowed_networks = allowed_networks
        self._look_up = look_up
        self._kept_s = kept_s
        self._known: OrderedDict[str, tuple[float, AddressVerdict | None]] = OrderedDict()

    async def refusal(self, host: str) -> AddressVerdict | None:
        """Why a name must not be handed to the proxy; None if nothing is known against it."""
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
        # One of several is enough: which of them the proxy dials is not ours to say.
        verdicts = (decide(address, self._allowed_networks) for address in addresses)
        return next((verdict for verdict in verdicts if not verdict.allowed), None)
