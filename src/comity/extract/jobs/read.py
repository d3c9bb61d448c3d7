"""Reading one body of a source: takes bytes, returns a `Listing` with its jobs, or the reason why there are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from comity.extract.decode import MAX_BODY_BYTES, byte_order_mark, decode_body, parse_html
from comity.extract.jobs.addresses import posting_key, same_page
from comity.extract.jobs.feeds import FeedRead, is_feed, no_jobs_because, read_feed, read_xml
from comity.extract.jobs.json_api.answer import CALLBACK, read_json, with_unusable
from comity.extract.jobs.page.listing import read_page
from comity.extract.jobs.page.paging import is_onward
from comity.extract.jobs.words.pages import ERROR_TITLE
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind, SourceType
from comity.model.parser_hint import ParserHint
from comity.rules.jobs.identity import joined
from comity.rules.jobs.words import alike

MOST_JOBS: Final = 5_000
_BY_LOOKS: Final = frozenset({ExtractionMethod.TABLE, ExtractionMethod.LIST, ExtractionMethod.CARDS})


_FEED_ROOT: Final = re.compile(r"<(?:\?xml|rss|feed|rdf:RDF|workzag-jobs|source|jobs|channel)\b", re.IGNORECASE)
# The root of a feed, behind declarations and comments; servers call feeds text/html as well.
_FEED_FIRST: Final = re.compile(
    r"(?:\s++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!DOCTYPE(?!\s+html)[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
    r"<(?:[A-Za-z][\w.-]*+:)?(?:rss|feed|rdf|workzag-jobs)(?=[\s>/])",
    re.IGNORECASE,
)
_HTML_ROOT: Final = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


class BodyKind(Enum):
    """What a body is written in."""

    JSON = "json"
    XML = "xml"
    HTML = "html"
    UNREADABLE = "unreadable"


def read_listing(
    body: bytes, *, url: str, content_type: str | None, source_type: SourceType, hint: ParserHint | None = None
) -> Listing:
    """Read the jobs of one page, feed or answer; the body decides what it is, the source's type only in doubt."""
    kind = body_kind(body, content_type)
    if kind is BodyKind.UNREADABLE:
        return Listing(
            ListingKind.UNREADABLE, message="neither a page, nor a feed, nor JSON" if body else "the body is empty"
        )
    if kind is BodyKind.JSON:
        listing = read_json(decode_body(body, content_type), url, hint)
    elif kind is BodyKind.XML:
        listing = _read_xml(body, url, content_type, source_type, hint)
    else:
        listing = read_page(parse_html(body[:MAX_BODY_BYTES], content_type), body=body, url=url, hint=hint)
    return _tidied(listing, url, is_page=kind is BodyKind.HTML)


def body_kind(body: bytes, content_type: str | None) -> BodyKind:
    """The type of a body, by its beginning; the header decides only if the body does not."""
    start = body[:4096]
    if (marked := byte_order_mark(start)) is not None:
        text = start[marked[1] :].decode(marked[0], "replace")
    else:
        if start[:5] in (b"%PDF-", b"PK\x03\x04\x14") or start[:2] == b"\x1f\x8b" or start[:4] == b"\x89PNG":
            return BodyKind.UNREADABLE
        text = start.replace(b"\x00", b"").decode("utf-8", "replace")
    text = text.lstrip("\ufeff \t\r\n\f\v")
    header = (content_type or "").lower()
    if not text:
        return BodyKind.UNREADABLE
    if _FEED_FIRST.match(text):
        return BodyKind.XML
    if text[0] in "[{" or text.startswith((")]}'", "while(1)", "for(;;)")) or CALLBACK.match(text):
        return BodyKind.JSON
    if "html" in header and not text.startswith("<?xml"):
        return BodyKind.HTML
    if _HTML_ROOT.search(text[:1024]):
        return BodyKind.HTML
    if _FEED_ROOT.search(text[:2048]) or "xml" in header:
        return BodyKind.XML
    return BodyKind.JSON if "json" in header and text[0] in '"-0123456789tfn' else BodyKind.HTML


def _read_xml(
    body: bytes, url: str, content_type: str | None, source_type: SourceType, hint: ParserHint | None
) -> Listing:
    text = decode_body(body, content_type)
    root = read_xml(text)
    if root.name == "html" or (not is_feed(root) and source_type is SourceType.HTML):
        return read_page(parse_html(body[:MAX_BODY_BYTES], content_type), body=body, url=url, hint=hint)
    feed = read_feed(root, url=url)
    if not (feed.jobs or is_feed(root)):
        return Listing(ListingKind.UNREADABLE, message="not a readable feed")
    return _listed(feed, url)


def _listed(feed: FeedRead, url: str) -> Listing:
    if other := no_jobs_because(feed.jobs, title=feed.title, url=url, recordings=feed.recordings):
        return Listing(ListingKind.NOTHING_FOUND, message=other)
    if feed.jobs:
        listing = with_unusable(feed.jobs, feed.items, feed.next_url, f"<{feed.item_name}> elements")
        return listing if feed.is_whole else replace(listing, message="the feed is truncated", is_cut=True)
    if not feed.is_whole:
        return Listing(ListingKind.UNREADABLE, message="the feed is truncated")
    if feed.items:
        message = f"the feed contains {feed.items} × <{feed.item_name}>, none with a known title"
        return Listing(ListingKind.LAYOUT_CHANGED, message=message)
    if ERROR_TITLE.search(feed.title):
        return Listing(ListingKind.ERROR_PAGE, message=feed.title)
    return Listing(ListingKind.NO_OPENINGS, message="the feed contains no items")


def _tidied(listing: Listing, url: str, *, is_page: bool) -> Listing:
    """Each posting once, up to a limit, and a next page that leads on."""
    following = listing.next_url
    if following is not None and not (is_onward(following, url) or listing.is_elsewhere):
        following = None
    jobs = distinct(listing.jobs, url, is_page=is_page)
    if len(jobs) > MOST_JOBS:
        listing = replace(listing, is_cut=True, message=f"more than {MOST_JOBS:,} jobs on one page")
    return replace(listing, jobs=tuple(jobs[:MOST_JOBS]), next_url=following)


def distinct(jobs: Sequence[JobFound], url: str, *, is_page: bool = True) -> list[JobFound]:
    """Each posting once, in all its places; of what is listed twice, the fuller stays."""
    places: dict[tuple[str, ...], int] = {}
    kept: list[JobFound] = []
    for found in jobs:
        place = places.setdefault(_identity(found, url, is_page=is_page), len(kept))
        if place == len(kept):
            kept.append(found)
            continue
        before = kept[place]
        fuller, other = (found, before) if _fullness(found) > _fullness(before) else (before, found)
        kept[place] = joined(fuller, other) if alike(found.title) == alike(before.title) else fuller
    return kept


def _identity(found: JobFound, url: str, *, is_page: bool) -> tuple[str, ...]:
    """What identifies a posting on its page: never its title and reference alone, which offices share."""
    if same_page(found.apply_url, url) and "#" not in found.apply_url:
        # Jobs without an address of their own have the page's, and only their texts distinguish them.
        return "words", alike(found.title), found.location_raw, found.reference
    if is_page and found.found_by in _BY_LOOKS:
        return "link", posting_key(found.apply_url), alike(found.title)  # one document may hold two calls
    return "item", posting_key(found.apply_url), alike(found.title), found.reference


def _fullness(found: JobFound) -> int:
    return sum(
        map(bool, (found.location_raw, found.deadline_raw, found.employment_raw, found.org_name, found.reference))
    )
