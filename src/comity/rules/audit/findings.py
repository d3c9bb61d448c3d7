"""Findings of an audit: takes what it stored, returns every fault with the pages that have it; and compares two audits.

Pages are read once and links once. Slim rows of pages are held, links never: a site with a hundred links on each page
needs no more memory than one with ten. Where one fault explains another, the first is reported alone: a page that
answers 404 has no missing title, and a copy that names its original is no duplicate.

A page that an audit did not visit is no proof of anything: if the later audit ended early, a fault of a page that it
did not reach is "not checked" rather than better; if the earlier one did, a fault of a page that only the later one
reached is "newly seen" rather than worse. Audits of two addresses of a site (a test server and the public one) are
compared by path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from comity.model.audit import (
    AuditComparison,
    AuditData,
    AuditedPage,
    AuditInfo,
    ComparedAudit,
    Finding,
    FindingChange,
    FindingCode,
    FoundOn,
)
from comity.rules.audit.canonical_pages import Translations, judge_canonical_targets, judge_canonicals
from comity.rules.audit.responses import (
    judge_answers,
    judge_links,
    judge_redirect,
    judge_security,
    judge_speed,
    judge_unread,
    note_links,
)
from comity.rules.audit.robots_file import judge_robots, parsed_files
from comity.rules.audit.site_rows import Found, Site, SiteRow, UrlResult
from comity.rules.audit.sitemap_entries import judge_entries, judge_links_and_entries, judge_sitemaps, note_listed
from comity.rules.audit.structured_data import judge_structured_data
from comity.rules.audit.titles_and_text import SharedTexts, is_soft_404, judge_text
from comity.rules.canonical import origin_of
from comity.rules.robots.verdict import RobotsFile

# Search engines whose readers never see a noindex that robots.txt hides from them.
_SEARCH_AGENTS: Final = ("Googlebot", "Bingbot")


def find(data: AuditData) -> tuple[Finding, ...]:
    """Every fault of a site, the gravest first."""
    found = Found()
    site = Site(data.info)
    robots_files = data.robots()
    parsed = parsed_files(robots_files)
    shared, translations = SharedTexts(), Translations()
    for page in data.pages():
        row = site.take(page)
        judge_redirect(page, row, site, found)
        _judge_hidden_noindex(row, parsed, found)
        judge_unread(page, found)
        if page.is_page:
            _judge_page(page, row, site, shared, translations, found)
    note_links(site, data.links(), found)
    rules = {origin: file.for_agent(data.info.user_agent) for origin, file in parsed.items()}
    entries = note_listed(site, data.listed(), rules, translations, found)
    judge_answers(site, found)
    judge_links(site, found)
    judge_canonical_targets(site, found)
    judge_entries(site, found)
    knows_entries = judge_sitemaps(site, data.sitemaps(), parsed.values(), entries, found)
    judge_links_and_entries(site, knows_entries, found)
    judge_robots(site, robots_files, found)
    shared.judge(found)
    translations.judge(site, found)
    return found.findings()


def _judge_page(
    page: AuditedPage, row: SiteRow, site: Site, shared: SharedTexts, translations: Translations, found: Found
) -> None:
    """Judge the content of a page, once, under the address that it was read at."""
    subject = row.final_url
    if subject in site.judged or not site.has(subject) or row.answer is not UrlResult.OK or page.facts is None:
        return
    site.judged.add(subject)
    target = site.rows.get(subject, row)
    judge_security(page, subject, found)
    target.is_soft_404 = is_soft_404(page.facts)
    if target.is_soft_404:
        said = next(iter(page.facts.titles), "") or next((each.text for each in page.facts.headings), "")
        found.add(FindingCode.SOFT_404, subject, said)
        return
    judge_speed(page, subject, found)
    judge_canonicals(page, subject, found)
    if page.facts.forwards:
        return  # its text is never seen
    judge_text(page.facts, target, found)
    judge_structured_data(page.facts.structured, subject, found)
    shared.take(page.facts, target)
    translations.take(page.facts.alternates, target, found)


def _judge_hidden_noindex(row: SiteRow, parsed: Mapping[str, RobotsFile], found: Found) -> None:
    """Report a page that asks not to be indexed where search engines cannot read it."""
    if not row.has_noindex or row.redirects:
        return
    hidden = "robots.txt" if row.answer is UrlResult.BLOCKED else _hidden_by(row.url, parsed)
    if hidden is not None:
        found.add(FindingCode.NOINDEX_BLOCKED_BY_ROBOTS, row.url, hidden)


def _hidden_by(url: str, parsed: Mapping[str, RobotsFile]) -> str | None:
    """The line by which robots.txt hides a page from a search engine."""
    file = parsed.get(origin_of(url)) if url.count("/") > 2 else None
    verdicts: Iterable[tuple[str, bool, str]] = ()
    if file is not None:
        each = ((agent, file.verdict(agent, url)) for agent in _SEARCH_AGENTS)
        verdicts = ((agent, verdict.allowed, verdict.reason) for agent, verdict in each)
    return next((f"{agent}: {reason}" for agent, allowed, reason in verdicts if not allowed), None)


def compare_audits(before: ComparedAudit, after: ComparedAudit) -> AuditComparison:
    """Compare each finding of both; those that got worse come first, then the severest."""
    by_path = _origin(before.info.site) != _origin(after.info.site)
    key_before, key_after = _key_of_pages(before.info, by_path=by_path), _key_of_pages(after.info, by_path=by_path)
    seen_before, seen_after = {key_before(url) for url in before.urls}, {key_after(url) for url in after.urls}
    old, new = _by_code(before), _by_code(after)
    changes = []
    for code in {**old, **new}:
        found = new.get(code) or old[code]
        had = _pages_by_key(old.get(code), key_before)
        has = _pages_by_key(new.get(code), key_after)
        left = {key: page for key, page in had.items() if key not in has}
        came = {key: page for key, page in has.items() if key not in had}
        unchecked = _unproven(left, seen_before, seen_after, after.info)
        unknown = _unproven(came, seen_after, seen_before, before.info)
        changes.append(
            FindingChange(
                code=code,
                severity=found.severity,
                title=found.title,
                better=tuple(page for key, page in left.items() if key not in unchecked),
                worse=tuple(page for key, page in came.items() if key not in unknown),
                same=tuple(page for key, page in has.items() if key in had),
                not_checked=tuple(left[key] for key in unchecked),
                newly_seen=tuple(came[key] for key in unknown),
            )
        )
    changes.sort(key=lambda each: (not each.worse, -each.severity.rank, -len(each.worse), -len(each.better), each.code))
    return AuditComparison(
        before=before.info,
        after=after.info,
        changes=tuple(changes),
        urls_gone=len(seen_before - seen_after) if after.info.is_complete else 0,
        urls_new=len(seen_after - seen_before) if before.info.is_complete else 0,
    )


def _by_code(audit: ComparedAudit) -> dict[FindingCode, Finding]:
    return {finding.code: finding for finding in audit.findings}


def _pages_by_key(finding: Finding | None, key: Callable[[str], str]) -> dict[str, FoundOn]:
    return {key(page.url): page for page in finding.pages} if finding is not None else {}


def _unproven(pages: Mapping[str, FoundOn], seen_here: set[str], seen_there: set[str], other: AuditInfo) -> list[str]:
    """Pages that the other audit did not reach; what is no page (robots.txt, a sitemap) both have looked at."""
    if other.is_complete:
        return []
    return [key for key in pages if key in seen_here and key not in seen_there]


def _key_of_pages(info: AuditInfo, *, by_path: bool) -> Callable[[str], str]:
    """How a page is recognized in the other audit: by its URL, or by its path if the site has another address."""
    origin = _origin(info.site)
    if not by_path or not origin:
        return lambda url: url
    return lambda url: url[len(origin) :] or "/" if url == origin or url.startswith(f"{origin}/") else url


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
