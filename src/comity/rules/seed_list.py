"""Reading a list of seeds: one host or URL per line, or `rank,host`, the format of popular rankings.

`SiteHosts` says which hosts are crawled as one site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress
from comity.model.host import Seed
from comity.rules.canonical import canonical_host, web_address

_PORT: Final = ":"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that names nothing to crawl."""

    number: int
    reason: str


def read_seed(text: str, *, rank: int | None = None, collapse: bool = False) -> Seed:
    """Read one host or URL; only a full URL is queued as written.

    A host is visited under the name that was typed: `www.example.com` counts as `example.com`, but a site may
    answer to only one of the two.
    """
    host = canonical_host(text, collapse=collapse)
    address = web_address(text)
    if "://" in text.split("?", 1)[0]:
        return Seed(host, address.url, rank)
    is_start_page = address.path == "/" and address.origin == f"https://{host.authority}"
    return Seed(host, None if is_start_page else address.url, rank, is_scheme_guessed=not is_start_page)


def read_seed_lines(lines: Iterable[str], *, collapse: bool = False) -> Iterator[Seed | BadLine]:
    """Read a seed file; blank lines and `#` comments are skipped, a bad line is reported with its number."""
    for number, line in enumerate(lines, start=1):
        text = line.strip().lstrip("\ufeff")
        if not text or text.startswith("#"):
            continue
        rank: int | None = None
        first, *others = [part.strip() for part in text.split(",")]
        if others and _is_number(first):
            # Some rankings put a second one in front of the host.
            rank, text = int(first), next((part for part in others if not _is_number(part)), "")
        try:
            yield read_seed(text, rank=rank, collapse=collapse)
        except BadAddress as error:
            yield BadLine(number, str(error))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


class SiteHosts:
    """Named hosts, and on request all of their subdomains, on any port."""

    __slots__ = ("_bare", "_has_subdomains", "names")

    def __init__(self, names: Iterable[str], *, subdomains: bool = False) -> None:
        self.names = frozenset(names)
        self._has_subdomains = subdomains
        self._bare = frozenset(map(_without_port, self.names))

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
        name = _without_port(host)
        while "." in name:
            name = name.partition(".")[2]
            if name in self._bare:
                return True
        return False


def _without_port(host: str) -> str:
    """A canonical host without its port; the colons of an IPv6 address do not mark one."""
    at = host.rfind(_PORT)
    return host[:at] if at > host.rfind("]") else host
