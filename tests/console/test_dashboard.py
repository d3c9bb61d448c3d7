"""The dashboard and the frame of every page: live, by keyboard, on a phone, without scripts, and after a failure."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, insert, select

from comity.database.tables import domains, fetches
from comity.doors.web.console import live
from comity.doors.web.console.live import VIEWS
from comity.doors.web.console.page import SECTIONS
from comity.doors.web.console.pages import dashboard
from comity.operate.sources import add_source
from comity.reports.dashboard import Dashboard, dashboard_of
from tests.console.conftest import OpenPage
from tests.console.looks import check_page
from tests.doors.web.served import Served, until
from tests.walk.site import Answer, Web

# On a busy machine, figures are counted every minute, and shown up to half a minute later.
LONGEST_WAIT_MS = 120_000

# Where the panels begin.
TOPS = "[...document.querySelectorAll('.overview .panel')].map(each => Math.round(each.getBoundingClientRect().top))"


def test_it_shows_the_day_without_scripts(visit: OpenPage, console: Served) -> None:
    with console.state.database.read() as connection:
        hosts = connection.execute(select(func.count()).select_from(domains)).scalar_one()
    page = visit("/", scripts=False)
    expect(page.get_by_role("img", name="Fetches by outcome")).to_be_visible()
    tile = page.locator(".tile", has_text="Hosts").locator(".tile-value")
    until(lambda: page.reload() and tile.inner_text() == str(hosts))  # the first look may find older figures
    page.get_by_text("Numbers").first.click()
    expect(page.locator(".plot-table table").first).to_be_visible()
    assert page.locator("time").first.get_attribute("title").endswith("UTC")  # type: ignore[union-attr]
    expect(page.locator("main")).to_contain_text("worker-3 process 4711")  # a worker of ours holds a host
    for section in SECTIONS:
        expect(page.get_by_role("navigation", name="Sections").get_by_role("link", name=section.label)).to_be_visible()


def test_it_follows_the_state(visit: OpenPage, own_console: Served) -> None:
    page = visit("/", of=own_console)
    expect(page.get_by_text("Nothing has been crawled yet")).to_be_visible()
    tile = page.locator(".tile", has_text="Sources due").locator(".tile-value")
    expect(tile).to_have_text("0", timeout=LONGEST_WAIT_MS)
    state = own_console.state
    add_source(state.database, state.clock, "https://example.org/careers", approved=True)
    expect(tile).to_have_text("1", timeout=LONGEST_WAIT_MS)
    row = {"domain": "x.example", "page_url": "https://x.example/", "url_key": 1, "outcome": "failed"}
    with state.database.write() as connection:
        error = {"error": "<img src=x onerror=alert(1)>: no", "crawled_at": state.clock.now()}
        connection.execute(insert(fetches), [row | error])
    # A table that was clicked has the focus, and stays as it is while the page follows the state.
    numbers = page.locator(".plot-table").first
    numbers.locator("summary").click()
    numbers.locator(".scroll").evaluate("each => { each.focus(); each.scrollTop = 40; }")
    add_source(state.database, state.clock, "https://example.net/careers", approved=True)
    expect(tile).to_have_text("2", timeout=LONGEST_WAIT_MS)
    assert numbers.locator(".scroll").evaluate("each => [each === document.activeElement, each.scrollTop]") == [
        True,
        40,
    ]
    # What a host made of its error is text, in a region that the script replaces, too.
    expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible(timeout=LONGEST_WAIT_MS)
    assert page.locator("main img").count() == 0
    check_page(page)


def test_it_answers_before_it_is_counted(visit: OpenPage, own_console: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    may_count = threading.Event()

    def count(*arguments: Any, **options: Any) -> Dashboard:
        assert may_count.wait(60)
        return dashboard_of(*arguments, **options)

    monkeypatch.setattr(dashboard, "dashboard_of", count)
    monkeypatch.setattr(dashboard, "_NAME", "not counted yet")
    page, reader = visit("/", of=own_console), visit("/", of=own_console, scripts=False)
    for each in (page, reader):
        expect(each.locator(".tile", has_text="Hosts")).to_contain_text("counting…")
    check_page(page)
    before = page.evaluate(TOPS)
    may_count.set()
    for each in (page, reader):  # by the live region, and by loading the page again
        due = each.locator(".tile", has_text="Sources due").locator(".tile-value")
        expect(due).to_have_text("0", timeout=120_000)
    assert page.evaluate(TOPS) == before  # nothing jumps


def test_longer_lists_and_higher_numbers_move_nothing(visit: OpenPage) -> None:
    page = visit("/")
    bars = page.locator(".overview .hbar")
    expect(bars.first).to_be_visible()
    before, place = page.evaluate(TOPS), bars.first.bounding_box()
    page.evaluate("""() => {
        const tables = document.querySelectorAll('.overview .hbars tbody');
        const row = tables[0].rows[0];
        row.cells[0].textContent = 'a long name of an error, longer than most';
        row.cells[2].textContent = '1,234,567';
        tables[2].replaceChildren(...Array.from({length: 6}, () => row.cloneNode(true)));
        const needs = document.querySelector('.overview .needs');
        needs.append(...Array.from({length: 9}, () => needs.firstElementChild.cloneNode(true)));
    }""")
    assert (page.evaluate(TOPS), bars.first.bounding_box()) == (before, place)


def test_a_page_is_not_left_counting_because_others_are(
    visit: OpenPage, own_console: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without scripts, a page that begins with figures is not loaded again: it must have them."""
    may_count, is_counted = threading.Event(), threading.Event()

    def count(*arguments: Any, **options: Any) -> Dashboard:
        assert may_count.wait(60)
        try:
            return dashboard_of(*arguments, **options)
        finally:
            is_counted.set()

    monkeypatch.setattr(dashboard, "dashboard_of", count)
    monkeypatch.setattr(dashboard, "_NAME", "not counted yet")
    monkeypatch.setattr(live, "EVERY_S", 1000.0)  # what the other has been sent counts as new
    page = visit("/", of=own_console)
    services = own_console.server.config.app.state.services  # type: ignore[union-attr]
    until(lambda: "dashboard" in services.live._channels and services.live._channels["dashboard"].version)
    may_count.set()
    assert is_counted.wait(60)
    services.figures.wait_counted(60)
    reader = visit("/", of=own_console, scripts=False)
    due = ".tile:has-text('Sources due') .tile-value"
    assert (reader.inner_text(due), page.inner_text(due)) == ("0", "–")


