from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.audit import AuditedRobots, Finding, FindingCode, FoundOn, Severity
from comity.reports.audit.build import build_report
from comity.reports.audit.html import html_page, is_current, write_html
from comity.reports.audit.html_sections import element, escaped, foreign, link
from tests.audit.memory import MemoryAudit, audit_info, good_site
from tests.audit.report_sample import SHOP, ShopAudit, agents_of_shop, every_finding, hostile_audit

HOSTILE = {
    "markup": "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" \' x=\'',
    "scheme": "javascript:alert(1)//",
    "hidden scheme": "https://\x00javascript:alert(1)",
    "control characters": "a\x00b\x1b[31mc\x7f\x85d\r\n",
    "right to left": "\u202egnp.exe\u2066 \u05d0\u05d1",
    "half a character": "\ud800 and \udfff",
    "huge": "x" * 200_000,
    "comment": "<!-- --><![CDATA[ ]]>",
    "template": "{{7*7}} ${7*7} {% raw %}",
}


class Reader(HTMLParser):
    """Elements that load or run something, and attributes that could."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.classes: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "action", "xlink:href"):
                self.links.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(name)
            if name == "class":
                self.classes += (value or "").split()
            if name == "id":
                self.ids.append(value or "")


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def hostile_page(text: str) -> str:
    findings = [Finding(FindingCode.BROKEN_LINK, Severity.ERROR, "t", "m", "r", (FoundOn(text, text, (text, text)),))]
    return "".join(html_page(build_report(hostile_audit(text), findings, agents_of_shop)))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_text_of_a_site_is_only_ever_text(text: str) -> None:
    page = hostile_page(text)
    page.encode("utf-8")
    reader = read(page)
    assert reader.elements.count("script") == 1
    assert reader.elements.count("style") == 1
    assert not {"img", "iframe", "object", "embed", "link", "base", "form"} & set(reader.elements)
    assert reader.handlers == []
    assert all(each.startswith(("#", "http://", "https://")) for each in reader.links), reader.links
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)
    assert len(page) < 100_000


@given(st.text(alphabet=st.characters(codec=None)))
def test_escaped_text_reads_back_and_makes_no_element(text: str) -> None:
    class Texts(HTMLParser):
        def __init__(self) -> None:
            super().__init__(convert_charrefs=True)
            self.read = ""

        def handle_data(self, data: str) -> None:
            self.read += data

        def handle_starttag(self, tag: str, attrs: object) -> None:
            raise AssertionError(tag)

    reader = Texts()
    markup = escaped(text)
    reader.feed(markup)
    reader.close()
    markup.encode("utf-8")
    if text.isprintable():
        assert reader.read == text


def test_only_web_addresses_become_links() -> None:
    assert "<a" in link("https://example.com/?a=1&b=%22")
    assert "<a" in link("HTTP://EXAMPLE.COM/")
    for other in (
        "javascript:alert(1)",
        " https://example.com",
        "//example.com",
        "data:text/html,x",
        "",
        "https://a\tb",
    ):
        assert "<a" not in link(other), other


def test_a_long_text_keeps_its_end() -> None:
    shown = link("https://example.com/" + "a" * 1_000 + "/the-end", 100)
    assert "…" in shown
    assert shown.endswith("/the-end</a>")
    assert len(foreign("x" * 1_000, 50)) < 80


def test_markup_is_not_escaped_twice() -> None:
    inner = element("b", "<&>")
    assert element("p", inner, class_="x", hidden=True, title=None) == '<p class="x" hidden><b>&lt;&amp;&gt;</b></p>'


def test_the_page_forbids_everything_but_its_own_style_and_script() -> None:
    page = "".join(html_page(build_report(good_site(), [], agents_of_shop)))
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(each.strip().split(" ", 1) for each in policy[1].replace("&#39;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert rules["style-src"].startswith("'sha256-")
    assert "unsafe" not in policy[1]


def test_a_report_of_another_version_is_not_current(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_html(build_report(good_site(), [], agents_of_shop), path)
    assert is_current(path)
    path.write_text(path.read_text(encoding="utf-8").replace("sha256-", "sha256-0", 1), encoding="utf-8")
    assert not is_current(path)


def test_every_finding_has_its_meaning_remedy_and_pages() -> None:
    urls = [page.url for page in ShopAudit(40).pages()]
    findings = every_finding(urls, 25)
    page = "".join(html_page(build_report(ShopAudit(40), findings, agents_of_shop)))
    reader = read(page)
    assert reader.classes.count("finding") == len(FindingCode)
    assert {str(each.code) for each in findings} <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert {unquote(each[1:]) for each in reader.links if each.startswith("#")} <= set(reader.ids)
    assert page.count("What it means to visitors") == len(FindingCode)
    assert page.count(">15 more") == len(FindingCode) * 2  # behind a fold, and in a remark on paper
    assert page.count(">25 lines<") == 2 * 2  # of robots.txt: faulty, and without effect; in the summary and below


def test_a_clean_site_is_said_to_be_clean() -> None:
    page = "".join(html_page(build_report(good_site(), [], agents_of_shop)))
    assert "No problems were found." in page
    assert "ended early" not in page


def test_an_audit_that_ended_early_says_so_first() -> None:
    info = audit_info(ended_by="page_limit", sentence="the limit of 200 pages was reached", left=37)
    audit = good_site()
    audit.info = info
    page = "".join(html_page(build_report(audit, [], agents_of_shop)))
    text = re.sub("<[^>]*>", "", page)
    said = "The audit ended early: the limit of 200 pages was reached. 37 known URLs were not visited"
    assert text.index(said) < text.index("No problems were found")


def test_the_deciding_line_is_marked_and_linked() -> None:
    page = "".join(html_page(build_report(ShopAudit(40), [], agents_of_shop)))
    marked = re.findall(r'<tr id="(robots-0-\d+)" class="matched">', page)
    assert marked == ["robots-0-3", "robots-0-9"]  # Disallow: /cart/, and Disallow: / of GPTBot
    assert page.count('href="#robots-0-3"') == 3
    assert 'href="#robots-0-9"' in page
    assert "decided 3 URLs" in page


def test_a_long_robots_file_is_cut_but_shows_what_decided() -> None:
    lines = [f"Disallow: /{number}" for number in range(5_000)]
    audit = ShopAudit(5)
    report = build_report(audit, [], agents_of_shop)
    text = "User-agent: *\n" + "\n".join(lines)
    decision = report.decisions[0]._replace(line=4_000)
    changed = MemoryAudit(robots_=[AuditedRobots(SHOP, 200, text, "read")], decisions_=[decision], info=audit.info)
    page = "".join(html_page(build_report(changed, [], agents_of_shop)))
    assert "2,999 lines left out" in page
    assert 'id="robots-0-4000" class="matched"' in page
    assert "1,001 lines left out" in page


def test_the_largest_report_stays_small(tmp_path: Path) -> None:
    urls = [f"{SHOP}/{'long/' * 60}{number}" for number in range(200)]
    report = build_report(ShopAudit(200), every_finding(urls, 300), agents_of_shop)
    size = write_html(report, tmp_path / "report.html")
    assert size < 10_000_000
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert read(text).classes.count("finding") == len(FindingCode)
    assert "the exported tables list all 300" in text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
