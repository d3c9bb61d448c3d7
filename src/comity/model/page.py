"""A page: what was read from its HTML, its crawler directives, its stored record, and what a user's extractor found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.expression import ExtractedValues
from comity.model.named_tuple import fast_new

# The endings of files of pages, in sentences for people; `store.target.Format` has the kinds.
FILES_WRITTEN: Final = ".duckdb, .jsonl[.gz], .csv[.gz] or .warc[.gz]"
FILES_READ: Final = ".parquet, .duckdb, .jsonl or .csv"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found: any value for its user, and addresses that the crawl should also visit."""

    data: Any = None
    links: Sequence[str] = ()


class BodyCompression(StrEnum):
    """How Parquet holds bodies that came in gzip."""

    AUTO = "auto"
    """As they came while the processor is busy, and otherwise in zstd."""
    ZSTD = "zstd"
    """Compressed again: smaller files, which are read faster."""
    GZIP = "gzip"
    """As they came: less work for the crawl."""


@fast_new
class PageRecord(NamedTuple):
    """One visit's page, or the reason why there is none; `run_id`, `url_key` and `crawl_time` name the visit.

    `coded` is the body as it was received, if it was compressed: it is what waits on disk for its part.
    `headers` and `address` are for archives, and None unless requested. `columns` are what expressions and a user's
    extractor made of the page. `depth` and `data` are in no store: they are for consumers of pages in this process.
    """

    run_id: UUID
    url_key: int
    url: str
    surt_key: str
    http_status: int | None
    body: bytes | None
    encoding: str | None
    content_type: str | None
    crawl_time: float
    error: str | None
    etag: str | None
    last_modified: str | None
    content_hash: str | None
    final_url: str | None
    redirect_count: int
    title: str | None
    coded: bytes | None = None
    coding: str | None = None
    headers: tuple[tuple[str, str], ...] | None = None
    address: str | None = None
    depth: int | None = None
    data: Any = None
    columns: ExtractedValues | None = None
    text: str | None = None
    """The main content, where it was requested."""
    markdown: str | None = None
    content: tuple[bytes | None, bytes | None] | None = None
    """Both as UTF-8, once a store has encoded them."""
    is_gzip_member: bool = False
    """Whether `coded` is a single member of gzip that every reader takes, so that it can be stored as it is."""


@dataclass(frozen=True, slots=True)
class KeptDetails:
    """Which details of each page are kept in separate columns, if any."""

    links: bool = False
    """Every link with its text, its place and what became of it."""
    headers: bool = False
    """Headers, redirects, times and sizes of the answers."""
    facts: bool = False
    """What audits read from a page, and its depth."""

    def __bool__(self) -> bool:
        return self.links or self.headers or self.facts


NO_DETAILS = KeptDetails()
LINK_COLUMNS = ("links",)
ANSWER_COLUMNS = ("headers", "hops", "first_byte_ms", "elapsed_ms", "wire_bytes", "body_size")


class PageRegion(StrEnum):
    """Where on a page a link stands: the nearest sectioning element or landmark around it."""

    HEADER = "header"
    NAV = "nav"
    MAIN = "main"
    ASIDE = "aside"
    FOOTER = "footer"
    BODY = "body"


FOLLOWED = "followed"
"""What became of a link that the audit queued or had visited; other links carry the code of the reason why not."""


class PageLink(NamedTuple):
    """One link of a page, in document order; every occurrence counts."""

    url: str
    """Absolute, as it would be requested; as written where it is no web address."""
    text: str
    """The anchor text with collapsed spaces, or the alternative text of an image in it; cut at 200 characters."""
    rel: tuple[str, ...]
    region: PageRegion
    outcome: str
    """`FOLLOWED`, or why not: off_site, nofollow, blocked_by_robots, not_web (mailto: and the like), taken_down …"""


class Hop(NamedTuple):
    """One request of a visit and its answer: a redirect, or the last."""

    url: str
    status: int | None
    location: str | None
    first_byte_ms: float | None
    elapsed_ms: float


class PageLimit(StrEnum):
    """A limit that a page exceeded: what lies beyond it was left out."""

    BODY_BYTES = "body_bytes"
    ELEMENTS = "elements"
    LINKS = "links"
    HREF_CHARACTERS = "href_characters"
    META_ROBOTS = "meta_robots"


MISSES_LINKS: Final = frozenset({PageLimit.BODY_BYTES, PageLimit.ELEMENTS, PageLimit.LINKS})
"""The limits beyond which links that a server would answer may lie."""


@fast_new
class HtmlPage(NamedTuple):
    """What a crawler needs from an HTML page; addresses are as written, not yet resolved.

    Only their queries are escaped already where the page is in an older encoding: a server expects them in that one.
    """

    title: str | None
    base_href: str | None
    """What links are relative to, itself relative to the page's URL; None for the URL alone."""
    links: tuple[str, ...]
    """Links of ``a`` and ``area`` in document order, each address once."""
    nofollow: frozenset[str]
    """Those of them to which every link of the page says rel=nofollow."""
    canonical_href: str | None
    next_href: str | None
    """The next page of a series (rel=next)."""
    meta_robots: tuple[str, ...]
    """Contents of robots meta elements addressed to everyone or to the asking agent."""
    refresh_href: str | None
    """Where a meta refresh leads, when it leads elsewhere."""
    has_password_field: bool
    encoding: str
    limits: frozenset[PageLimit]
    text: str | None = None
    """The main content, where it was requested."""
    markdown: str | None = None
    images: tuple[str, ...] = ()
    """Addresses of pictures, when they were asked for."""
    frames: tuple[str, ...] = ()
    """Addresses of the pages of which a frameset is made; iframes are mostly other people's."""
    extracted: tuple[list[Any], int] | None = None
    """The values of columns, and how many could not be converted; None if none were asked for, or it took too long."""
    facts: str | None = None
    """What audits store of a page, as JSON (see `extract.html`), if wanted."""
    page_links: list[tuple[str, str, tuple[str, ...], str]] | None = None
    """Every link with its text, its rel and its region, in document order, when they were asked for."""
    alternates: tuple[str, ...] = ()
    """Translations that the page names (hreflang), when facts were asked for."""


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page and its headers ask this crawler not to do."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    noimageindex: bool = False
    unavailable_after: datetime | None = None
    evidence: tuple[str, ...] = ()
    """The header and meta texts that asked for something, as written."""

    def forbids_storing(self, now: datetime) -> bool:
        """Whether the page must not be stored at a time: noindex, or its announced end has passed."""
        return self.noindex or (self.unavailable_after is not None and now >= self.unavailable_after)
