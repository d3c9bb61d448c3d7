"""The report in a real browser: it loads nothing, complains about nothing, and fits a phone and a sheet of paper."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.model.audit import Finding, FindingCode, FoundOn, Severity
from comity.reports.audit.build import build_report
from comity.reports.audit.html import write_html
from tests.audit.report_sample import ShopAudit, agents_of_shop, every_finding, hostile_audit
from tests.audit.test_report_html import HOSTILE
from tests.servers.chromium import Tab, chromium_tab

pytestmark = pytest.mark.roomy
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
TEXT = "getComputedStyle(document.body).color"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium_tab(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    urls = [page.url for page in ShopAudit(60).pages()]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(build_report(ShopAudit(60), every_finding(urls, 12), agents_of_shop), path)
    return path


def test_it_loads_nothing_and_the_console_is_silent(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert tab.requests == [page.as_uri()]
    assert tab.complaints == []


def test_findings_can_be_counted_with_and_without_scripts(tab: Tab, page: Path) -> None:
    for scripts in (True, False):
        tab.open(page, scripts=scripts)
        # Chromium's own inspector may evaluate even where a page may not.
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
        assert tab.evaluate("document.querySelectorAll('.finding').length") == len(FindingCode)
        assert tab.evaluate("document.querySelectorAll('.contents tbody tr').length") == len(FindingCode)
        assert tab.evaluate("document.querySelector('.filter').hidden") is not scripts


def test_both_colour_schemes_have_contrast(tab: Tab, page: Path) -> None:
    tab.open(page)
    seen = set()
    for dark in (False, True):
        tab.look(dark=dark)
        paper, ink = brightness(tab.evaluate(BACKGROUND)), brightness(tab.evaluate(TEXT))
        seen.add(paper > ink)
        assert abs(paper - ink) > 150
        for tone in ("error", "warning", "notice"):
            style = f"getComputedStyle(document.querySelector('.tag.{tone}'))"
            ratio = contrast(tab.evaluate(f"{style}.color"), tab.evaluate(f"{style}.backgroundColor"))
            assert ratio >= 4.5, (dark, tone, ratio)  # WCAG 2.2, 1.4.3
    assert seen == {True, False}


def test_nothing_is_wider_than_the_window(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for width in (320, 390, 768, 1280):
        tab.look(width=width)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_filter_keeps_what_matches(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.look()
    tab.evaluate(
        "const field = document.querySelector('.filter input');"
        "field.value = 'Redirect LOOP'; field.dispatchEvent(new Event('input'))"
    )
    shown = tab.evaluate("[...document.querySelectorAll('.finding:not([hidden])')].map((each) => each.dataset.code)")
    assert shown == ["redirect_loop"]
    assert tab.evaluate("document.querySelector('.filter output').value") == f"1 of {len(FindingCode)}"
    assert tab.complaints == []


def test_a_link_in_the_summary_opens_its_finding(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.evaluate("document.querySelector('.contents a[href=\"#redirect_loop\"]').click()")
    tab.send("Runtime.evaluate", expression="new Promise((done) => setTimeout(done))", awaitPromise=True)
    assert tab.evaluate("document.getElementById('redirect_loop').closest('details').open") is True


def test_it_prints_with_everything_unfolded(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.look(media="print")
    assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    height = "document.querySelector('.finding:not([open]) > div').getBoundingClientRect().height"
    assert tab.evaluate(height) > 100
    assert tab.evaluate(f"{BACKGROUND} === 'rgb(255, 255, 255)'") is True
    tab.look()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_site_runs_nothing(tab: Tab, tmp_path: Path, text: str) -> None:
    findings = [Finding(FindingCode.BROKEN_LINK, Severity.ERROR, "t", "m", "r", (FoundOn(text, text, (text, text)),))]
    path = tmp_path / "hostile.html"
    write_html(build_report(hostile_audit(text), findings, agents_of_shop), path)
    tab.open(path)
    tab.look(width=390)
    tab.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert tab.requests == [path.as_uri()]
    assert tab.complaints == []
    assert tab.evaluate("document.scripts.length") == 1
    assert tab.evaluate("[...document.links].every((each) => /^(https?|file):/.test(each.protocol))") is True
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_largest_report_opens(tab: Tab, tmp_path: Path) -> None:
    urls = [page.url for page in ShopAudit(200).pages()]
    path = tmp_path / "large.html"
    size = write_html(build_report(ShopAudit(200), every_finding(urls, 300), agents_of_shop), path)
    assert 4_000_000 < size < 10_000_000
    tab.open(path)
    assert tab.complaints == []


def test_screenshots_are_pictures(tab: Tab, page: Path, tmp_path: Path) -> None:
    tab.open(page)
    for dark in (False, True):
        tab.look(dark=dark)
        tab.screenshot(tmp_path / "seen.png")
        picture = (tmp_path / "seen.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert int.from_bytes(picture[16:20], "big") == 1280
        assert zlib.crc32(picture[12:29]) == int.from_bytes(picture[29:33], "big")


def channels(colour: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", colour)[:3]]


def brightness(colour: str) -> float:
    red, green, blue = channels(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2."""

    def luminance(colour: str) -> float:
        parts = [each / 255 for each in channels(colour)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
