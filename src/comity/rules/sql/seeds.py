"""What the query of a CRAWL statement names: a page, a sitemap, or a whole site."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from comity.model.errors import BadAddress
from comity.rules.canonical import WebAddress, web_address

_SITEMAP: Final = re.compile(r"\.xml(?:\.gz)?$|sitemap[^/]*\.(?:txt|gz|rss|atom)$", re.IGNORECASE)
_NO_HOST: Final = re.compile(r"(?:(?!localhost(?:/|$))[^.:/]+|[^:/]+\.)(?:/.*)?", re.IGNORECASE | re.DOTALL)


class SeedKind(StrEnum):
    """How a URL is crawled."""

    PAGE = "page"  # this page, and with follow_links what it links to
    SITEMAP = "sitemap"  # the pages that this file names
    SITE = "site"  # the pages that the sitemaps of its host name, and its start page


class QuerySeed(NamedTuple):
    """A URL of the query; without its own scheme, https is tried first."""

    kind: SeedKind
    address: WebAddress
    names_scheme: bool


def read_query_seed(text: str, *, collapse: bool = False) -> QuerySeed:
    """Read one value of the query; raise `BadAddress` if it is not a URL.

    A host without a scheme has a dot or a port, or is `localhost`: other words and numbers of a query are not hosts,
    and neither is what ends with a dot, as sentences do.
    """
    if _NO_HOST.fullmatch(text.strip()) is not None:
        raise BadAddress(text, "it is neither a URL nor the name of a host")
    address = web_address(text.strip(), collapse=collapse)
    path, _, query = address.url.partition("://")[2].partition("/")[2].partition("?")
    if not path and not query:
        kind = SeedKind.SITE
    elif _SITEMAP.search(path):
        kind = SeedKind.SITEMAP
    else:
        kind = SeedKind.PAGE
    return QuerySeed(kind, address, "://" in text)
