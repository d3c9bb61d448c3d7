"""Reading a list of seeds: one host or URL a line, or `rank,host` as the popular rankings are published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from comity.model.errors import BadAddress
from comity.model.host import Seed
from comity.rules.canonical import canonical_host, web_address

_WRITTEN_OUT: Final = re.compile(r"[/?#\\\\]")  # anything beyond a host and its port


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that names nothing that could be crawled."""

    number: int
    reason: str


def read_seed(text: str, *, rank: int | None = None, collapse: bool = False) -> Seed:
    """Read one host or URL; only a URL that somebody wrote out is queued as it stands."""
    host = canonical_host(text, collapse=collapse)
    if not _WRITTEN_OUT.search(text):
        return Seed(host, None, rank)
    address = web_address(text)
    return Seed(host, address.url if "://" in text or address.path != "/" else None, rank)


def read_seed_lines(lines: Iterable[str], *, collapse: bool = False) -> Iterator[Seed | BadLine]:
    """Read a seed file; blank lines and `#` comments are passed over, a bad line is told by its number."""
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
