"""Pages of a series: a list that is split over several addresses, which share a title and are in no sitemap."""

from __future__ import annotations

import re
from typing import Final

# As shops, blogs and forums write them. "p" is left out: WordPress names posts by it.
_NUMBER: Final = re.compile(
    r"(?<=[?&])(page|paged|pg|page_?no|page_?num(?:ber)?|pagina|seite|offset|start)=([0-9]{1,9})(?=&|$)"
    r"|/(?:page|pagina|seite)[/-]([0-9]{1,9})(?=[/?]|$)",
    re.IGNORECASE,
)


def series_of(url: str) -> str:
    """The address that all pages of a series share; other addresses are a series of their own."""
    return _NUMBER.sub("", url.partition("#")[0]).replace("?&", "?").rstrip("?&/")


def is_later_page(url: str) -> bool:
    """Whether an address is the second page of a series or a later one."""
    found = _NUMBER.search(url)
    if found is None:
        return False
    first = 0 if (found[1] or "").lower() in ("offset", "start") else 1
    return int(found[2] or found[3]) > first
