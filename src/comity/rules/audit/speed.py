"""Speed and structure: slow, large and deep pages, compression and caching."""

from __future__ import annotations

from typing import Final

from comity.model.audit import AuditedPage, FindingCode
from comity.model.fetch import FailureKind
from comity.rules.audit.site_rows import Found

# web.dev, "Time to First Byte": more than 1.8 s is poor.
SLOW_FIRST_BYTE_MS: Final = 1_800
# web.dev, "Largest Contentful Paint": more than 4 s is poor, and the HTML is only its beginning.
SLOW_TOTAL_MS: Final = 4_000
# Bing Webmaster Tools warn of HTML over 125 KB; twice that is beyond what a well-built page needs.
LARGE_BODY_BYTES: Final = 250_000
# The "three clicks" that guides to site structure recommend.
DEEPEST: Final = 3
# Lighthouse ignores answers that would save less than 1,400 bytes, which fit into one packet.
SMALL_BODY_BYTES: Final = 1_400

_TOO_LARGE: Final = frozenset({FailureKind.TOO_LARGE, FailureKind.DECOMPRESSION_BOMB})
_CACHE_FIELDS: Final = frozenset({"cache-control", "expires", "etag", "last-modified"})
_UNCOMPRESSED: Final = frozenset({"", "identity"})


def judge_unread(page: AuditedPage, found: Found) -> None:
    """Report an HTML page that is too large to be read at all; what is in it is not known."""
    kind = (page.content_type or page.header("content-type") or "").lower()
    if "html" in kind and (page.error or "").partition(":")[0] in _TOO_LARGE:
        found.add(FindingCode.LARGE_PAGE, page.final_url or page.url, "too large to be read")


def judge_speed(page: AuditedPage, subject: str, found: Found) -> None:
    """Report what makes a page slow to load."""
    first_byte, elapsed = page.first_byte_ms or 0.0, page.elapsed_ms or 0.0
    if first_byte > SLOW_FIRST_BYTE_MS:
        found.add(FindingCode.SLOW_PAGE, subject, f"{first_byte / 1000:.1f} s to the first byte")
    elif elapsed > SLOW_TOTAL_MS:
        found.add(FindingCode.SLOW_PAGE, subject, f"{elapsed / 1000:.1f} s in all")
    if page.body_bytes > LARGE_BODY_BYTES:
        found.add(FindingCode.LARGE_PAGE, subject, f"{page.body_bytes / 1000:,.0f} kB of HTML")
    if page.depth > DEEPEST:
        found.add(FindingCode.DEEP_PAGE, subject, f"{page.depth} clicks from the start page")
    names = {name for name, _ in page.headers}
    if not names:  # the headers were not kept
        return
    encoding = (page.header("content-encoding") or "").strip().lower()
    if page.body_bytes > SMALL_BODY_BYTES and encoding in _UNCOMPRESSED:
        found.add(FindingCode.NO_COMPRESSION, subject, f"{page.body_bytes / 1000:,.0f} kB sent as they are")
    if names.isdisjoint(_CACHE_FIELDS):
        found.add(FindingCode.NO_CACHE_HEADERS, subject)