def test_what_a_viewer_does_in_a_region_survives_its_updates(
    visit: OpenPage, own_console: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No update is withheld from a viewer who has the focus or a selection in the region, and both stay."""
    shown = {"text": '<p>steady <b>1</b></p><a href="#one">one</a><details><summary>more</summary>and</details>'}
    monkeypatch.setitem(VIEWS, "dashboard", lambda *_: shown["text"])
    monkeypatch.setattr(live, "EVERY_S", 0.05)
    page = visit("/", of=own_console)
    region = page.locator("[data-live=dashboard]")
    expect(region.locator("b")).to_have_text("1")
    region.locator("summary").click()
    region.locator("a").focus()
    page.evaluate(
        "getSelection().setBaseAndExtent(document.querySelector('.live p').firstChild, 0, "
        "document.querySelector('.live p').firstChild, 6)"
    )
    shown["text"] = shown["text"].replace("<b>1</b>", "<b>2</b>").replace(">one<", ">first<")
    expect(region.locator("b")).to_have_text("2")
    expect(region.locator("a")).to_have_text("first")
    expect(region.locator("a")).to_be_focused()
    assert page.evaluate("getSelection().toString()") == "steady"
    assert region.locator("details").evaluate("each => each.open")
    # A link that leads elsewhere is not the one that has the focus.
    shown["text"] = shown["text"].replace("#one", "#two")
    expect(region.locator("a")).to_have_attribute("href", "#two")
    expect(region.locator("a")).not_to_be_focused()
    shown["text"] = "<p>less</p>"
    expect(region).to_have_text("less")
    assert region.evaluate("each => each.innerHTML") == "<p>less</p>"


def test_a_page_that_has_ended_does_not_call_back_a_viewer_who_leaves_it(
    visit: OpenPage, own_console: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page loads itself again when what it shows has ended; a link that was followed before that is not cancelled."""
    shown = {"text": '<p data-phase="running">running</p>'}
    monkeypatch.setitem(VIEWS, "dashboard", lambda *_: shown["text"])
    monkeypatch.setattr(live, "EVERY_S", 0.05)
    page = visit("/", of=own_console)
    region = page.locator("[data-live=dashboard]")
    expect(region).to_have_text("running")
    may_answer = threading.Event()
    with Web() as web:
        site = web.site({"/": Answer(body="arrived", held=may_answer)})
        page.evaluate(
            "each => new MutationObserver(() => console.log('changed'))"
            ".observe(each, { subtree: true, attributes: true })",
            region.element_handle(),
        )
        page.evaluate("url => { location.assign(url) }", site.url("/"))
        until(site.pages)
        with page.expect_console_message(lambda message: message.text == "changed"):
            shown["text"] = '<p data-phase="ended">ended</p>'
        may_answer.set()
        expect(page.get_by_text("arrived")).to_be_visible()


def test_a_viewer_hears_when_figures_are_old(
    visit: OpenPage, own_console: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ["<p>well</p>"]
    monkeypatch.setitem(VIEWS, "dashboard", lambda *_: shown[0])
    monkeypatch.setattr(live, "EVERY_S", 0.05)
    page = visit("/", of=own_console)
    expect(page.locator("[data-live=dashboard]")).to_have_text("well")
    expect(page.get_by_text("These figures are out of date")).not_to_be_visible()
    shown.clear()
    expect(page.get_by_text("These figures are out of date")).to_be_visible()
    check_page(page)
    shown.append("<p>well</p>")
    expect(page.get_by_text("These figures are out of date")).not_to_be_visible()


def test_the_keyboard_reaches_everything(visit: OpenPage) -> None:
    page = visit("/components")
    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(page.get_by_role("textbox", name="Why: a URL to explain")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator("tr.is-at")).to_contain_text("host-002")
    page.keyboard.press("x")
    expect(page.locator("[data-bulk-count]")).to_have_text("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/components?q=host-002.example")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/admin")
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    check_page(page, axe=False)


def test_g_and_a_letter_lead_to_each_section(visit: OpenPage, console: Served) -> None:
    page = visit("/help")
    for section in SECTIONS:
        page.keyboard.press("g")
        page.keyboard.press(section.letter)
        page.wait_for_url(f"{console.url}/admin{section.path if section.path != '/' else ''}")
        expect(page.locator(".nav-link[aria-current=page]")).to_have_text(section.label)


def test_a_destructive_action_asks_first(visit: OpenPage) -> None:
    page = visit("/components")
    page.locator("[data-tick]").first.check()
    page.locator("[data-tick]").nth(1).check()
    page.get_by_role("button", name="Drop").click()
    question = page.locator("dialog[open]")
    expect(question).to_contain_text("Drop 2 rows?")
    check_page(page)
    question.get_by_role("button", name="Cancel").click()
    expect(question).not_to_be_visible()
    page.get_by_role("button", name="Drop").click()
    question.get_by_role("button", name="Drop").click()
    expect(page.get_by_text("drop: 2 rows.")).to_be_visible()


def test_the_menu_of_a_phone_needs_no_script(visit: OpenPage) -> None:
    page = visit("/", phone=True, scripts=False)
    link = page.get_by_role("link", name="Hosts", exact=True).first
    expect(page.locator(".menu-body")).not_to_be_visible()
    page.locator("summary.menu-button").click()
    expect(page.locator(".menu-body")).to_be_visible()
    assert link.get_attribute("href") == "/admin/hosts"


def test_what_is_ticked_on_a_phone_has_its_buttons_side_by_side(visit: OpenPage) -> None:
    page = visit("/crawl_jobs", phone=True)
    page.locator("[data-tick]").first.check()
    bar = page.locator("form.bulk").bounding_box()
    assert bar is not None
    assert (bar["x"], bar["width"]) == (16, 390 - 32)
    assert bar["height"] < 110  # two rows of buttons
    check_page(page, axe=False)


def test_the_tab_of_a_page_is_in_view_on_a_phone(visit: OpenPage) -> None:
    page = visit("/webhooks", phone=True)
    expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.99)


def test_errors_are_pages(browser: Browser, console: Served, visit: OpenPage) -> None:
    page = visit("/hosts/unknown.example")  # a name keeps its letters, a command is shown as code
    expect(page.locator("main h2")).to_contain_text("unknown.example is unknown")
    expect(page.locator("main code")).to_have_text("comity seeds add unknown.example")
    page = visit("/crawl_jobs/nothing")
    assert page.locator("main").inner_text().count("must be a UUID") == 1
    page = visit("/nowhere")
    expect(page.get_by_role("heading", name="There is no such path")).to_be_visible()
    expect(page.get_by_role("navigation", name="Sections")).to_be_visible()
