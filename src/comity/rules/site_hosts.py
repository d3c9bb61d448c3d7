"""Which hosts are crawled as one site."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PORT: Final = ":"


class SiteHosts:
    """Named hosts, and on request all of their subdomains, on any port."""

    __slots__ = ("_bare", "_has_subdomains", "names")

    def __init__(self, names: Iterable[str], *, subdomains: bool = False) -> None:
        self.names = frozenset(names)
        self._has_subdomains = subdomains
        self._bare = frozenset(map(without_port, self.names))

    @property
    def has_subdomains(self) -> bool:
        """Whether subdomains of the named hosts belong to the site."""
        return self._has_subdomains

    def includes(self, host: str) -> bool:
        """Whether a canonical host belongs to the site."""
        if host in self.names:
            return True
        if not self._has_subdomains:
            return False
        name = without_port(host)
        while "." in name:
            name = name.partition(".")[2]
            if name in self._bare:
                return True
        return False


def without_port(host: str) -> str:
    """A canonical host without its port; the colons of an IPv6 address are none."""
    at = host.rfind(_PORT)
    return host[:at] if at > host.rfind("]") else host
