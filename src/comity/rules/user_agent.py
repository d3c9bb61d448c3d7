"""The crawler's product token: takes a User-Agent header, returns the token that robots.txt is matched against.

Many crawlers put their name behind a browser's: `Mozilla/5.0 (compatible; AcmeBot/1.0; +https://acme.example/bot)`.
RFC 9309 §2.2.1 requires the crawler's own token, which is the one a webmaster reads in a log: `acmebot`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from comity.rules.robots.parse import product_token

_COMMENT: Final = re.compile(r"\(([^()]*)\)")
# A name with its version; an item of a comment may also be a bare name, but only after "compatible".
_PRODUCT: Final = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]*/\S+")
_NAME: Final = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]*(?:/\S+)?")
_BROWSERS: Final = frozenset(
    (
        *(
            "mozilla",
            "applewebkit",
            "webkit",
            "khtml",
            "gecko",
            "chrome",
            "chromium",
            "headlesschrome",
            "crios",
            "fxios",
        ),
        *(
            "safari",
            "firefox",
            "version",
            "mobile",
            "edge",
            "edg",
            "edga",
            "edgios",
            "opera",
            "opr",
            "presto",
            "trident",
        ),
        *("msie", "konqueror", "vivaldi", "samsungbrowser", "ucbrowser", "yabrowser", "dalvik", "ubuntu", "rv"),
    )
)


@lru_cache(maxsize=64)
def agent_token(user_agent: str) -> str:
    """The crawler's own product token in lower case; empty if the header names nothing but a browser."""
    first = product_token(user_agent)
    if first not in _BROWSERS:
        return first
    return next((token for token in map(product_token, _candidates(user_agent)) if token not in _BROWSERS), "")


def _candidates(user_agent: str) -> Iterator[str]:
    """Names that may be the crawler's, the likeliest first."""
    comments = [[item.strip() for item in comment.split(";")] for comment in _COMMENT.findall(user_agent)]
    for items in comments:
        for before, item in pairwise(items):
            if before.lower().endswith("compatible") and _NAME.fullmatch(item):
                yield item
    yield from _PRODUCT.findall(_COMMENT.sub(" ", user_agent))
    for items in comments:
        yield from filter(_PRODUCT.fullmatch, items)
