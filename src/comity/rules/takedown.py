"""Takedowns: what must never be fetched, queued or served, through any front door.

An entry is a host, which also covers its sub-domains, or a URL, which covers everything below it. When in doubt, an
entry covers more rather than less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache

from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress
from comity.rules.canonical import WebAddress, canonical_host, host_in_url, web_address
from comity.rules.robots.verdict import normalized_target


@dataclass(frozen=True, slots=True)
class TakedownEntry:
    """One entry in canonical form; `path` is None if it covers the whole host."""

    text: str
    host: str
    path: str | None


@lru_cache(maxsize=4096)  # every explanation of a URL reads them all
def read_entry(text: str) -> TakedownEntry:
    """Parse a host or URL that must not be crawled; raise `BadAddress` if it is neither."""
    address = web_address(text)
    path, _, query = address.path.partition("?")
    path += f"?{query}" if query else ""  # an empty query narrows nothing
    shown = host_in_url(address.host)  # as it is read again
    if path == "/":
        return TakedownEntry(shown, address.host, None)
    return TakedownEntry(f"{shown}{path}", address.host, path)


@dataclass(frozen=True, slots=True)
class Takedowns:
    """All entries, ready to be asked about millions of URLs."""

    hosts: dict[str, str] = field(default_factory=dict)
    paths: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Takedowns:
        """Build from stored entries; one that is no host or URL covers nothing."""
        result = cls()
        for text in texts:
            try:
                entry = read_entry(text)
            except BadAddress:
                continue
            if entry.path is None:
                result.hosts[entry.host] = text
            else:
                result.paths.setdefault(entry.host, []).append((normalized_target(entry.path), text))
        return result

    def covering_host(self, host: str) -> str | None:
        """The entry that takes down a whole host, if there is one."""
        if not self.hosts:
            return None
        if host in self.hosts:
            return self.hosts[host]
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        while name:
            if name in self.hosts:
                return self.hosts[name]
            name = name.partition(".")[2]
        return None

    def covering(self, address: WebAddress) -> str | None:
        """The entry that takes down a URL, if there is one."""
        if not self.hosts and not self.paths:
            return None
        host = _host_of_origin(address.origin)
        entry = self.covering_host(host)
        if entry is not None or host not in self.paths:
            return entry
        target = normalized_target(address.path)
        return next((text for path, text in self.paths[host] if _is_below(target, path)), None)


@lru_cache(maxsize=8192)
def _host_of_origin(origin: str) -> str:
    """The host that a URL itself names, even if sub-domains are folded into one host."""
    return canonical_host(origin).authority


def _is_below(path: str, prefix: str) -> bool:
    """Whether a path is the prefix or lies under it, by whole segments: `/a` covers `/a/b`, not `/ab`."""
    if not path.startswith(prefix):
        return False
    rest = path[len(prefix) :]
    return not rest or prefix[-1] in "/?&" or rest[0] in ("&" if "?" in prefix else "/?")
