"""Machines in network namespaces: several hosts on one, joined by two networks, any of which can be cut.

The database, Redis and the workers are on the `inside` network; the web and the workers are on the `outside` one. So a
worker can lose the database while it still reaches every site, which is the hard case.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

INSIDE = "10.77.1."
OUTSIDE = "10.77.2."


def can_be_made() -> bool:
    """Whether this user may make network namespaces here."""
    name = f"comity-{os.getpid()}-may"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if made.returncode == 0:
        _ip("netns", "del", name)
    return made.returncode == 0


class Machine:
    """One namespace, with an address on the networks that it is joined to."""

    def __init__(self, namespace: str, number: int) -> None:
        self.namespace = namespace
        self.number = number

    @property
    def inside(self) -> str:
        """Its address on the network of the database."""
        return f"{INSIDE}{self.number}"

    @property
    def entry(self) -> tuple[str, ...]:
        """What goes before a command that is to run there."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    def cut(self, network: str) -> None:
        """Pull the plug of one network: what is sent is lost, and nobody is told."""
        _ip("-n", self.namespace, "link", "set", network, "down")

    def mend(self, network: str) -> None:
        """Plug it in again."""
        _ip("-n", self.namespace, "link", "set", network, "up")

    def add_addresses(self, network: str, addresses: Sequence[str]) -> None:
        """Give the machine more addresses."""
        for address in addresses:
            _ip("-n", self.namespace, "address", "add", f"{address}/24", "dev", network)


class Networks:
    """Two bridges in a namespace of their own, and the machines on them. Use as a context manager."""

    def __init__(self) -> None:
        self._prefix = f"comity-{os.getpid()}"
        self._switch = f"{self._prefix}-switch"
        self._namespaces: list[str] = []

    def __enter__(self) -> Self:
        self._add_namespace(self._switch)
        for bridge in ("inside", "outside"):
            _ip("-n", self._switch, "link", "add", bridge, "type", "bridge")
            _ip("-n", self._switch, "link", "set", bridge, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for namespace in reversed(self._namespaces):
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)

    def machine(self, name: str, *networks: str) -> Machine:
        """A machine on these networks."""
        number = len(self._namespaces)
        machine = Machine(f"{self._prefix}-{name}", number)
        self._add_namespace(machine.namespace)
        _ip("-n", machine.namespace, "link", "set", "lo", "up")
        for network in networks:
            plug, prefix = f"{network[:3]}{number}", INSIDE if network == "inside" else OUTSIDE
            there = ("name", network, "netns", machine.namespace)
            _ip("-n", self._switch, "link", "add", plug, "type", "veth", "peer", *there)
            _ip("-n", self._switch, "link", "set", plug, "master", network, "up")
            _ip("-n", machine.namespace, "address", "add", f"{prefix}{number}/24", "dev", network)
            _ip("-n", machine.namespace, "link", "set", network, "up")
        return machine

    def _add_namespace(self, name: str) -> None:
        _ip("netns", "add", name)
        self._namespaces.append(name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=60)
