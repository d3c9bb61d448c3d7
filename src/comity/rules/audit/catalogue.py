"""Every finding by its code: how much it matters, what it is called, why it matters, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from comity.model.audit import FindingCode as Code
from comity.model.audit import Severity

_ERROR, _WARNING, _NOTICE = Severity.ERROR, Severity.WARNING, Severity.NOTICE


class Entry(NamedTuple):
    """What is the same for every finding of a code."""

    severity: Severity
    title: str
    meaning: str
    remedy: str


CATALOGUE: Final[Mapping[Code, Entry]] = {
    # Answers
    Code.BROKEN_LINK: Entry(
        _ERROR,
        "Links to pages that do not work",
        "Visitors and crawlers that follow these links get an error instead of a page.",
        "Point each link to a page that works, remove it, or restore or redirect the page it points to.",
    ),
    Code.BROKEN_PAGE: Entry(
        _ERROR,
        "Pages of the site that answer with an error",
        "The start page or a page that the sitemap lists answers with a status of 4xx, so it drops out of search "
        "results.",
        "Restore the page, or redirect its address to the page that replaces it.",
    ),
    Code.SERVER_ERROR: Entry(
        _ERROR,
        "Server errors",
        "The server failed with a status of 5xx. Crawlers slow down on a site that does so, and drop pages that keep "
        "failing.",
        "Look for these addresses in the server's error log and fix the cause.",
    ),
    Code.UNREACHABLE: Entry(
        _ERROR,
        "No answer",
        "The server did not answer, or dropped the connection: a name that does not resolve, a refused connection, a "
        "time-out, a bad certificate.",
        "Check DNS, the certificate and the server for these addresses.",
    ),
    Code.SOFT_404: Entry(
        _WARNING,
        "Error pages that answer 200",
        "The page says that it was not found, but answers with status 200. Search engines waste visits on it "
        "and may index it.",
        "Answer 404 or 410 for pages that do not exist.",
    ),
    Code.REDIRECT_CHAIN: Entry(
        _WARNING,
        "Redirect chains",
        "An address redirects to another redirect. Each hop costs a visitor time, and crawlers give up after a few.",
        "Redirect straight to the last address of the chain.",
    ),
    Code.REDIRECT_LOOP: Entry(
        _ERROR,
        "Redirect loops",
        "The redirects lead in a circle or never end, so no page can be reached.",
        "Fix the redirect rules for these addresses.",
    ),
    Code.LINK_TO_REDIRECT: Entry(
        _NOTICE,
        "Links to redirects",
        "Pages of the site link to an address that redirects. Every click takes a detour.",
        "Link to the address that the redirect leads to.",
    ),
    Code.TEMPORARY_REDIRECT: Entry(
        _NOTICE,
        "Temporary redirects",
        "The redirect says that it is temporary (302, 303 or 307), so search engines may keep the old address in "
        "their index.",
        "Use 301 or 308 if the page has moved for good.",
    ),
    # Canonical
    Code.CANONICAL_TO_REDIRECT: Entry(
        _WARNING,
        "Canonical address redirects",
        "The page declares a canonical address that redirects. Search engines may ignore it.",
        "Use the address that the redirect leads to.",
    ),
    Code.CANONICAL_TO_ERROR: Entry(
        _ERROR,
        "Canonical address does not work",
        "The page declares a canonical address that answers with an error, so neither of them may be indexed.",
        "Use the address of a page that answers 200, usually the page itself.",
    ),
    Code.CANONICAL_TO_NOINDEX: Entry(
        _ERROR,
        "Canonical address is noindex",
        "The page declares another page as canonical, and that page asks not to be indexed. Both may disappear "
        "from search.",
        "Remove noindex from the canonical page, or choose another one.",
    ),
    Code.CANONICAL_CHAIN: Entry(
        _WARNING,
        "Canonical chains",
        "The canonical page declares yet another page as canonical. Search engines get contradictory signals.",
        "Use the last page of the chain on all of them.",
    ),
    Code.MULTIPLE_CANONICALS: Entry(
        _WARNING,
        "Several canonical addresses",
        "The page declares different canonical addresses. Search engines then ignore all of them.",
        "Keep one canonical address on each page.",
    ),
    # Sitemaps and robots.txt
    Code.NOINDEX_IN_SITEMAP: Entry(
        _WARNING,
        "Noindex pages in the sitemap",
        "The sitemap asks search engines to index the page, and the page asks them not to.",
        "Take the page out of the sitemap, or remove noindex from it.",
    ),
    Code.BLOCKED_IN_SITEMAP: Entry(
        _WARNING,
        "Sitemap URLs that robots.txt blocks",
        "The sitemap lists the address, and robots.txt forbids crawlers to read it.",
        "Take it out of the sitemap, or allow it in robots.txt.",
    ),
    Code.REDIRECT_IN_SITEMAP: Entry(
        _WARNING,
        "Redirects in the sitemap",
        "The sitemap lists an address that redirects. It should list final addresses only.",
        "List the address that the redirect leads to.",
    ),
    Code.ERROR_IN_SITEMAP: Entry(
        _ERROR,
        "Sitemap URLs that do not work",
        "The sitemap lists an address that gives no page. Search engines trust such a sitemap less.",
        "Take the address out of the sitemap, or restore the page.",
    ),
    Code.NOT_CANONICAL_IN_SITEMAP: Entry(
        _NOTICE,
        "Sitemap URLs that are not canonical",
        "The sitemap lists a page that declares another page as canonical.",
        "List the canonical page only.",
    ),
    Code.SITEMAP_FAULT: Entry(
        _ERROR,
        "Sitemaps that cannot be read in full",
        "The sitemap is missing, damaged, cut or empty, so pages are not announced to search engines.",
        "Fix the sitemap, or the line in robots.txt that lists it.",
    ),
    Code.NO_SITEMAP: Entry(
        _NOTICE,
        "No sitemap",
        "The site has no sitemap: robots.txt lists none, and there is none in the usual places.",
        "Publish a sitemap, and list it in robots.txt with a Sitemap line.",
    ),
    Code.ORPHAN_PAGE: Entry(
        _WARNING,
        "Orphan pages",
        "The sitemap lists the page, but no page of the site links to it. Visitors do not find it, and it ranks "
        "poorly.",
        "Link to it from a page where visitors would look for it, or take it out of the sitemap.",
    ),
    Code.UNLISTED_PAGE: Entry(
        _NOTICE,
        "Pages missing from the sitemap",
        "The page is linked and may be indexed, but the sitemap does not list it.",
        "Add it to the sitemap, or mark it noindex if it should not be found.",
    ),
    Code.ROBOTS_SYNTAX: Entry(
        _WARNING,
        "robots.txt lines that crawlers do not understand",
        "Crawlers skip these lines, or read them differently, so they may not do what they were written for.",
        "Correct or remove these lines.",
    ),
    Code.ROBOTS_RULE_WITHOUT_EFFECT: Entry(
        _WARNING,
        "robots.txt rules without effect",
        "The rule belongs to no group of user agents, or another rule always wins over it.",
        "Move the rule below a User-agent line, or remove one of the two rules.",
    ),
    Code.ROBOTS_TOO_LARGE: Entry(
        _WARNING,
        "robots.txt is too large",
        "Crawlers may stop reading after 500 KiB (RFC 9309 §2.5). Rules after that point are ignored.",
        "Shorten the file: merge rules, and use wildcards.",
    ),
    Code.ROBOTS_UNREACHABLE: Entry(
        _ERROR,
        "robots.txt cannot be read",
        "The server fails on robots.txt. Crawlers must then assume that the whole site is forbidden (RFC 9309 "
        "§2.3.1.4).",
        "Make robots.txt answer 200, or 404 if there is none.",
    ),
    Code.NOINDEX_BLOCKED_BY_ROBOTS: Entry(
        _WARNING,
        "Noindex that robots.txt hides",
        "robots.txt forbids search engines to read the page, so they never see its noindex and may list its "
        "address anyway.",
        "Allow the page in robots.txt until it has dropped out of the index.",
    ),
    # Titles, texts
    Code.MISSING_TITLE: Entry(
        _ERROR,
        "Missing titles",
        "The page has no title. Search results and browser tabs show something arbitrary instead.",
        "Give each page a title that says what it is about.",
    ),
    Code.MULTIPLE_TITLES: Entry(
        _WARNING,
        "Several titles",
        "The page has more than one title element. Search engines may use any of them.",
        "Keep one title element in the head of the page.",
    ),
    Code.DUPLICATE_TITLE: Entry(
        _WARNING,
        "Duplicate titles",
        "Several pages have the same title, or nearly the same, so neither visitors nor search engines can tell them "
        "apart.",
        "Give each page its own title.",
    ),
    Code.LONG_TITLE: Entry(
        _NOTICE,
        "Long titles",
        "The title is longer than search results show, so its end is cut off.",
        "Shorten the title, with the important words first.",
    ),
    Code.MISSING_DESCRIPTION: Entry(
        _NOTICE,
        "Missing descriptions",
        "The page has no meta description, so search engines choose an excerpt themselves.",
        "Write a sentence or two that say what the page offers.",
    ),
    Code.DUPLICATE_DESCRIPTION: Entry(
        _NOTICE,
        "Duplicate descriptions",
        "Several pages have the same meta description, or nearly the same.",
        "Describe each page in its own words, or leave the description out.",
    ),
    Code.MISSING_H1: Entry(
        _WARNING,
        "Missing main headings",
        "The page has no h1 heading. Screen readers and search engines use it to learn what the page is about.",
        "Give the page one h1 heading.",
    ),
    Code.MULTIPLE_H1: Entry(
        _NOTICE,
        "Several main headings",
        "The page has more than one h1 heading, which makes it unclear what it is about.",
        "Keep one h1 heading and make the others h2.",
    ),
    Code.SKIPPED_HEADING_LEVEL: Entry(
        _NOTICE,
        "Skipped heading levels",
        "A heading is more than one level below the one before it. Users of screen readers look for the missing level.",
        "Use heading levels in order, and style sheets for their size.",
    ),
    Code.DUPLICATE_CONTENT: Entry(
        _WARNING,
        "Duplicate pages",
        "Several addresses show the same text. Search engines index one of them and may choose the wrong one.",
        "Redirect the copies, or name the original as canonical on each of them.",
    ),
    Code.NEAR_DUPLICATE_CONTENT: Entry(
        _NOTICE,
        "Near-duplicate pages",
        "Several pages differ in only a few words. Search engines may treat them as copies.",
        "Merge the pages, name one as canonical, or give each its own text.",
    ),
    Code.THIN_PAGE: Entry(
        _NOTICE,
        "Pages with little text",
        "The page has so little text that search engines may not show it.",
        "Add text, merge the page into another one, or mark it noindex.",
    ),
    Code.MISSING_ALT: Entry(
        _WARNING,
        "Images without a description",
        "Images have no alt attribute. Screen readers read out the file name instead (WCAG 2.2, 1.1.1).",
        "Describe each image in its alt attribute; leave the attribute empty for decoration.",
    ),
    Code.MISSING_LANGUAGE: Entry(
        _NOTICE,
        "Missing language",
        "The page does not say which language it is in, so screen readers may mispronounce it (WCAG 2.2, 3.1.1).",
        "Set the lang attribute of the html element.",
    ),
    Code.MISSING_VIEWPORT: Entry(
        _WARNING,
        "Not mobile-friendly",
        "The page has no viewport element, so phones show it shrunk to a desktop's width.",
        'Add <meta name="viewport" content="width=device-width, initial-scale=1">.',
    ),
    # Speed and structure
    Code.SLOW_PAGE: Entry(
        _WARNING,
        "Slow pages",
        "The server took a long time to answer. Visitors leave, and crawlers visit less often.",
        "Cache the page, or find out what takes the time on the server.",
    ),
    Code.LARGE_PAGE: Entry(
        _NOTICE,
        "Large pages",
        "The HTML alone is so large that it loads slowly on a phone.",
        "Move data, scripts and styles out of the page, or split the page.",
    ),
    Code.DEEP_PAGE: Entry(
        _NOTICE,
        "Pages far from the start page",
        "It takes many clicks to reach the page. Visitors rarely get there, and crawlers visit it less often.",
        "Link to it from a page nearer to the start page.",
    ),
    Code.NO_COMPRESSION: Entry(
        _WARNING,
        "No compression",
        "The server sends the page uncompressed, although compression was offered. Text shrinks to a third or less.",
        "Turn on gzip, Brotli or Zstandard for text in the server.",
    ),
    Code.NO_CACHE_HEADERS: Entry(
        _NOTICE,
        "No caching headers",
        "The answer has neither Cache-Control, Expires, ETag nor Last-Modified, so browsers and crawlers load it "
        "again each time.",
        "Send Cache-Control, and ETag or Last-Modified.",
    ),
    # Security
    Code.MIXED_CONTENT: Entry(
        _ERROR,
        "Mixed content",
        "The page is loaded over https, but loads some resources over http. Browsers block them or show a warning.",
        "Load everything over https.",
    ),
    Code.HTTP_LINK: Entry(
        _WARNING,
        "Links over http to pages that have https",
        "The link leads through an unprotected connection, or a redirect, to a page that is available over https.",
        "Write https in the link.",
    ),
    Code.MISSING_HSTS: Entry(
        _WARNING,
        "No Strict-Transport-Security",
        "Without this header, a visitor's first request can be intercepted over plain http (RFC 6797).",
        "Send Strict-Transport-Security with a max-age of at least six months.",
    ),
    Code.MISSING_CONTENT_TYPE_OPTIONS: Entry(
        _NOTICE,
        "No X-Content-Type-Options",
        "Without this header, browsers may run a file as a script that was never meant to be one.",
        "Send X-Content-Type-Options: nosniff.",
    ),
    Code.MISSING_FRAME_OPTIONS: Entry(
        _NOTICE,
        "Pages that other sites may frame",
        "Other sites can show the page in a frame and trick visitors into clicking on it.",
        "Send Content-Security-Policy with frame-ancestors, or X-Frame-Options.",
    ),
    Code.MISSING_CONTENT_SECURITY_POLICY: Entry(
        _NOTICE,
        "No Content-Security-Policy",
        "Without this header, a script that was injected into the page can do anything there.",
        "Send a Content-Security-Policy that lists where scripts may be loaded from.",
    ),
    Code.MISSING_REFERRER_POLICY: Entry(
        _NOTICE,
        "No Referrer-Policy",
        "Each browser decides what it tells other sites about the page that a visitor came from.",
        "Send Referrer-Policy: strict-origin-when-cross-origin, or a stricter one.",
    ),
    # Languages and structured data
    Code.HREFLANG_NO_RETURN: Entry(
        _WARNING,
        "Translations that do not link back",
        "The page links to a translation that does not link back. Search engines then ignore both.",
        "On every version, list all versions, including the page itself.",
    ),
    Code.HREFLANG_INVALID: Entry(
        _WARNING,
        "Invalid language codes",
        "The hreflang value is not a language code, so search engines ignore it.",
        'Use a language of ISO 639-1, optionally with a region of ISO 3166-1: "en", "en-GB", or "x-default".',
    ),
    Code.HREFLANG_TO_ERROR: Entry(
        _ERROR,
        "Translations that do not work",
        "The page links to a translation that answers with an error.",
        "Use an address that works, or remove the entry.",
    ),
    Code.STRUCTURED_DATA_FAULT: Entry(
        _ERROR,
        "Structured data that cannot be read",
        "The structured data does not parse, so search engines ignore all of it.",
        "Correct its syntax.",
    ),
    Code.STRUCTURED_DATA_INCOMPLETE: Entry(
        _WARNING,
        "Incomplete structured data",
        "A property that search engines require of this type is missing, so the page gets no rich result.",
        "Add the missing properties.",
    ),
}
