from __future__ import annotations

from collections.abc import Sequence

from comity.model.audit import ComparedAudit, Finding, FindingChange, FindingCode, FoundOn, Severity
from comity.rules.audit.findings import compare_audits
from tests.audit.memory import SITE, audit_info


def finding(code: FindingCode, *paths: str, severity: Severity = Severity.WARNING, origin: str = SITE) -> Finding:
    return Finding(code, severity, f"about {code}", "m", "r", tuple(FoundOn(origin + path) for path in paths))


def audit(*findings: Finding, paths: Sequence[str] = "abcdef", left: int = 0, origin: str = SITE) -> ComparedAudit:
    urls = [f"{origin}/{path}" for path in paths]
    return ComparedAudit(audit_info(left=left, site=f"{origin}/"), findings, urls)


def counts(change: FindingChange) -> tuple[int, int, int, int, int]:
    return (
        len(change.better), len(change.worse), len(change.same), len(change.not_checked), len(change.newly_seen)
    )  # fmt: skip


def test_pages_of_a_finding_are_better_worse_or_the_same() -> None:
    before = audit(finding(FindingCode.SLOW_PAGE, "/a", "/b", "/c"))
    after = audit(finding(FindingCode.SLOW_PAGE, "/b", "/d"))
    compared = compare_audits(before, after)
    (change,) = compared.changes
    assert [page.url for page in change.better] == [f"{SITE}/a", f"{SITE}/c"]
    assert [page.url for page in change.worse] == [f"{SITE}/d"]
    assert [page.url for page in change.same] == [f"{SITE}/b"]
    assert (compared.better, compared.worse, compared.same) == (2, 1, 1)


def test_a_finding_may_come_and_go_as_a_whole() -> None:
    before = audit(finding(FindingCode.SLOW_PAGE, "/a"), finding(FindingCode.THIN_PAGE, "/a"))
    after = audit(finding(FindingCode.BROKEN_LINK, "/a", severity=Severity.ERROR), finding(FindingCode.THIN_PAGE, "/a"))
    found = {change.code: counts(change) for change in compare_audits(before, after).changes}
    assert found == {
        FindingCode.BROKEN_LINK: (0, 1, 0, 0, 0),
        FindingCode.SLOW_PAGE: (1, 0, 0, 0, 0),
        FindingCode.THIN_PAGE: (0, 0, 1, 0, 0),
    }


def test_what_got_worse_comes_first_and_the_severest_of_it() -> None:
    before = audit(finding(FindingCode.BROKEN_LINK, "/a", severity=Severity.ERROR))
    after = audit(
        finding(FindingCode.MISSING_H1, "/a", severity=Severity.NOTICE),
        finding(FindingCode.SERVER_ERROR, "/a", severity=Severity.ERROR),
    )
    codes = [change.code for change in compare_audits(before, after).changes]
    assert codes == [FindingCode.SERVER_ERROR, FindingCode.MISSING_H1, FindingCode.BROKEN_LINK]


def test_a_page_that_was_not_reached_is_no_proof() -> None:
    before = audit(finding(FindingCode.SLOW_PAGE, "/a", "/f"), left=1, paths="abcf")
    after = audit(finding(FindingCode.SLOW_PAGE, "/d"), left=2, paths="abcd")
    (change,) = compare_audits(before, after).changes
    assert counts(change) == (1, 0, 0, 1, 1)
    assert change.not_checked[0].url == f"{SITE}/f"
    assert change.newly_seen[0].url == f"{SITE}/d"


def test_a_page_that_is_gone_takes_its_faults_along() -> None:
    before = audit(finding(FindingCode.SLOW_PAGE, "/f"))
    after = audit(paths="abc")
    compared = compare_audits(before, after)
    assert counts(compared.changes[0]) == (1, 0, 0, 0, 0)
    assert (compared.urls_gone, compared.urls_new) == (3, 0)


def test_robots_txt_is_looked_at_by_every_audit() -> None:
    before = audit(finding(FindingCode.ROBOTS_SYNTAX, "/robots.txt"), left=1)
    after = audit(left=1)
    assert counts(compare_audits(before, after).changes[0]) == (1, 0, 0, 0, 0)


def test_a_test_server_is_compared_with_the_public_site_by_path() -> None:
    origin = "http://127.0.0.1:8080"
    before = audit(finding(FindingCode.SLOW_PAGE, "/a", "/b"))
    after = audit(finding(FindingCode.SLOW_PAGE, "/a", origin=origin), origin=origin)
    compared = compare_audits(before, after)
    assert counts(compared.changes[0]) == (1, 0, 1, 0, 0)
    assert (compared.urls_gone, compared.urls_new) == (0, 0)


def test_an_audit_compared_with_itself_has_changed_nothing() -> None:
    one = audit(finding(FindingCode.SLOW_PAGE, "/a", "/b"), finding(FindingCode.THIN_PAGE, "/c"))
    compared = compare_audits(one, one)
    assert (compared.better, compared.worse, compared.same) == (0, 0, 3)
