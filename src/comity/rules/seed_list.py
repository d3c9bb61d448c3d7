"""Reading a list of seeds: one host or URL a line, or `rank,host` as the popular rankings are published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comity.model.errors import BadAddress
from comity.model.host import Seed
from comity.rules.canonical import WebAddress, canonical_host, web_address


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that names nothing that could be crawled."""

    number: int
    reason: str


def read_seed(text: str, *, rank: int | None = None, collapse: bool = False) -> Seed:
    """Read one host or URL; only a URL that somebody wrote out is queued as it stands."""
    host = canonical_host(text, collapse=collapse)
    return Seed(host, _written_url(text, web_address(text)), rank)


def read_seed_lines(lines: Iterable[str], *, collapse: bool = False) -> Iterator[Seed | BadLine]:
    """Read a seed file; blank lines and `#` comments are passed over, a bad line is told by its number."""
    for number, line in enumerate(lines, start=1):
        text = line.strip().lstrip("\ufeff")
        if not text or text.startswith("#"):
            continue
        rank: int | None = None
        first, comma, rest = text.partition(",")
        if comma and first.strip().isascii() and first.strip().isdigit() and len(first.strip()) < 10:
            rank, text = int(first), rest.partition(",")[0].strip()
        try:
            yield read_seed(text, rank=rank, collapse=collapse)
        except BadAddress as error:
            yield BadLine(number, str(error))


def _written_url(text: str, address: WebAddress) -> str | None:
    return address.url if "://" in text or address.path != "/" else None
