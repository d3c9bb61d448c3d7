"""How tests look at a page: in light, dark and on a phone, with and without scripts; and what must hold of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
_seen: dict[Page, _Seen] = {}


class _Seen:
    """What a page did besides being shown."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))


@cache
def _axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


@contextmanager
def open_page(
    browser: Browser, origin: str, path: str = "/", *, dark: bool = False, phone: bool = False, scripts: bool = True
) -> Iterator[Page]:
    """Open a path below the prefix of the console in a browser without history."""
    context = browser.new_context(
        base_url=f"{origin}/admin/",
        viewport=PHONE if phone else WIDE,  # type: ignore[arg-type]
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
        timezone_id="Africa/Nairobi",
    )
    context.set_default_timeout(30_000)
    try:
        page = context.new_page()
        _seen[page] = _Seen(page)
        page.goto(f"{origin}/admin{path if path != '/' else ''}", wait_until="load")
        yield page
        _seen.pop(page, None)
    finally:
        context.close()


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


def faults(page: Page) -> list[str]:
    """What axe-core finds serious or critical, one line each."""
    # `evaluate` runs outside the page's own policy, which would refuse a script of ours.
    page.evaluate(f"{_axe()}; 0")
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    found = page.evaluate(f"axe.run(document, {json.dumps(options)}).then(result => result.violations)")
    return [
        f"{each['id']}: {node['target']}: {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def check_looks(browser: Browser, origin: str, path: str) -> None:
    """Check a page in light, dark and on a phone, and that it can be read without scripts."""
    for look in ({}, {"dark": True}, {"phone": True}):
        with open_page(browser, origin, path, **look) as page:
            check_page(page)
            heading = page.locator("h1").inner_text()
    with open_page(browser, origin, path, scripts=False) as page:
        assert page.locator("h1").inner_text() == heading
