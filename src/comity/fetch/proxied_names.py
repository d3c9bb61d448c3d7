"""Where names lead, as far as this machine can tell, before they are handed to a proxy.

A proxy looks names up itself, out of our sight. So they are looked up here first: a name with an address that must not
be dialled is refused. A name that this machine cannot look up (many networks leave that to their proxy), or that leads
elsewhere when the proxy asks, is handed over all the same: the proxy has to keep to public addresses itself.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

from comity.rules.address_guard import AddressVerdict, Network, decide

_ANSWER_WITHIN_S: Final = 2.0
_KEPT_S: Final = 60.0
_KEPT_MOST: Final = 10_000

LookUp = Callable[[str], Awaitable[list[str]]]


async def look_up(host: str) -> list[str]:
    """The addresses of a name, by this machine's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_rest, address in found]


class ProxiedNames:
    """Looks names up, each once a minute, and judges what they lead to."""

    def __init__(self, allowed_networks: tuple[Network, ...], look_up: LookUp = look_up) -> None:
        self._allowed_networks = allowed_networks
        self._look_up = look_up
        self._known: OrderedDict[str, tuple[float, AddressVerdict | None]] = OrderedDict()

    async def refusal(self, host: str) -> AddressVerdict | None:
        """Why a name must not be handed to the proxy; None if nothing is known against it."""
        known = self._known.get(host)
        if known is not None and monotonic() < known[0]:
            return known[1]
        verdict = await self._ask(host)
        self._known[host] = (monotonic() + _KEPT_S, verdict)
        self._known.move_to_end(host)
        if len(self._known) > _KEPT_MOST:
            self._known.popitem(last=False)
        return verdict

    async def _ask(self, host: str) -> AddressVerdict | None:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                addresses = await self._look_up(host)
        except (OSError, UnicodeError, TimeoutError):
            return None
        # One of several is enough: which of them the proxy dials is not ours to say.
        verdicts = (decide(address, self._allowed_networks) for address in addresses)
        return next((verdict for verdict in verdicts if not verdict.allowed), None)
