"""The site at a glance: plots as SVG with text labels, and the tree of its folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from comity.model.audit import AuditReport, Bar, SectionCount
from comity.model.wording import counted
from comity.reports.audit.build import BLOCKED, NO_ANSWER
from comity.reports.audit.markup import Html, element, foreign, joined

_LABEL_WIDTH: Final = 162
_BAR_WIDTH: Final = 190
_VALUE_WIDTH: Final = 100
_ROW: Final = 25
_BAR: Final = 14
_LONGEST_LABEL: Final = 22
_TREE_BAR: Final = 100

Tone = Callable[[Bar], str]


def plots(report: AuditReport) -> Html:
    """Status, depth, response time and size, each as bars with a common zero."""
    drawn = [
        _plot("Answers", "URLs by status", report.statuses, _status_tone),
        _plot("Depth", "pages by links from the start", report.depths, _plain),
        _plot("Response time", "answers by time until the last byte", report.times, _plain),
        _plot("Size", "pages by size of the HTML, uncompressed", report.sizes, _plain),
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
