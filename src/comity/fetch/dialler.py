"""The guard at the door: libcurl asks it for every socket, and it opens none to a forbidden address.

The address in hand is the one about to be dialled, whatever name, spelling or look-up led to it, so a name that was
public a moment ago gains nothing by changing.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final

import pycurl

from comity.fetch.connections import Connections
from comity.rules.address_guard import Network, decide

_REFUSE: Final[int] = pycurl.SOCKET_BAD
_FAMILIES: Final = frozenset({socket.AF_INET, socket.AF_INET6})


class Dialler:
    """Opens the sockets of one transfer. `url`, `refused` and `dialled` are set anew for each request."""

    __slots__ = (
        "_allowed_networks",
        "_connections",
        "_opened",
        "_proxied",
        "dead_ports",
        "dialled",
        "refused",
        "refused_at",
        "url",
    )

    def __init__(self, allowed_networks: tuple[Network, ...], connections: Connections, *, proxied: bool) -> None:
        self._allowed_networks = allowed_networks
        self._connections = connections
        self._proxied = proxied
        self.dead_ports = connections.dead_ports
        self._opened: socket.socket | None = None
        self.url = ""
        self.refused = ""  # why, if an address was refused
        self.refused_at = ""  # which
        self.dialled = False  # a connection of its own, not a kept one

    def attach(self, easy: pycurl.Curl) -> None:
        """Have a handle ask us for its sockets."""
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open_socket)
        easy.setopt(pycurl.SOCKOPTFUNCTION, self._on_socket)

    def is_dead(self, local_port: int) -> bool:
        """Whether the kept connection from this port is known to have ended."""
        if local_port not in self.dead_ports:
            return False
        if self.dialled:  # the number has been given to a new connection
            self.dead_ports.discard(local_port)
            return False
        return True

    def _on_open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        if address.family not in _FAMILIES:
            self.refused = "only internet addresses are dialled"
            return _REFUSE
        if not self._proxied:  # behind a proxy this is the operator's own address
            verdict = decide(address.addr[0], self._allowed_networks)
            if not verdict.allowed:
                self.refused, self.refused_at = verdict.reason, address.addr[0]
                return _REFUSE
        try:
            self._opened = socket.socket(address.family, address.socktype, address.protocol)
        except OSError:
            return _REFUSE
        return self._opened

    def _on_socket(self, descriptor: int, _purpose: int) -> int:
        if self._opened is not None:  # pycurl has made its own copy
            self._opened.close()
            self._opened = None
        os.set_inheritable(descriptor, False)
        self.dialled = True
        self._connections.note(descriptor, self.url)
        return int(pycurl.SOCKOPT_OK)
