"""What robots.txt allows: agents by sections, the file with its matched lines marked, sitemaps, and the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from comity.model.audit import AgentAccess, AgentRule, AuditReport, RobotsFile, SitemapFile
from comity.model.wording import counted
from comity.reports.audit.markup import Html, element, escaped, foreign, joined, link

_MOST_LINES: Final = 1_000
_LONGEST_LINE: Final = 300
_MOST_SITEMAPS: Final = 200

Marks = Mapping[int, Sequence[str]]
"""Why a line is marked, by its number."""


def crawlers_section(report: AuditReport) -> Html:
    """The table of known agents by sections of the site."""
    if not report.agents:
        return element("p", "No robots.txt was read, so nothing can be said about other crawlers.", class_="soft")
    names = ["Agent", *report.sections]
    head = element("tr", *[element("th", foreign(name, 40), scope="col") for name in names])
    file = _deciding_file(report.robots)
    purposes: dict[str, list[AgentAccess]] = {}
    for agent in report.agents:
        purposes.setdefault(agent.purpose, []).append(agent)
    groups = []
    for purpose, agents in purposes.items():
        title = element("th", purpose[:1].upper() + purpose[1:], scope="rowgroup", colspan=len(names))
        rows = [_agents(alike, report.sections, file) for alike in _alike(agents)]
        groups.append(element("tbody", element("tr", title), *rows))
    about = (
        "What robots.txt lets each crawler read in each section of the site, and the line that decides. "
        "Where there is no line, no rule applies. Crawlers to which the same lines apply share a row."
    )
    table = element("table", element("thead", head), *groups, class_="agents")
    shown = element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Agents by sections")
    return joined([element("p", about, class_="soft"), shown])


def _alike(agents: Sequence[AgentAccess]) -> Iterable[list[AgentAccess]]:
    """Agents of one purpose that the same lines decide about: they share a row."""
    groups: dict[tuple[tuple[str, AgentRule], ...], list[AgentAccess]] = {}
    for agent in agents:
        groups.setdefault(tuple(agent.by_section.items()), []).append(agent)
    return groups.values()


def _agents(alike: Sequence[AgentAccess], sections: Sequence[str], file: int | None) -> Html:
    names = [element("span", each.agent, title=each.operator, class_="agent") for each in alike]
    by_section = alike[0].by_section
    cells = [_access(by_section.get(section), file) for section in sections]
    return element("tr", element("th", *_separated(names), scope="row"), *cells)


def _separated(names: Sequence[Html]) -> list[Html]:
    return [joined([name, ", " if number < len(names) else None]) for number, name in enumerate(names, 1)]


def _access(rule: AgentRule | None, file: int | None) -> Html:
    if rule is None:
        return element("td", "–", class_="soft")
    word = element("span", "✓ allowed" if rule.allowed else "✕ blocked", class_="yes" if rule.allowed else "no")
    return element("td", word, _line_link(file, rule.line_number, rule.rule))


def _line_link(file: int | None, line: int | None, rule: str | None) -> Html | None:
    if line is None:
        return None
    text = f"line {line}"
    if file is None:
        return element("span", text, class_="soft small", title=rule)
    return element("a", text, href=f"#robots-{file}-{line}", title=rule)


def _deciding_file(robots: Sequence[RobotsFile]) -> int | None:
    """Which file the agents are judged by: the first that has text."""
    return next((number for number, file in enumerate(robots) if file.text is not None), None)


def robots_section(report: AuditReport) -> Html:
    """Each robots.txt with line numbers; the lines that decided something are marked and say what."""
    if not report.robots:
        return element("p", "No robots.txt was asked for.", class_="soft")
    return joined([_robots(number, file, report) for number, file in enumerate(report.robots)])


def _robots(number: int, file: RobotsFile, report: AuditReport) -> Html:
    address = file.origin.rstrip("/") + "/robots.txt"
    answer = f"answered {file.status}" if file.status is not None else "no answer"
    said = "" if str(file.status) in file.reason else f"{answer} · "
    title = element("p", link(address), f" · {said}", foreign(file.reason), class_="soft")
    if file.text is None:
        return title
    # Lines as the parser counts them (RFC 9309 §2.2: CR, LF or both end a line).
    lines = file.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    marks = _marks(number, file, report)
    rows, left_out = [], 0
    for at, line in enumerate(lines, 1):
        if at > _MOST_LINES and at not in marks:
            left_out += 1
            continue
        rows += _gap(left_out)
        left_out = 0
        rows.append(_line(number, at, line, marks.get(at, ())))
    rows += _gap(left_out)
    body = element("tbody", *rows) if rows else element("tbody", element("tr", element("td"), element("td", "(empty)")))
    return joined([title, element("table", body, class_="robots", aria_label=f"Lines of {address}")])


def _gap(lines: int) -> list[Html]:
    return [element("tr", element("td", "…"), element("td", f"{counted(lines, 'line')} left out"))] if lines else []


def _line(file: int, number: int, text: str, why: Sequence[str]) -> Html:
    return element(
        "tr",
        element("td", f"{number:,}"),
        element("td", element("code", escaped(text[:_LONGEST_LINE]), "…" if len(text) > _LONGEST_LINE else None)),
        element("td", " · ".join(why)),
        id=f"robots-{file}-{number}",
        class_="matched" if why else None,
    )


def _marks(number: int, file: RobotsFile, report: AuditReport) -> Marks:
    """What each line decided: for URLs of this audit, and for agents."""
    urls: Counter[int] = Counter()
    for decision in report.decisions:
        if decision.line is not None and _origin(decision.url) == file.origin.rstrip("/"):
            urls[decision.line] += 1
    agents: Counter[int] = Counter()
    if number == _deciding_file(report.robots):
        for agent in report.agents:
            agents.update({rule.line_number for rule in agent.by_section.values() if rule.line_number is not None})
    marks = {}
    for line in {*urls, *agents}:
        said = [f"decided {counted(urls[line], 'URL')}"] if urls[line] else []
        said += [f"applies to {counted(agents[line], 'agent')}"] if agents[line] else []
        marks[line] = said
    return marks


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def sitemaps_section(report: AuditReport) -> Html:
    """The sitemaps and how reading them went."""
    if not report.sitemaps:
        return element("p", "No sitemap was found.", class_="soft")
    head = element(
        "tr",
        *[element("th", name, scope="col") for name in ("Sitemap", "State")],
        element("th", "URLs", scope="col", class_="number"),
    )
    rows = [_sitemap(each) for each in report.sitemaps[:_MOST_SITEMAPS]]
    more = len(report.sitemaps) - len(rows)
    return joined(
        [
            element("table", element("thead", head), element("tbody", *rows), class_="stacked"),
            element("p", f"{counted(more, 'sitemap')} more.", class_="soft small") if more else None,
        ]
    )


def _sitemap(file: SitemapFile) -> Html:
    problem = joined([element("br"), foreign(file.problem)]) if file.problem else None
    return element(
        "tr",
        element("td", link(file.url)),
        element("td", foreign(file.state.replace("_", " ")), problem),
        element("td", f"{file.urls:,}", data_label="URLs", class_="number"),
    )


def evidence_section(report: AuditReport) -> Html:
    """Decisions by robots.txt as they were stored: those that denied a URL first."""
    if not report.decisions:
        return element("p", "No decision by robots.txt is stored.", class_="soft")
    listed = Counter(each.allowed for each in report.decisions)
    denied, allowed = report.totals.get("denied", listed[False]), report.totals.get("allowed", listed[True])
    about = f"robots.txt was asked about every URL. It denied {denied:,} and allowed {allowed:,}."
    if denied + allowed > listed.total():
        about += (
            f" Listed are {listed[False]:,} that it denied and {listed[True]:,} that it allowed; the tables have all."
        )
    numbers = {file.origin.rstrip("/"): number for number, file in enumerate(report.robots) if file.text is not None}
    names = ("URL", "Decision", "Rule", "Crawl-delay", "Time", "Confidence")
    head = element("tr", *[element("th", name, scope="col") for name in names])
    rows = []
    for each in report.decisions:
        word = element(
            "span", "allowed" if each.allowed else "blocked", class_=f"tag {'good' if each.allowed else 'error'}"
        )
        rule = element("code", foreign(each.matched_rule)) if each.matched_rule else escaped("no rule matches")
        where = _line_link(numbers.get(_origin(each.url)), each.line, None)
        delay = f"{each.crawl_delay:g} s" if each.crawl_delay is not None else "–"
        rows.append(
            element(
                "tr",
                element("td", link(each.url)),
                element("td", word),
                element("td", rule, " · " if where else None, where),
                element("td", delay, data_label="Crawl-delay"),
                element("td", foreign(each.timestamp), class_="small", data_label="Time"),
                element("td", foreign(each.confidence), data_label="Confidence"),
            )
        )
    table = element("table", element("thead", head), element("tbody", *rows), class_="stacked")
    return joined(
        [
            element("p", about, class_="soft"),
            element(
                "details", element("summary", counted(len(rows), "decision")), element("div", table, class_="scroll")
            ),
        ]
    )
