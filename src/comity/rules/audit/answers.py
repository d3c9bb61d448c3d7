"""Answers: pages that fail, pages that cannot be reached, and redirects."""

from __future__ import annotations

import re
from typing import Final

from comity.model.audit import AuditedPage, FindingCode
from comity.rules.audit.site_rows import Answer, Found, Row, Site

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


def judge_answers(site: Site, found: Found) -> None:
    """Report every URL whose answer is a fault."""
    start = site.start
    for row in site.visited():
        sources = row.sources or ()
        if row.answer is Answer.LOOP:
            found.add(FindingCode.REDIRECT_LOOP, row.url, "the redirects never end", sources)
        elif row.answer is Answer.NO_ANSWER:
            found.add(FindingCode.UNREACHABLE, row.url, row.failure, sources)
        elif row.answer is Answer.SERVER_ERROR:
            found.add(FindingCode.SERVER_ERROR, row.url, row.failure, sources)
        elif row.answer is Answer.CLIENT_ERROR and (row is start or row.is_listed):
            where = "the start page" if row is start else "in the sitemap"
            found.add(FindingCode.BROKEN_PAGE, row.url, f"{row.failure}, {where}", sources)
        elif row.is_redirect and row.redirects >= CHAIN_REDIRECTS:
            detail = f"{row.redirects} redirects to {row.final_url}"
            found.add(FindingCode.REDIRECT_CHAIN, row.url, detail, sources)


def judge_redirect(page: AuditedPage, row: Row, site: Site, found: Found) -> None:
    """Report a redirect that says it is temporary, where nothing speaks for that."""
    if not row.is_redirect:
        return
    hop = next((each for each in page.hops if each.status in TEMPORARY), None)
    if hop is None or not site.has(row.final_url) or depends_on_visitor(row):
        return
    found.add(FindingCode.TEMPORARY_REDIRECT, row.url, f"{hop.status} to {row.final_url}")


def depends_on_visitor(row: Row) -> bool:
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
