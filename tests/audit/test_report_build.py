from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

from comity.model.audit import AgentAccess, AuditedRobots, Bar, Finding, FindingCode, FoundOn, RobotsDecision, Severity
from comity.reports.audit.build import build_report, report_of
from tests.audit.memory import MemoryAudit, failed_page, good_page, good_site, redirected_page
from tests.audit.report_sample import ShopAudit, agents_of_shop


def no_agents(_robots: object, _sections: object) -> Sequence[AgentAccess]:
    return ()


def finding(code: FindingCode, severity: Severity, pages: int) -> Finding:
    return Finding(code, severity, "t", "m", "r", tuple(FoundOn(f"https://example.test/{n}") for n in range(pages)))


def test_findings_come_by_severity_then_by_pages() -> None:
    some = [
        finding(FindingCode.MISSING_H1, Severity.NOTICE, 9),
        finding(FindingCode.SLOW_PAGE, Severity.WARNING, 1),
        finding(FindingCode.BROKEN_LINK, Severity.ERROR, 1),
        finding(FindingCode.DUPLICATE_TITLE, Severity.WARNING, 4),
    ]
    report = build_report(good_site(), some, no_agents)
    codes = [each.code.value for each in report.findings]
    assert codes == ["broken_link", "duplicate_title", "slow_page", "missing_h1"]


def test_answers_are_counted_by_their_first_status() -> None:
    further = (
        failed_page("/gone"),
        failed_page("/odd", status=599),
        failed_page("/silent", status=None),
        failed_page("/cart/", status=None, error="blocked_by_robots: Disallow: /cart/"),
        redirected_page("/old", "/new"),
    )
    report = build_report(good_site(*further), [], no_agents)
    assert report.statuses == (
        Bar("200 OK", 3),
        Bar("301 Moved Permanently", 1),
        Bar("404 Not Found", 1),
        Bar("599", 1),
        Bar("blocked by robots.txt", 1),
        Bar("no answer", 1),
    )
    assert report.totals["urls"] == 8
    assert report.totals["pages"] == 4


def test_many_statuses_become_few_bars() -> None:
    pages = [failed_page(f"/{status}", status=status) for status in range(400, 430)]
    report = build_report(MemoryAudit(pages_=[*pages, good_page("/")]), [], no_agents)
    assert len(report.statuses) == 13
    assert report.statuses[-1].label == "others"
    assert sum(bar.pages for bar in report.statuses) == 31


def test_depths_have_no_gap_and_an_end() -> None:
    pages = [good_page(f"/{depth}", depth=depth) for depth in (0, 2, 9, 30)]
    report = build_report(MemoryAudit(pages_=pages), [], no_agents)
    assert [bar.pages for bar in report.depths] == [1, 0, 1, 0, 0, 0, 0, 0, 0, 2]
    assert report.depths[-1].label == "9 and more"


def test_times_and_sizes_are_counted_by_class() -> None:
    times = (99.9, 100.0, 499.0, 20_000.0)
    pages = [good_page(f"/{n}", elapsed_ms=ms, body_bytes=n * 60_000) for n, ms in enumerate(times)]
    report = build_report(MemoryAudit(pages_=pages), [], no_agents)
    assert [bar.pages for bar in report.times] == [1, 1, 1, 0, 0, 0, 1]
    assert [bar.pages for bar in report.sizes] == [1, 0, 1, 2]


def test_an_audit_of_nothing_has_no_bars() -> None:
    report = build_report(MemoryAudit(), [], no_agents)
    assert (report.statuses, report.depths, report.times, report.sizes, report.tree) == ((), (), (), (), ())
    assert report.sections == ("/",)


def test_the_tree_counts_pages_for_every_folder_above_them() -> None:
    pages = [good_page("/"), good_page("/a/b/c/d/page"), good_page("/a/x"), failed_page("/a/b/gone")]
    report = build_report(MemoryAudit(pages_=pages), [], no_agents)
    assert [tuple(each) for each in report.tree] == [
        ("/", 4, 1),
        ("/a/", 3, 1),
        ("/a/b/", 2, 1),
        ("/a/b/c/", 1, 0),
    ]
    assert report.sections == ("/", "/a/")


def test_the_tree_of_several_hosts_names_them() -> None:
    pages = [good_page("https://a.example/x/y"), good_page("https://b.example/")]
    report = build_report(MemoryAudit(pages_=pages), [], no_agents)
    assert [each.path for each in report.tree] == ["a.example/", "a.example/x/", "b.example/"]


def test_a_folder_of_a_large_tree_is_never_shown_without_the_one_above() -> None:
    pages = [good_page(f"/{n % 400}/{n}/page") for n in range(2_000)]
    report = build_report(MemoryAudit(pages_=pages), [], no_agents)
    paths = {each.path for each in report.tree}
    assert len(paths) == 300
    assert all(path == "/" or f"{path.rstrip('/').rpartition('/')[0]}/" in paths for path in paths)


def test_all_decisions_are_counted_and_those_that_deny_come_first() -> None:
    decisions = [
        RobotsDecision(f"https://example.test/{n}", n % 2 == 0, None, None, None, "2026-01-01T00:00:00Z", "high")
        for n in range(1_000)
    ]
    report = build_report(MemoryAudit(decisions_=decisions), [], no_agents)
    assert (report.totals["allowed"], report.totals["denied"]) == (500, 500)
    assert [each.allowed for each in report.decisions] == [False] * 200 + [True] * 50


def test_a_large_site_takes_no_more_memory_than_a_small_one() -> None:
    def peak(pages: int) -> int:
        tracemalloc.start()
        try:
            build_report(ShopAudit(pages), [], agents_of_shop)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # what is loaded once
    assert peak(5_000) < 2_000_000


def test_the_table_of_agents_has_small_folders_that_robots_txt_names() -> None:
    """Among many larger ones."""
    large = [good_page(f"/{folder}/{number}") for folder in "abcdefghij" for number in range(3)]
    blocked = failed_page("/private/x", status=None, error="blocked_by_robots: Disallow: /private/")
    robots = AuditedRobots("https://example.test", 200, "User-agent: GPTBot\nDisallow: /private/\n", "its rules apply")
    report = report_of(MemoryAudit(pages_=[*large, blocked], robots_=[robots]))
    assert report.sections == ("/", "/a/", "/b/", "/c/", "/d/", "/e/", "/f/", "/private/")
    (access,) = [agent for agent in report.agents if agent.agent == "GPTBot"]
    assert [section for section, rule in access.by_section.items() if not rule.allowed] == ["/private/"]
