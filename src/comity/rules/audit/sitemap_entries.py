"""Sitemaps: files that cannot be read, entries that should not be there, pages that are missing or not linked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from comity.model.audit import FindingCode, ListedUrl, SitemapFile
from comity.model.sitemap import SitemapState
from comity.rules.audit.canonical_pages import Translations, canonical_fault
from comity.rules.audit.site_rows import Found, Site, SiteRow, UrlResult
from comity.rules.audit.titles_and_text import is_later_page
from comity.rules.canonical import origin_of
from comity.rules.robots.verdict import AgentRules, RobotsFile
from comity.rules.sitemap_plan import common_sitemap_paths

_MAX_BLOCKED: Final = 50_000
"""URLs of a sitemap that are blocked and that the audit therefore has no row for."""


def note_listed(
    site: Site, listed: Iterable[ListedUrl], robots: Mapping[str, AgentRules], translations: Translations, found: Found
) -> int:
    """Mark what the sitemaps list, report what robots.txt blocks of it; returns the number of entries."""
    count = 0
    blocked: dict[str, str] = {}
    for url, _, alternates in listed:
        count += 1
        if not site.has(url):
            continue
        row = site.find(url)
        if row is not None:
            row.is_listed = True
            translations.take(alternates, row, found)
        if len(blocked) < _MAX_BLOCKED and url not in blocked:
            why = _blocked_by(url, row, robots)
            if why is not None:
                blocked[url] = why
    for url, why in blocked.items():
        found.add(FindingCode.BLOCKED_IN_SITEMAP, url, why)
    return count


def _blocked_by(url: str, row: SiteRow | None, robots: Mapping[str, AgentRules]) -> str | None:
    """Why robots.txt blocks an address: by the rules of its origin, else by what the audit decided."""
    try:
        rules = robots.get(origin_of(url))
    except ValueError:  # an address without a path
        rules = robots.get(url)
    if rules is not None:
        verdict = rules.verdict(url)
        return None if verdict.allowed else verdict.reason
    return "robots.txt" if row is not None and row.code == "blocked_by_robots" else None


def judge_entries(site: Site, found: Found) -> None:
    """Report listed pages that should not be listed."""
    for row in site.visited():
        if not row.is_listed:
            continue
        if row.has_failed or row.answer is UrlResult.LOOP:
            found.add(FindingCode.ERROR_IN_SITEMAP, row.url, row.failure)
        elif row.answer is not UrlResult.OK:
            continue
        elif row.redirects:
            found.add(FindingCode.REDIRECT_IN_SITEMAP, row.url, f"redirects to {row.final_url}")
        elif row.has_noindex:
            found.add(FindingCode.NOINDEX_IN_SITEMAP, row.url)
        elif row.canonical is not None and _stands_for(site, row):
            found.add(FindingCode.NOT_CANONICAL_IN_SITEMAP, row.url, f"names {row.canonical}")


def _stands_for(site: Site, row: SiteRow) -> bool:
    """Whether the canonical page can stand for this one; if not, that is the fault."""
    fault = canonical_fault(row, site.find(row.canonical or ""))
    return fault is None or fault is FindingCode.CANONICAL_CHAIN


def judge_sitemaps(
    site: Site, sitemaps: Sequence[SitemapFile], robots: Iterable[RobotsFile], entries: int, found: Found
) -> bool:
    """Report sitemaps that cannot be read in full, or that there is none; tells whether all entries are known."""
    named = {url for file in robots for url in file.sitemaps}
    has_fault = is_cut = False
    for sitemap in sitemaps:
        fault = _fault(sitemap, sitemap.url in named or not _is_usual(sitemap.url), entries)
        if fault is not None:
            has_fault = True
            is_cut |= sitemap.state != SitemapState.MISSING  # a file that is not there lists nothing
            found.add(FindingCode.SITEMAP_FAULT, sitemap.url, fault)
    states = {sitemap.state for sitemap in sitemaps}
    is_settled = SitemapState.PLANNED not in states
    has_read = SitemapState.READ in states
    start = site.start
    if not has_read and not has_fault and is_settled and start is not None and start.answer is UrlResult.OK:
        found.add(FindingCode.NO_SITEMAP, start.url)
    return has_read and not is_cut and is_settled


def _is_usual(url: str) -> bool:
    """Whether a sitemap was only guessed to be there."""
    return url in common_sitemap_paths(url[: url.find("/", 8)])


def _fault(sitemap: SitemapFile, is_named: bool, entries: int) -> str | None:
    """What is wrong with a sitemap; one that was only guessed, and is not there, is no fault."""
    if sitemap.state == SitemapState.READ:
        if sitemap.problem:
            return sitemap.problem
        return "lists no URL" if not sitemap.urls and not entries else None
    if sitemap.state == SitemapState.PLANNED or not is_named:
        return None
    return sitemap.problem or {SitemapState.MISSING: "there is no such file"}.get(
        SitemapState(sitemap.state), sitemap.state
    )


def judge_links_and_entries(site: Site, knows_entries: bool, found: Found) -> None:
    """Report pages that are listed and not linked, and pages that are linked and not listed.

    Both need an audit that visited every page, since any page may link to any other. The second needs sitemaps that
    were read in full.
    """
    if not site.info.is_complete:
        return
    start = site.start
    for row in site.visited():
        if not row.is_indexable or row is start or (start is not None and row.url == start.final_url):
            continue
        if row.is_listed and not row.is_linked:
            found.add(FindingCode.ORPHAN_PAGE, row.url)
        elif row.is_linked and not row.is_listed and knows_entries and not is_later_page(row.url):
            found.add(FindingCode.UNLISTED_PAGE, row.url)
