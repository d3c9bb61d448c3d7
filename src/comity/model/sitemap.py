"""Nouns of a sitemap: what a site says about its own pages (sitemaps.org protocol 0.9, and feeds)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.named_tuple import fast_new


class SitemapKind(StrEnum):
    """The kind of a body."""

    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    FEED = "feed"
    NOT_A_SITEMAP = "not_a_sitemap"


class ChangeFrequency(StrEnum):
    """How often a page is said to change; a hint, never a command."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


class SitemapProblem(StrEnum):
    """Why a sitemap is incomplete: something was left out or repaired."""

    BODY_BYTES = "body_bytes"
    """Longer, when inflated, than what is read."""
    ENTRIES = "entries"
    """More entries than are taken."""
    LOC_CHARACTERS = "loc_characters"
    """An address longer than any server takes was left out."""
    TRUNCATED = "truncated"
    """The end is missing; an address that was cut is left out."""
    BAD_GZIP = "bad_gzip"
    """The compressed body is damaged; what came before the damage was read."""
    BAD_ENCODING = "bad_encoding"
    """Bytes that the declared encoding does not have; they were read as Windows-1252."""


MISSES_ENTRIES: Final[Mapping[str, str]] = {
    SitemapProblem.BODY_BYTES: "it is larger than sitemaps may be",
    SitemapProblem.ENTRIES: "it has more entries than sitemaps may have",
    SitemapProblem.TRUNCATED: "its end is missing",
    SitemapProblem.BAD_GZIP: "its compressed body is damaged",
}
"""The problems for which entries of a sitemap may not be known, in words."""


@fast_new
class SitemapEntry(NamedTuple):
    """One page, or one further sitemap; a tuple, because a file holds many. The address is as written."""

    loc: str
    lastmod: datetime | None = None
    changefreq: ChangeFrequency | None = None
    priority: float | None = None
    alternates: tuple[tuple[str, str], ...] = ()
    """Languages and addresses of its translations, as written; only where they are asked for."""


@fast_new
class PageHints(NamedTuple):
    """What a sitemap says of a page besides its address."""

    lastmod: datetime | None
    changefreq: ChangeFrequency | None
    priority: float | None


class SitemapState(StrEnum):
    """The state of a host's sitemap file."""

    PLANNED = "planned"
    READ = "read"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"


class SitemapRow(NamedTuple):
    """One sitemap file of a host, as it is stored."""

    url: str
    key: int
    depth: int
    is_guess: bool
    state: SitemapState
    status: int | None = None
    kind: SitemapKind | None = None
    entries: int = 0
    detail: str | None = None
    asked_at: float | None = None


@dataclass(frozen=True, slots=True)
class SitemapLimits:
    """How much of one file is read. The defaults are the protocol's own limits."""

    most_entries: int = 50_000
    most_bytes: int = 52_428_800
    most_loc_characters: int = 8192


@dataclass(frozen=True, slots=True)
class SitemapChunk:
    """A piece of a sitemap, in document order; it may be empty, where much was read and little found.

    Addresses are not yet resolved.
    """

    kind: SitemapKind
    entries: tuple[SitemapEntry, ...] = ()
    nested: tuple[SitemapEntry, ...] = ()
    """Further sitemaps that an index names."""
    problems: frozenset[SitemapProblem] = frozenset()


@dataclass(frozen=True, slots=True)
class SitemapBounds:
    """How many sitemaps of one host are requested: each is a request like any other."""

    most_files: int = 500
    most_depth: int = 3
    """How many indexes may stand above a sitemap; the protocol knows one."""
    most_entries: int = 1_000_000
