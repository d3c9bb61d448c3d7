"""The report of an audit: a stored audit and its findings enter, everything that a report shows leaves.

Pages and decisions are read once each, one at a time; what is kept of them are counters, each with a limit. So a
site of any size takes the same memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from comity.model.audit import (
    AgentAccess,
    AuditComparison,
    AuditData,
    AuditedPage,
    AuditedRobots,
    AuditReport,
    Bar,
    ComparedAudit,
    Finding,
    RobotsDecision,
    SectionCount,
)
from comity.model.errors import NotFound
from comity.model.page import FOLLOWED
from comity.rules.audit.findings import compare_audits, find
from comity.rules.audit.robots_file import agent_access

MOST_SECTIONS: Final = 8
_MOST_JUDGED: Final = 500  # folders that the table of agents is chosen from
_MOST_STATUSES: Final = 12
_DEEPEST_BAR: Final = 9
_TREE_LEVELS: Final = 3
_MOST_NODES: Final = 5_000  # counted; the report shows fewer
_MOST_SHOWN: Final = 300
_MOST_DENIED: Final = 200
_MOST_ALLOWED: Final = 50

_TIME_BOUNDS_MS: Final = (100, 200, 500, 1_000, 2_000, 5_000)
_TIME_LABELS: Final = ("under 0.1 s", "0.1–0.2 s", "0.2–0.5 s", "0.5–1 s", "1–2 s", "2–5 s", "5 s and more")
_SIZE_BOUNDS: Final = (10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000)
_SIZE_LABELS: Final = ("under 10 kB", "10–50 kB", "50–100 kB", "100–500 kB", "0.5–1 MB", "1–5 MB", "5 MB and more")

BLOCKED: Final = "blocked by robots.txt"
NO_ANSWER: Final = "no answer"

Agents = Callable[[Sequence[AuditedRobots], Sequence[str]], Sequence[AgentAccess]]


def report_of(data: AuditData) -> AuditReport:
    """The report of an audit, with everything that is wrong with its site."""
    return build_report(data, find(data), agent_access)


def compare_stored(before: AuditData, after: AuditData) -> AuditComparison:
    """What changed between two audits; `NotFound` if one of them read no page, which says nothing about a site."""
    for info in (before.info, after.info):
        if not info.pages:
            raise NotFound(f"the audit {info.audit_id} read no page: there is nothing to compare")
    return compare_audits(_compared(before), _compared(after))


def _compared(data: AuditData) -> ComparedAudit:
    return ComparedAudit(data.info, find(data), [page.url for page in data.pages()])


def build_report(data: AuditData, findings: Iterable[Finding], agents_of: Agents) -> AuditReport:
    """Everything that a report of this audit shows; `agents_of` judges known agents by robots.txt and sections."""
    pages = _PageCounts()
    for page in data.pages():
        pages.add(page)
    outcomes = data.outcomes()
    decisions, allowed, denied = _sample(data.decisions())
    robots = tuple(data.robots())
    sections = _sections(pages.tree.folders(), robots, agents_of)
    info = data.info
    totals = {
        "urls": pages.urls,
        "pages": pages.pages,
        "links": sum(outcomes.values()),
        "links_followed": outcomes.get(FOLLOWED, 0),
        "requests": info.requests,
        "allowed": allowed,
        "denied": denied,
        "listed": sum(1 for _ in data.listed()),
    }
    return AuditReport(
        info=info,
        findings=tuple(sorted(findings, key=lambda each: (-each.severity.rank, -each.count, each.code))),
        statuses=pages.status_bars(),
        depths=pages.depth_bars(),
        times=_bars(_TIME_LABELS, pages.times),
        sizes=_bars(_SIZE_LABELS, pages.sizes),
        tree=pages.tree.counts(),
        agents=tuple(agents_of(robots, sections)),
        sections=sections,
        robots=robots,
        sitemaps=tuple(data.sitemaps()),
        decisions=decisions,
        totals=totals,
    )


class _PageCounts:
    """The counters that are kept while pages are read."""

    def __init__(self) -> None:
        self.urls = 0
        self.pages = 0
        self.times: Counter[int] = Counter()
        self.sizes: Counter[int] = Counter()
        self.tree = _Tree()
        self._statuses: Counter[str] = Counter()
        self._depths: Counter[int] = Counter()

    def add(self, page: AuditedPage) -> None:
        self.urls += 1
        status = status_label(page)
        self._statuses[status] += 1
        self.tree.add(page.url, has_error=_is_error(page))
        if page.status is None:
            return
        if page.elapsed_ms is not None:
            self.times[bisect_right(_TIME_BOUNDS_MS, page.elapsed_ms)] += 1
        if page.is_page:
            self.pages += 1
            self._depths[min(page.depth, _DEEPEST_BAR)] += 1
            self.sizes[bisect_right(_SIZE_BOUNDS, page.body_bytes)] += 1

    def status_bars(self) -> tuple[Bar, ...]:
        """Bars by status code; if there are many, the rarest share one bar."""
        kept = dict(self._statuses.most_common(_MOST_STATUSES))
        bars = [Bar(label, kept[label]) for label in sorted(kept)]
        rest = sum(self._statuses.values()) - sum(kept.values())
        return (*bars, *([Bar("others", rest)] if rest else []))

    def depth_bars(self) -> tuple[Bar, ...]:
        """Bars by distance from the start, without a gap."""
        deepest = max(self._depths, default=-1)
        labels = [f"{depth} and more" if depth == _DEEPEST_BAR else str(depth) for depth in range(deepest + 1)]
        return tuple(Bar(label, self._depths[depth]) for depth, label in enumerate(labels))


class _Tree:
    """Pages by host and folder, some levels deep; folders beyond the limit count for the folder above them."""

    def __init__(self) -> None:
        self._pages: Counter[tuple[str, ...]] = Counter()
        self._errors: Counter[tuple[str, ...]] = Counter()

    def add(self, url: str, *, has_error: bool) -> None:
        """Count a page for its folder and every folder above it."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return
        folders = parts.path.split("/")[1:-1][:_TREE_LEVELS]
        for depth in range(len(folders) + 1):
            key = (parts.netloc, *folders[:depth])
            if key not in self._pages and len(self._pages) >= _MOST_NODES:
                return
            self._pages[key] += 1
            if has_error:
                self._errors[key] += 1

    def counts(self) -> tuple[SectionCount, ...]:
        """Folders in the order of a tree; the largest, if there are too many, and each with all above it."""
        names_host = sum(1 for key in self._pages if len(key) == 1) > 1
        # A folder has at most as many pages as the one above it, which is shorter: it is never kept without that one.
        largest = sorted(self._pages, key=lambda key: (-self._pages[key], len(key), key))[:_MOST_SHOWN]
        return tuple(
            SectionCount(_path(key, names_host=names_host), self._pages[key], self._errors[key])
            for key in sorted(largest)
        )

    def folders(self) -> list[str]:
        """The folders below the root, those with most pages first."""
        first = Counter[str]()
        for key, pages in self._pages.items():
            if len(key) == 2:
                first[f"/{key[1]}/"] += pages
        return sorted(first, key=lambda path: (-first[path], path))


