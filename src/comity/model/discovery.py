"""How a URL came to be known, and why one that was seen was not queued."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple


class FoundBy(IntEnum):
    """What named a URL first; the numbers are stored and must not change."""

    UNKNOWN = 0
    SEED = 1
    LINK = 2
    SITEMAP = 3
    REDIRECT = 4
    CANONICAL = 5
    IMAGE = 6
    SOURCE = 7
    EXTRACTOR = 8


class UnqueuedCode(StrEnum):
    """Why a URL that was seen was not queued; the values are stored and must not change."""

    OTHER_HOST = "other_host"
    NOFOLLOW_LINK = "nofollow_link"
    NOFOLLOW_PAGE = "nofollow_page"
    TOO_DEEP = "too_deep"
    LINKS_OFF = "links_off"
    CANONICAL_OFF = "canonical_off"
    ROBOTS = "robots"
    TAKEDOWN = "takedown"
    TRAP = "trap"
    SITEMAP_LIMIT = "sitemap_limit"
    REDIRECT_TARGET = "redirect_target"


class Unqueued(NamedTuple):
    """A URL that was seen and not queued; a tuple, because pages name many."""

    url: str
    key: int
    code: UnqueuedCode
    found_by: FoundBy
    found_on: int
    """The key of the page or sitemap that named it."""
