"""How tests look at a page: in light, dark and on a phone, with and without scripts; and what must hold of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# Dark differs from light by the colours of the stylesheet alone, and a phone by anything else. These rules of axe-core
# judge colours, which takes three quarters of its time.
COLOUR_RULES = ("color-contrast", "link-in-text-block")
# Buttons, tabs and the sections at the side are words of the console, not values.
_LENGTHEN = """(() => {
  const found = document.createTreeWalker(document.querySelector(".column"), NodeFilter.SHOW_TEXT);
  while (found.nextNode()) {
    const text = found.currentNode;
    if (text.data.trim() && !text.parentElement.closest("button, .button, .tabs, select, textarea, svg, kbd")) {
      text.data = "value".repeat(60);
    }
  }
})()"""
_SURPLUS = """width => {
  const isClipped = each => each && (getComputedStyle(each).overflowX !== "visible" || isClipped(each.parentElement));
  return [...document.querySelectorAll(".column *")]
    .filter(each => each.getBoundingClientRect().right > width && !isClipped(each))
    .map(each => `${each.tagName} ${each.className} in ${each.parentElement.className}`).slice(0, 12);
}"""
_WHAT_WAS_CHECKED = """
    ["axe" in window, window.isCheckedInLight === true, matchMedia("(prefers-color-scheme: dark)").matches]"""
# The impact of a fault is that of its rule, so rules with less impact are not run.
_RUN_AXE = """async ([options, without]) => {
  const isShown = rule => ["serious", "critical"].includes(rule.impact) && !without.includes(rule.id);
  const off = axe._audit.rules.filter(rule => rule.impact && !isShown(rule)).map(rule => [rule.id, {enabled: false}]);
  const result = await axe.run(document, options.runOnly ? options : {...options, rules: Object.fromEntries(off)});
  window.isCheckedInLight ||= !matchMedia("(prefers-color-scheme: dark)").matches;
  return result.violations;
}"""
_seen: dict[Page, _Seen] = {}
_idle: dict[tuple[Browser, bool], list[Page]] = {}


class _Seen:
    """What a page did besides being shown."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._heard: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.messages.append(f"{message.type}: {message.text}"),
            "pageerror": lambda error: self.messages.append(f"error: {error}"),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, hear in self._heard.items():
            page.on(event, hear)  # type: ignore[call-overload]

    def stop(self, page: Page) -> None:
        for event, hear in self._heard.items():
            page.remove_listener(event, hear)


@cache
def _axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


@contextmanager
def open_page(
    browser: Browser, origin: str, path: str = "/", *, dark: bool = False, phone: bool = False, scripts: bool = True
) -> Iterator[Page]:
    """Open a path below the prefix of the console in a browser without history.

    A window costs Chromium a second of processor time, a page in it a fifth of that. So a window serves several tests,
    one after another: what one of them left in it is deleted. The window of a test that failed is closed.
    """
    idle = _idle.setdefault((browser, scripts), [])
    page = idle.pop() if idle else _new_page(browser, scripts=scripts)
    try:
        page.set_viewport_size(PHONE if phone else WIDE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark" if dark else "light")
        seen = _seen[page] = _Seen(page)
        page.goto(f"{origin}/admin{path if path != '/' else ''}", wait_until="load")
        yield page
        _seen.pop(page, None)
        seen.stop(page)
        _forget(page, origin)
    except BaseException:
        page.context.close()
        raise
    idle.append(page)


def _new_page(browser: Browser, *, scripts: bool) -> Page:
    context = browser.new_context(java_script_enabled=scripts, reduced_motion="reduce", timezone_id="Africa/Nairobi")
    context.set_default_timeout(60_000)
    return context.new_page()


def _forget(page: Page, origin: str) -> None:
    """Leave the page, close others that it opened, and delete cookies and what the browser stored for the origin."""
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.goto("about:blank")  # ends what still listens to the server
    devtools = page.context.new_cdp_session(page)
    devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    devtools.send("Page.resetNavigationHistory")
    devtools.detach()
    page.context.clear_cookies()


def check_page(page: Page, *, axe: bool = True) -> None:
    """No fault of accessibility, no message in the console, no request to elsewhere, nothing wider than the window."""
    seen = _seen[page]
    own = urlsplit(page.url).netloc
    wrong = [*seen.messages, *(f"request to {url}" for url in seen.requests if urlsplit(url).netloc != own)]
    width = page.viewport_size["width"] if page.viewport_size else 0
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        wrong.append(f"the page is {wide} px wide, the window {width}")
    if axe:
        wrong += faults(page)
    assert not wrong, "\n".join([page.url, *wrong])


def check_long_values(page: Page) -> None:
    """No value of any length widens the page: every text but that of buttons becomes a long word."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = !each.closest('aside'); })")
    page.evaluate(_LENGTHEN)
    width = page.evaluate("document.documentElement.clientWidth")
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found = page.evaluate(_SURPLUS, width)
        raise AssertionError("\n".join([f"{page.url}: a long value is wider than the window", *found]))


def faults(page: Page) -> list[str]:
    """What axe-core finds serious or critical, one line each.

    If the page was checked in light: in dark colours only, and on a phone the rest.
    """
    is_loaded, is_checked_in_light, is_dark = page.evaluate(_WHAT_WAS_CHECKED)
    if not is_loaded:
        # `evaluate` runs outside the page's own policy, which would refuse a script of ours.
        page.evaluate(f"{_axe()}; 0")
    # `preload` reads stylesheets and media again, for rules that are off or not serious.
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    without: tuple[str, ...] = ()
    if is_checked_in_light and page.viewport_size == PHONE:
        without = COLOUR_RULES
    elif is_checked_in_light and is_dark:
        options["runOnly"] = {"type": "rule", "values": COLOUR_RULES}
    found = page.evaluate(_RUN_AXE, [options, without])
    return [
        f"{each['id']}: {node['target']}: {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def check_looks(browser: Browser, origin: str, path: str) -> None:
    """Check a page in light, dark and on a phone, and that it can be read without scripts."""
    with open_page(browser, origin, path) as page:
        check_page(page)
        heading = page.locator("h1").inner_text()
        page.emulate_media(color_scheme="dark")
        check_page(page)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        check_page(page)
    with open_page(browser, origin, path, scripts=False) as page:
        assert page.locator("h1").inner_text() == heading
