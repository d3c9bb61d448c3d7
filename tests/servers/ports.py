"""Ports that stay as they are while a test uses them, whatever other tests on this machine bind or connect to."""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_reserved: list[socket.socket] = []


def closed_port(address: str = "127.0.0.1") -> int:
    """A port on which no program listens, nor can until this process ends: it is bound, and refuses connections."""
    holder = socket.socket()
    holder.bind((address, 0))
    _reserved.append(holder)
    port: int = holder.getsockname()[1]
    return port


def free_port(address: str = "127.0.0.1") -> int:
    """A port for a server that is told its port, below those that the kernel gives to connections and to port 0."""
    least_dynamic = int(_RANGE.read_text(encoding="ascii").split()[0]) if _RANGE.exists() else 32_768
    candidates = random.Random(os.urandom(8)).sample(range(10_000, max(12_000, least_dynamic)), 100)
    for port in candidates:
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise AssertionError("100 ports were tried, and none is free")
