"""Where metrics are served: an address and a port, as an operator writes them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_WRITTEN: Final = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):)?(?P<port>[0-9]{1,5})")
_LOOPBACK: Final = "127.0.0.1"


class Address(NamedTuple):
    """Where to listen; port 0 takes one that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """`127.0.0.1:9100`, `[::1]:9100`, or a port alone, which is this machine's own; else `ValueError`."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or int(found["port"]) > 65_535:
        raise ValueError(f"{text!r} is not an address and a port such as 127.0.0.1:9100")
    return Address((found["host"] or _LOOPBACK).strip("[]"), int(found["port"]))