def _sections(folders: Sequence[str], robots: Sequence[AuditedRobots], agents_of: Agents) -> tuple[str, ...]:
    """The columns of the table of agents: the root, folders that some agent may read less or more of, then the largest.

    Without those, a rule about a small folder would not be seen.
    """
    judged = agents_of(robots, ("/", *folders[:_MOST_JUDGED]))
    is_ruled = {
        folder
        for agent in judged
        for folder, rule in agent.by_section.items()
        if rule.allowed is not agent.by_section["/"].allowed
    }
    chosen = sorted(folders, key=lambda folder: folder not in is_ruled)[: MOST_SECTIONS - 1]
    return ("/", *sorted(chosen))


def _path(key: tuple[str, ...], *, names_host: bool) -> str:
    path = "/".join(["", *key[1:], ""])
    return key[0] + path if names_host else path


def status_label(page: AuditedPage) -> str:
    """The first answer of a URL in a few words: `404 Not Found`, `301 Moved Permanently`, `no answer`."""
    status = page.hops[0].status if len(page.hops) > 1 else page.status
    if status is None:
        return BLOCKED if (page.error or "").startswith("blocked_by_robots") else NO_ANSWER
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _is_error(page: AuditedPage) -> bool:
    if page.status is None:
        return status_label(page) != BLOCKED
    return page.status >= 400


def _bars(labels: Sequence[str], counts: Counter[int]) -> tuple[Bar, ...]:
    """A bar for each class, up to the last with pages."""
    return tuple(Bar(label, counts[number]) for number, label in enumerate(labels[: max(counts, default=-1) + 1]))


def _sample(decisions: Iterable[RobotsDecision]) -> tuple[tuple[RobotsDecision, ...], int, int]:
    """The first that denied a URL and a few that allowed one, with how many there were of each."""
    denied: list[RobotsDecision] = []
    allowed: list[RobotsDecision] = []
    counts = Counter[bool]()
    for decision in decisions:
        counts[decision.allowed] += 1
        kept, most = (allowed, _MOST_ALLOWED) if decision.allowed else (denied, _MOST_DENIED)
        if len(kept) < most:
            kept.append(decision)
    return (*denied, *allowed), counts[True], counts[False]
