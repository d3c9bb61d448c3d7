"""Security: mixed content, and headers that protect visitors (OWASP Secure Headers Project)."""

from __future__ import annotations

import re
from typing import Final

from comity.model.audit import AuditedPage, FindingCode
from comity.rules.audit.site_rows import Found

_MAX_AGE: Final = re.compile(r"max-age\s*=\s*\"?([0-9]{1,15})", re.IGNORECASE)
_FRAME_OPTIONS: Final = frozenset({"deny", "sameorigin"})
_SHOWN: Final = 3


def judge_security(page: AuditedPage, subject: str, found: Found) -> None:
    """Report what leaves the visitors of a page unprotected."""
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
