"""The kind of a document in markup, by its first element, whatever precedes it."""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from comity.model.sitemap import SitemapKind

_PREAMBLE_BYTES: Final = 1 << 16
_ROOT: Final = re.compile(rb"<([A-Za-z_][\w.-]*+:)?(urlset|sitemapindex|url|sitemap|rss|feed|rdf)(?=[\s/>])", re.I)
_MISPLACED_ROOT: Final = re.compile(rb"<([A-Za-z_][\w.-]*+:)?(urlset|sitemapindex)(?=[\s/>])", re.I)
_INTERNAL_SUBSET: Final = re.compile(rb"[^<>\[]*+\[")
_END_OF_SUBSET: Final = re.compile(rb"\]\s*+>")


class SitemapField(IntEnum):
    """What an element means."""

    NONE = 0
    PAGE = 1
    NESTED = 2
    LOC = 3
    LASTMOD = 4
    CHANGEFREQ = 5
    PRIORITY = 6
    LINK = 7
    GUID = 8
    PUBLISHED = 9


_SITEMAP_FIELDS: Final = {
    b"url": SitemapField.PAGE,
    b"sitemap": SitemapField.NESTED,
    b"loc": SitemapField.LOC,
    b"lastmod": SitemapField.LASTMOD,
    b"changefreq": SitemapField.CHANGEFREQ,
    b"priority": SitemapField.PRIORITY,
}
_RSS_FIELDS: Final = {
    b"item": SitemapField.PAGE,
    b"link": SitemapField.LOC,
    b"guid": SitemapField.GUID,
    b"pubdate": SitemapField.LASTMOD,
    b"dc:date": SitemapField.LASTMOD,
}
_ATOM_FIELDS: Final = {
    b"entry": SitemapField.PAGE,
    b"link": SitemapField.LINK,
    b"updated": SitemapField.LASTMOD,
    b"modified": SitemapField.LASTMOD,
    b"published": SitemapField.PUBLISHED,
}
_KINDS: Final = {
    b"urlset": (SitemapKind.URLSET, _SITEMAP_FIELDS),
    b"url": (SitemapKind.URLSET, _SITEMAP_FIELDS),
    b"sitemapindex": (SitemapKind.INDEX, _SITEMAP_FIELDS),
    b"sitemap": (SitemapKind.INDEX, _SITEMAP_FIELDS),
    b"rss": (SitemapKind.FEED, _RSS_FIELDS),
    b"rdf": (SitemapKind.FEED, _RSS_FIELDS),
    b"feed": (SitemapKind.FEED, _ATOM_FIELDS),
}


@dataclass(frozen=True, slots=True)
class Recognised:
    """What the first element says that a document is."""

    kind: SitemapKind
    fields: dict[bytes, SitemapField]
    root: bytes
    start: int


def recognise(data: bytes) -> Recognised | None:
    """Find the root of a sitemap or feed; None if this is something else."""
    start = _after_preamble(data)
    found = _ROOT.match(data, start)
    if found is None:
        # Warnings of a script, or an error page, may stand before it.
        found = _MISPLACED_ROOT.search(data, 0, _PREAMBLE_BYTES)
    if found is None:
        return None
    prefix, local = (found[1] or b"").lower(), found[2].lower()
    kind, known = _KINDS[local]
    fields = dict(known)
    if prefix:
        fields |= {prefix + name: field for name, field in known.items()}
    is_whole = local not in (b"url", b"sitemap")
    return Recognised(kind, fields, prefix + local if is_whole else b"", found.end() if is_whole else found.start())


def _after_preamble(data: bytes) -> int:
    """Where the first element begins, behind blanks, declarations and comments."""
    position = data.find(b"<")
    while position >= 0:
        if data[position + 1 : position + 2] not in (b"!", b"?"):
            return position
        after = end_of_special(data, position, special_end(data, position))
        if after < 0:
            return 0
        position = data.find(b"<", after)
    return 0


def special_end(data: bytes, start: int) -> bytes:
    """What ends the comment, CDATA section, instruction or declaration that begins here."""
    if data.startswith(b"<!--", start):
        return b"-->"
    if data.startswith(b"<![CDATA[", start):
        return b"]]>"
    if data.startswith(b"<?", start):
        return b"?>"
    # Entities are declared between brackets. They are passed over, and so are never expanded.
    return b"]>" if _INTERNAL_SUBSET.match(data, start + 2) else b">"


def end_of_special(data: bytes, start: int, mark: bytes) -> int:
    """Where such a piece is over; -1 if its end does not come."""
    if mark == b"]>":
        end = _END_OF_SUBSET.search(data, start)
        return end.end() if end else -1
    found = data.find(mark, start + (4 if mark == b"-->" else 2))
    return -1 if found < 0 else found + len(mark)
