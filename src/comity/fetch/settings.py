"""The fetcher's settings, built once by `assemble`."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import Final
from urllib.parse import urlsplit

from comity.fetch.inflate import ACCEPT_ENCODING
from comity.model.dataclass import dataclass

WANTED_CONNECTIONS: Final = 8192
"""The most that are kept open: a new TLS connection costs more CPU than all other work on a page."""
_FILES_FOR_OTHERS: Final = 256  # databases, parts, child processes
_MOST_FILES: Final = 65_536
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


def raise_connection_limit(wanted: int) -> int:
    """Raise this process's limit of open files as far as possible; returns how many connections fit into it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    free = _MOST_FILES if soft == resource.RLIM_INFINITY else soft - _FILES_FOR_OTHERS
    return max(1, min(wanted, free))


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """An operator's proxy. Its own address is trusted; `url` is scheme, host and port only."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in PROXY_SCHEMES or not parts.hostname:
            raise ValueError(f"a proxy must be scheme://host:port with one of {', '.join(PROXY_SCHEMES)}")
        if parts.username or parts.password:
            raise ValueError("set the proxy's user and password in their own settings")


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Identity, trust and bounds of the fetcher as a whole; limits of one request travel with the request.

    `max_concurrency` should be no less than what the walk has in flight: a request that waits here for a free handle
    starts later than the gate granted.
    """

    user_agent: str
    contact: str | None = None  # the From field (RFC 9110 §10.1.2)
    accept: str = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"
    accept_language: str | None = None
    max_concurrency: int = 64
    max_connections: int = 512
    max_connections_per_host: int = 6
    idle_connection_s: int = 120
    dns_cache_s: int = 60
    http2: bool = True
    allowed_networks: tuple[str, ...] = ()
    proxy: ProxySettings | None = None
    ca_file: str | None = None
    max_error_body_bytes: int = 262_144  # outside 2xx only the status matters
    compress: bool = True
    keep_alive: bool = True
    timer_tick_s: float = 0.05  # the precision of timeouts
    resolve: Mapping[str, str] = field(default_factory=dict)  # host → addresses, instead of DNS

    def __post_init__(self) -> None:
        for name in ("user_agent", "contact", "accept", "accept_language"):
            value = getattr(self, name)
            if value is not None and not value.isprintable():
                raise ValueError(f"{name} contains a character that cannot be sent")
        if not self.user_agent.strip():
            raise ValueError("user_agent is empty: a polite crawler identifies itself")
        if self.max_concurrency < 1 or self.max_connections < self.max_concurrency:
            raise ValueError("max_concurrency must be at least 1, and max_connections at least as large")

    def default_headers(self) -> tuple[tuple[str, str], ...]:
        """The fields sent with every request."""
        pairs: list[tuple[str, str]] = [("User-Agent", self.user_agent)]
        if self.contact:
            pairs.append(("From", self.contact))
        pairs.append(("Accept", self.accept))
        if self.accept_language:
            pairs.append(("Accept-Language", self.accept_language))
        pairs.append(("Accept-Encoding", ACCEPT_ENCODING if self.compress else "identity"))
        return tuple(pairs)
