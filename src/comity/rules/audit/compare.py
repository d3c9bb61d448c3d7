"""What changed between two audits: their findings enter; what got better, worse or stayed leaves, by finding and page.

A page that an audit did not visit is no proof of anything: where the later audit ended early, a fault of a page that it
did not reach is "not checked" rather than better, and where the earlier one did, a fault of a page that only the later
one reached is "newly seen" rather than worse. Audits of two addresses of a site (a test server and the public one) are
compared by path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from comity.model.audit import AuditComparison, AuditInfo, ComparedAudit, Finding, FindingChange, FindingCode, FoundOn


def compare_audits(before: ComparedAudit, after: ComparedAudit) -> AuditComparison:
    """Compare each finding of both; those that got worse come first, then the severest."""
    by_path = _origin(before.info.site) != _origin(after.info.site)
    key_before, key_after = _key(before.info, by_path=by_path), _key(after.info, by_path=by_path)
    seen_before, seen_after = {key_before(url) for url in before.urls}, {key_after(url) for url in after.urls}
    old, new = _by_code(before), _by_code(after)
    changes = []
    for code in {**old, **new}:
        found = new.get(code) or old[code]
        had = _pages(old.get(code), key_before)
        has = _pages(new.get(code), key_after)
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


def _pages(finding: Finding | None, key: Callable[[str], str]) -> dict[str, FoundOn]:
    return {key(page.url): page for page in finding.pages} if finding is not None else {}


def _unproven(pages: Mapping[str, FoundOn], seen_here: set[str], seen_there: set[str], other: AuditInfo) -> list[str]:
    """Pages that the other audit did not reach; what is no page (robots.txt, a sitemap) both have looked at."""
    if other.is_complete:
        return []
    return [key for key in pages if key in seen_here and key not in seen_there]


def _key(info: AuditInfo, *, by_path: bool) -> Callable[[str], str]:
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
