"""Links: which pages are linked at all, and who links to what is broken, redirected or reached by http without need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from comity.model.audit import AuditedLink, FindingCode
from comity.rules.audit.answers import depends_on_visitor
from comity.rules.audit.site_rows import MAX_SOURCES, Answer, Found, Row, Site

_HTTP: Final = "http://"
_LOGIN_REQUIRED: Final = 401
# Cloudflare puts this in place of mail addresses; its script puts them back, and the address itself answers 404.
_HIDDEN_MAIL: Final = "/cdn-cgi/l/email-protection"
_MAX_HTTP_LINKS: Final = 10_000
"""Different addresses by http that are reported."""


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
        if row is None or row.url == page or (row.is_linked and row.answer is Answer.OK and not row.redirects):
            continue
        row.is_linked = True
        if row.answer is Answer.OK and row.redirects:
            target = rows.get(row.final_url)
            if target is not None and target.url != page:
                target.is_linked = True
        if row.answer is not Answer.OK or row.redirects:
            row.add_source(page)
    for row in list(rows.values()):
        # A link to a copy that names its original leads search engines to the original: shops link products so.
        if row.is_linked and row.canonical is not None and (original := site.find(row.canonical)) is not None:
            original.is_linked |= original is not row
    for url, sources in by_http.items():
        found.add(FindingCode.HTTP_LINK, url, "the page is there by https", sources)


def _by_https(site: Site, url: str, row: Row | None) -> Row | None:
    """The page by https that is behind an address by http."""
    if not site.has(url):
        return None
    if row is not None and row.is_redirect and row.final_url.startswith("https:"):
        return site.find(row.final_url) if site.has(row.final_url) else None
    twin = site.find("https://" + url[len(_HTTP) :])
    return twin if twin is not None and twin.answer is Answer.OK else None


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


def _is_detour(site: Site, row: Row) -> bool:
    """Whether a link should name the end of a redirect.

    It should not where the redirect leaves the site or depends on the visitor. Where only the scheme differs, the link
    is reported as one by http.
    """
    if not site.has(row.final_url) or depends_on_visitor(row):
        return False
    return not (row.url.startswith(_HTTP) and row.final_url == "https://" + row.url[len(_HTTP) :])
