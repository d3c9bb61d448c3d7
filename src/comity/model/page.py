"""Nouns of a page: what was read from its HTML, and what it asks crawlers to refrain from."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class PageLimit(StrEnum):
    """A bound that a page ran into: something behind it was left out."""

    BODY_BYTES = "body_bytes"
    ELEMENTS = "elements"
    LINKS = "links"
    HREF_CHARACTERS = "href_characters"
    META_ROBOTS = "meta_robots"


class HtmlPage(NamedTuple):
    """What a crawler wants to know of an HTML page; addresses are as written, not yet resolved.

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
    """Visible text, when it was asked for."""
    images: tuple[str, ...] = ()
    """Addresses of pictures, when they were asked for."""
    frames: tuple[str, ...] = ()
    """Addresses of the pages of which a frameset is made; iframes are mostly other people's."""


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page and its headers ask this crawler to refrain from."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    noimageindex: bool = False
    unavailable_after: datetime | None = None
    evidence: tuple[str, ...] = ()
    """The header and meta texts that asked for something, as written."""

    def forbids_keeping(self, now: datetime) -> bool:
        """Tell whether the page must not be kept at a moment: noindex, or its announced end has passed."""
        return self.noindex or (self.unavailable_after is not None and now >= self.unavailable_after)
