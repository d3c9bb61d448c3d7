"""What is wrong with the responses of a site, and with the links that lead to them.

Covers failures and redirects, broken and redirected links, speed, and headers that protect visitors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from comity.model.audit import AuditedLink, AuditedPage, FindingCode
from comity.model.fetch import FailureKind
from comity.rules.audit.site_rows import MAX_SOURCES, Found, Site, SiteRow, UrlResult

# "two or more hops": a visitor's browser makes three requests for one page.
CHAIN_REDIRECTS: Final = 2
TEMPORARY: Final = frozenset({302, 303, 307})
# Redirects that depend on who asks, and must stay temporary: to a login, a consent, a basket, a language.
_BY_VISITOR: Final = re.compile(
    r"log-?in|log-?on|sign-?in|sign-?up|regist|auth|sso|oauth|session|account|consent|cookie|privacy-settings|cart|basket"
    r"|checkout|captcha|challenge|maintenance|gateway",
    re.IGNORECASE,
)
_LANGUAGE_FOLDER: Final = re.compile(r"/[a-z]{2}(?:[-_][a-z]{2,4})?/?", re.IGNORECASE)
_HTTP: Final = "http://"
_LOGIN_REQUIRED: Final = 401
# Cloudflare puts this in place of mail addresses; its script puts them back, and the address itself answers 404.
_HIDDEN_MAIL: Final = "/cdn-cgi/l/email-protection"
_MAX_HTTP_LINKS: Final = 10_000
"""Different addresses by http that are reported."""
# web.dev, "Time to First Byte": more than 1.8 s is poor.
_SLOW_FIRST_BYTE_MS: Final = 1_800
# web.dev, "Largest Contentful Paint": more than 4 s is poor, and the HTML is only its beginning.
_SLOW_TOTAL_MS: Final = 4_000
# Bing Webmaster Tools warn of HTML over 125 KB; twice that is beyond what a well-built page needs.
_LARGE_BODY_BYTES: Final = 250_000
# The "three clicks" that guides to site structure recommend.
_DEEPEST: Final = 3
# Lighthouse ignores answers that would save less than 1,400 bytes, which fit into one packet.
_SMALL_BODY_BYTES: Final = 1_400

_TOO_LARGE: Final = frozenset({FailureKind.TOO_LARGE, FailureKind.DECOMPRESSION_BOMB})
_CACHE_FIELDS: Final = frozenset({"cache-control", "expires", "etag", "last-modified"})
_UNCOMPRESSED: Final = frozenset({"", "identity"})
_MAX_AGE: Final = re.compile(r"max-age\s*=\s*\"?([0-9]{1,15})", re.IGNORECASE)
_FRAME_OPTIONS: Final = frozenset({"deny", "sameorigin"})
_SHOWN: Final = 3


def judge_answers(site: Site, found: Found) -> None:
    """Report every URL whose answer is a fault."""
    start = site.start
    for row in site.visited():
        sources = row.sources or ()
        if row.answer is UrlResult.LOOP:
            found.add(FindingCode.REDIRECT_LOOP, row.url, "the redirects never end", sources)
        elif row.answer is UrlResult.NO_ANSWER:
            found.add(FindingCode.UNREACHABLE, row.url, row.failure, sources)
        elif row.answer is UrlResult.SERVER_ERROR:
            found.add(FindingCode.SERVER_ERROR, row.url, row.failure, sources)
        elif row.answer is UrlResult.CLIENT_ERROR and (row is start or row.is_listed):
            where = "the start page" if row is start else "in the sitemap"
            found.add(FindingCode.BROKEN_PAGE, row.url, f"{row.failure}, {where}", sources)
        elif row.is_redirect and row.redirects >= CHAIN_REDIRECTS:
            detail = f"{row.redirects} redirects to {row.final_url}"
            found.add(FindingCode.REDIRECT_CHAIN, row.url, detail, sources)


def judge_redirect(page: AuditedPage, row: SiteRow, site: Site, found: Found) -> None:
    """Report a redirect that says it is temporary, where nothing speaks for that."""
    if not row.is_redirect:
        return
    hop = next((each for each in page.hops if each.status in TEMPORARY), None)
    if hop is None or not site.has(row.final_url) or depends_on_visitor(row):
        return
    found.add(FindingCode.TEMPORARY_REDIRECT, row.url, f"{hop.status} to {row.final_url}")


def depends_on_visitor(row: SiteRow) -> bool:
    """Whether a temporary redirect goes to a login or the like, or from the start page to a language."""
    if row.first_status not in TEMPORARY:
        return False
    path, target = (_path(url) for url in (row.url, row.final_url))
    # "/account" to "/login" depends on the visitor; "/login" to "/login/" does not.
    if _visitor_words(target) - _visitor_words(path):
        return True
    return path == "/" and _LANGUAGE_FOLDER.fullmatch(target) is not None


def _visitor_words(path: str) -> set[str]:
    return {word.lower() for word in _BY_VISITOR.findall(path.partition("?")[0])}


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def note_links(site: Site, links: Iterable[AuditedLink], found: Found) -> None:
    """Read every link once. A row learns that it is linked, and a faulty one by which pages."""
    by_http: dict[str, list[str]] = {}
    rows = site.rows
    for page, link in links:
        url = link.url
        row = rows.get(url) or site.find(url)
        if site.is_secure and url.startswith(_HTTP) and (secure := _by_https(site, url, row)) is not None:
            secure.is_linked |= secure.url != page
            sources = by_http.setdefault(url, []) if len(by_http) < _MAX_HTTP_LINKS else by_http.get(url)
            if sources is not None and len(sources) < MAX_SOURCES and page not in sources:
                sources.append(page)
        if row is None or row.url == page or (row.is_linked and row.answer is UrlResult.OK and not row.redirects):
            continue
        row.is_linked = True
        if row.answer is UrlResult.OK and row.redirects:
            target = rows.get(row.final_url)
            if target is not None and target.url != page:
                target.is_linked = True
        if row.answer is not UrlResult.OK or row.redirects:
            row.add_source(page)
    for row in list(rows.values()):
        # A link to a copy that names its original leads search engines to the original: shops link products so.
        if row.is_linked and row.canonical is not None and (original := site.find(row.canonical)) is not None:
            original.is_linked |= original is not row
    for url, sources in by_http.items():
        found.add(FindingCode.HTTP_LINK, url, "the page is available over https", sources)


def _by_https(site: Site, url: str, row: SiteRow | None) -> SiteRow | None:
    """The page by https that is behind an address by http."""
    if not site.has(url):
        return None
    if row is not None and row.is_redirect and row.final_url.startswith("https:"):
        return site.find(row.final_url) if site.has(row.final_url) else None
    twin = site.find("https://" + url[len(_HTTP) :])
    return twin if twin is not None and twin.answer is UrlResult.OK else None


def judge_links(site: Site, found: Found) -> None:
    """Report links to what does not work, and to what redirects."""
    for row in site.visited():
        if row.sources is None:
            continue
        if row.status == _LOGIN_REQUIRED or _HIDDEN_MAIL in row.url:
            continue  # it works for those who log in, or who have scripts
        if row.has_failed:
            detail = row.failure if not row.redirects else f"redirects to {row.final_url}: {row.failure}"
            found.add(FindingCode.BROKEN_LINK, row.url, detail, row.sources)
        elif row.is_redirect and _is_detour(site, row):
            found.add(
                FindingCode.LINK_TO_REDIRECT,
                row.url,
                f"{row.first_status or 'redirects'} to {row.final_url}",
                row.sources,
            )


def _is_detour(site: Site, row: SiteRow) -> bool:
    """Whether a link should name the end of a redirect.

    It should not where the redirect leaves the site or depends on the visitor. Where only the scheme differs, the link
    is reported as one by http.
    """
    if not site.has(row.final_url) or depends_on_visitor(row):
        return False
    return not (row.url.startswith(_HTTP) and row.final_url == "https://" + row.url[len(_HTTP) :])


def judge_unread(page: AuditedPage, found: Found) -> None:
    """Report an HTML page that is too large to be read at all; what is in it is not known."""
    kind = (page.content_type or page.header("content-type") or "").lower()
    if "html" in kind and (page.error or "").partition(":")[0] in _TOO_LARGE:
        found.add(FindingCode.LARGE_PAGE, page.final_url or page.url, "too large to be read")


def judge_speed(page: AuditedPage, subject: str, found: Found) -> None:
    """Report what makes a page slow to load.

    Slow, large and deep pages, compression and caching.
    """
    first_byte, elapsed = page.first_byte_ms or 0.0, page.elapsed_ms or 0.0
    if first_byte > _SLOW_FIRST_BYTE_MS:
        found.add(FindingCode.SLOW_PAGE, subject, f"{first_byte / 1000:.1f} s to the first byte")
    elif elapsed > _SLOW_TOTAL_MS:
        found.add(FindingCode.SLOW_PAGE, subject, f"{elapsed / 1000:.1f} s in all")
    if page.body_bytes > _LARGE_BODY_BYTES:
        found.add(FindingCode.LARGE_PAGE, subject, f"{page.body_bytes / 1000:,.0f} kB of HTML")
    if page.depth > _DEEPEST:
        found.add(FindingCode.DEEP_PAGE, subject, f"{page.depth} clicks from the start page")
    names = {name for name, _ in page.headers}
    if not names:  # the headers were not kept
        return
    encoding = (page.header("content-encoding") or "").strip().lower()
    if page.body_bytes > _SMALL_BODY_BYTES and encoding in _UNCOMPRESSED:
        found.add(FindingCode.NO_COMPRESSION, subject, f"{page.body_bytes / 1000:,.0f} kB sent uncompressed")
    if names.isdisjoint(_CACHE_FIELDS):
        found.add(FindingCode.NO_CACHE_HEADERS, subject)


def judge_security(page: AuditedPage, subject: str, found: Found) -> None:
    """Report what leaves the visitors of a page unprotected.

    Mixed content, and headers that protect visitors (OWASP Secure Headers Project).
    """
    is_secure = subject.startswith("https:")
    resources = page.facts.insecure_resources if page.facts is not None else ()
    policies = [value.lower() for name, value in page.headers if name == "content-security-policy"]
    in_page = [policy.lower() for policy in page.facts.policies] if page.facts is not None else []
    # Browsers then load by https what is written with http (W3C, Upgrade Insecure Requests).
    is_upgraded = any("upgrade-insecure-requests" in policy for policy in (*policies, *in_page))
    if is_secure and resources and not is_upgraded:
        shown = ", ".join(f"{each.element} {each.url}" for each in resources[:_SHOWN])
        found.add(FindingCode.MIXED_CONTENT, subject, f"{len(resources)}: {shown}")
    if not page.headers:  # they were not kept
        return
    # RFC 6797 §8.1: browsers ignore the field over plain http.
    if is_secure and not _lasts(page.header("strict-transport-security")):
        found.add(FindingCode.MISSING_HSTS, subject)
    if (page.header("x-content-type-options") or "").strip().lower() != "nosniff":
        found.add(FindingCode.MISSING_CONTENT_TYPE_OPTIONS, subject)
    options = (page.header("x-frame-options") or "").strip().lower()
    if options not in _FRAME_OPTIONS and not any("frame-ancestors" in policy for policy in policies):
        found.add(FindingCode.MISSING_FRAME_OPTIONS, subject)
    if not any(policy.strip() for policy in (*policies, *in_page)):
        found.add(FindingCode.MISSING_CONTENT_SECURITY_POLICY, subject)
    if not (page.header("referrer-policy") or "").strip():
        found.add(FindingCode.MISSING_REFERRER_POLICY, subject)


def _lasts(field: str | None) -> bool:
    """Whether a Strict-Transport-Security field is in force: an age of 0 revokes it (RFC 6797 §6.1.1)."""
    age = _MAX_AGE.search(field or "")
    return age is not None and int(age[1]) > 0
