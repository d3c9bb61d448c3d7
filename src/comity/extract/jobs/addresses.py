"""Addresses on a page: takes an href and its base, returns an absolute web address, or nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import ada_url

MAX_ADDRESS: Final = 4096
_BLANKS: Final = "".join(map(chr, range(0x21)))
_TRACKING: Final = re.compile(
    r"^(?:utm_\w+|gclid|fbclid|mc_[ce]id|source|src|gh_src|lever-source\W*|trk|_ga|jobboardsource|from)="
    r"|^ref=\D*$",  # "ref=home" is where the visitor came from, "ref=VA/2026/101" is the posting
    re.IGNORECASE,
)


def resolve(href: str, base: str) -> str:
    """Make an address absolute; empty for what no browser would open as a page."""
    href = href.strip(_BLANKS)
    if not href or len(href) > MAX_ADDRESS:
        return ""
    try:
        url = ada_url.join_url(base, href)
    except (ValueError, UnicodeError):
        return ""
    return url if url.startswith(("http://", "https://")) and len(url) <= MAX_ADDRESS else ""


def without_fragment(url: str) -> str:
    """The address without what is never sent."""
    return url.partition("#")[0]


def same_page(url: str, other: str) -> bool:
    """Whether two addresses differ in nothing but a fragment or a last slash."""
    return without_fragment(url).rstrip("/") == without_fragment(other).rstrip("/")


@lru_cache(maxsize=256)
def host_of(url: str) -> str:
    """The host of an address, without www."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def path_of(url: str) -> str:
    """The path of an address, lower case."""
    try:
        return urlsplit(url).path.lower()
    except ValueError:
        return ""


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address."""
    try:
        return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=200))
    except ValueError:
        return {}


def with_query(url: str, **changes: str) -> str:
    """The address with some parameters set."""
    parts = urlsplit(without_fragment(url))
    return urlunsplit(parts._replace(query=urlencode(query_of(url) | changes)))


def posting_key(url: str) -> str:
    """The identity of a posting: its address without the parameters that only say where a reader came from."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    kept = [pair for pair in parts.query.split("&") if pair and not _TRACKING.match(pair)]
    return f"{parts.netloc.removeprefix('www.')}{parts.path.rstrip('/')}?{'&'.join(kept)}#{parts.fragment}"


_NESTED: Final = re.compile(
    r"[?&][^=&#]{1,40}=(?:https?(?::|%3a)|%2f%2f|//|[^&#]{0,200}https?(?::|%3a)(?://|%2f%2f))", re.IGNORECASE
)
_SOCIAL: Final = re.compile(
    r"(?:^|\.)(?:facebook\.com|fb\.com|twitter\.com|x\.com|linkedin\.com|lnkd\.in|t\.me|telegram\.me|wa\.me|"
    r"whatsapp\.com|pinterest\.\w+|reddit\.com|instagram\.com|youtube\.com|youtu\.be|vk\.com|ok\.ru|xing\.com|addtoany\.com|"
    r"addthis\.com|sharethis\.com|line\.me|weibo\.com|tumblr\.com|getpocket\.com|threads\.net|bsky\.app|tiktok\.com|"
    r"viber\.com|flipboard\.com|plus\.google\.com|snapchat\.com|kakao\.com|messenger\.com)$",
    re.IGNORECASE,
)


def leads_away(url: str) -> bool:
    """Whether an address is for sharing or following: that of a social site, or one that is handed another address."""
    host = host_of(url)
    if _SOCIAL.search(host):
        return not ("linkedin.com" in host and "/jobs/view/" in url)
    return _NESTED.search(url) is not None


def own_query(url: str) -> str:
    """The query of an address without parameters that hold another address."""
    query = url.partition("#")[0].partition("?")[2]
    return "&".join(pair for pair in query.split("&") if not _NESTED.match(f"?{pair}"))
