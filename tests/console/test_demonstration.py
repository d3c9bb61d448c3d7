"""The first start, in a browser: `comity serve` on an empty state, and the demonstration with one click."""

from __future__ import annotations

import signal

import pytest
from playwright.sync_api import Browser, expect

from tests.console.looks import check_page, open_page
from tests.doors.command_line import CommandLine
from tests.doors.conftest import comity  # noqa: F401  # a fixture is found by name
from tests.doors.test_serve_command import serving
from tests.walk.conftest import place, web  # noqa: F401


@pytest.mark.roomy
def test_an_empty_state_offers_the_demonstration_and_one_click_fills_it(
    browser: Browser,
    comity: CommandLine,  # noqa: F811
) -> None:
    with serving(comity, COMITY_ALLOW_NETWORKS="", COMITY_STATE="comity-data/state.db") as (process, client):
        origin = str(client.base_url).rstrip("/")
        with open_page(browser, origin) as page:
            button = page.get_by_role("button", name="Load the demonstration")
            for _ in range(60):  # it is offered as soon as the worker runs
                if button.count():
                    break
                page.wait_for_timeout(500)
                page.reload()
            check_page(page)
            button.click()
            expect(page.get_by_text("The crawl of the demonstration has started")).to_be_visible()
            expect(page.get_by_role("heading", name="The demonstration is being crawled")).to_be_visible()
            hosts = page.locator(".tile", has_text="Hosts").locator(".tile-value")
            expect(hosts).to_have_text("3", timeout=120_000)  # without a reload, and so is the end:
            expect(page.get_by_role("heading", name="The demonstration has been crawled")).to_be_visible(
                timeout=120_000
            )
            check_page(page)
            page.get_by_role("main").get_by_role("link", name="Hosts").first.click()
            expect(page.locator("#table-hosts tbody tr")).to_have_count(3)
            page.locator("#table-hosts tbody a.row-link").first.click()
            expect(page.locator("g.state.is-current")).to_have_count(1)
            check_page(page)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert {each.name for each in comity.folder.iterdir() if not each.name.startswith(".")} == {"comity-data"}
