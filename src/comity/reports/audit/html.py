"""The report of an audit as one HTML page: it loads nothing, and works without scripts, on paper and on a phone.

Everything from the site is escaped (`html_sections.Html`), and a content security policy forbids what is not part of
this page. The page has a limit: rows of findings are written until their share of `_MOST_BYTES` is used up, and each
finding says how many it has in all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from comity.model.audit import AuditInfo, AuditReport, Finding, FoundOn, Severity
from comity.model.run import DONE, EndReason
from comity.model.wording import counted
from comity.reports.audit.html_sections import (
    Html,
    crawlers_section,
    cut,
    element,
    evidence_section,
    foreign,
    joined,
    link,
    plots,
    robots_section,
    sitemaps_section,
    tree,
)

MOST_ROWS: Final = 200
"""Pages of one finding that the report lists; tables have all."""
_ROWS_AT_ONCE: Final = 10
_MOST_SOURCES: Final = 5
_MOST_WARNINGS: Final = 10
_LONGEST_HOST: Final = 100
_HEAD_LENGTH: Final = 2000  # characters in which the policy stands
_MOST_BYTES: Final = 6_000_000

_EARLY: Final = frozenset(map(str, EndReason)) - frozenset(map(str, DONE))
GROUPS: Final = {
    Severity.ERROR: ("error", "Errors", "Failures that visitors or search engines run into. Fix these first."),
    Severity.WARNING: ("warning", "Warnings", "Problems that cost visibility, speed or safety."),
    Severity.NOTICE: ("notice", "Notices", "Worth knowing, and often easy to improve."),
}
_PARTS: Final = (
    ("summary", "Summary"),
    ("site", "The site at a glance"),
    ("findings", "Findings"),
    ("crawlers", "Who may read what"),
    ("robots", "robots.txt"),
    ("sitemaps", "Sitemaps"),
    ("evidence", "Evidence"),
    ("about", "About this audit"),
)


def html_page(report: AuditReport) -> Iterator[str]:
    """The page in pieces, each of them whole elements."""
    host = cut(_host(report.info.site), _LONGEST_HOST)
    yield "<!doctype html>\n"
    yield '<html lang="en">\n'
    yield element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=report_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Audit of {host}, {_day(report.info.started_at)}"),
        element("style", Html(_file("page.css"))),
    )
    yield '\n<body><a class="skip" href="#findings">Skip to the findings</a>\n<div class="page">\n'
    yield _contents_list()
    yield _head(report, host)
    yield "\n<main>\n"
    yield _section("summary", _summary(report))
    yield _section("site", joined([_facts(report), plots(report), tree(report.tree)]))
    yield from _findings(report.findings)
    yield _section("crawlers", crawlers_section(report))
    yield _section("robots", robots_section(report))
    yield _section("sitemaps", sitemaps_section(report))
    yield _section("evidence", evidence_section(report))
    yield _section("about", _about(report.info))
    yield "</main>\n</div>\n"
    yield element("script", Html(_file("page.js")))
    yield "\n</body>\n</html>\n"


def _contents_list() -> Html:
    items = [element("li", element("a", title, href=f"#{anchor}")) for anchor, title in _PARTS]
    return element("nav", element("ol", *items), aria_label="Parts of this report")


def _section(anchor: str, content: Html) -> Html:
    return joined([_heading(anchor), content, Html("\n")])


def _heading(anchor: str) -> Html:
    return element("h2", dict(_PARTS)[anchor], id=anchor)


def _head(report: AuditReport, host: str) -> Html:
    info = report.info
    ended = f", {_duration(info.ended_at - info.started_at)}" if info.ended_at is not None else ""
    visited = f"{counted(report.totals.get('urls', info.pages), 'URL')} checked"
    return element(
        "header",
        element("h1", "Audit of ", foreign(host)),
        element("p", f"{_day(info.started_at)}{ended} · {visited} · start ", link(info.site), class_="soft"),
    )


# -- the summary ---------------------------------------------------------------------------------------------------


def _summary(report: AuditReport) -> Html:
    """What needs attention, most important first, without a score."""
    parts = [_ending(report.info), *_warnings(report.info)]
    if not report.totals.get("pages"):
        parts.append(element("p", "No page could be read, so there is little to say about the site.", class_="lead"))
    elif not report.findings:
        parts.append(element("p", "No problems were found.", class_="lead"))
    if report.findings:
        parts += [element("p", _overview(report.findings), class_="lead"), _figures(report.findings)]
        parts.append(_contents(report.findings))
    return joined(parts)


def _ending(info: AuditInfo) -> Html | None:
    if info.is_complete and info.ended_by not in _EARLY:
        return None
    sentence = (
        f"The audit ended early: {info.sentence.removeprefix('Stopped: ').rstrip('.')}."
        if info.sentence
        else "The audit ended early."
    )
    were = "was" if info.left == 1 else "were"
    left = f" {counted(info.left, 'known URL')} {were} not visited, so findings may be missing." if info.left else ""
    return element("div", element("p", foreign(sentence), left), class_="callout warning")


def _warnings(info: AuditInfo) -> list[Html | None]:
    """What went wrong on the way, except for a budget whose end is already reported."""
    sentences = info.open_warnings
    shown = [element("p", foreign(sentence)) for sentence in sentences[:_MOST_WARNINGS]]
    more = len(sentences) - len(shown)
    shown += [element("p", f"{counted(more, 'warning')} more.")] if more else []
    return [element("div", *shown, class_="callout")] if shown else []


def _overview(findings: Sequence[Finding]) -> str:
    """One sentence about how much there is to do, and where to begin."""
    worst = findings[0]
    kinds = "1 kind of problem" if len(findings) == 1 else f"{len(findings)} kinds of problem"
    if worst.severity is Severity.ERROR:
        return f"{kinds} found. Start with the errors: {_decapitalized(worst.title)}."
    return f"{kinds} found, and no errors."


def _figures(findings: Sequence[Finding]) -> Html:
    cells = []
    for severity, (tone, title, _) in GROUPS.items():
        of_it = [each for each in findings if each.severity is severity]
        urls = len({page.url for each in of_it for page in each.pages})
        name = title if len(of_it) != 1 else title.removesuffix("s")
        cells.append(
            element(
                "div",
                element("b", f"{len(of_it):,}"),
                element("span", name),
                element("span", f"on {counted(urls, 'URL')}" if of_it else "none found", class_="soft small"),
                class_=f"figure {tone}" if of_it else "figure none",
            )
        )
    return element("div", *cells, class_="figures")


def _contents(findings: Sequence[Finding]) -> Html:
    rows = [
        element(
            "tr",
            element("td", _tag(each.severity)),
            element("td", element("a", each.title, href=f"#{each.code}")),
            element("td", counted(each.count, each.unit), class_="number"),
        )
        for each in findings
    ]
    head = element(
        "tr",
        *[element("th", name, scope="col") for name in ("Severity", "Problem")],
        element("th", "Found on", scope="col", class_="number"),
    )
    return element("table", element("thead", head), element("tbody", *rows), class_="contents")


def _tag(severity: Severity) -> Html:
    return element("span", severity.value, class_=f"tag {GROUPS[severity][0]}")


def _facts(report: AuditReport) -> Html:
    """The totals, as names and values."""
    totals, info = report.totals, report.info
    facts = [
        ("URLs checked", totals.get("urls", 0)),
        ("Pages read", totals.get("pages", 0)),
        ("Requests", totals.get("requests", info.requests)),
        ("Links found", totals.get("links", 0)),
        ("URLs in sitemaps", totals.get("listed", 0)),
        ("Allowed by robots.txt", totals.get("allowed", 0)),
        ("Blocked by robots.txt", totals.get("denied", 0)),
        ("Known, not visited", info.left),
    ]
    cells = [element("div", element("dt", name), element("dd", f"{value:,}")) for name, value in facts]
    return element("dl", *cells, class_="facts")


# -- findings ------------------------------------------------------------------------------------------------------


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield _heading("findings")
    if not findings:
        yield element("p", "None.", class_="soft")
        return
    yield element(
        "div",
        element(
            "input", type="search", placeholder="Filter findings and pages", aria_label="Filter findings and pages"
        ),
        element("button", "Open all", type="button", value="open"),
        element("button", "Close all", type="button", value="close"),
        element("output", aria_live="polite"),
        class_="filter",
        hidden=True,
    )
    left = _MOST_BYTES
    for number, (severity, (_, title, about)) in enumerate(GROUPS.items()):
        of_it = [each for each in findings if each.severity is severity]
        if not of_it:
            continue
        yield f'<div class="group" id="group-{number}">'
        yield joined([element("h3", title), element("p", about, class_="soft small")])
        for each in of_it:
            rest = len(findings) - findings.index(each)
            shown = _finding(each, left // rest)
            left -= len(shown)
            yield shown
        yield "</div>\n"


def _finding(finding: Finding, most_bytes: int) -> Html:
    first, more = _rows(finding.pages, most_bytes)
    has_sources = any(page.sources for page in finding.pages[: len(first) + len(more)])
    head = _pages_head(has_sources)
    rest = finding.count - len(first)
    unlisted = finding.count - len(first) - len(more)
    tables: list[Html | None] = [element("table", head, element("tbody", *first), class_="pages stacked")]
    if more:
        tables.append(
            element(
                "details",
                element("summary", f"{len(more):,} more"),
                element("table", head, element("tbody", *more), class_="pages stacked"),
                class_="more",
            )
        )
        tables.append(element("p", f"{rest:,} more in the file.", class_="on-paper"))
    if unlisted:
        note = f"{counted(unlisted, 'URL')} more: the exported tables list all {finding.count:,}."
        tables.append(element("p", note, class_="soft small"))
    body = element(
        "div",
        element(
            "dl",
            *[element("dt", "What it means"), element("dd", finding.meaning)],
            *[element("dt", "What to do"), element("dd", finding.remedy)],
        ),
        *tables,
        id=str(finding.code),
    )
    summary = element(
        "summary",
        element("h4", finding.title),
        _tag(finding.severity),
        element("span", counted(finding.count, finding.unit), class_="count"),
    )
    return element("details", summary, body, Html("\n"), class_="finding", data_code=str(finding.code))


def _pages_head(has_sources: bool) -> Html:
    last = "Details and pages that hold it" if has_sources else "Details"
    return element("thead", element("tr", element("th", "URL", scope="col"), element("th", last, scope="col")))


def _rows(pages: Sequence[FoundOn], most_bytes: int) -> tuple[list[Html], list[Html]]:
    """As many rows as the page has room for, at least a few; those that show at once, and those behind a fold."""
    rows: list[Html] = []
    used = 0
    for page in pages[:MOST_ROWS]:
        row = element("tr", element("td", link(page.url)), element("td", _details(page)))
        used += len(row)
        if used > most_bytes and len(rows) >= 3:
            break
        rows.append(row)
    return rows[:_ROWS_AT_ONCE], rows[_ROWS_AT_ONCE:]


def _details(page: FoundOn) -> Html:
    detail = foreign(page.detail) if page.detail else None
    if not page.sources:
        return joined([detail])
    items = [element("li", link(source)) for source in page.sources[:_MOST_SOURCES]]
    more = len(page.sources) - len(items)
    items += [element("li", f"and {more:,} more", class_="soft")] if more else []
    if len(items) == 1:
        return joined([detail, element("ul", *items)])
    title = element("summary", counted(len(page.sources), "page"))
    return joined([detail, element("details", title, element("ul", *items), class_="from")])


# -- about ---------------------------------------------------------------------------------------------------------


def _about(info: AuditInfo) -> Html:
    budgets = [
        counted(info.max_pages, "page") if info.max_pages else "any number of pages",
        f"{info.max_minutes:g} {'minute' if info.max_minutes == 1 else 'minutes'}" if info.max_minutes else "any time",
    ]
    facts = [
        ("Audit", info.audit_id),
        ("Started", _moment(info.started_at)),
        ("Ended", _moment(info.ended_at) if info.ended_at is not None else "not yet"),
        ("Ended because", info.sentence.rstrip(".") or info.ended_by),
        ("Budget", " and ".join(budgets)),
        ("User-Agent", info.user_agent),
    ]
    rows = [element("tr", element("th", name, scope="row"), element("td", foreign(value))) for name, value in facts]
    note = (
        "Comity obeyed robots.txt and stored the reason for every decision. Response times include the whole body and "
        "were measured from one place, so compare them with each other rather than with other tools."
    )
    return joined(
        [
            element("div", element("table", element("tbody", *rows)), class_="scroll"),
            element("footer", element("p", note)),
        ]
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def _moment(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _day(timestamp: float) -> str:
    moment = datetime.fromtimestamp(timestamp, UTC)
    return f"{moment.day} {moment:%B %Y}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes"


def _decapitalized(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def report_policy() -> str:
    """The Content-Security-Policy of a report: nothing but its own style and script."""
    style, script = (_digest(_file(name)) for name in ("page.css", "page.js"))
    return f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def is_current(path: Path) -> bool:
    """Whether a report has the style and the script of this version; those of another are not in its policy."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return report_policy() in unescape(file.read(_HEAD_LENGTH))


def write_html(report: AuditReport, path: Path) -> int:
    """Write the page, and rename it when it is complete; returns its size."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            for piece in html_page(report):
                file.write(piece)
        size = partial.stat().st_size
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    return size
