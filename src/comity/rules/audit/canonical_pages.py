"""Canonical addresses: pages that name another one in their place, and what became of that one."""

from __future__ import annotations

from comity.model.audit import AuditedPage, FindingCode
from comity.rules.audit.site_rows import Answer, Found, Row, Site


def judge_canonicals(page: AuditedPage, subject: str, found: Found) -> None:
    """Report a page that names several different canonical addresses."""
    named = dict.fromkeys(page.facts.canonicals if page.facts is not None else ())
    if len(named) > 1:
        found.add(FindingCode.MULTIPLE_CANONICALS, subject, ", ".join(named))


def judge_canonical_targets(site: Site, found: Found) -> None:
    """Report pages whose canonical address does not lead to a page that stands for itself."""
    for row in site.visited():
        if row.canonical is None or row.answer is not Answer.OK or row.redirects or row.has_noindex:
            continue
        target = site.find(row.canonical)
        code = canonical_fault(row, target)
        if code is not None and target is not None:
            found.add(code, row.url, _detail(target))


def canonical_fault(row: Row, target: Row | None) -> FindingCode | None:
    """What is wrong with the page that stands for another; None where it is right or was not visited."""
    if target is None or target is row or target.answer in (Answer.UNKNOWN, Answer.BLOCKED):
        return None
    if target.has_failed or target.answer is Answer.LOOP:
        return FindingCode.CANONICAL_TO_ERROR
    if target.redirects:
        return FindingCode.CANONICAL_TO_REDIRECT
    if target.has_noindex:
        return FindingCode.CANONICAL_TO_NOINDEX
    return FindingCode.CANONICAL_CHAIN if target.canonical is not None else None


def _detail(target: Row) -> str:
    if target.has_failed:
        return f"{target.url}: {target.failure}"
    if target.redirects:
        return f"{target.url} redirects to {target.final_url}"
    if target.has_noindex:
        return f"{target.url} is noindex"
    return f"{target.url} names {target.canonical}" if target.canonical else target.url
