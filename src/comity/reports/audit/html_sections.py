"""Sections of the report of an audit as HTML: plots, the tree of folders, robots.txt, sitemaps and evidence.

At the end is the markup that they are built from. Every text is escaped; only `Html` is taken as markup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final
from urllib.parse import urlsplit

from comity.model.audit import AgentAccess, AgentRule, AuditedRobots, AuditReport, Bar, SectionCount, SitemapFile
from comity.model.dataclass import dataclass
from comity.model.wording import counted
from comity.reports.audit.build import BLOCKED, NO_ANSWER

_LABEL_WIDTH: Final = 176
_BAR_WIDTH: Final = 176
_VALUE_WIDTH: Final = 100
_ROW: Final = 25
_BAR: Final = 14
_LONGEST_LABEL: Final = 25
_TREE_BAR: Final = 100

Tone = Callable[[Bar], str]
_MOST_LINES: Final = 1_000
_LONGEST_LINE: Final = 300
_MOST_SITEMAPS: Final = 200

_Marks = Mapping[int, Sequence[str]]
"""Why a line is marked, by its number."""
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_special: Final = re.compile("[&<>\"']")
# C0 and C1 controls, marks and overrides of direction, invisible separators, and halves of characters.
_unseen: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_VOID: Final = frozenset({"meta", "br", "input"})
_LONGEST_TEXT: Final = 300
_LONGEST_ADDRESS: Final = 2_000


def plots(report: AuditReport) -> Html:
    """Status, depth, response time and size, each as bars with a common zero.

    They are SVG with text labels.
    """
    drawn = [
        _plot("Answers", "URLs by status", report.statuses, _status_tone),
        _plot("Depth", "pages by distance from the start", report.depths, _plain),
        _plot("Response time", "responses by time to last byte", report.times, _plain),
        _plot("Size", "pages by uncompressed size of the HTML", report.sizes, _plain),
    ]
    return element("div", *[each for each in drawn if each is not None], class_="plots")


def _plain(_bar: Bar) -> str:
    return "fill"


def _status_tone(bar: Bar) -> str:
    if bar.label == BLOCKED:
        return "fill-quiet"
    if bar.label == NO_ANSWER:
        return "fill-error"
    return {"2": "fill-good", "3": "fill", "4": "fill-warning", "5": "fill-error"}.get(bar.label[:1], "fill-quiet")


def _plot(title: str, about: str, bars: Sequence[Bar], tone: Tone) -> Html | None:
    """Horizontal bars: labels to the left, numbers and shares to the right."""
    if not bars:
        return None
    total = sum(bar.pages for bar in bars) or 1
    largest = max(bar.pages for bar in bars) or 1
    drawn: list[Html] = []
    for number, bar in enumerate(bars):
        top = number * _ROW + 4
        width = max(round(bar.pages / largest * _BAR_WIDTH, 1), 1.5 if bar.pages else 0)
        baseline = top + _BAR - 2.5
        drawn += [
            element("text", _short(bar.label), x=_LABEL_WIDTH - 8, y=baseline, class_="label"),
            element("rect", x=_LABEL_WIDTH, y=top, width=width, height=_BAR, rx=2, class_=tone(bar)),
            element("text", _value(bar.pages, total), x=_LABEL_WIDTH + width + 7, y=baseline),
        ]
    height = len(bars) * _ROW + 4
    axis = element("line", x1=_LABEL_WIDTH, x2=_LABEL_WIDTH, y1=0, y2=height, class_="axis")
    spoken = ", ".join(f"{bar.label}: {bar.pages:,}" for bar in bars)
    anchor = f"plot-{title.lower().replace(' ', '-')}"
    picture = element(
        "svg",
        element("title", f"{title}: {about}", id=f"{anchor}-title"),
        element("desc", spoken, id=f"{anchor}-values"),
        *drawn,
        axis,
        viewBox=f"0 0 {_LABEL_WIDTH + _BAR_WIDTH + _VALUE_WIDTH} {height}",
        role="img",
        aria_labelledby=f"{anchor}-title {anchor}-values",
        class_="plot",
    )
    caption = element("figcaption", title, element("span", f" · {about}", class_="soft small"))
    return element("figure", caption, picture)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1].rstrip()}…"


def _value(pages: int, total: int) -> str:
    if not pages:
        return "0"
    share = 100 * pages / total
    return f"{pages:,} · {share:.0f} %" if share >= 1 else f"{pages:,} · < 1 %"


@dataclass(slots=True)
class _Folder:
    """A folder with those in it."""

    name: str
    count: SectionCount
    folders: list[_Folder] = field(default_factory=list)


def tree(counts: Sequence[SectionCount]) -> Html | None:
    """The folders of the site, each with its pages and errors; those below the first level are folded."""
    if not counts:
        return None
    roots = list(_nested(counts))
    most = max(each.count.pages for each in roots)
    title = element("h3", "Site tree")
    about = element("p", "Folders by the paths of URLs, with everything below them.", class_="soft small")
    items = [_item(root, most, depth=0) for root in roots]
    return joined([title, about, element("ul", *items, class_="tree")])


def _nested(counts: Sequence[SectionCount]) -> Iterator[_Folder]:
    """Folders inside each other; they come in the order of their paths."""
    above: list[_Folder] = []
    for count in counts:
        while above and not count.path.startswith(above[-1].count.path):
            above.pop()
        name = count.path[len(above[-1].count.path) :] if above else count.path
        folder = _Folder(name, count)
        if above:
            above[-1].folders.append(folder)
        else:
            yield folder
        above.append(folder)


def _item(folder: _Folder, most: int, depth: int) -> Html:
    row = _row(folder, most)
    if not folder.folders:
        return element("li", row)
    inner = element("ul", *[_item(each, most, depth + 1) for each in folder.folders])
    return element("li", element("details", element("summary", row), inner, open=depth == 0))


def _row(folder: _Folder, most: int) -> Html:
    count = folder.count
    width = max(round(count.pages / most * _TREE_BAR, 1), 1)
    bar = element(
        "svg",
        element("rect", x=0, y=0, width=_TREE_BAR, height=8, class_="empty"),
        element("rect", x=0, y=0, width=width, height=8, class_="fill"),
        viewBox=f"0 0 {_TREE_BAR} 8",
        aria_hidden="true",
        preserveAspectRatio="none",
    )
    errors = counted(count.errors, "error") if count.errors else ""
    return element(
        "span",
        element("span", foreign(folder.name, 120), class_="url"),
        bar,
        element("span", counted(count.pages, "URL"), class_="number"),
        element("span", errors, class_="number error" if errors else "number"),
        class_="row",
    )


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


def _deciding_file(robots: Sequence[AuditedRobots]) -> int | None:
    """Which file the agents are judged by: the first that has text."""
    return next((number for number, file in enumerate(robots) if file.text is not None), None)


def robots_section(report: AuditReport) -> Html:
    """Each robots.txt with line numbers; the lines that decided something are marked and say what."""
    if not report.robots:
        return element("p", "No robots.txt was requested.", class_="soft")
    return joined([_robots(number, file, report) for number, file in enumerate(report.robots)])


def _robots(number: int, file: AuditedRobots, report: AuditReport) -> Html:
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


def _marks(number: int, file: AuditedRobots, report: AuditReport) -> _Marks:
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
    about = f"Every URL was checked against robots.txt. It denied {denied:,} and allowed {allowed:,}."
    if denied + allowed > listed.total():
        about += (
            f" Below are {listed[False]:,} that it denied and {listed[True]:,} that it allowed; the tables have all."
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


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | int | float | bool | None) -> Html:
    """One element. `class_` and the like lose their underscore; other underscores become hyphens."""
    opening = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        opening.append(attribute if value is True else f'{attribute}="{escaped(str(value))}"')
    if name in _VOID:
        return Html(f"<{' '.join(opening)}>")
    return Html(f"<{' '.join(opening)}>{joined(children)}</{name}>")


def joined(children: Iterable[str | None]) -> Html:
    """Several texts and elements, one after another."""
    return Html("".join([escaped(child) for child in children if child is not None]))


def escaped(text: str) -> Html:
    """A text as markup; markup stays as it is."""
    if isinstance(text, Html):
        return text
    text = _unseen.sub(_as_escape, text)
    return Html(_special.sub(lambda found: _ESCAPES[found[0]], text))


def foreign(text: str, longest: int = _LONGEST_TEXT) -> Html:
    """A text from the site: cut to a length, and kept from reordering what stands around it.

    Texts come from strangers. Control characters and those that reorder a line (bidirectional overrides) are written as
    escapes, so that what a reader sees is what is there; what cannot be written as UTF-8 becomes U+FFFD.
    """
    return element("bdi", cut(text, longest))


def link(url: str, longest: int = _LONGEST_TEXT) -> Html:
    """A URL as a link, if it is a web address; else as text."""
    shown = cut(url, longest)
    if not url.lower().startswith(("http://", "https://")) or len(url) > _LONGEST_ADDRESS or _unseen.search(url):
        return element("bdi", shown, class_="url")
    return element("a", shown, class_="url", href=url, rel="noopener noreferrer nofollow", dir="ltr")


def cut(text: str, longest: int) -> str:
    """A text that is not longer than that; the middle of a long one is left out, as its end tells URLs apart."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def _as_escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in "\t\n\r":
        return " "
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return char.encode("unicode_escape").decode("ascii")
