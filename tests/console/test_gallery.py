"""The page that shows every component: in every look, by keyboard, and without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.console.looks import check_page


def test_a_table_filters_sorts_and_pages_by_its_url(visit: OpenPage) -> None:
    page = visit("/components")
    page.get_by_role("searchbox", name="Search by name").fill("host-01")
    expect(page.locator("#table-samples tbody tr")).to_have_count(10)
    expect(page).to_have_url(re.compile("q=host-01"))
    page.get_by_role("columnheader", name="Pages").get_by_role("link").click()
    expect(page).to_have_url(re.compile("sort=pages"))
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-010")
    page.get_by_role("columnheader", name="Pages").get_by_role("link").click()
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-019")
    expect(page).to_have_url(re.compile("sort=-pages"))
    page.go_back()
    expect(page).to_have_url(re.compile("sort=pages"))
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-010")
    check_page(page)


def test_the_address_of_a_filtered_table_has_each_filter_once_and_no_page_of_the_rows_before(visit: OpenPage) -> None:
    page = visit("/components?offset=50")
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-051")
    page.locator("#filter-samples-kind").select_option("small")
    expect(page).to_have_url(re.compile(r"/components\?kind=small$"))
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-003")
    page.get_by_role("searchbox", name="Search by name").fill("host-01")
    expect(page).to_have_url(re.compile(r"/components\?q=host-01&kind=small$"))
    page.locator("#filter-samples-kind").select_option("")
    expect(page).to_have_url(re.compile(r"/components\?q=host-01$"))
    expect(page.locator("#table-samples tbody tr")).to_have_count(10)
    page.go_back()
    expect(page.locator("#filter-samples-kind")).to_have_value("small")
    expect(page.get_by_role("searchbox", name="Search by name")).to_have_value("host-01")


def test_the_chosen_value_of_a_filter_keeps_its_name(visit: OpenPage) -> None:
    page = visit("/components?kind=small")
    assert page.locator("#filter-samples-kind option:checked").inner_text() == "Size: small"
    page.locator("#filter-samples-kind").select_option("")
    expect(page.locator("#filter-samples-kind option:checked")).to_have_text("Size: all")


def test_sorting_keeps_the_focus(visit: OpenPage) -> None:
    page = visit("/components")
    link = page.get_by_role("columnheader", name="Pages").get_by_role("link")
    link.press("Enter")
    expect(page).to_have_url(re.compile("sort=pages"))
    expect(link).to_be_focused()
    link.press("Enter")
    expect(page).to_have_url(re.compile("sort=-pages"))
    expect(link).to_be_focused()


def test_a_filter_that_fails_says_so_until_one_succeeds(visit: OpenPage) -> None:
    page = visit("/sources")
    rows = page.locator("#table-sources tbody tr")
    before = rows.count()
    for answer, told in (
        (lambda route: route.abort(), "The server does not answer. What is shown is from before."),
        (lambda route: route.fulfill(status=503, body=""), "The server answered with an error (503)."),
    ):
        page.route("**/sources?*", answer)
        page.get_by_role("searchbox").fill("soil" if "503" in told else "lakeside")
        expect(page.get_by_role("status").filter(has_text=told)).to_be_visible()
        expect(rows).to_have_count(before)
        page.unroute("**/sources?*")
    page.get_by_role("searchbox").fill("clean")
    expect(rows).to_have_count(1)
    expect(page.locator("[data-unanswered]")).to_be_hidden()


def test_a_filter_leaves_what_was_entered_beside_the_table(visit: OpenPage) -> None:
    page = visit("/components")
    page.get_by_label("Address").fill("https://example.org/entered")
    page.locator("#filter-samples-kind").select_option("small")
    expect(page.locator("#table-samples tbody tr").first).to_contain_text("host-003")
    assert page.get_by_label("Address").input_value() == "https://example.org/entered"
