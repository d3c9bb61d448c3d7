"""Audits in a browser: started, watched, read, compared; a report cannot reach the console."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import OpenPage
from tests.console.looks import faults
from tests.console.seed_hosts import XSS
from tests.doors.web.served import Served, until
from tests.walk.site import Answer, Web, page


def test_an_audit_is_started_read_compared_and_its_report_is_apart(
    browser: Browser, visit: OpenPage, own_console: Served
) -> None:
    start = f"<title>{XSS}</title><h1>Start</h1><a href='/a'>a</a><a href='/gone'>gone</a>"
    with Web() as web:
        site = web.site({"/": Answer(body=start), "/a": page("/")})
        shown = visit("/audits", of=own_console)
        shown.get_by_role("textbox", name="Site").fill("not a site")
        shown.get_by_role("button", name="Start").click()
        expect(shown.locator(".notice-bad, .field.has-error").first).to_be_visible()
        audits = []
        for _round in range(2):
            shown.goto(f"{own_console.url}/admin/audits")
            shown.get_by_role("textbox", name="Site").fill(site.url("/"))
            shown.get_by_label("Maximum pages").fill("5")
            shown.get_by_role("button", name="Start").click()
            expect(shown).to_have_url(re.compile(r"/audits/127\.0\.0\.1"))
            audits.append(shown.url.rpartition("/")[2])
            services = own_console.server.config.app.state.services  # type: ignore[union-attr]
            until(lambda services=services: not services.audits.running())
            expect(shown.locator(".finding").first).to_be_visible()  # the page has loaded itself again
    assert shown.evaluate("window.ran") is None
    _check_report(own_console, shown, audits[0])
    shown.goto(f"{own_console.url}/admin/audits")
    expect(shown.locator("#table-audits tbody tr")).to_have_count(2)
    # What is offered to compare are the last two, the earlier one first.
    shown.get_by_role("link", name="Compare two").click()
    assert [shown.get_by_label(name).input_value() for name in ("Earlier", "Later")] == audits
    shown.get_by_role("button", name="Compare").click()
    expect(shown.locator(".tile", has_text="Same").locator(".tile-value")).not_to_have_text("0")
    expect(shown.locator(".tile", has_text="Worse").locator(".tile-value")).to_have_text("0")
    assert faults(shown) == []


def _check_report(console: Served, shown: Page, audit_id: str) -> None:
    """The report is in an origin of its own: it has no cookies, and nothing in it is the console's."""
    with console.client() as client:
        answer = client.get(f"/admin/audits/{audit_id}/report", headers={"Accept": "text/html"})
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox")
    assert "allow-same-origin" not in policy
    assert "unsafe-inline" not in policy
    assert "<script>window.ran" not in answer.text
    shown.goto(f"{console.url}/admin/audits/{audit_id}/report")
    assert shown.evaluate("window.ran") is None
    assert shown.evaluate("self.origin") == "null"
    # Its own style is in force, by its hash.
    assert shown.evaluate("getComputedStyle(document.querySelector('.skip')).position") == "absolute"
