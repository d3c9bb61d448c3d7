"""A URL waiting to be visited, how it was discovered, and why a discovered URL was not queued."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from comity.model.named_tuple import fast_new
from comity.model.sitemap import PageHints


class FoundBy(IntEnum):
    """How a URL was found first; the numbers are stored and must not change."""

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
    LINKS_OFF = "links_off"
    CANONICAL_OFF = "canonical_off"
    ROBOTS = "robots"
    TAKEDOWN = "takedown"
    TRAP = "trap"
    SITEMAP_LIMIT = "sitemap_limit"
    REDIRECT_TARGET = "redirect_target"
    LEFT_OUT = "left_out"
    """By a pattern; such URLs have their own table."""


@fast_new
class Unqueued(NamedTuple):
    """A URL that was seen and not queued; a tuple, because pages name many."""

    url: str
    key: int
    code: UnqueuedCode
    found_by: FoundBy
    found_on: int
    """The key of the page or sitemap that named it."""


class LeftOutUrl(NamedTuple):
    """A URL that patterns left out, with what queues it when other patterns are in force."""

    url: str
    key: int
    depth: int
    is_image: bool
    found_by: FoundBy
    found_on: int
    rule: str
    pattern: str
    is_of_policy: bool

    @property
    def label(self) -> str:
        """What left it out, for counts."""
        return f"{'policy ' if self.is_of_policy else ''}{self.rule} {self.pattern}"


class SiteLink(NamedTuple):
    """A link to another host of the same site."""

    host: str
    entry: FrontierEntry
    is_too_deep: bool


IMAGE_PRIORITY: Final = -1_000_000
"""An entry of this priority is an image: it is asked for when no page of its host waits, and counts as none."""
LINKED_IMAGE_PRIORITY: Final = IMAGE_PRIORITY - 1
"""In an outcome: an image to which pages link as to a page."""

GUESSED_SCHEME_PRIORITY: Final = 1_000_001
"""An entry of this priority was named without a scheme: where nothing speaks https, http is tried. It comes first."""


class HostHome(NamedTuple):
    """A URL of a host whose sitemaps are read. Where its scheme is guessed and nothing speaks https, that is final."""

    url: str
    is_scheme_guessed: bool = False


@fast_new
class FrontierEntry(NamedTuple):
    """A canonical URL of a host, with its key, how far from the seed it was found, and how much it matters."""

    url: str
    key: int
    depth: int = 0
    priority: int = 0
    hints: PageHints | None = None
    found_by: int = 0  # a `FoundBy`
    found_on: int = 0  # the key of the page or sitemap that named it


class SeenPage(NamedTuple):
    """What the last conclusive visit of a URL found: the parts of a conditional request (RFC 9110 §13.1)."""

    at: float
    is_gone: bool
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    final_url: str | None = None
    images_found: int = 0
    images_read: bool = False
    columns_key: int | None = None


@fast_new
class QueuedUrl(NamedTuple):
    """An entry that was handed out: it stays in the frontier until its outcome is settled under its key."""

    url: str
    key: int
    depth: int
    attempts: int = 0
    priority: int = 0
    seen: SeenPage | None = None
    """Known only while a host is refreshed, for pages that were visited before."""

    @property
    def is_image(self) -> bool:
        """Whether it is requested as an image."""
        return self.priority <= IMAGE_PRIORITY
